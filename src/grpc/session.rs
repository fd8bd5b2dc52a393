//! `SessionService`: what an agent runtime speaks.

use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use tonic::{Request, Response, Status};
use uuid::Uuid;

use super::convert::{self, namespace, session_id, step_id};
use super::read::{BATCH, NAMES, check_present, must_have, own_tools, present, reports, selecting_nothing, selectors};
use super::status::Fields;
use super::stream::Messages;
use super::{Api, history, in_background, read, words};
use crate::core::block::{self};
use crate::core::checking::{CallKind, Checked, RawCall};
use crate::core::event::{Block, Delivery, Format, Origin, PoolSpec, SessionSpec};
use crate::core::ids::{Alias, CallId, Generation, SessionId, UnixMillis};
use crate::core::planning::StepAsk;
use crate::core::recall::Ask;
use crate::core::render::{self, Form};
use crate::core::session::Session;
use crate::engine::steps::{Reported, SessionStatus};
use crate::engine::{EngineError, Handle};
use crate::proto;
use crate::proto::session_service_server::SessionService;
use crate::telemetry::metrics::Shed;

/// Smallest context window in tokens; in less, not even the meta tools would leave room for a conversation.
const WINDOW_MIN: u32 = 1_000;

/// A block larger than this is read as a stream.
const BLOCK_BYTES: usize = 1 << 20;

#[tonic::async_trait]
impl SessionService for Api {
    type ReadSessionStream = Messages<proto::ReadSessionResponse>;

    async fn open_session(
        &self,
        request: Request<proto::OpenSessionRequest>,
    ) -> Result<Response<proto::OpenSessionResponse>, Status> {
        self.serve("/toolcrib.v1.SessionService/OpenSession", self.open(request.into_inner())).await
    }

    async fn read_session(
        &self,
        request: Request<proto::ReadSessionRequest>,
    ) -> Result<Response<Self::ReadSessionStream>, Status> {
        self.serve_stream("/toolcrib.v1.SessionService/ReadSession", self.read(request.into_inner())).await
    }

    async fn plan_step(
        &self,
        request: Request<proto::PlanStepRequest>,
    ) -> Result<Response<proto::PlanStepResponse>, Status> {
        self.serve("/toolcrib.v1.SessionService/PlanStep", async { self.plan(&request.into_inner()) }).await
    }

    async fn request_tool(
        &self,
        request: Request<proto::RequestToolRequest>,
    ) -> Result<Response<proto::RequestToolResponse>, Status> {
        self.serve("/toolcrib.v1.SessionService/RequestTool", async { self.recall(&request.into_inner()) }).await
    }

    async fn validate_calls(
        &self,
        request: Request<proto::ValidateCallsRequest>,
    ) -> Result<Response<proto::ValidateCallsResponse>, Status> {
        self.serve("/toolcrib.v1.SessionService/ValidateCalls", async { self.check(&request.into_inner()) }).await
    }

    async fn report_outcomes(
        &self,
        request: Request<proto::ReportOutcomesRequest>,
    ) -> Result<Response<proto::ReportOutcomesResponse>, Status> {
        self.serve("/toolcrib.v1.SessionService/ReportOutcomes", self.report(request.into_inner())).await
    }

    async fn refresh_session(
        &self,
        request: Request<proto::RefreshSessionRequest>,
    ) -> Result<Response<proto::RefreshSessionResponse>, Status> {
        self.serve("/toolcrib.v1.SessionService/RefreshSession", self.refresh(request.into_inner())).await
    }

    async fn get_session(
        &self,
        request: Request<proto::GetSessionRequest>,
    ) -> Result<Response<proto::GetSessionResponse>, Status> {
        self.serve("/toolcrib.v1.SessionService/GetSession", self.get(request.into_inner())).await
    }

    async fn explain(
        &self,
        request: Request<proto::ExplainRequest>,
    ) -> Result<Response<proto::ExplainResponse>, Status> {
        self.serve("/toolcrib.v1.SessionService/Explain", self.why(request.into_inner())).await
    }

    async fn list_sessions(
        &self,
        request: Request<proto::ListSessionsRequest>,
    ) -> Result<Response<proto::ListSessionsResponse>, Status> {
        self.serve("/toolcrib.v1.SessionService/ListSessions", self.list(request.into_inner())).await
    }

    async fn close_session(
        &self,
        request: Request<proto::CloseSessionRequest>,
    ) -> Result<Response<proto::CloseSessionResponse>, Status> {
        self.serve("/toolcrib.v1.SessionService/CloseSession", self.close(request.into_inner())).await
    }

    async fn erase_session(
        &self,
        request: Request<proto::EraseSessionRequest>,
    ) -> Result<Response<proto::EraseSessionResponse>, Status> {
        // The file is written anew before the answer, which takes as long as it is large.
        let most = Duration::from_secs(self.limits.stream_secs);
        self.serve_within("/toolcrib.v1.SessionService/EraseSession", most, self.erase(request.into_inner())).await
    }
}

impl Api {
    async fn open(&self, request: proto::OpenSessionRequest) -> Result<proto::OpenSessionResponse, Status> {
        let mut fields = Fields::default();
        let space = namespace(&request.namespace, &mut fields);
        let id = if request.session_id.is_empty() {
            SessionId::new(Uuid::now_v7().to_string())
        } else {
            session_id(&request.session_id, &mut fields)
        };
        let format = words::format(request.format);
        fields.require(format.is_some(), "format", format!("must be one of {}", convert::words::<Format>()));
        let delivery = read::delivery(request.delivery, format, &mut fields);
        let own_tools = own_tools(&request.own_tools, &mut fields);
        let pool = request.pool.unwrap_or_default();
        let allow = selectors(&pool.allow, "pool.allow", &mut fields);
        let deny = selectors(&pool.deny, "pool.deny", &mut fields);
        fields.require(pool.must_have.len() <= NAMES, "pool.must_have", format!("must be at most {NAMES} names"));
        let is_window = request.context_window == 0 || request.context_window >= WINDOW_MIN;
        fields.require(is_window, "context_window", format!("must be 0 or at least {WINDOW_MIN} tokens"));
        let model = convert::optional_id(&request.model, "model", &mut fields).unwrap_or_default();
        let parent = convert::other_session(&request.parent_session_id, "parent_session_id", &mut fields);
        let fork_of = convert::other_session(&request.fork_of, "fork_of", &mut fields);
        fields.finish()?;

        let handle = self.engine.namespace(&space)?;
        let view = handle.view();
        let (must_have, mut excluded) = must_have(&view, &pool.must_have);
        let spec = Arc::new(SessionSpec {
            format: format.unwrap_or(Format::Mcp),
            delivery: delivery.unwrap_or(Delivery::Invoke),
            mark_cache: request.mark_cache && format.is_some_and(Format::marks_cache),
            model: model.to_owned(),
            window: request.context_window,
            pool: PoolSpec { allow, deny, must_have },
            own_tools,
            on_demand_budget: request.on_demand_budget,
            ephemeral: request.ephemeral,
            parent,
            fork_of,
            played: request.played,
        });
        let opened = handle.open_session(id, spec, delivery.is_none()).await.inspect_err(|error| {
            if matches!(error, EngineError::TooManySessions(_)) {
                self.metrics.shed(Shed::Sessions);
            }
        })?;
        let (view, spec) = (handle.view(), opened.session.spec());
        excluded.extend(selecting_nothing(&view, spec));
        for tool in &spec.pool.must_have {
            if let Some(why) = block::exclusion(&view.registry, spec, tool) {
                excluded.push(convert::exclusion(&tool.to_string(), why));
            }
        }
        let durable = opened.durable.await.is_ok();
        let is_known = request.known_digest == opened.block.digest.to_string();
        let with_pieces = !is_known && fits_reply(&opened.block);
        Ok(proto::OpenSessionResponse {
            session_id: opened.session.id().to_string(),
            block: Some(convert::block(&opened.block, opened.session.generation(), with_pieces)),
            resumed: opened.resumed,
            delivery: proto::Delivery::from(spec.delivery).into(),
            expire_time: Some(convert::expire_time(&opened.session, &view.policy)),
            excluded,
            durable,
            betas: render::betas(spec).iter().map(|beta| (*beta).to_owned()).collect(),
        })
    }

    async fn read(&self, request: proto::ReadSessionRequest) -> Result<Messages<proto::ReadSessionResponse>, Status> {
        let mut fields = Fields::default();
        let space = namespace(&request.namespace, &mut fields);
        let id = session_id(&request.session_id, &mut fields);
        fields.require(request.names.len() <= NAMES, "names", format!("must be at most {NAMES}"));
        fields.finish()?;
        let handle = self.engine.namespace(&space)?;
        let (spec, block, given) = handle.with_session(&id, |front| {
            Ok((front.session.spec().clone(), front.session.block().cloned(), front.session.given()))
        })?;
        let view = handle.view();
        let wanted: BTreeSet<Alias> = request.names.iter().map(|name| Alias::from(name.as_str())).collect();
        let is_wanted = move |names: &[Alias]| wanted.is_empty() || names.iter().any(|name| wanted.contains(name));
        // Each piece is written when the reader has room for it: a stream holds what the session holds anyway.
        let in_block = block.filter(|_| !request.issued_only).into_iter().flat_map(|block| {
            let n_pieces = block.pieces.len();
            (0..n_pieces).map(move |i| (block.pieces[i].clone(), String::new()))
        });
        let issued = given.into_iter().flat_map(move |given| {
            let step_id = given.step.map(|step| step.to_string()).unwrap_or_default();
            view.pieces(&spec, &given.issued).into_iter().map(move |piece| (piece, step_id.clone()))
        });
        let answers = in_block.chain(issued).filter(move |(piece, _)| is_wanted(&piece.names));
        let messages = answers
            .map(|(piece, step_id)| Ok(proto::ReadSessionResponse { piece: Some(convert::piece(&piece)), step_id }));
        Ok(Box::pin(tokio_stream::iter(messages)))
    }

    fn plan(&self, request: &proto::PlanStepRequest) -> Result<proto::PlanStepResponse, Status> {
        let mut fields = Fields::default();
        let space = namespace(&request.namespace, &mut fields);
        let id = session_id(&request.session_id, &mut fields);
        if !request.key.is_empty() {
            convert::id(&request.key, "key", &mut fields);
        }
        let reports = reports(&request.outcomes, &request.endings, request.usage.as_ref(), &mut fields);
        check_present(request.present.as_ref(), &mut fields);
        fields.finish()?;

        let handle = self.engine.namespace(&space)?;
        let metrics = self.metrics.namespace(&space);
        let ask = StepAsk {
            key: &request.key,
            query: read::query(request.query.as_ref()),
            present: present(&handle.view(), request.present.as_ref()),
            max_tools: request.max_tools,
            max_tokens: request.max_tokens,
        };
        let step = handle.plan_step(&id, &ask, &reports)?;
        metrics.planned(step.took, step.planned.issued.len());
        if step.planned.matched > 0 {
            metrics.recalled(step.took);
        }
        for ack in &step.acks {
            metrics.outcome(ack.result);
        }
        Ok(proto::PlanStepResponse {
            step_id: step.planned.step.to_string(),
            result: proto::PlanResult::from(step.planned.result).into(),
            pieces: convert::pieces(&step.pieces),
            issued: convert::offers(&step.view, &step.spec, &step.planned.issued),
            listing: Some(convert::listing(&step.listing)),
            tokens: Some(convert::tokens(&step.planned.tokens)),
            block_digest: step.block.digest.to_string(),
            pending: step.pending,
            degraded: String::new(),
            acks: convert::acks(&step.acks),
            breaks_cache: step.breaks_cache,
            excluded: convert::left_out(&step.view, &step.left_out),
        })
    }

    fn recall(&self, request: &proto::RequestToolRequest) -> Result<proto::RequestToolResponse, Status> {
        use proto::request_tool_request::Ask as Asked;
        let mut fields = Fields::default();
        let space = namespace(&request.namespace, &mut fields);
        let id = session_id(&request.session_id, &mut fields);
        let call = convert::id(&request.call_id, "call_id", &mut fields);
        let step = step_id(&request.step_id, "step_id", &mut fields);
        check_present(request.present.as_ref(), &mut fields);
        let ask = match &request.ask {
            Some(Asked::Arguments(arguments)) => Ask::from_arguments(arguments),
            Some(Asked::Name(name)) => Ask { name: Some(name.clone()), need: None },
            Some(Asked::Need(need)) => Ask { name: None, need: Some(need.clone()) },
            None => {
                fields.refuse("ask", "must be arguments, a name or a need");
                Ask::default()
            }
        };
        fields.finish()?;

        let handle = self.engine.namespace(&space)?;
        let present = present(&handle.view(), request.present.as_ref());
        let recalled = handle.request_tool(&id, &CallId::from(call), step, &ask, present.as_ref())?;
        self.metrics.namespace(&space).recalled(recalled.took);
        let answer = &recalled.answer;
        Ok(proto::RequestToolResponse {
            result: proto::RequestResult::from(answer.result).into(),
            reason: answer.exclusion.map_or(proto::Reason::Unspecified, convert::reason).into(),
            pieces: convert::pieces(&recalled.pieces),
            issued: convert::offers(&recalled.view, &recalled.spec, &answer.issued),
            listing: Some(convert::listing(&answer.listing)),
            nearest: convert::names(&answer.nearest),
            excluded: convert::left_out(&recalled.view, &answer.left_out),
        })
    }

    fn check(&self, request: &proto::ValidateCallsRequest) -> Result<proto::ValidateCallsResponse, Status> {
        let mut fields = Fields::default();
        let space = namespace(&request.namespace, &mut fields);
        let id = session_id(&request.session_id, &mut fields);
        let step = step_id(&request.step_id, "step_id", &mut fields);
        fields.require(request.calls.len() <= BATCH, "calls", format!("must be at most {BATCH}"));
        for (i, call) in request.calls.iter().enumerate() {
            convert::id(&call.call_id, &format!("calls[{i}].call_id"), &mut fields);
        }
        fields.finish()?;
        let handle = self.engine.namespace(&space)?;
        let raw = |call: &'_ proto::Call| CallId::from(call.call_id.as_str());
        let calls: Vec<RawCall<'_>> = request
            .calls
            .iter()
            .map(|call| RawCall { call_id: raw(call), name: &call.name, arguments: &call.arguments })
            .collect();
        let checked = handle.validate_calls(&id, step, &calls)?;
        let calls = checked.calls.iter().map(|call| checked_call(&checked.spec, call)).collect();
        Ok(proto::ValidateCallsResponse { calls })
    }

    async fn report(&self, request: proto::ReportOutcomesRequest) -> Result<proto::ReportOutcomesResponse, Status> {
        let mut fields = Fields::default();
        let space = namespace(&request.namespace, &mut fields);
        let id = session_id(&request.session_id, &mut fields);
        let (handle, reported) =
            self.take_reports(&space, &id, &request.outcomes, &request.endings, request.usage.as_ref(), fields)?;
        let durable = request.durable && handle.flush().await? && reported.all_taken;
        Ok(proto::ReportOutcomesResponse { acks: convert::acks(&reported.acks), durable })
    }

    fn take_reports(
        &self,
        space: &crate::core::ids::NamespaceId,
        id: &SessionId,
        outcomes: &[proto::Outcome],
        endings: &[proto::StepEnding],
        usage: Option<&proto::Usage>,
        mut fields: Fields,
    ) -> Result<(Arc<Handle>, Reported), Status> {
        let reports = reports(outcomes, endings, usage, &mut fields);
        fields.finish()?;
        let handle = self.engine.namespace(space)?;
        let reported = handle.report(id, &reports);
        let metrics = self.metrics.namespace(space);
        for ack in &reported.acks {
            metrics.outcome(ack.result);
        }
        Ok((handle, reported))
    }

    async fn refresh(&self, request: proto::RefreshSessionRequest) -> Result<proto::RefreshSessionResponse, Status> {
        let mut fields = Fields::default();
        let space = namespace(&request.namespace, &mut fields);
        let id = session_id(&request.session_id, &mut fields);
        check_present(request.present.as_ref(), &mut fields);
        fields.finish()?;
        let handle = self.engine.namespace(&space)?;
        let keep = present(&handle.view(), request.present.as_ref()).unwrap_or_default();
        let opened = handle.refresh_session(id, Generation(request.generation), keep).await?;
        let view = handle.view();
        let taken = convert::pending(&view, &opened.taken);
        let durable = opened.durable.await.is_ok();
        Ok(proto::RefreshSessionResponse {
            block: Some(convert::block(&opened.block, opened.session.generation(), fits_reply(&opened.block))),
            taken,
            durable,
        })
    }

    async fn get(&self, request: proto::GetSessionRequest) -> Result<proto::GetSessionResponse, Status> {
        let mut fields = Fields::default();
        let space = namespace(&request.namespace, &mut fields);
        let id = session_id(&request.session_id, &mut fields);
        fields.finish()?;
        let handle = self.engine.namespace(&space)?;
        let of = id.clone();
        let history = handle.look(move |namespace| history::history(namespace, &of)).await?;
        let (asked, looked) = (handle.clone(), id.clone());
        let status = match in_background(move || asked.session_status(&looked)).await? {
            Err(EngineError::SessionEnded(_)) if request.ended => return ended(&handle, id, history).await,
            status => status?,
        };
        let present = present_offers(&status);
        Ok(proto::GetSessionResponse {
            session: Some(convert::session_record(&status.session, &status.view.policy)),
            block: Some(convert::block(&status.block, status.session.generation(), false)),
            present,
            pending: convert::pending(&status.view, &status.pending),
            tokens: Some(convert::tokens(&status.tokens)),
            distinct_blocks: status.session.n_blocks(),
            history,
            on_demand_budget: status.on_demand_budget,
            on_demand_left: status.on_demand_left,
        })
    }

    async fn list(&self, request: proto::ListSessionsRequest) -> Result<proto::ListSessionsResponse, Status> {
        let mut fields = Fields::default();
        let space = namespace(&request.namespace, &mut fields);
        let after = Place::read(&request.page_token);
        let is_token = after.is_some() || request.page_token.is_empty();
        fields.require(is_token, "page_token", "must be next_page_token of the page before");
        fields.finish()?;
        let size = super::registry::page_size(request.page_size);
        let handle = self.engine.namespace(&space)?;
        let page = handle
            .look(move |namespace| {
                let mut open: Vec<&Session> =
                    namespace.sessions().filter(|session| session.ended().is_none()).collect();
                open.sort_by_cached_key(|session| Place::of(session));
                let total_size = open.len() as u32;
                let mut rest =
                    open.into_iter().filter(|session| after.as_ref().is_none_or(|after| Place::of(session) > *after));
                let page: Vec<&Session> = rest.by_ref().take(size).collect();
                let last = page.last().filter(|_| rest.next().is_some());
                proto::ListSessionsResponse {
                    next_page_token: last.map(|last| Place::of(last).to_string()).unwrap_or_default(),
                    sessions: page.iter().map(|one| convert::session_record(one, namespace.policy())).collect(),
                    total_size,
                }
            })
            .await?;
        Ok(page)
    }

    async fn close(&self, request: proto::CloseSessionRequest) -> Result<proto::CloseSessionResponse, Status> {
        let mut fields = Fields::default();
        let space = namespace(&request.namespace, &mut fields);
        let id = session_id(&request.session_id, &mut fields);
        let (handle, reported) = self.take_reports(&space, &id, &request.outcomes, &request.endings, None, fields)?;
        // The close stands behind the outcomes in the log, so once it is on disk they are.
        let durable = handle.close_session(id).await?.await.is_ok() && reported.all_taken;
        Ok(proto::CloseSessionResponse { acks: convert::acks(&reported.acks), durable })
    }

    async fn erase(&self, request: proto::EraseSessionRequest) -> Result<proto::EraseSessionResponse, Status> {
        let mut fields = Fields::default();
        let space = namespace(&request.namespace, &mut fields);
        let id = session_id(&request.session_id, &mut fields);
        fields.finish()?;
        let erased = self.engine.erase_session(&space, id, super::registry::ACTOR.into()).await?;
        Ok(proto::EraseSessionResponse {
            erased_as: erased.pseudonym.to_string(),
            queries: erased.n_queries,
            records: erased.n_records,
            rewritten: erased.is_rewritten,
        })
    }
}

/// Writes an ended session: what it was, and what happened in it. Its block and what was present are no longer held.
async fn ended(
    handle: &Handle,
    id: SessionId,
    history: Option<proto::SessionHistory>,
) -> Result<proto::GetSessionResponse, Status> {
    let of = id.clone();
    let known = handle
        .look(move |namespace| {
            let session = namespace.session(&of)?;
            Some((convert::session_record(session, namespace.policy()), session.n_blocks()))
        })
        .await?;
    // It may have been forgotten in between.
    let (record, distinct_blocks) = known.ok_or_else(|| Status::from(EngineError::UnknownSession(id)))?;
    Ok(proto::GetSessionResponse {
        session: Some(record),
        distinct_blocks,
        history,
        ..proto::GetSessionResponse::default()
    })
}

/// Writes what was issued and is taken to be present.
fn present_offers(status: &SessionStatus) -> Vec<proto::Offer> {
    let spec = status.session.spec();
    let form = Form::on_demand(spec);
    let mut present = Vec::new();
    for (tool, version) in &status.present {
        let Some(entry) = status.view.registry.get(tool) else { continue };
        let Some(shown) = entry.version_or_current(Some(*version)) else { continue };
        present.push(proto::Offer {
            name: shown.alias().to_string(),
            tool: Some(convert::tool_ref(tool, shown.admitted().version)),
            origin: proto::Origin::from(Origin::Issued).into(),
            tokens: shown.rendered(form).tokens,
            score: 0.0,
            reason: String::new(),
        });
    }
    present
}

/// A session's place in the list: the newest first, those of one moment by id. Written `opened:id`.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Place(Reverse<UnixMillis>, SessionId);

impl Place {
    fn of(session: &Session) -> Self {
        Self(Reverse(session.opened()), session.id().clone())
    }

    fn read(token: &str) -> Option<Self> {
        let (opened, id) = token.split_once(':')?;
        Some(Self(Reverse(UnixMillis(opened.parse().ok()?)), SessionId::from(id)))
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.0.0.0, self.1)
    }
}

fn fits_reply(block: &Block) -> bool {
    block.pieces.iter().map(|piece| piece.content.len()).sum::<usize>() <= BLOCK_BYTES
}

fn checked_call(spec: &SessionSpec, checked: &Checked) -> proto::CheckedCall {
    let form = Form::on_demand(spec);
    let issued = checked.carried.iter().map(|shown| proto::Offer {
        name: shown.alias().to_string(),
        tool: Some(convert::tool_ref(&shown.admitted().definition.id, shown.admitted().version)),
        origin: proto::Origin::CalledAbsent.into(),
        tokens: shown.rendered(form).tokens,
        score: 0.0,
        reason: "sent with the refusal of its call".into(),
    });
    let verdict = if checked.kind == CallKind::Tool {
        proto::Verdict::from(checked.verdict)
    } else {
        proto::Verdict::Unspecified
    };
    proto::CheckedCall {
        call_id: checked.call_id.to_string(),
        kind: proto::CallKind::from(checked.kind).into(),
        run: checked.run,
        verdict: verdict.into(),
        tool: checked.tool.as_ref().map(|(tool, version)| convert::tool_ref(tool, *version)),
        arguments: checked.arguments.clone().unwrap_or_default().into(),
        presence: checked.presence.map_or(proto::Presence::Unspecified, proto::Presence::from).into(),
        reason: checked.exclusion.map_or(proto::Reason::Unspecified, convert::reason).into(),
        violations: checked.violations.iter().map(convert::argument_violation).collect(),
        pieces: convert::pieces(&checked.pieces),
        issued: issued.collect(),
        nearest: convert::names(&checked.nearest),
        stale: checked
            .stale
            .map(|stale| proto::StaleVersion { current_version: stale.current.0, arguments_fit: stale.fits_current }),
    }
}

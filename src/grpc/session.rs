//! `SessionService`: what an agent runtime speaks.

use std::collections::BTreeSet;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use tokio_stream::Stream;
use tonic::{Request, Response, Status};
use uuid::Uuid;

use super::convert::{self, namespace, session_id, step_id};
use super::status::Fields;
use super::{Api, in_background, words};
use crate::core::block::{self, Exclusion};
use crate::core::checking::{CallKind, Checked, RawCall};
use crate::core::event::{
    Block, Delivery, Format, Judge, Judgement, Origin, OwnTool, PoolSpec, SessionSpec, StepEnd, Verdict,
};
use crate::core::ids::{Alias, CallId, Generation, Selector, SessionId, StepId, ToolId};
use crate::core::planning::StepAsk;
use crate::core::recall::Ask;
use crate::core::render::Form;
use crate::core::retrieval::Query;
use crate::core::view::View;
use crate::engine::Handle;
use crate::engine::journal::Durable;
use crate::engine::steps::{Outcome, Reports};
use crate::proto;
use crate::proto::session_service_server::SessionService;

/// A block larger than this is read as a stream.
const BLOCK_BYTES: usize = 1 << 20;

/// Most calls or outcomes in one request.
const BATCH: usize = 256;

/// Most names in a list of a request.
const NAMES: usize = 4_096;

type PieceStream = Pin<Box<dyn Stream<Item = Result<proto::ReadSessionResponse, Status>> + Send>>;

#[tonic::async_trait]
impl SessionService for Api {
    type ReadSessionStream = PieceStream;

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
        self.serve("/toolcrib.v1.SessionService/ReadSession", self.read(request.into_inner())).await
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
        let delivery = match request.delivery {
            // A model that the daemon does not know gets the delivery that works everywhere and keeps its cache.
            0 => Some(Delivery::Invoke),
            number => words::delivery(number),
        };
        fields.require(delivery.is_some(), "delivery", format!("must be one of {}", convert::words::<Delivery>()));
        let own_tools = own_tools(&request.own_tools, &mut fields);
        let pool = request.pool.unwrap_or_default();
        let allow = selectors(&pool.allow, "pool.allow", &mut fields);
        let deny = selectors(&pool.deny, "pool.deny", &mut fields);
        fields.require(pool.must_have.len() <= NAMES, "pool.must_have", format!("must be at most {NAMES} names"));
        fields.finish()?;

        let handle = self.engine.namespace(&space)?;
        let view = handle.view();
        let (must_have, mut excluded) = must_have(&view, &pool.must_have);
        let window = match request.context_window {
            0 => view.policy.session.default_window,
            window => window,
        };
        let parent = |text: &str| (!text.is_empty()).then(|| SessionId::from(text));
        let spec = Arc::new(SessionSpec {
            format: format.unwrap_or(Format::Mcp),
            delivery: delivery.unwrap_or(Delivery::Invoke),
            model: request.model,
            window,
            pool: PoolSpec { allow, deny, must_have },
            own_tools,
            on_demand_budget: request.on_demand_budget,
            ephemeral: request.ephemeral,
            parent: parent(&request.parent_session_id),
            fork_of: parent(&request.fork_of),
            played: request.played,
        });
        let opened = handle.open_session(id, spec.clone()).await?;
        let view = handle.view();
        for tool in &spec.pool.must_have {
            if let Some(why) = block::exclusion(&view.registry, &spec, tool) {
                excluded.push(convert::exclusion(&tool.to_string(), why));
            }
        }
        let durable = is_durable(opened.durable).await;
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
        })
    }

    async fn read(&self, request: proto::ReadSessionRequest) -> Result<PieceStream, Status> {
        let mut fields = Fields::default();
        let space = namespace(&request.namespace, &mut fields);
        let id = session_id(&request.session_id, &mut fields);
        fields.finish()?;
        let handle = self.engine.namespace(&space)?;
        let session = handle.with_session(&id, |front| Ok(front.session.clone()))?;
        let view = handle.view();
        let wanted: BTreeSet<Alias> = request.names.iter().map(|name| Alias::from(name.as_str())).collect();
        let is_wanted = |names: &[Alias]| wanted.is_empty() || names.iter().any(|name| wanted.contains(name));
        let mut answers = Vec::new();
        if let Some(block) = session.block().filter(|_| !request.issued_only) {
            for piece in block.pieces.iter().filter(|piece| is_wanted(&piece.names)) {
                answers.push(proto::ReadSessionResponse { piece: Some(convert::piece(piece)), step_id: String::new() });
            }
        }
        for step in session.steps() {
            for piece in view.pieces(session.spec(), &step.planned.issued) {
                if is_wanted(&piece.names) {
                    let step_id = step.planned.step.to_string();
                    answers.push(proto::ReadSessionResponse { piece: Some(convert::piece(&piece)), step_id });
                }
            }
        }
        Ok(Box::pin(tokio_stream::iter(answers.into_iter().map(Ok))))
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
        let query = request.query.as_ref();
        let ask = StepAsk {
            key: &request.key,
            query: Query {
                user: query.map_or("", |query| &query.user),
                model: query.map_or("", |query| &query.model),
                goal: query.map_or("", |query| &query.goal),
            },
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
        let spec = handle.with_session(&id, |front| Ok(front.session.spec().clone()))?;
        Ok(proto::PlanStepResponse {
            step_id: step.planned.step.to_string(),
            result: proto::PlanResult::from(step.planned.result).into(),
            pieces: convert::pieces(&step.pieces),
            issued: convert::offers(&step.view, &spec, &step.planned.issued),
            listing: Some(convert::listing(&step.listing)),
            tokens: Some(convert::tokens(&step.planned.tokens)),
            block_digest: step.block.digest.to_string(),
            pending: step.pending,
            degraded: String::new(),
            acks: convert::acks(&step.acks),
            breaks_cache: step.breaks_cache,
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
        let spec = handle.with_session(&id, |front| Ok(front.session.spec().clone()))?;
        let answer = &recalled.answer;
        Ok(proto::RequestToolResponse {
            result: proto::RequestResult::from(answer.result).into(),
            reason: answer.exclusion.map_or(proto::Reason::Unspecified, convert::reason).into(),
            pieces: convert::pieces(&recalled.pieces),
            issued: convert::offers(&recalled.view, &spec, &answer.issued),
            listing: Some(convert::listing(&answer.listing)),
            nearest: convert::names(&answer.nearest),
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
        let spec = handle.with_session(&id, |front| Ok(front.session.spec().clone()))?;
        let calls = checked.iter().map(|checked| checked_call(&spec, checked)).collect();
        Ok(proto::ValidateCallsResponse { calls })
    }

    async fn report(&self, request: proto::ReportOutcomesRequest) -> Result<proto::ReportOutcomesResponse, Status> {
        let mut fields = Fields::default();
        let space = namespace(&request.namespace, &mut fields);
        let id = session_id(&request.session_id, &mut fields);
        let handle =
            self.take_reports(&space, &id, &request.outcomes, &request.endings, request.usage.as_ref(), fields)?;
        let (handle, acks) = handle;
        let durable = if request.durable { handle.flush().await? } else { false };
        Ok(proto::ReportOutcomesResponse { acks, durable })
    }

    fn take_reports(
        &self,
        space: &crate::core::ids::NamespaceId,
        id: &SessionId,
        outcomes: &[proto::Outcome],
        endings: &[proto::StepEnding],
        usage: Option<&proto::Usage>,
        mut fields: Fields,
    ) -> Result<(Arc<Handle>, Vec<proto::OutcomeAck>), Status> {
        let reports = reports(outcomes, endings, usage, &mut fields);
        fields.finish()?;
        let handle = self.engine.namespace(space)?;
        let acks = handle.report(id, &reports);
        let metrics = self.metrics.namespace(space);
        for ack in &acks {
            metrics.outcome(ack.result);
        }
        Ok((handle, convert::acks(&acks)))
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
        let durable = is_durable(opened.durable).await;
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
        let status = in_background(move || handle.session_status(&id)).await??;
        let spec = status.session.spec();
        let form = Form::on_demand(spec.format, spec.delivery);
        let mut present = Vec::new();
        for (tool, version) in &status.present {
            let Some(entry) = status.view.registry.get(tool) else { continue };
            let shown = entry.version_or_current(Some(*version));
            present.push(proto::Offer {
                name: shown.alias().to_string(),
                tool: Some(convert::tool_ref(tool, *version)),
                origin: proto::Origin::from(Origin::Issued).into(),
                tokens: shown.rendered(form).tokens,
                score: 0.0,
                reason: String::new(),
            });
        }
        Ok(proto::GetSessionResponse {
            session: Some(convert::session_record(&status.session, &status.view.policy)),
            block: Some(convert::block(&status.block, status.session.generation(), false)),
            present,
            pending: convert::pending(&status.view, &status.pending),
            tokens: Some(convert::tokens(&status.tokens)),
            distinct_blocks: status.session.n_blocks(),
        })
    }

    async fn list(&self, request: proto::ListSessionsRequest) -> Result<proto::ListSessionsResponse, Status> {
        let mut fields = Fields::default();
        let space = namespace(&request.namespace, &mut fields);
        fields.finish()?;
        let size = super::registry::page_size(request.page_size);
        let handle = self.engine.namespace(&space)?;
        let page = handle
            .look(move |namespace| {
                let open = || namespace.sessions().filter(|session| session.ended().is_none());
                let mut page: Vec<proto::SessionRecord> = open()
                    .filter(|session| session.id().as_str() > request.page_token.as_str())
                    .take(size + 1)
                    .map(|session| convert::session_record(session, namespace.policy()))
                    .collect();
                let has_more = page.len() > size;
                page.truncate(size);
                let next = page.last().filter(|_| has_more).map(|last| last.session_id.clone());
                proto::ListSessionsResponse {
                    sessions: page,
                    next_page_token: next.unwrap_or_default(),
                    total_size: open().count() as u32,
                }
            })
            .await?;
        Ok(page)
    }

    async fn close(&self, request: proto::CloseSessionRequest) -> Result<proto::CloseSessionResponse, Status> {
        let mut fields = Fields::default();
        let space = namespace(&request.namespace, &mut fields);
        let id = session_id(&request.session_id, &mut fields);
        let (handle, acks) = self.take_reports(&space, &id, &request.outcomes, &request.endings, None, fields)?;
        let durable = is_durable(handle.close_session(id).await?).await;
        Ok(proto::CloseSessionResponse { acks, durable })
    }
}

/// Waits for the disk; what was on it before is durable too.
async fn is_durable(durable: Option<Durable>) -> bool {
    match durable {
        Some(durable) => durable.await.is_ok(),
        None => true,
    }
}

fn fits_reply(block: &Block) -> bool {
    block.pieces.iter().map(|piece| piece.content.len()).sum::<usize>() <= BLOCK_BYTES
}

fn own_tools(list: &[proto::OwnTool], fields: &mut Fields) -> Vec<OwnTool> {
    fields.require(list.len() <= NAMES, "own_tools", format!("must be at most {NAMES}"));
    let mut own = Vec::new();
    for (i, tool) in list.iter().enumerate() {
        let field = format!("own_tools[{i}].name");
        convert::id(&tool.name, &field, fields);
        fields.require(!block::is_meta(&tool.name), &field, "must not be request_tool or call_tool");
        own.push(OwnTool { name: Alias::from(tool.name.as_str()), tokens: tool.tokens });
    }
    own
}

fn selectors(list: &[String], field: &str, fields: &mut Fields) -> BTreeSet<Selector> {
    fields.require(list.len() <= NAMES, field, format!("must be at most {NAMES}"));
    let mut selectors = BTreeSet::new();
    for (i, text) in list.iter().enumerate() {
        match text.parse() {
            Ok(selector) => {
                selectors.insert(selector);
            }
            Err(_) => fields.refuse(format!("{field}[{i}]"), "must be source/name or source/*"),
        }
    }
    selectors
}

/// Finds must-haves by `source/name` or by the name that models see; those that are not there are named.
fn must_have(view: &View, list: &[String]) -> (BTreeSet<ToolId>, Vec<proto::Exclusion>) {
    let mut found = BTreeSet::new();
    let mut excluded = Vec::new();
    for name in list {
        let by_id = name.parse::<ToolId>().ok().filter(|tool| view.registry.get(tool).is_some());
        match by_id.or_else(|| view.registry.by_alias(&Alias::from(name.as_str())).cloned()) {
            Some(tool) => {
                found.insert(tool);
            }
            None => excluded.push(convert::exclusion(name, Exclusion::Unknown)),
        }
    }
    (found, excluded)
}

fn check_present(present: Option<&proto::Present>, fields: &mut Fields) {
    let fits = present.is_none_or(|present| present.names.len() <= NAMES);
    fields.require(fits, "present.names", format!("must be at most {NAMES}"));
}

fn present(view: &View, present: Option<&proto::Present>) -> Option<BTreeSet<ToolId>> {
    present.map(|present| view.tools_named(&present.names))
}

fn reports<'a>(
    outcomes: &'a [proto::Outcome],
    endings: &[proto::StepEnding],
    usage: Option<&proto::Usage>,
    fields: &mut Fields,
) -> Reports<'a> {
    fields.require(outcomes.len() <= BATCH, "outcomes", format!("must be at most {BATCH}"));
    fields.require(endings.len() <= BATCH, "endings", format!("must be at most {BATCH}"));
    let outcomes = outcomes.iter().enumerate().map(|(i, outcome)| read_outcome(i, outcome, fields)).collect();
    let mut ends: Vec<(StepId, StepEnd)> = Vec::new();
    for (i, ending) in endings.iter().enumerate() {
        let field = format!("endings[{i}].step_id");
        match step_id(&ending.step_id, &field, fields) {
            Some(step) => ends.push((step, words::step_end(ending.reason).unwrap_or(StepEnd::Unknown))),
            None => fields.require(!ending.step_id.is_empty(), &field, "must be a step_id as PlanStep returned it"),
        }
    }
    let usage = usage.map(|usage| (usage.input_tokens, usage.cached_tokens, usage.miss_reason.clone()));
    Reports { outcomes, endings: ends, usage }
}

fn read_outcome<'a>(i: usize, outcome: &'a proto::Outcome, fields: &mut Fields) -> Outcome<'a> {
    let field = |name: &str| format!("outcomes[{i}].{name}");
    let call_id = convert::id(&outcome.call_id, &field("call_id"), fields);
    let step = step_id(&outcome.step_id, &field("step_id"), fields);
    let ending = words::ending(outcome.ending);
    fields.require(ending.is_some(), &field("ending"), "must be an Ending of this version");
    let verdict = words::verdict(outcome.verdict);
    let judge = words::judge(outcome.judge);
    let is_judged = outcome.verdict != 0;
    fields.require(!is_judged || verdict.is_some(), &field("verdict"), "must be a Verdict of this version");
    let by_somebody = matches!(judge, Some(Judge::Label | Judge::Person | Judge::Model));
    fields.require(
        !is_judged || by_somebody,
        &field("judge"),
        "must be label, person or model where there is a verdict",
    );
    let duration = outcome.duration.as_ref().and_then(|d| Duration::try_from(*d).ok()).unwrap_or_default();
    let judged = |verdict: Verdict| Judgement { verdict, judge: judge.unwrap_or(Judge::Label) };
    Outcome {
        call_id: CallId::from(call_id),
        step,
        name: &outcome.name,
        ending: ending.unwrap_or(crate::core::event::Ending::Unspecified),
        message: &outcome.message,
        duration,
        retry_of: (!outcome.retry_of.is_empty()).then(|| CallId::from(outcome.retry_of.as_str())),
        arguments: &outcome.arguments,
        judgement: verdict.map(judged),
    }
}

fn checked_call(spec: &SessionSpec, checked: &Checked) -> proto::CheckedCall {
    let form = Form::on_demand(spec.format, spec.delivery);
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
    }
}

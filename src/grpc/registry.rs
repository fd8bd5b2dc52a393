//! `RegistryService`: tools and their lives.

use std::collections::BTreeSet;
use std::time::Duration;

use bytes::Bytes;
use tokio::sync::OwnedSemaphorePermit;
use tonic::{Request, Response, Status, Streaming};

use super::convert::{self, namespace};
use super::definitions::{check_all, definition_message, read_catalog};
use super::status::{self, Fields};
use super::{Api, in_background, words};
use crate::core::admission::change::{ChangeClass, Difference};
use crate::core::admission::neighbours::Neighbour;
use crate::core::admission::{self};
use crate::core::definition::DerivedField;
use crate::core::event::{AdmissionResult, Event, MoveCause, ToolAction, ToolChanged};
use crate::core::ids::{NamespaceId, Seq, ToolId, Version};
use crate::core::namespace::Namespace;
use crate::core::namespace::commands::{Admission, Batch, Registered, Registration};
use crate::core::policy::Policy;
use crate::core::registry::Tool;
use crate::core::render::Form;
use crate::engine::Handle;
use crate::import::Shape;
use crate::proto;
use crate::proto::registry_service_server::RegistryService;
use crate::telemetry::metrics::Shed;

/// Who is written down as the actor of a change until callers have names.
pub const ACTOR: &str = "operator";

/// Tools that an import names: refused, flagged, or changed so that calls may fit no longer.
const ADMISSIONS_NAMED: usize = 1_000;

/// Differences from the version before that an answer names.
const DIFFERENCES: usize = 100;

/// Most tools in one registration.
const TOOLS: usize = 1_000;

/// Longest reason that is kept, in characters.
const REASON_CHARS: usize = 1_000;

/// Returns the size of a page that was asked for: 100 where none was, 1,000 at most.
pub fn page_size(asked: u32) -> usize {
    if asked == 0 { 100 } else { asked.min(1_000) as usize }
}

#[tonic::async_trait]
impl RegistryService for Api {
    async fn register_tools(
        &self,
        request: Request<proto::RegisterToolsRequest>,
    ) -> Result<Response<proto::RegisterToolsResponse>, Status> {
        self.serve("/toolcrib.v1.RegistryService/RegisterTools", self.register(request.into_inner())).await
    }

    async fn import_tools(
        &self,
        request: Request<Streaming<proto::ImportToolsRequest>>,
    ) -> Result<Response<proto::ImportToolsResponse>, Status> {
        let most = Duration::from_secs(self.limits.stream_secs);
        self.serve_within("/toolcrib.v1.RegistryService/ImportTools", most, self.import(request.into_inner())).await
    }

    async fn list_tools(
        &self,
        request: Request<proto::ListToolsRequest>,
    ) -> Result<Response<proto::ListToolsResponse>, Status> {
        self.serve("/toolcrib.v1.RegistryService/ListTools", self.list_page(request.into_inner())).await
    }

    async fn get_tool(
        &self,
        request: Request<proto::GetToolRequest>,
    ) -> Result<Response<proto::GetToolResponse>, Status> {
        self.serve("/toolcrib.v1.RegistryService/GetTool", self.show(request.into_inner())).await
    }

    async fn change_tool(
        &self,
        request: Request<proto::ChangeToolRequest>,
    ) -> Result<Response<proto::ChangeToolResponse>, Status> {
        self.serve("/toolcrib.v1.RegistryService/ChangeTool", self.change(request.into_inner())).await
    }

    async fn list_transitions(
        &self,
        request: Request<proto::ListTransitionsRequest>,
    ) -> Result<Response<proto::ListTransitionsResponse>, Status> {
        self.serve("/toolcrib.v1.RegistryService/ListTransitions", self.history(request.into_inner())).await
    }
}

impl Api {
    async fn register(&self, request: proto::RegisterToolsRequest) -> Result<proto::RegisterToolsResponse, Status> {
        let mut fields = Fields::default();
        let space = namespace(&request.namespace, &mut fields);
        let n_tools = request.tools.len();
        fields.require((1..=TOOLS).contains(&n_tools), "tools", format!("must be 1-{TOOLS} tools"));
        let request_id = convert::request_id(&request.request_id, &mut fields);
        fields.finish()?;
        // A dry run makes no namespace; where there is none, the default policy stands for its own.
        let known = self.engine.namespace(&space).ok();
        let policy =
            known.as_ref().map_or_else(|| Policy::default().admission, |handle| handle.view().policy.admission.clone());
        let tools = request.tools;
        let checked = in_background(move || check_all(tools, &policy)).await?;

        let all_or_none = request.atomic || n_tools == 1;
        let batch = if all_or_none { Batch::Atomic } else { Batch::PerItem };
        let mut refused = checked.iter().map(|(_, checked)| !checked.is_admitted());
        let is_hopeless = if all_or_none { refused.any(|is| is) } else { refused.all(|is| is) };
        let registration = Registration {
            request_id,
            actor: ACTOR.into(),
            checked,
            batch,
            complete_sources: BTreeSet::new(),
            unreadable: BTreeSet::new(),
        };
        // What is refused anyway must not leave an empty namespace behind.
        let is_taken = !request.dry_run && (known.is_some() || !is_hopeless);
        let registered = if is_taken {
            self.engine.namespace_or_new(&space).await?.register(registration).await?
        } else {
            let decide = move |namespace: &Namespace| namespace.decide_register(&registration);
            match known {
                Some(handle) => handle.look(decide).await?.map_err(Status::from)?,
                None => decide(&Namespace::new(space.clone())).map_err(Status::from)?,
            }
        };
        let admissions = registered.admissions;
        if !request.dry_run {
            self.count(&space, &admissions);
        }
        if all_or_none && !request.dry_run {
            refuse_if_any(&admissions)?;
        }
        let admissions = admissions.iter().map(admission_message).collect();
        Ok(proto::RegisterToolsResponse { admissions, durable: !request.dry_run })
    }

    /// Counts admissions; a name that is no namespace gets no series.
    fn count(&self, space: &NamespaceId, admissions: &[Admission]) {
        let metrics = self.engine.namespace(space).ok().map(|_| self.metrics.namespace(space));
        for admission in admissions {
            if let Some(metrics) = &metrics {
                metrics.admitted(admission.result, 1);
            }
            self.metrics.found(&admission.violations);
            self.metrics.found(&admission.warnings);
        }
    }

    async fn import(
        &self,
        mut parts: Streaming<proto::ImportToolsRequest>,
    ) -> Result<proto::ImportToolsResponse, Status> {
        use proto::import_tools_request::Part;
        let first = parts.message().await?.and_then(|message| message.part);
        let mut fields = Fields::default();
        let Some(Part::Target(target)) = first else {
            fields.refuse("target", "must be the first message, before any chunk");
            fields.finish()?;
            return Ok(proto::ImportToolsResponse::default());
        };
        let space = namespace(&target.namespace, &mut fields);
        let shape = match proto::CatalogShape::try_from(target.shape) {
            Ok(proto::CatalogShape::Unspecified) => Shape::Detect,
            Ok(proto::CatalogShape::Mcp) => Shape::Mcp,
            Ok(proto::CatalogShape::Jsonl) => Shape::Jsonl,
            Err(_) => {
                fields.refuse("target.shape", "must be mcp, jsonl, or left out to find out");
                Shape::Detect
            }
        };
        let is_source = target.source.is_empty() || admission::fits_source(&target.source);
        fields.require(is_source, "target.source", "must be 1-64 characters of A-Za-z0-9_.-");
        let request_id = convert::request_id(&target.request_id, &mut fields);
        fields.finish()?;
        let mut bytes = Vec::new();
        let mut held = Vec::new();
        while let Some(message) = parts.message().await? {
            let Some(Part::Chunk(chunk)) = message.part else {
                let mut fields = Fields::default();
                fields.refuse("target", "must be sent once, before the chunks");
                fields.finish()?;
                continue;
            };
            if bytes.len() + chunk.len() > self.limits.import_bytes {
                let mut fields = Fields::default();
                let most = self.limits.import_bytes;
                fields.refuse(
                    "chunk",
                    format!("the file is larger than {most} bytes; split it, or raise limits.import_bytes"),
                );
                fields.finish_as(proto::ErrorReason::TooLarge)?;
            }
            held.push(self.room_for(chunk.len())?);
            bytes.extend_from_slice(&chunk);
        }
        let handle = self.engine.namespace_or_new(&space).await?;
        let policy = handle.view().policy.admission.clone();
        let file_name = target.file_name.clone();
        let source = (!target.source.is_empty()).then(|| target.source.clone());
        let read = in_background(move || {
            let _held = held;
            read_catalog(&bytes, shape, &file_name, source.as_deref(), &policy)
        })
        .await??;
        let registration = Registration {
            request_id,
            actor: ACTOR.into(),
            checked: read.checked,
            batch: Batch::PerItem,
            complete_sources: read.sources,
            unreadable: read.listed,
        };
        let Registered { mut admissions, n_withdrawn, .. } = handle.register(registration).await?;
        admissions.extend(read.unreadable);
        admissions.extend(read.repeated);
        admissions.sort_by_key(|admission| admission.index);
        self.count(&space, &admissions);
        Ok(import_answer(&admissions, n_withdrawn))
    }

    /// Takes a part of the memory that all imports share.
    fn room_for(&self, n_bytes: usize) -> Result<OwnedSemaphorePermit, Status> {
        let n_bytes = u32::try_from(n_bytes).unwrap_or(u32::MAX);
        self.import_bytes.clone().try_acquire_many_owned(n_bytes).map_err(|_| {
            self.metrics.shed(Shed::Requests);
            status::overloaded("other imports take the memory that imports may take; try again")
        })
    }

    async fn list_page(&self, request: proto::ListToolsRequest) -> Result<proto::ListToolsResponse, Status> {
        let mut fields = Fields::default();
        let space = namespace(&request.namespace, &mut fields);
        let mut states = BTreeSet::new();
        for (i, state) in request.states.iter().enumerate() {
            match words::tool_state(*state) {
                Some(state) => {
                    states.insert(state);
                }
                None => fields.refuse(format!("states[{i}]"), "must be a ToolState"),
            }
        }
        let after: Option<ToolId> = request.page_token.parse().ok();
        let is_token = after.is_some() || request.page_token.is_empty();
        fields.require(is_token, "page_token", "must be next_page_token of the page before");
        fields.finish()?;
        let handle = self.engine.namespace(&space)?;
        let view = handle.view();
        let wanted = request.contains.to_lowercase();
        let matches = |id: &ToolId, tool: &Tool| {
            let summary = &tool.current().admitted().definition.summary;
            (states.is_empty() || states.contains(&tool.state()))
                && (wanted.is_empty()
                    || id.to_string().to_lowercase().contains(&wanted)
                    || tool.current().alias().as_str().to_lowercase().contains(&wanted)
                    || summary.to_lowercase().contains(&wanted))
        };
        let found: Vec<&ToolId> =
            view.registry.iter().filter(|(id, tool)| matches(id, tool)).map(|(id, _)| id).collect();
        let total_size = found.len() as u32;
        let size = page_size(request.page_size);
        let mut rest = found.into_iter().filter(|id| after.as_ref().is_none_or(|after| *id > after)).cloned();
        let page: Vec<ToolId> = rest.by_ref().take(size).collect();
        let next_page_token = page.last().filter(|_| rest.next().is_some()).map(ToolId::to_string).unwrap_or_default();
        let tools = handle.look(move |namespace| page.iter().filter_map(|id| record(namespace, id)).collect()).await?;
        Ok(proto::ListToolsResponse { tools, next_page_token, total_size })
    }

    async fn show(&self, request: proto::GetToolRequest) -> Result<proto::GetToolResponse, Status> {
        let mut fields = Fields::default();
        let space = namespace(&request.namespace, &mut fields);
        let wanted = request.tool.unwrap_or_default();
        let id = tool_id(&wanted, &mut fields);
        fields.finish()?;
        let handle = self.engine.namespace(&space)?;
        let view = handle.view();
        let unknown = || status::unknown_tool(&id, &view.index.nearest_names(&id.name));
        let entry = view.registry.get(&id).ok_or_else(unknown)?;
        let shown = match wanted.version {
            0 => entry.current(),
            version => entry.version(Version(version)).ok_or_else(unknown)?,
        };
        let definition = &shown.admitted().definition;
        let tool = id.clone();
        let near = handle.look(move |namespace| namespace.neighbours_of(&tool)).await?;
        let answer = proto::GetToolResponse {
            record: record_of(&handle, &id).await?,
            definition: Some(definition_message(definition)),
            slim_schema: Bytes::from(definition.input_schema.as_str().to_owned()),
            confusable: near.iter().map(confusable_message).collect(),
        };
        Ok(answer)
    }

    async fn change(&self, request: proto::ChangeToolRequest) -> Result<proto::ChangeToolResponse, Status> {
        let mut fields = Fields::default();
        let space = namespace(&request.namespace, &mut fields);
        let id = tool_id(&request.tool.unwrap_or_default(), &mut fields);
        let action = words::tool_action(request.action);
        fields.require(action.is_some(), "action", format!("must be one of {}", convert::words::<ToolAction>()));
        let request_id = convert::request_id(&request.request_id, &mut fields);
        fields.finish()?;
        let handle = self.engine.namespace(&space)?;
        let change = ToolChanged {
            request_id,
            actor: ACTOR.into(),
            tool: id.clone(),
            action: action.unwrap_or(ToolAction::Unpin),
            reason: request.reason.chars().filter(|c| !c.is_control()).take(REASON_CHARS).collect(),
        };
        handle.change_tool(change).await?;
        Ok(proto::ChangeToolResponse { record: record_of(&handle, &id).await?, durable: true })
    }

    async fn history(&self, request: proto::ListTransitionsRequest) -> Result<proto::ListTransitionsResponse, Status> {
        let mut fields = Fields::default();
        let space = namespace(&request.namespace, &mut fields);
        let tool = request.tool.map(|tool| tool_id(&tool, &mut fields));
        let before = request.page_token.parse().ok().map(Seq);
        let is_token = before.is_some() || request.page_token.is_empty();
        fields.require(is_token, "page_token", "must be next_page_token of the page before");
        fields.finish()?;
        let handle = self.engine.namespace(&space)?;
        // What was just done must show: the log is read from the disk.
        handle.flush().await?;
        let size = page_size(request.page_size);
        let engine = self.engine.clone();
        let moves = in_background(move || engine.read_moves(&space, tool.as_ref(), before, size + 1)).await??;
        let has_more = moves.len() > size;
        let transitions: Vec<proto::Transition> = moves.iter().take(size).filter_map(transition).collect();
        let last = transitions.last().filter(|_| has_more).map(|last| last.sequence.to_string());
        Ok(proto::ListTransitionsResponse { transitions, next_page_token: last.unwrap_or_default() })
    }
}

fn admission_message(admission: &Admission) -> proto::Admission {
    let change = admission.change.as_ref();
    let differences = change.map_or(&[][..], |change| &change.differences);
    proto::Admission {
        index: admission.index,
        tool: Some(convert::tool_ref(&admission.tool, admission.version)),
        result: proto::AdmissionResult::from(admission.result).into(),
        violations: admission.violations.iter().map(convert::violation).collect(),
        warnings: admission.warnings.iter().map(convert::violation).collect(),
        measured_tokens: admission.measured_tokens,
        change: change.map_or(proto::ChangeClass::Unspecified, |change| change.class.into()).into(),
        differences: differences.iter().take(DIFFERENCES).map(difference_message).collect(),
        confusable: admission.confusable.iter().map(confusable_message).collect(),
    }
}

fn confusable_message(near: &Neighbour) -> proto::ConfusableTool {
    proto::ConfusableTool {
        tool: Some(convert::tool_ref(&near.tool, Version::default())),
        by: proto::NearBy::from(near.closeness.by).into(),
    }
}

fn difference_message(difference: &Difference) -> proto::Difference {
    proto::Difference {
        field: difference.field.clone(),
        reach: proto::ChangeClass::from(difference.class).into(),
        description: difference.description.clone(),
    }
}

/// Refuses a request of which one tool is refused, naming every field of every tool.
fn refuse_if_any(admissions: &[Admission]) -> Result<(), Status> {
    let mut fields = Fields::default();
    for admission in admissions {
        for violation in &admission.violations {
            let field = format!("tools[{}].{}", admission.index, violation.field);
            fields.refuse(field, format!("{}; {}", violation.description, violation.accepted));
        }
    }
    fields.finish_as(proto::ErrorReason::AdmissionRefused)
}

fn import_answer(admissions: &[Admission], withdrawn: u32) -> proto::ImportToolsResponse {
    let count = |result| admissions.iter().filter(|admission| admission.result == result).count() as u64;
    let counts = proto::AdmissionCounts {
        admitted: count(AdmissionResult::Admitted),
        unchanged: count(AdmissionResult::Unchanged),
        flagged: count(AdmissionResult::Flagged),
        refused: count(AdmissionResult::Refused),
    };
    let breaks = |a: &Admission| a.change.as_ref().is_some_and(|change| change.class == ChangeClass::Breaking);
    let is_named =
        |a: &&Admission| matches!(a.result, AdmissionResult::Refused | AdmissionResult::Flagged) || breaks(a);
    // The refused first: they are what somebody must act on.
    let mut named: Vec<&Admission> = admissions.iter().filter(is_named).collect();
    named.sort_by_key(|admission| (admission.result != AdmissionResult::Refused, admission.index));
    let admissions = named.into_iter().take(ADMISSIONS_NAMED).map(admission_message).collect();
    proto::ImportToolsResponse { counts: Some(counts), admissions, withdrawn, durable: true }
}

fn tool_id(tool: &proto::ToolRef, fields: &mut Fields) -> ToolId {
    fields.require(admission::fits_source(&tool.source), "tool.source", "must be the source of a tool");
    fields.require(admission::fits_name(&tool.name), "tool.name", "must be the name of a tool at its source");
    ToolId::new(tool.source.as_str(), tool.name.as_str())
}

async fn record_of(handle: &Handle, id: &ToolId) -> Result<Option<proto::ToolRecord>, Status> {
    let id = id.clone();
    Ok(handle.look(move |namespace| record(namespace, &id)).await?)
}

fn record(namespace: &Namespace, id: &ToolId) -> Option<proto::ToolRecord> {
    let entry = namespace.registry().get(id)?;
    let shown = entry.current();
    let admitted = shown.admitted();
    let usage = namespace.pool().usage(id);
    let last_move = namespace.health(id).and_then(|health| health.last_move());
    let (cause, reason) = last_move.unwrap_or((MoveCause::Admitted, ""));
    Some(proto::ToolRecord {
        tool: Some(convert::tool_ref(id, admitted.version)),
        alias: shown.alias().to_string(),
        state: proto::ToolState::from(entry.state()).into(),
        cause: proto::MoveCause::from(cause).into(),
        state_reason: reason.into(),
        group: admitted.definition.group().into(),
        summary: admitted.definition.summary.clone(),
        full_tokens: admitted.measured_tokens,
        slim_tokens: shown.rendered(Form::Mcp).tokens,
        derived: admitted.definition.derived.iter().map(|field: &DerivedField| field.as_str().into()).collect(),
        hash: admitted.hash.to_string(),
        calls: usage.map_or(0, |usage| usage.calls),
        heat: namespace.heat_key(id) as f64 / (1u64 << 30) as f64,
        resident: namespace.pool().members().contains(id),
        pinned: entry.is_pinned(),
    })
}

fn transition(record: &crate::core::event::Record) -> Option<proto::Transition> {
    let Event::ToolMoved(moved) = &record.event else { return None };
    let diagnosis = moved.diagnosis.as_ref().and_then(|diagnosis| serde_json::to_vec(diagnosis).ok());
    Some(proto::Transition {
        sequence: record.seq.0,
        time: Some(convert::timestamp(record.at)),
        tool: Some(convert::tool_ref(&moved.tool, Version(0))),
        old_state: moved.old.map_or(proto::ToolState::Unspecified, proto::ToolState::from).into(),
        new_state: proto::ToolState::from(moved.new).into(),
        cause: proto::MoveCause::from(moved.cause).into(),
        actor: moved.actor.clone(),
        reason: moved.reason.clone(),
        until_time: moved.until.map(convert::timestamp),
        diagnosis: diagnosis.unwrap_or_default().into(),
    })
}

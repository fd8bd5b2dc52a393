//! `RegistryService`: tools and their lives.

use std::collections::BTreeSet;
use std::time::Duration;

use bytes::Bytes;
use tonic::{Request, Response, Status, Streaming};

use super::convert::{self, namespace};
use super::definitions::{check_all, definition_message};
use super::status::{self, Fields};
use super::{Api, in_background, records, words};
use crate::core::admission::neighbours::Neighbour;
use crate::core::admission::{self};
use crate::core::event::{ToolAction, ToolChanged};
use crate::core::ids::{Digest, NamespaceId, Seq, ToolId, Version};
use crate::core::namespace::Namespace;
use crate::core::namespace::commands::{Admission, Batch, Registration};
use crate::core::policy::Policy;
use crate::core::registry::Tool;
use crate::proto;
use crate::proto::registry_service_server::RegistryService;

/// Who is written down as the actor of a change until callers have names.
pub const ACTOR: &str = "operator";

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

    async fn diff_tool(
        &self,
        request: Request<proto::DiffToolRequest>,
    ) -> Result<Response<proto::DiffToolResponse>, Status> {
        self.serve("/toolcrib.v1.RegistryService/DiffTool", self.diff(request.into_inner())).await
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
    pub(super) fn count(&self, space: &NamespaceId, admissions: &[Admission]) {
        let metrics = self.engine.namespace(space).ok().map(|_| self.metrics.namespace(space));
        for admission in admissions {
            if let Some(metrics) = &metrics {
                metrics.admitted(admission.result, 1);
            }
            self.metrics.found(&admission.violations);
            self.metrics.found(&admission.warnings);
        }
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
            let summary = tool.for_operators().map_or("", |shown| &shown.admitted().definition.summary);
            (states.is_empty() || states.contains(&tool.state()))
                && (!request.flagged || tool.is_flagged())
                && (!request.waiting || tool.waiting().is_some())
                && (wanted.is_empty()
                    || id.to_string().to_lowercase().contains(&wanted)
                    || tool.alias().as_str().to_lowercase().contains(&wanted)
                    || summary.to_lowercase().contains(&wanted))
        };
        let found: Vec<&ToolId> =
            view.registry.iter().filter(|(id, tool)| matches(id, tool)).map(|(id, _)| id).collect();
        let total_size = found.len() as u32;
        let size = page_size(request.page_size);
        let mut rest = found.into_iter().filter(|id| after.as_ref().is_none_or(|after| *id > after)).cloned();
        let page: Vec<ToolId> = rest.by_ref().take(size).collect();
        let next_page_token = page.last().filter(|_| rest.next().is_some()).map(ToolId::to_string).unwrap_or_default();
        let tools =
            handle.look(move |namespace| page.iter().filter_map(|id| records::record(namespace, id)).collect()).await?;
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
            0 => entry.for_operators(),
            version => entry.version(Version(version)),
        };
        let shown = shown.ok_or_else(unknown)?;
        let definition = &shown.admitted().definition;
        let tool = id.clone();
        let near = handle.look(move |namespace| namespace.neighbours_of(&tool)).await?;
        let answer = proto::GetToolResponse {
            record: records::of(&handle, &id).await?,
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
        let hash = quoted_hash(&request.hash, action, &mut fields);
        fields.finish()?;
        let handle = self.engine.namespace(&space)?;
        let change = ToolChanged {
            request_id,
            actor: ACTOR.into(),
            tool: id.clone(),
            action: action.unwrap_or(ToolAction::Unpin),
            reason: request.reason.chars().filter(|c| !c.is_control()).take(REASON_CHARS).collect(),
            hash,
        };
        handle.change_tool(change).await?;
        Ok(proto::ChangeToolResponse { record: records::of(&handle, &id).await?, durable: true })
    }

    async fn diff(&self, request: proto::DiffToolRequest) -> Result<proto::DiffToolResponse, Status> {
        let mut fields = Fields::default();
        let space = namespace(&request.namespace, &mut fields);
        let id = tool_id(&request.tool.unwrap_or_default(), &mut fields);
        fields.finish()?;
        let handle = self.engine.namespace(&space)?;
        let view = handle.view();
        let unknown = || status::unknown_tool(&id, &view.index.nearest_names(&id.name));
        let entry = view.registry.get(&id).ok_or_else(unknown)?;
        let named = |version: u32| (version != 0).then_some(Version(version));
        let (from, to) = entry.to_compare(named(request.from_version), named(request.to_version));
        let older = match from {
            Some(version) => Some(entry.version(version).ok_or_else(unknown)?),
            None => None,
        };
        let newer = entry.version(to).ok_or_else(unknown)?;
        let record = records::of(&handle, &id).await?;
        Ok(records::diff(record, older, newer))
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
        let transitions: Vec<proto::Transition> = moves.iter().take(size).filter_map(convert::transition).collect();
        let last = transitions.last().filter(|_| has_more).map(|last| last.sequence.to_string());
        Ok(proto::ListTransitionsResponse { transitions, next_page_token: last.unwrap_or_default() })
    }
}

pub(super) fn admission_message(admission: &Admission) -> proto::Admission {
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
        differences: differences.iter().take(DIFFERENCES).map(records::difference).collect(),
        effect: proto::AdmissionEffect::from(admission.effect).into(),
        wait_cause: admission.waits.map_or(proto::WaitCause::Unspecified, proto::WaitCause::from).into(),
        hash: admission.waits.map(|_| admission.hash.to_string()).unwrap_or_default(),
        stops_waiting: admission.stops_waiting.unwrap_or_default().0,
        confusable: admission.confusable.iter().map(confusable_message).collect(),
    }
}

fn confusable_message(near: &Neighbour) -> proto::ConfusableTool {
    proto::ConfusableTool {
        tool: Some(convert::tool_ref(&near.tool, Version::default())),
        by: proto::NearBy::from(near.closeness.by).into(),
    }
}

/// Reads the hash that an operator quotes; an approval without one would be of something unseen.
fn quoted_hash(text: &str, action: Option<ToolAction>, fields: &mut Fields) -> Option<Digest> {
    let hash = text.parse().ok();
    let may_be_missing = text.is_empty() && action != Some(ToolAction::Approve);
    let wanted = "must be the 64 hex digits of the definition's hash; `toolcrib tool diff` shows it";
    fields.require(hash.is_some() || may_be_missing, "hash", wanted);
    hash
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

fn tool_id(tool: &proto::ToolRef, fields: &mut Fields) -> ToolId {
    fields.require(admission::fits_source(&tool.source), "tool.source", "must be the source of a tool");
    fields.require(admission::fits_name(&tool.name), "tool.name", "must be the name of a tool at its source");
    ToolId::new(tool.source.as_str(), tool.name.as_str())
}

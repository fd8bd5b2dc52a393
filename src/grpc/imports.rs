//! `ImportTools`: a catalog file, taken in as a stream of chunks.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use tokio::sync::OwnedSemaphorePermit;
use tonic::{Status, Streaming};

use super::convert::{self, namespace};
use super::definitions::{Read, read_catalog};
use super::registry::{ACTOR, admission_message};
use super::status::{self, Fields};
use super::{Api, in_background};
use crate::core::admission;
use crate::core::admission::change::ChangeClass;
use crate::core::event::AdmissionResult;
use crate::core::ids::{NamespaceId, ToolId, Version};
use crate::core::namespace::Namespace;
use crate::core::namespace::commands::{Admission, Batch, Refusal, Registered, Registration};
use crate::core::policy::Policy;
use crate::engine::Handle;
use crate::import::{ImportError, Shape};
use crate::proto;
use crate::proto::import_tools_request::Part;
use crate::telemetry::metrics::Shed;

/// Tools that an answer names in each of its lists.
const NAMED: usize = 1_000;

/// Sources that a log line names.
const LOGGED: usize = 20;

/// Where an import goes, as read.
struct Target {
    space: NamespaceId,
    source: Option<String>,
    shape: Shape,
    file_name: String,
    request_id: String,
    is_dry_run: bool,
    batch: Batch,
    gone: BTreeSet<Arc<str>>,
    policy: BTreeMap<String, String>,
}

impl Api {
    pub(super) async fn import(
        &self,
        mut parts: Streaming<proto::ImportToolsRequest>,
    ) -> Result<proto::ImportToolsResponse, Status> {
        let first = parts.message().await?.and_then(|message| message.part);
        let target = read_target(first_target(first)?)?;
        let (bytes, held) = self.gather(parts).await?;
        let known = self.engine.namespace(&target.space);
        if !target.gone.is_empty() {
            check_gone(known.as_ref().map_err(Clone::clone)?, &target.gone)?;
        }
        let known = known.ok();
        let policy = known.as_ref().map_or_else(Arc::default, |handle| handle.view().policy.clone());
        let policy = Arc::new(policy.with(&target.policy).map_err(Refusal::Policy)?);
        let mut read = Read::default();
        if !bytes.is_empty() || target.gone.is_empty() {
            let (shape, name, source) = (target.shape, target.file_name.clone(), target.source.clone());
            let policy = policy.clone();
            let reading = in_background(move || {
                let _held = held;
                read_catalog(&bytes, shape, &name, source.as_deref(), &policy.admission)
            });
            read = reading.await?.map_err(|error| self.no_catalog(&target, &error))?;
        }
        check_not_gone(&read, &target.gone)?;
        self.take_in(target, read, known, policy).await
    }

    async fn take_in(
        &self,
        target: Target,
        read: Read,
        known: Option<Arc<Handle>>,
        policy: Arc<Policy>,
    ) -> Result<proto::ImportToolsResponse, Status> {
        let Read { checked, unreadable, repeated, sources, listed, n_nameless, passed_over } = read;
        let mut refused = checked.iter().map(|(_, checked)| !checked.is_admitted());
        let is_atomic = target.batch == Batch::Atomic;
        let is_hopeless = if is_atomic {
            !unreadable.is_empty() || refused.any(|is| is)
        } else {
            target.gone.is_empty() && refused.all(|is| is)
        };
        // A tool that cannot be told by name may be any that seems to be missing.
        let mut complete_sources = if n_nameless == 0 { sources.clone() } else { BTreeSet::new() };
        complete_sources.extend(target.gone.iter().cloned());
        let registration = Registration {
            request_id: target.request_id,
            actor: ACTOR.into(),
            checked,
            batch: target.batch,
            complete_sources,
            unreadable: listed,
        };
        // What is refused anyway must not leave an empty namespace behind.
        let is_taken = !target.is_dry_run && !(is_hopeless && (is_atomic || known.is_none()));
        let registered = if is_taken {
            self.engine.namespace_or_new(&target.space).await?.register(registration).await?
        } else {
            let decide = move |namespace: &Namespace| namespace.decide_register_under(&policy.admission, &registration);
            match known {
                Some(handle) => handle.look(decide).await?.map_err(Status::from)?,
                None => decide(&Namespace::new(target.space.clone())).map_err(Status::from)?,
            }
        };
        let Registered { mut admissions, vanished, returned, .. } = registered;
        admissions.extend(unreadable);
        admissions.extend(repeated.iter().cloned());
        admissions.sort_by_key(|admission| admission.index);
        let turned_away = is_atomic && admissions.iter().any(is_refused);
        let mut answer = proto::ImportToolsResponse {
            counts: Some(counts(&admissions, repeated.len(), passed_over.len())),
            admissions: named(&admissions),
            durable: is_taken && !turned_away,
            passed_over: passed_over.iter().take(NAMED).map(passed_message).collect(),
            nameless: n_nameless,
            turned_away,
            ..proto::ImportToolsResponse::default()
        };
        if turned_away {
            admissions.retain(is_refused);
        } else {
            answer.withdrawn = vanished.len() as u32;
            answer.vanished = refs(&vanished);
            answer.returned_total = returned.len() as u32;
            answer.returned = refs(&returned);
            answer.empty_sources = empty_sources(&sources, &admissions);
        }
        if !target.is_dry_run {
            self.count(&target.space, &admissions);
            self.alarm(&target.space, &answer.empty_sources);
        }
        Ok(answer)
    }

    /// Gathers the chunks, with the memory that they take of what all imports share.
    async fn gather(
        &self,
        mut parts: Streaming<proto::ImportToolsRequest>,
    ) -> Result<(Vec<u8>, OwnedSemaphorePermit), Status> {
        // One permit however many chunks there are: they may be of a byte each.
        let (mut bytes, mut held) = (Vec::new(), self.room_for(0)?);
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
            held.merge(self.room_for(chunk.len())?);
            bytes.extend_from_slice(&chunk);
        }
        Ok((bytes, held))
    }

    /// Takes a part of the memory that all imports share.
    fn room_for(&self, n_bytes: usize) -> Result<OwnedSemaphorePermit, Status> {
        let n_bytes = u32::try_from(n_bytes).unwrap_or(u32::MAX);
        self.import_bytes.clone().try_acquire_many_owned(n_bytes).map_err(|_| {
            self.metrics.shed(Shed::Requests);
            status::overloaded("other imports take the memory that imports may take; try again")
        })
    }

    /// Refuses a file as a whole; an empty one is an alarm too.
    fn no_catalog(&self, target: &Target, error: &ImportError) -> Status {
        let is_empty = matches!(error, ImportError::Empty | ImportError::NoneToRegister(_));
        if is_empty && !target.is_dry_run {
            let named = target.source.clone().unwrap_or_else(|| target.file_name.clone());
            self.alarm(&target.space, &[named]);
        }
        let mut fields = Fields::default();
        fields.refuse("chunk", error.to_string());
        let reason = if is_empty { proto::ErrorReason::EmptyCatalog } else { proto::ErrorReason::InvalidField };
        fields.finish_as(reason).err().unwrap_or_else(|| Status::invalid_argument(error.to_string()))
    }

    /// Says that sources have no tool left: their servers may have started without their credentials.
    fn alarm(&self, space: &NamespaceId, sources: &[String]) {
        if sources.is_empty() {
            return;
        }
        let n_sources = sources.len();
        let named = sources.iter().take(LOGGED).map(String::as_str).collect::<Vec<_>>().join(", ");
        tracing::warn!(namespace = %space, n_sources, sources = named, "source without tools");
        self.metrics.empty_sources(n_sources);
    }
}

fn first_target(first: Option<Part>) -> Result<proto::ImportTarget, Status> {
    if let Some(Part::Target(target)) = first {
        return Ok(target);
    }
    let mut fields = Fields::default();
    fields.refuse("target", "must be the first message, before any chunk");
    fields.finish()?;
    Ok(proto::ImportTarget::default())
}

fn read_target(target: proto::ImportTarget) -> Result<Target, Status> {
    const SOURCE: &str = "must be 1-64 characters of A-Za-z0-9_.-";
    let mut fields = Fields::default();
    let space = namespace(&target.namespace, &mut fields);
    let shape = match proto::CatalogShape::try_from(target.shape) {
        Ok(proto::CatalogShape::Unspecified) => Shape::Detect,
        Ok(proto::CatalogShape::Mcp) => Shape::Mcp,
        Ok(proto::CatalogShape::Jsonl) => Shape::Jsonl,
        Ok(proto::CatalogShape::Openai) => Shape::OpenAi,
        Ok(proto::CatalogShape::Anthropic) => Shape::Anthropic,
        Err(_) => {
            fields.refuse("target.shape", "must be mcp, jsonl, openai, anthropic, or left out to find out");
            Shape::Detect
        }
    };
    let is_source = target.source.is_empty() || admission::fits_source(&target.source);
    fields.require(is_source, "target.source", SOURCE);
    for (i, source) in target.gone_sources.iter().enumerate() {
        fields.require(admission::fits_source(source), &format!("target.gone_sources[{i}]"), SOURCE);
    }
    let has_policy = !target.policy.is_empty();
    fields.require(target.dry_run || !has_policy, "target.policy", "must be left out except in a dry run");
    let request_id = convert::request_id(&target.request_id, &mut fields);
    fields.finish()?;
    Ok(Target {
        space,
        source: (!target.source.is_empty()).then_some(target.source),
        shape,
        file_name: target.file_name,
        request_id,
        is_dry_run: target.dry_run,
        batch: if target.atomic { Batch::Atomic } else { Batch::PerItem },
        gone: target.gone_sources.into_iter().map(Arc::from).collect(),
        policy: target.policy.into_iter().collect(),
    })
}

/// Refuses sources to be withdrawn that are not there: a typing error would do nothing, without a word.
fn check_gone(handle: &Handle, gone: &BTreeSet<Arc<str>>) -> Result<(), Status> {
    let mut fields = Fields::default();
    let view = handle.view();
    let known: BTreeSet<&str> = view.registry.iter().map(|(tool, _)| &*tool.source).collect();
    for source in gone.iter().filter(|source| !known.contains(&***source)) {
        fields.refuse("target.gone_sources", format!("{source} has no tools here; must be a source of the namespace"));
    }
    fields.finish()
}

fn check_not_gone(read: &Read, gone: &BTreeSet<Arc<str>>) -> Result<(), Status> {
    let mut fields = Fields::default();
    for source in read.sources.intersection(gone) {
        fields.refuse("target.gone_sources", format!("{source} has tools in the file; must be one or the other"));
    }
    fields.finish()
}

fn is_refused(admission: &Admission) -> bool {
    admission.result == AdmissionResult::Refused
}

/// Returns whether the tool is in anew: for the first time, or in a new version.
fn is_taken(admission: &Admission) -> bool {
    !matches!(admission.result, AdmissionResult::Refused | AdmissionResult::Unchanged)
}

fn change_class(admission: &Admission) -> Option<ChangeClass> {
    admission.change.as_ref().map(|change| change.class)
}

fn counts(admissions: &[Admission], n_repeated: usize, n_passed_over: usize) -> proto::AdmissionCounts {
    let count = |result| admissions.iter().filter(|admission| admission.result == result).count() as u64;
    let taken = |class| admissions.iter().filter(|a| is_taken(a) && change_class(a) == class).count() as u64;
    proto::AdmissionCounts {
        admitted: count(AdmissionResult::Admitted),
        unchanged: count(AdmissionResult::Unchanged),
        flagged: count(AdmissionResult::Flagged),
        refused: count(AdmissionResult::Refused),
        added: taken(None),
        cosmetic: taken(Some(ChangeClass::Cosmetic)),
        compatible: taken(Some(ChangeClass::Compatible)),
        breaking: taken(Some(ChangeClass::Breaking)),
        repeated: n_repeated as u64,
        passed_over: n_passed_over as u64,
        pending: count(AdmissionResult::Pending),
    }
}

/// Returns what an answer names, with what somebody must act on first.
fn named(admissions: &[Admission]) -> Vec<proto::Admission> {
    let urgency = |admission: &Admission| match (is_refused(admission), change_class(admission)) {
        (true, _) => 0,
        (false, Some(ChangeClass::Breaking)) => 1,
        (false, Some(ChangeClass::Compatible)) => 2,
        (false, Some(ChangeClass::Cosmetic)) => 3,
        (false, None) => 4,
    };
    let mut named: Vec<&Admission> =
        admissions.iter().filter(|admission| admission.result != AdmissionResult::Unchanged).collect();
    named.sort_by_key(|admission| (urgency(admission), admission.index));
    named.into_iter().take(NAMED).map(admission_message).collect()
}

/// Returns the sources in the file of which no tool is in.
fn empty_sources(sources: &BTreeSet<Arc<str>>, admissions: &[Admission]) -> Vec<String> {
    let in_now: BTreeSet<&str> = admissions.iter().filter(|a| !is_refused(a)).map(|a| &*a.tool.source).collect();
    sources.iter().filter(|source| !in_now.contains(&***source)).map(|source| source.to_string()).collect()
}

fn refs(tools: &[ToolId]) -> Vec<proto::ToolRef> {
    tools.iter().take(NAMED).map(|tool| convert::tool_ref(tool, Version(0))).collect()
}

fn passed_message(passed: &crate::import::PassedOver) -> proto::PassedOver {
    proto::PassedOver { index: passed.index as u32, name: passed.name.clone(), reason: passed.reason.clone() }
}

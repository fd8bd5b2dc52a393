//! `StatsService.Watch`: what happens to a namespace, read from the log as it comes to disk.
//!
//! A watch holds nothing but its place. It reads a stretch of the log, hands it out as fast as the reader takes it, and
//! sleeps until the journal says that more is on disk: so a slow reader holds up nobody and fills nothing, and what it
//! has not read waits in the log.

use std::sync::Arc;

use tokio::sync::{mpsc, watch};
use tokio_stream::wrappers::ReceiverStream;
use tonic::{Code, Status};
use tonic_types::ErrorDetails;

use super::convert::{self, namespace};
use super::status::{self, Fields};
use super::stream::Messages;
use super::{Api, in_background};
use crate::core::admission::change;
use crate::core::event::{
    AdmissionResult, Admitted, Event, PolicySet, PoolMove, PoolReranked, Record, ToolsRegistered,
};
use crate::core::ids::{NamespaceId, Seq, Version};
use crate::core::view::View;
use crate::engine::{Engine, EngineError, Handle};
use crate::proto;
use crate::proto::watch_response::Event as Told;

/// Messages that wait for a slow reader.
const QUEUE: usize = 64;

/// Most tools that one message names.
const ADMISSIONS: usize = 10_000;

type Sender = mpsc::Sender<Result<proto::WatchResponse, Status>>;

impl Api {
    pub(super) async fn begin_watch(
        &self,
        request: proto::WatchRequest,
    ) -> Result<Messages<proto::WatchResponse>, Status> {
        let mut fields = Fields::default();
        let space = namespace(&request.namespace, &mut fields);
        let kinds = kinds(&request.kinds, &mut fields);
        fields.finish()?;
        let handle = self.engine.namespace(&space)?;
        let mut on_disk = self.engine.follow(&space);
        let end = *on_disk.borrow_and_update();
        let after = if request.after_sequence == 0 { end } else { Seq(request.after_sequence) };
        let mut fields = Fields::default();
        fields.require(after <= end, "after_sequence", format!("must be at most {end}, where the log ends"));
        fields.finish()?;
        let (engine, id) = (self.engine.clone(), space.clone());
        let begins = in_background(move || engine.log_begin(&id)).await??;
        check_whole(after, begins, &kinds)?;
        let (sender, receiver) = mpsc::channel(QUEUE);
        let follower = Follower { engine: self.engine.clone(), handle, space, kinds, reached: after, on_disk, sender };
        let stop = self.stop.clone();
        tokio::spawn(async move {
            let sender = follower.sender.clone();
            tokio::select! {
                // What waits in the queue is given up: it stands in the log, and the watch goes on behind what was read.
                () = stop.cancelled() => drop(sender.try_send(Err(EngineError::Stopping.into()))),
                () = sender.closed() => {}
                () = follower.run() => {}
            }
        });
        Ok(Box::pin(ReceiverStream::new(receiver)))
    }
}

/// The kind that a cut of the log takes: it goes with the traffic that it was drawn from. The other kinds are kept.
const CUT_WITH_TRAFFIC: &str = "pool_reranked";

/// Refuses to begin where something is missing: whoever follows without a gap must know that there is one.
fn check_whole(after: Seq, begin: Seq, kinds: &[&str]) -> Result<(), Status> {
    if after.next() >= begin || !kinds.contains(&CUT_WITH_TRAFFIC) {
        return Ok(());
    }
    let message = format!(
        "the log begins at {begin}, and epochs before it were dropped; watch after {}, or other kinds",
        begin.0 - 1
    );
    Err(status::status(Code::FailedPrecondition, proto::ErrorReason::LogCut, message, ErrorDetails::new()))
}

/// Reads which events are watched, as the log names them.
fn kinds(list: &[i32], fields: &mut Fields) -> Vec<&'static str> {
    use proto::WatchKind as Kind;
    let mut kinds = Vec::new();
    for (i, number) in list.iter().enumerate() {
        match Kind::try_from(*number) {
            Ok(Kind::Admissions) => kinds.push("tools_registered"),
            Ok(Kind::Transitions) => kinds.push("tool_moved"),
            Ok(Kind::Epochs) => kinds.push("pool_reranked"),
            Ok(Kind::Policy) => kinds.push("policy_set"),
            Ok(Kind::Unspecified) | Err(_) => {
                fields.refuse(format!("kinds[{i}]"), "must be admissions, transitions, epochs or policy");
            }
        }
    }
    if list.is_empty() { vec!["tools_registered", "tool_moved", "pool_reranked", "policy_set"] } else { kinds }
}

/// One watch: a place in the log, and the way to whoever reads.
struct Follower {
    engine: Arc<Engine>,
    handle: Arc<Handle>,
    space: NamespaceId,
    kinds: Vec<&'static str>,
    /// Everything up to here was handed out or looked over.
    reached: Seq,
    on_disk: watch::Receiver<Seq>,
    sender: Sender,
}

impl Follower {
    /// Hands out what is on disk, waits for more, and ends when nobody reads any more or nothing can be read.
    async fn run(mut self) {
        let begins = proto::WatchResponse {
            sequence: self.reached.0,
            time: None,
            event: Some(Told::Started(proto::WatchStarted {})),
        };
        if self.sender.send(Ok(begins)).await.is_err() {
            return;
        }
        loop {
            let end = *self.on_disk.borrow_and_update();
            if self.reached >= end {
                // The journal ends when the daemon stops, or when the disk has failed it.
                if self.on_disk.changed().await.is_err() {
                    let _ = self.sender.send(Err(EngineError::Stopping.into())).await;
                    return;
                }
                continue;
            }
            match self.read(end).await {
                Ok((messages, reached)) => {
                    for message in messages {
                        if self.sender.send(Ok(message)).await.is_err() {
                            return;
                        }
                    }
                    self.reached = reached;
                }
                Err(status) => {
                    let _ = self.sender.send(Err(status)).await;
                    return;
                }
            }
        }
    }

    /// Reads the next stretch and writes it as messages.
    async fn read(&self, through: Seq) -> Result<(Vec<proto::WatchResponse>, Seq), Status> {
        let (engine, handle) = (self.engine.clone(), self.handle.clone());
        let (space, kinds, after) = (self.space.clone(), self.kinds.clone(), self.reached);
        in_background(move || {
            let (records, reached) = engine.read_kinds(&space, after, through, &kinds)?;
            // Looked at behind the reading: a cut that came before it has left a gap in what was read.
            check_whole(after, engine.log_begin(&space)?, &kinds)?;
            let view = handle.view();
            Ok((records.iter().filter_map(|record| message(&view, record)).collect(), reached))
        })
        .await?
    }
}

/// Writes a record; `None` where it tells nothing.
fn message(view: &View, record: &Record) -> Option<proto::WatchResponse> {
    let event = match &record.event {
        Event::ToolsRegistered(registered) if !registered.admitted.is_empty() => {
            Told::Admissions(admissions(view, registered))
        }
        Event::ToolMoved(_) => Told::Transition(convert::transition(record)?),
        Event::PoolReranked(reranked) if !(reranked.entered.is_empty() && reranked.left.is_empty()) => {
            Told::Epoch(epoch(reranked))
        }
        Event::PolicySet(set) => Told::Policy(policy(set)),
        _ => return None,
    };
    Some(proto::WatchResponse { sequence: record.seq.0, time: Some(convert::timestamp(record.at)), event: Some(event) })
}

fn admissions(view: &View, registered: &ToolsRegistered) -> proto::AdmissionsEvent {
    proto::AdmissionsEvent {
        actor: registered.actor.clone(),
        admissions: registered.admitted.iter().take(ADMISSIONS).map(|admitted| admission(view, admitted)).collect(),
        total: registered.admitted.len() as u32,
    }
}

/// Writes one admission. What is not in the log is worked out from what is: the version before is in the registry, since
/// no version is decided on before the last one was taken in.
fn admission(view: &View, admitted: &Admitted) -> proto::WatchedAdmission {
    let definition = &admitted.definition;
    let flags = admitted.flags.len();
    let result = match admitted.waits {
        Some(_) => AdmissionResult::Pending,
        None if flags > 0 => AdmissionResult::Flagged,
        None => AdmissionResult::Admitted,
    };
    let before = admitted.version.0.checked_sub(1).map(Version);
    let before = view.registry.get(&definition.id).and_then(|tool| tool.version(before?));
    let class = before.map(|before| change::classify(&before.admitted().definition, definition).class);
    proto::WatchedAdmission {
        tool: Some(convert::tool_ref(&definition.id, admitted.version)),
        result: proto::AdmissionResult::from(result).into(),
        change: class.map_or(proto::ChangeClass::Unspecified, proto::ChangeClass::from).into(),
        flags: flags as u32,
        measured_tokens: admitted.measured_tokens,
    }
}

fn epoch(reranked: &PoolReranked) -> proto::EpochEvent {
    let moves = |list: &[PoolMove]| {
        let one = |moved: &PoolMove| proto::PoolMove {
            tool: Some(convert::tool_ref(&moved.tool, Version(0))),
            reason: proto::PoolReason::from(moved.reason).into(),
        };
        list.iter().map(one).collect()
    };
    proto::EpochEvent {
        epoch: reranked.epoch.0,
        tick: reranked.tick.0,
        entered: moves(&reranked.entered),
        left: moves(&reranked.left),
        members: reranked.members.len() as u32,
    }
}

fn policy(set: &PolicySet) -> proto::PolicyEvent {
    let values = set.values.iter().map(|(key, value)| (key.clone(), value.clone())).collect();
    proto::PolicyEvent { actor: set.actor.clone(), values }
}

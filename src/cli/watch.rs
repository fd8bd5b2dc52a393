//! `watch`: what happens to tools, hot pool and policy, a line each, as it comes to disk.

use serde_json::{Value, json};
use tonic::{Code, Status};

use super::output::{count, print_line, printable, word};
use super::remote::Remote;
use super::{DONE, Shell, json};
use crate::proto::watch_response::Event;
use crate::proto::{
    AdmissionsEvent, EpochEvent, PolicyEvent, PoolMove, Transition, WatchKind, WatchRequest, WatchResponse,
    WatchedAdmission,
};

/// Show what happens: tools taken in, their transitions, the hot pool's changes, the policy's
///
/// One line for each event that is on disk, until Ctrl-C. `--after 1` begins with the first thing that happened, and so
/// is the history of the hot pool; the number at the beginning of a line is what `--after` takes to go on behind it.
#[derive(clap::Args)]
#[command(after_help = "Example: toolcrib watch --after 1 --kinds epochs,transitions")]
pub(super) struct Args {
    /// Only what stands behind this place in the log; 0 is from now on
    #[arg(long, value_name = "N", default_value_t = 0)]
    after: u64,
    /// Only these kinds
    #[arg(long, value_delimiter = ',', value_name = "KINDS")]
    kinds: Vec<Kind>,
}

#[derive(Clone, Copy, clap::ValueEnum)]
enum Kind {
    /// New tools and new versions
    Admissions,
    /// Tools that move from state to state
    Transitions,
    /// Tools that go into and out of the hot pool
    Epochs,
    /// Values of the policy that are set
    Policy,
}

impl From<Kind> for WatchKind {
    fn from(kind: Kind) -> Self {
        match kind {
            Kind::Admissions => Self::Admissions,
            Kind::Transitions => Self::Transitions,
            Kind::Epochs => Self::Epochs,
            Kind::Policy => Self::Policy,
        }
    }
}

/// Prints events until it is interrupted.
pub(super) async fn run(args: Args, shell: &Shell) -> anyhow::Result<u8> {
    let remote = shell.connect().await?;
    tokio::select! {
        interrupted = tokio::signal::ctrl_c() => interrupted.map(|()| DONE).map_err(anyhow::Error::from),
        ended = follow(&remote, &args, shell) => ended,
    }
}

/// Watches, and again behind the last event where the daemon ends a watch because its time is over.
async fn follow(remote: &Remote, args: &Args, shell: &Shell) -> anyhow::Result<u8> {
    let kinds = args.kinds.iter().map(|kind| WatchKind::from(*kind).into()).collect();
    let mut request = WatchRequest { namespace: remote.namespace.clone(), after_sequence: args.after, kinds };
    loop {
        let mut stream = remote.stats().watch(request.clone()).await?.into_inner();
        let ended = loop {
            match stream.message().await {
                Ok(Some(message)) => {
                    request.after_sequence = message.sequence;
                    let line = if shell.json { Some(to_json(&message).to_string()) } else { describe(&message) };
                    if let Some(line) = line {
                        print_line(&line)?;
                    }
                }
                Ok(None) => break Status::unavailable("the daemon ended the watch"),
                Err(status) => break status,
            }
        };
        if ended.code() != Code::DeadlineExceeded {
            return Err(ended.into());
        }
    }
}

fn to_json(message: &WatchResponse) -> Value {
    let (kind, event) = match &message.event {
        Some(Event::Started(_)) => ("started", Value::Null),
        Some(Event::Admissions(event)) => ("admissions", admissions_to_json(event)),
        Some(Event::Transition(event)) => ("transition", json::transition(event)),
        Some(Event::Epoch(event)) => ("epoch", epoch_to_json(event)),
        Some(Event::Policy(event)) => ("policy", policy_to_json(event)),
        None => ("", Value::Null),
    };
    json!({ "sequence": message.sequence, "time": json::time(message.time.as_ref()), "kind": kind, "event": event })
}

fn admissions_to_json(event: &AdmissionsEvent) -> Value {
    let admission = |admission: &WatchedAdmission| {
        json!({
            "tool": admission.tool.as_ref().map(json::tool_ref),
            "result": word(admission.result().as_str_name(), "ADMISSION_RESULT_"),
            "change": word(admission.change().as_str_name(), "CHANGE_CLASS_"),
            "flags": admission.flags,
            "measured_tokens": admission.measured_tokens,
        })
    };
    let admissions: Vec<Value> = event.admissions.iter().map(admission).collect();
    json!({ "actor": event.actor, "total": event.total, "admissions": admissions })
}

fn epoch_to_json(event: &EpochEvent) -> Value {
    let moves = |moves: &[PoolMove]| {
        let one =
            |moved: &PoolMove| json!({ "tool": moved.tool.as_ref().map(json::tool_ref), "reason": pool_reason(moved) });
        moves.iter().map(one).collect::<Vec<Value>>()
    };
    json!({
        "epoch": event.epoch,
        "tick": event.tick,
        "entered": moves(&event.entered),
        "left": moves(&event.left),
        "members": event.members,
    })
}

fn policy_to_json(event: &PolicyEvent) -> Value {
    json!({ "actor": event.actor, "values": sorted(event).into_iter().collect::<serde_json::Map<_, _>>() })
}

fn sorted(event: &PolicyEvent) -> Vec<(String, Value)> {
    let mut values: Vec<(String, Value)> = event.values.iter().map(|(k, v)| (k.clone(), json!(v))).collect();
    values.sort_by(|a, b| a.0.cmp(&b.0));
    values
}

fn pool_reason(moved: &PoolMove) -> String {
    word(moved.reason().as_str_name(), "POOL_REASON_")
}

/// Writes one event in one line; `None` for the beginning, of which nobody needs to read.
fn describe(message: &WatchResponse) -> Option<String> {
    let (kind, said) = match message.event.as_ref()? {
        Event::Started(_) => return None,
        Event::Admissions(event) => ("admissions", describe_admissions(event)),
        Event::Transition(event) => ("transition", describe_transition(event)),
        Event::Epoch(event) => ("epoch", describe_epoch(event)),
        Event::Policy(event) => ("policy", describe_policy(event)),
    };
    let line = format!("{}  {}  {kind}  {said}", message.sequence, json::time(message.time.as_ref()));
    // What operators and tools wrote may hold line breaks; a line is one event.
    Some(printable(&line.replace('\n', " ")))
}

fn describe_admissions(event: &AdmissionsEvent) -> String {
    let one = |admission: &WatchedAdmission| {
        let version = admission.tool.as_ref().map_or(0, |tool| tool.version);
        let mut text = format!("{} v{version}", json::tool_name(admission.tool.as_ref()));
        let change = word(admission.change().as_str_name(), "CHANGE_CLASS_");
        let flags = if admission.flags > 0 { format!("{} flags", admission.flags) } else { String::new() };
        let notes: Vec<String> = [change, flags].into_iter().filter(|note| !note.is_empty()).collect();
        if !notes.is_empty() {
            text.push_str(&format!(" ({})", notes.join(", ")));
        }
        text
    };
    let tools: Vec<String> = event.admissions.iter().map(one).collect();
    format!("{} by {}: {}", count(event.total), event.actor, tools.join(", "))
}

fn describe_transition(event: &Transition) -> String {
    let tool = json::tool_name(event.tool.as_ref());
    let old = json::state(event.old_state());
    let from = if old.is_empty() { "none" } else { &old };
    let mut text = format!(
        "{tool} {from} -> {} ({}) by {}",
        json::state(event.new_state()),
        json::cause(event.cause()),
        event.actor
    );
    if !event.reason.is_empty() {
        text.push_str(&format!(": {}", event.reason));
    }
    text
}

fn describe_epoch(event: &EpochEvent) -> String {
    let list = |moves: &[PoolMove]| {
        let one = |moved: &PoolMove| format!("{} ({})", json::tool_name(moved.tool.as_ref()), pool_reason(moved));
        if moves.is_empty() { "nobody".to_owned() } else { moves.iter().map(one).collect::<Vec<_>>().join(", ") }
    };
    let (entered, left) = (list(&event.entered), list(&event.left));
    format!("{} at tick {}: in {entered}; out {left}", event.epoch, event.tick)
}

fn describe_policy(event: &PolicyEvent) -> String {
    let values = sorted(event);
    let one = |(key, value): &(String, Value)| format!("{key} = {}", value.as_str().unwrap_or_default());
    format!("by {}: {}", event.actor, values.iter().map(one).collect::<Vec<_>>().join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::proto::{PoolReason, ToolRef};

    #[test]
    fn an_epoch_is_one_line_that_names_who_went_and_why() {
        let moved = |name: &str, reason: PoolReason| PoolMove {
            tool: Some(ToolRef { source: "s".to_owned(), name: name.to_owned(), version: 0 }),
            reason: reason.into(),
        };
        let event = EpochEvent {
            epoch: 7,
            tick: 70,
            entered: vec![moved("a", PoolReason::Score)],
            left: Vec::new(),
            members: 3,
        };
        let message = WatchResponse { sequence: 41, time: None, event: Some(Event::Epoch(event)) };
        assert_eq!(describe(&message).as_deref(), Some("41    epoch  7 at tick 70: in s/a (score); out nobody"));
    }

    #[test]
    fn what_somebody_wrote_stays_on_its_line() {
        let event = Transition { actor: "op".to_owned(), reason: "a\nb\u{1b}[2J".to_owned(), ..Transition::default() };
        let message = WatchResponse { sequence: 1, time: None, event: Some(Event::Transition(event)) };
        let line = describe(&message).expect("a line");
        assert!(!line.contains(char::is_control) && line.ends_with("a b\\u{1b}[2J"), "{line}");
    }
}

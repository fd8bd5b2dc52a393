//! The log lines of what the core drew: who went into and out of the hot pool and why, and which tool moved to which
//! state.
//!
//! Says what is in the event log already, for whoever reads log lines only. Before editing: messages are constant, and
//! failures of calls, which a diagnostic record quotes, are not logged.

use tracing::info;

use crate::core::event::{Event, MoveCause, PoolMove, Word as _};
use crate::core::ids::NamespaceId;

/// Writes a line for every change of the hot pool and every transition among `events`. Admissions are left out: an
/// import has thousands, and whoever asked is told.
pub(super) fn announce<'e>(namespace: &NamespaceId, events: impl IntoIterator<Item = &'e Event>) {
    for event in events {
        match event {
            Event::PoolReranked(reranked) if !(reranked.entered.is_empty() && reranked.left.is_empty()) => info!(
                %namespace,
                epoch = reranked.epoch.0,
                tick = reranked.tick.0,
                entered = list(&reranked.entered),
                left = list(&reranked.left),
                "hot pool changed"
            ),
            Event::ToolMoved(moved) if moved.cause != MoveCause::Admitted => info!(
                %namespace,
                tool = %moved.tool,
                from = moved.old.map_or("none", |old| old.as_str()),
                to = moved.new.as_str(),
                cause = moved.cause.as_str(),
                actor = moved.actor,
                reason = moved.reason,
                "tool moved"
            ),
            _ => {}
        }
    }
}

fn list(moves: &[PoolMove]) -> String {
    let words: Vec<String> = moves.iter().map(|moved| format!("{} ({})", moved.tool, moved.reason.as_str())).collect();
    words.join(", ")
}

#[cfg(test)]
mod tests {
    use std::io;
    use std::sync::{Arc, Mutex};

    use super::*;
    use crate::core::event::{PoolReason, PoolReranked, ToolMoved, ToolState};
    use crate::core::ids::{Epoch, Tick, ToolId};

    /// Keeps what is written.
    #[derive(Clone, Default)]
    struct Page(Arc<Mutex<Vec<u8>>>);

    impl io::Write for Page {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().write(bytes)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    fn announced(events: &[Event]) -> String {
        let page = Page::default();
        let writer = page.clone();
        let log = tracing_subscriber::fmt().with_ansi(false).with_writer(move || writer.clone()).finish();
        tracing::subscriber::with_default(log, || announce(&"github".into(), events));
        String::from_utf8(page.0.lock().unwrap().clone()).unwrap()
    }

    fn reranked(entered: Vec<PoolMove>, left: Vec<PoolMove>) -> Event {
        Event::PoolReranked(PoolReranked { epoch: Epoch(7), tick: Tick(70), members: Vec::new(), entered, left })
    }

    fn moved(cause: MoveCause, new: ToolState) -> Event {
        Event::ToolMoved(ToolMoved {
            tool: ToolId::new("s", "a"),
            old: Some(ToolState::Active),
            new,
            cause,
            actor: "core".into(),
            reason: String::new(),
            until: None,
            diagnosis: None,
        })
    }

    #[test]
    fn a_rerank_that_changes_membership_names_who_went_in_and_out_and_why() {
        let moves = |name, reason| vec![PoolMove { tool: ToolId::new("s", name), reason }];
        let text = announced(&[reranked(moves("a", PoolReason::Score), moves("b", PoolReason::Outranked))]);
        for part in ["hot pool changed", "epoch=7", "tick=70", "entered=\"s/a (score)\"", "left=\"s/b (outranked)\""] {
            assert!(text.contains(part), "{part} is not in {text}");
        }
    }

    #[test]
    fn a_rerank_that_changes_nobody_says_nothing() {
        assert_eq!(announced(&[reranked(Vec::new(), Vec::new())]), "");
    }

    #[test]
    fn transitions_are_told_and_admissions_are_not() {
        let text = announced(&[
            moved(MoveCause::Admitted, ToolState::Active),
            moved(MoveCause::Failures, ToolState::Quarantined),
        ]);
        assert_eq!(text.lines().count(), 1, "{text}");
        assert!(text.contains("tool moved") && text.contains("to=\"quarantined\" cause=\"failures\""), "{text}");
    }
}

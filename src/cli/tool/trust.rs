//! What is said of a tool's flags and of the version that waits.

use std::fmt::Write as _;

use crate::cli::json;
use crate::cli::output::word;
use crate::proto::{Flag, ToolRecord};

/// Writes a line for each flag.
pub(super) fn describe_flags(text: &mut String, flags: &[Flag]) {
    for flag in flags {
        let finding = flag.finding.clone().unwrap_or_default();
        let _ = write!(text, "  {}: {} [{}]", finding.field, finding.description, finding.rule);
        if flag.accepted {
            let when = json::time(flag.accept_time.as_ref());
            let _ = write!(text, "; accepted by {} at {when}: {}", flag.actor, flag.note);
        }
        text.push('\n');
    }
}

/// Writes what is flagged and what waits, each with the next command.
pub(super) fn describe(record: &ToolRecord) -> String {
    let mut text = String::new();
    let name = json::tool_name(record.tool.as_ref());
    if !record.flags.is_empty() && is_served(record) {
        text.push_str("\nflags:\n");
        describe_flags(&mut text, &record.flags);
        if record.flags.iter().any(|flag| !flag.accepted) {
            let _ = writeln!(text, "A false alarm? toolcrib tool accept {name} --note TEXT");
        }
    }
    if let Some(waiting) = &record.waiting {
        let cause = word(waiting.cause().as_str_name(), "WAIT_CAUSE_");
        let _ = writeln!(text, "\nwaits for approval: version {} ({cause})", waiting.version);
        describe_flags(&mut text, &waiting.flags);
        let _ = writeln!(text, "Look at it: toolcrib tool diff {name}");
        let _ = writeln!(text, "Serve it:   toolcrib tool approve {name} --hash {}", waiting.hash);
    }
    text
}

/// Returns whether any version was ever approved.
pub(super) fn is_served(record: &ToolRecord) -> bool {
    record.tool.as_ref().is_some_and(|tool| tool.version != 0)
}

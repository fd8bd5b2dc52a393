//! `tool history`.

use serde_json::{Value, json};

use super::find;
use crate::cli::output::{Column, count, table};
use crate::cli::{DONE, Shell, json};
use crate::proto::{ListTransitionsRequest, Transition};

/// The most transitions of one page.
const PAGE: usize = 500;

/// Show how tools moved from state to state, and why; newest first
#[derive(clap::Args)]
#[command(after_help = "Example: toolcrib tool history github/create_issue")]
pub(super) struct Args {
    /// Only this tool: source/name, or an alias, or a name that only one tool has
    name: Option<String>,
    /// At most this many
    #[arg(long, value_name = "N", default_value_t = 50)]
    limit: usize,
    /// All of them
    #[arg(long, conflicts_with = "limit")]
    all: bool,
}

/// Prints the transitions.
pub(super) async fn run(args: Args, shell: &Shell) -> anyhow::Result<u8> {
    let remote = shell.connect().await?;
    let tool = match &args.name {
        Some(name) => Some(find::find(&remote, name).await?),
        None => None,
    };
    let limit = if args.all { usize::MAX } else { args.limit };
    let mut request = ListTransitionsRequest {
        namespace: remote.namespace.clone(),
        tool,
        page_size: u32::try_from(limit.clamp(1, PAGE))?,
        page_token: String::new(),
    };
    let mut transitions = Vec::new();
    let has_more = loop {
        let page = remote.registry().list_transitions(request.clone()).await?.into_inner();
        transitions.extend(page.transitions);
        let is_last = page.next_page_token.is_empty();
        if is_last || transitions.len() >= limit {
            break !is_last || transitions.len() > limit;
        }
        request.page_token = page.next_page_token;
    };
    transitions.truncate(limit);
    let value = json!({ "transitions": json::list(&transitions, json::transition), "has_more": has_more });
    shell.print(&value, &describe(&transitions, has_more))?;
    Ok(DONE)
}

fn describe(transitions: &[Transition], has_more: bool) -> String {
    let mut rows = Vec::new();
    let mut diagnoses = String::new();
    for transition in transitions {
        let tool = json::tool_name(transition.tool.as_ref());
        let time = json::time(transition.time.as_ref());
        rows.push(vec![
            time.clone(),
            tool.clone(),
            json::state(transition.new_state()),
            json::cause(transition.cause()),
            transition.actor.clone(),
            transition.reason.clone(),
            json::time(transition.until_time.as_ref()),
        ]);
        let diagnosis = json::embedded(&transition.diagnosis);
        if diagnosis != Value::Null {
            diagnoses.push_str(&format!("\ndiagnosis of {tool} at {time}:\n{diagnosis:#}\n"));
        }
    }
    let columns = ["time", "tool", "state", "cause", "actor", "reason", "until"].map(Column::Left);
    let mut text = table(&columns, rows, "nothing has moved") + &diagnoses;
    if has_more {
        text.push_str(&format!("\nthe newest {} of more; --all shows them\n", count(transitions.len())));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn part_of_a_history_says_so() {
        let moved = [Transition::default()];
        assert!(describe(&moved, true).ends_with("\nthe newest 1 of more; --all shows them\n"));
        assert!(!describe(&moved, false).contains("--all"));
    }
}

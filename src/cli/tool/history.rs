//! `tool history`.

use serde_json::{Value, json};

use super::find;
use crate::cli::output::{Column, table};
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
}

/// Prints the transitions.
pub(super) async fn run(args: Args, shell: &Shell) -> anyhow::Result<u8> {
    let remote = shell.connect().await?;
    let tool = match &args.name {
        Some(name) => Some(find::find(&remote, name).await?),
        None => None,
    };
    let mut request = ListTransitionsRequest {
        namespace: remote.namespace.clone(),
        tool,
        page_size: u32::try_from(args.limit.clamp(1, PAGE))?,
        page_token: String::new(),
    };
    let mut transitions = Vec::new();
    while transitions.len() < args.limit {
        let page = remote.registry().list_transitions(request.clone()).await?.into_inner();
        transitions.extend(page.transitions);
        if page.next_page_token.is_empty() {
            break;
        }
        request.page_token = page.next_page_token;
    }
    transitions.truncate(args.limit);
    shell.print(&json!({ "transitions": json::list(&transitions, json::transition) }), &describe(&transitions))?;
    Ok(DONE)
}

fn describe(transitions: &[Transition]) -> String {
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
    table(&columns, rows, "nothing has moved") + &diagnoses
}

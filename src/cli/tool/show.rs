//! `tool show`.

use anyhow::bail;
use serde_json::{Value, json};

use super::{find, list, trust};
use crate::cli::output::{count, facts};
use crate::cli::{DONE, Shell, admissions, json};
use crate::proto::{GetToolRequest, GetToolResponse, ToolRef};

/// Show one tool with its definition
#[derive(clap::Args)]
#[command(after_help = "Example: toolcrib tool show github/create_issue")]
pub(super) struct Args {
    /// source/name, or an alias, or a name that only one tool has
    name: String,
    /// Which version; the current one where it is left out
    #[arg(long, value_name = "N", default_value_t = 0, hide_default_value = true)]
    version: u32,
    /// The version that waits for approval
    #[arg(long, conflicts_with = "version")]
    waiting: bool,
}

/// Prints the tool.
pub(super) async fn run(args: Args, shell: &Shell) -> anyhow::Result<u8> {
    let remote = shell.connect().await?;
    let mut named = args.version;
    let tool = ToolRef { version: args.version, ..find::find(&remote, &args.name).await? };
    let mut request = GetToolRequest { namespace: remote.namespace.clone(), tool: Some(tool) };
    let mut shown = remote.registry().get_tool(request.clone()).await?.into_inner();
    if args.waiting {
        let waiting = shown.record.as_ref().and_then(|record| record.waiting.as_ref());
        let Some(waiting) = waiting else {
            bail!("nothing of {} waits for approval; `toolcrib tool list --waiting` shows what does", args.name);
        };
        named = waiting.version;
        request.tool = request.tool.map(|tool| ToolRef { version: named, ..tool });
        shown = remote.registry().get_tool(request).await?.into_inner();
    }
    let value = json!({
        "record": shown.record.as_ref().map(json::tool_record),
        "definition": shown.definition.as_ref().map(json::definition),
        "slim_schema": json::embedded(&shown.slim_schema),
        "confusable": admissions::confusable_to_json(&shown.confusable),
    });
    shell.print(&value, &describe(&shown, named))?;
    Ok(DONE)
}

/// Writes the entry and the definition; `named` is the version that was asked for, 0 for none.
fn describe(shown: &GetToolResponse, named: u32) -> String {
    let record = shown.record.clone().unwrap_or_default();
    let definition = shown.definition.clone().unwrap_or_default();
    let why = [json::cause(record.cause()), record.state_reason.clone()];
    let why: Vec<_> = why.into_iter().filter(|part| !part.is_empty()).collect();
    let version = match record.tool.as_ref().map_or(0, |tool| tool.version) {
        0 => "nothing of it is approved yet".to_owned(),
        version => format!("version {version} is served"),
    };
    let mut text = facts(&[
        ("tool", format!("{}, {version}", json::tool_name(record.tool.as_ref()))),
        ("shown", if named == 0 { String::new() } else { format!("version {named}") }),
        ("alias", record.alias.clone()),
        ("title", definition.title.clone()),
        ("state", format!("{} ({})", json::state(record.state()), why.join(": "))),
        ("pool", list::place(&record).to_owned()),
        ("use", format!("{} calls, heat {:.2}", count(record.calls), record.heat)),
        ("tokens", format!("{} as registered, {} as injected", count(record.full_tokens), count(record.slim_tokens))),
        ("group", record.group.clone()),
        ("tags", definition.tags.join(", ")),
        ("summary", definition.summary.clone()),
        ("when to use", definition.when_to_use.clone()),
        ("keywords", definition.keywords.join(", ")),
        ("derived", record.derived.join(", ")),
        ("hash", record.hash.clone()),
        ("close to", admissions::confusable(&shown.confusable)),
    ]);
    text.push_str(&trust::describe(&record));
    for (name, body) in [
        ("description", definition.description.clone()),
        ("schema as injected", pretty(&json::embedded(&shown.slim_schema))),
    ] {
        if !body.is_empty() {
            text.push_str(&format!("\n{name}:\n{body}\n"));
        }
    }
    text
}

fn pretty(value: &Value) -> String {
    if value.is_null() { String::new() } else { format!("{value:#}") }
}

//! `tool diff`: what differs between two versions, field by field.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use serde_json::{Value, json};

use super::{find, trust};
use crate::cli::output::word;
use crate::cli::{DONE, Shell, admissions, json};
use crate::proto::{DiffToolRequest, DiffToolResponse, Difference};

/// Longest value that is shown, in characters.
const SHOWN: usize = 2_000;

/// Show what differs between two versions: what is served and what waits, else the last two
#[derive(clap::Args)]
#[command(after_help = "Example: toolcrib tool diff github/create_issue --from 1 --to 3")]
pub(super) struct Args {
    /// source/name, or an alias, or a name that only one tool has
    name: String,
    /// The older version
    #[arg(long, value_name = "VERSION", default_value_t = 0, hide_default_value = true)]
    from: u32,
    /// The newer version
    #[arg(long, value_name = "VERSION", default_value_t = 0, hide_default_value = true)]
    to: u32,
}

/// Prints the differences.
pub(super) async fn run(args: Args, shell: &Shell) -> anyhow::Result<u8> {
    let remote = shell.connect().await?;
    let request = DiffToolRequest {
        namespace: remote.namespace.clone(),
        tool: Some(find::find(&remote, &args.name).await?),
        from_version: args.from,
        to_version: args.to,
    };
    let answer = remote.registry().diff_tool(request).await?.into_inner();
    shell.print(&to_json(&answer), &describe(&answer))?;
    Ok(DONE)
}

fn to_json(answer: &DiffToolResponse) -> Value {
    json!({
        "record": answer.record.as_ref().map(json::tool_record),
        "from_version": answer.from_version,
        "to_version": answer.to_version,
        "change": word(answer.change().as_str_name(), "CHANGE_CLASS_"),
        "differences": json::list(&answer.differences, admissions::difference),
        "from_definition": answer.from_definition.as_ref().map(json::definition),
        "to_definition": answer.to_definition.as_ref().map(json::definition),
        "to_hash": answer.to_hash,
    })
}

fn describe(answer: &DiffToolResponse) -> String {
    let record = answer.record.clone().unwrap_or_default();
    let name = json::tool_name(record.tool.as_ref());
    let newer = answer.to_definition.as_ref().map(json::definition).unwrap_or_default();
    let mut text = String::new();
    if let Some(older) = &answer.from_definition {
        let _ = write!(text, "{name} version {} to {}: ", answer.from_version, answer.to_version);
        describe_differences(&mut text, answer, &json::definition(older), &newer);
    } else {
        let _ = writeln!(text, "{name} version {}: there is none before it, so all of it is new", answer.to_version);
        describe_whole(&mut text, &newer);
    }
    let _ = writeln!(text, "\nhash of version {}: {}", answer.to_version, answer.to_hash);
    text.push_str(&trust::describe(&record));
    text
}

fn describe_differences(text: &mut String, answer: &DiffToolResponse, older: &Value, newer: &Value) {
    let class = word(answer.change().as_str_name(), "CHANGE_CLASS_");
    let class = if class.is_empty() { "nothing differs".to_owned() } else { format!("a {class} change") };
    let _ = writeln!(text, "{class}");
    // Two differences may stand under one path; its values are shown once.
    let mut shown = BTreeSet::new();
    for difference in &answer.differences {
        let Difference { field, description, .. } = difference;
        let reach = word(difference.reach().as_str_name(), "CHANGE_CLASS_");
        let _ = writeln!(text, "\n{field}: {description} ({reach})");
        if shown.insert(field) {
            describe_value(text, '-', at(older, field));
            describe_value(text, '+', at(newer, field));
        }
    }
}

/// Writes every field that says something.
fn describe_whole(text: &mut String, definition: &Value) {
    let Value::Object(fields) = definition else { return };
    for (field, value) in fields {
        let is_empty = match value {
            Value::Null => true,
            Value::String(value) => value.is_empty(),
            Value::Array(items) => items.is_empty(),
            Value::Object(items) => items.is_empty(),
            Value::Number(value) => value.as_f64() == Some(0.0),
            Value::Bool(_) => false,
        };
        if !is_empty {
            let _ = writeln!(text, "\n{field}:");
            describe_value(text, '+', Some(value));
        }
    }
}

/// Finds the value at the path of a difference: a field, and a JSON pointer into it.
fn at<'v>(definition: &'v Value, field: &str) -> Option<&'v Value> {
    definition.pointer(&format!("/{field}")).filter(|value| !value.is_null())
}

fn describe_value(text: &mut String, sign: char, value: Option<&Value>) {
    let Some(value) = value else { return };
    let mut said = match value {
        Value::String(value) => value.clone(),
        other => format!("{other:#}"),
    };
    let n_chars = said.chars().count();
    if n_chars > SHOWN {
        said = said.chars().take(SHOWN).collect();
        let _ = write!(said, "\n… and {} characters more; --json has all", n_chars - SHOWN);
    }
    for line in said.lines() {
        let _ = writeln!(text, "{sign} {line}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::proto::{ChangeClass, ToolDefinition, ToolRecord, ToolRef, WaitCause, WaitingVersion};

    fn definition(description: &str, schema: &str) -> ToolDefinition {
        ToolDefinition { description: description.into(), input_schema: schema.to_owned().into(), ..Default::default() }
    }

    fn difference(field: &str, reach: ChangeClass, description: &str) -> Difference {
        Difference { field: field.into(), reach: reach.into(), description: description.into() }
    }

    #[test]
    fn old_and_new_lines_stand_under_their_field_and_the_next_command_at_the_end() {
        let tool = ToolRef { source: "s".into(), name: "a".into(), version: 1 };
        let waiting = WaitingVersion {
            version: 2,
            hash: "ab12".into(),
            cause: WaitCause::Pinned.into(),
            ..WaitingVersion::default()
        };
        let answer = DiffToolResponse {
            record: Some(ToolRecord { tool: Some(tool), waiting: Some(waiting), ..ToolRecord::default() }),
            from_version: 1,
            to_version: 2,
            change: ChangeClass::Breaking.into(),
            differences: vec![
                difference("description", ChangeClass::Cosmetic, "changed"),
                difference("input_schema/required", ChangeClass::Breaking, "b is required now"),
            ],
            from_definition: Some(definition("Does a.", r#"{"required":["a"]}"#)),
            to_definition: Some(definition("Does a.\nAnd b.", r#"{"required":["a","b"]}"#)),
            to_hash: "ab12".into(),
        };
        let said = describe(&answer);
        assert!(said.starts_with("s/a version 1 to 2: a breaking change\n"), "{said}");
        assert!(said.contains("description: changed (cosmetic)\n- Does a.\n+ Does a.\n+ And b.\n"), "{said}");
        assert!(said.contains("required now (breaking)\n- [\n-   \"a\"\n- ]\n+ ["), "{said}");
        assert!(said.ends_with("toolcrib tool approve s/a --hash ab12\n"), "{said}");
    }

    #[test]
    fn first_version_is_shown_whole_and_long_values_say_how_much_is_left_out() {
        let answer = DiffToolResponse {
            to_version: 1,
            to_definition: Some(definition(&"x".repeat(SHOWN + 5), "{}")),
            ..DiffToolResponse::default()
        };
        let said = describe(&answer);
        assert!(said.contains("all of it is new\n"), "{said}");
        assert!(said.contains("… and 5 characters more; --json has all\n"), "{said}");
    }
}

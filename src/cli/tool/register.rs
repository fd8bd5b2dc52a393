//! `tool register`: definitions in full, as a person or a build writes them.
//!
//! Only the shape of the JSON is looked at here; whatever lacks or does not fit is the gate's to say, all at once.

use std::collections::HashMap;
use std::io::Read as _;

use anyhow::Context as _;
use bytes::Bytes;
use prost::Message as _;
use serde::Deserialize;
use serde_json::json;
use serde_json::value::RawValue;

use crate::cli::remote::new_request_id;
use crate::cli::{DONE, FAILED, Shell, admissions, json};
use crate::proto::{Admission, AdmissionResult, RegisterToolsRequest, ToolDefinition};

/// Bytes of tools in one request, well below what the daemon takes.
const BATCH_BYTES: usize = 512 << 10;

/// Register tools from a JSON object, or an array of them
///
/// Each definition is a thing asked about: it ends with 0 where every one came in or was there already, flagged or not,
/// and with 1 where any one was refused.
#[derive(clap::Args)]
#[command(after_help = "Example: toolcrib tool register create_issue.json --dry-run\n\n\
    A tool is {\"source\",\"name\",\"summary\",\"keywords\",\"size_tokens\",\"description\",\"input_schema\"}, and where \
    wanted\ntitle, group, tags, attributes, annotations, output_schema, initial_score. `when_to_use` is needed where the \
    summary\ndoes not say when to use the tool.")]
pub(super) struct Args {
    /// The file; `-` reads standard input
    file: String,
    /// All or none: one refusal keeps the others out
    #[arg(long)]
    atomic: bool,
    /// Say what would happen, and do nothing
    #[arg(long)]
    dry_run: bool,
}

/// A tool as written.
#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields, default)]
struct Written {
    source: String,
    name: String,
    title: String,
    summary: String,
    when_to_use: String,
    keywords: Vec<String>,
    size_tokens: u32,
    description: String,
    input_schema: Option<Box<RawValue>>,
    output_schema: Option<Box<RawValue>>,
    annotations: Option<Box<RawValue>>,
    group: String,
    tags: Vec<String>,
    attributes: HashMap<String, String>,
    initial_score: f64,
}

impl Written {
    fn into_definition(self) -> ToolDefinition {
        // Byte for byte as written.
        let bytes = |json: Option<Box<RawValue>>| match json {
            Some(json) if json.get() != "null" => Bytes::from(String::from(Box::<str>::from(json))),
            Some(_) | None => Bytes::new(),
        };
        ToolDefinition {
            source: self.source,
            name: self.name,
            title: self.title,
            summary: self.summary,
            when_to_use: self.when_to_use,
            keywords: self.keywords,
            size_tokens: self.size_tokens,
            description: self.description,
            input_schema: bytes(self.input_schema),
            output_schema: bytes(self.output_schema),
            annotations: bytes(self.annotations),
            group: self.group,
            tags: self.tags,
            attributes: self.attributes,
            initial_score: self.initial_score,
        }
    }
}

/// Registers the tools; fails when one was refused.
pub(super) async fn run(args: Args, shell: &Shell) -> anyhow::Result<u8> {
    let tools = parse(&read(&args.file)?).with_context(|| format!("{} cannot be read as tools", args.file))?;
    let batches = if args.atomic { vec![tools] } else { cut(tools) };
    let remote = shell.connect().await?;
    let mut admissions: Vec<Admission> = Vec::new();
    let mut is_durable = true;
    for tools in batches {
        let first = u32::try_from(admissions.len())?;
        let request = RegisterToolsRequest {
            namespace: remote.namespace.clone(),
            tools,
            atomic: args.atomic,
            dry_run: args.dry_run,
            request_id: new_request_id(),
        };
        let answer = remote.registry().register_tools(request).await?.into_inner();
        is_durable &= answer.durable;
        for mut admission in answer.admissions {
            admission.index += first;
            admissions.push(admission);
        }
    }
    let mut text = String::new();
    for admission in &admissions {
        admissions::describe(&mut text, admission);
    }
    if args.dry_run {
        text.push_str("nothing was done: this is a dry run\n");
    }
    let value = json!({ "admissions": json::list(&admissions, admissions::to_json), "durable": is_durable });
    shell.print(&value, &text)?;
    let is_refused = admissions.iter().any(|admission| admission.result() == AdmissionResult::Refused);
    Ok(if is_refused { FAILED } else { DONE })
}

fn read(file: &str) -> anyhow::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    if file == "-" {
        std::io::stdin().lock().read_to_end(&mut bytes).context("cannot read standard input")?;
    } else {
        bytes = std::fs::read(file).with_context(|| format!("cannot read {file}"))?;
    }
    Ok(bytes)
}

fn parse(bytes: &[u8]) -> serde_json::Result<Vec<ToolDefinition>> {
    let is_array = bytes.trim_ascii_start().starts_with(b"[");
    let written: Vec<Written> =
        if is_array { serde_json::from_slice(bytes)? } else { vec![serde_json::from_slice(bytes)?] };
    Ok(written.into_iter().map(Written::into_definition).collect())
}

/// Cuts the tools into batches that fit into a message.
fn cut(tools: Vec<ToolDefinition>) -> Vec<Vec<ToolDefinition>> {
    let mut batches = vec![Vec::new()];
    let mut bytes = 0;
    for tool in tools {
        let size = tool.encoded_len();
        if bytes > 0 && bytes + size > BATCH_BYTES {
            batches.push(Vec::new());
            bytes = 0;
        }
        bytes += size;
        if let Some(batch) = batches.last_mut() {
            batch.push(tool);
        }
    }
    batches
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn object_and_array_are_both_read_and_schemas_keep_their_bytes() {
        let one = r#"{"source":"fs","name":"cat","input_schema":{ "type" : "object" },"output_schema":null}"#;
        for text in [one.to_owned(), format!(" [{one}]")] {
            let tools = parse(text.as_bytes()).expect("tools");
            assert_eq!(tools.len(), 1);
            assert_eq!(tools[0].input_schema.as_ref(), br#"{ "type" : "object" }"#);
            assert!(tools[0].output_schema.is_empty());
        }
    }

    #[test]
    fn field_that_means_nothing_is_refused_with_those_that_do() {
        let refused = parse(br#"{"source":"fs","nmae":"cat"}"#).expect_err("a refusal").to_string();
        assert!(refused.starts_with("unknown field `nmae`, expected one of `source`, `name`"), "{refused}");
    }

    #[test]
    fn what_is_missing_is_left_to_the_gate() {
        assert_eq!(parse(b"{}").expect("a tool"), [ToolDefinition::default()]);
    }

    #[test]
    fn batches_hold_every_tool_in_order_and_fit_into_a_message() {
        let tool =
            |n: usize| ToolDefinition { name: n.to_string(), description: "x".repeat(n * 1000), ..Default::default() };
        let tools: Vec<_> = (0..700).step_by(50).map(tool).collect();
        let batches = cut(tools.clone());
        for batch in &batches {
            let bytes: usize = batch.iter().map(prost::Message::encoded_len).sum();
            assert!(bytes <= BATCH_BYTES || batch.len() == 1, "{bytes}");
        }
        assert!(batches.len() > 1);
        assert_eq!(batches.concat(), tools);
    }
}

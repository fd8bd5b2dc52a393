//! `traffic`: recorded traffic as JSON lines.

use std::fs::File;
use std::io::{BufWriter, Write as _};
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use serde_json::{Map, Value, json};
use tonic::transport::Channel;

use super::remote::Remote;
use super::{DONE, Shell, json, output, tool};
use crate::proto::stats_service_client::StatsServiceClient;
use crate::proto::{
    ExportKind, ExportTrafficRequest, GetToolRequest, ListToolsRequest, ToolDefinition, ToolRecord, ToolRef,
};

/// Export recorded traffic
#[derive(clap::Args)]
#[command(after_help = "Example: toolcrib traffic export --events -o events.jsonl")]
pub(super) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(clap::Subcommand)]
enum Command {
    Export(Export),
}

/// Write recorded traffic as JSON lines
#[derive(clap::Args)]
#[command(after_help = "Example: toolcrib traffic export --demand --tools tools.jsonl -o trace.jsonl")]
struct Export {
    #[command(flatten)]
    kind: Kind,
    /// Also write the tools, as `replay --tools` reads them
    #[arg(long, value_name = "FILE", conflicts_with = "events")]
    tools: Option<PathBuf>,
    /// Only what stands after this place in the log
    #[arg(long, value_name = "N", default_value_t = 0, hide_default_value = true)]
    after: u64,
    /// Write to this file; to standard output where it is left out
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
}

/// What is exported: one of these.
#[derive(clap::Args)]
#[group(required = true, multiple = false)]
struct Kind {
    /// Every event of the log: lossless, all that `replay --events` needs
    #[arg(long)]
    events: bool,
    /// What was asked and called: a trace that `replay --trace` reads
    #[arg(long)]
    demand: bool,
}

/// Runs the subcommand.
pub(super) async fn run(args: Args, shell: &Shell) -> anyhow::Result<u8> {
    let Command::Export(args) = args.command;
    let remote = shell.connect().await?;
    let mut written = Vec::new();
    if let Some(path) = &args.tools {
        written.push(export_tools(&remote, path).await?);
    }
    let kind = if args.kind.events { ExportKind::Events } else { ExportKind::Demand };
    let request = ExportTrafficRequest { namespace: remote.namespace.clone(), kind: kind.into(), after: args.after };
    let Some(path) = &args.output else {
        // Standard output is the export itself; nothing else may stand there.
        let mut stream = remote.stats().export_traffic(request).await?.into_inner();
        let mut begin = 0;
        while let Some(chunk) = stream.message().await? {
            begin = chunk.log_begin;
            output::print_bytes(&chunk.lines)?;
        }
        output::note(&said_of_begin(begin, args.after).unwrap_or_default());
        return Ok(DONE);
    };
    let exported = export_to(remote.stats(), request, path).await?;
    written.push((exported.path, exported.n_lines));

    let mut text = String::new();
    let mut files = Vec::new();
    for (path, n_lines) in written {
        text.push_str(&format!("{}: {} lines\n", path.display(), output::count(n_lines)));
        files.push(json!({ "file": path.display().to_string(), "lines": n_lines }));
    }
    text.push_str(&said_of_begin(exported.log_begin, args.after).unwrap_or_default());
    shell.print(&json!({ "files": files, "log_begin": exported.log_begin }), &text)?;
    Ok(DONE)
}

/// Says where the log begins, if more was asked for than it has.
fn said_of_begin(log_begin: u64, after: u64) -> Option<String> {
    (log_begin > after + 1).then(|| {
        format!("the log begins at {log_begin}: policy (log.retain_days, log.retain_mib) had older traffic cut\n")
    })
}

/// An export in a file.
pub(super) struct Exported {
    /// The file.
    pub path: PathBuf,
    /// Its lines.
    pub n_lines: usize,
    /// The first record that the log still has; 0 where nothing was exported.
    pub log_begin: u64,
}

/// Writes an export to a file.
pub(super) async fn export_to(
    mut stats: StatsServiceClient<Channel>,
    request: ExportTrafficRequest,
    path: &Path,
) -> anyhow::Result<Exported> {
    let mut stream = stats.export_traffic(request).await?.into_inner();
    let mut lines = Lines::create(path)?;
    let mut log_begin = 0;
    while let Some(chunk) = stream.message().await.with_context(|| lines.incomplete())? {
        log_begin = chunk.log_begin;
        lines.write(&chunk.lines)?;
    }
    let (path, n_lines) = lines.finish()?;
    Ok(Exported { path, n_lines, log_begin })
}

/// A file of lines in the making.
struct Lines {
    path: PathBuf,
    file: BufWriter<File>,
    n_lines: usize,
}

impl Lines {
    fn create(path: &Path) -> anyhow::Result<Self> {
        let file = File::create(path).with_context(|| format!("cannot write {}", path.display()))?;
        Ok(Self { path: path.to_owned(), file: BufWriter::new(file), n_lines: 0 })
    }

    fn write(&mut self, bytes: &[u8]) -> anyhow::Result<()> {
        self.n_lines += bytes.iter().filter(|byte| **byte == b'\n').count();
        self.file.write_all(bytes).with_context(|| self.incomplete())
    }

    fn finish(mut self) -> anyhow::Result<(PathBuf, usize)> {
        self.file.flush().with_context(|| self.incomplete())?;
        Ok((self.path, self.n_lines))
    }

    fn incomplete(&self) -> String {
        format!("{} is incomplete", self.path.display())
    }
}

/// Writes every tool of the namespace, retired ones too, since the trace may call them.
async fn export_tools(remote: &Remote, path: &Path) -> anyhow::Result<(PathBuf, usize)> {
    let listed = tool::list_all(remote, ListToolsRequest::default(), None).await?;
    let mut registry = remote.registry();
    let mut lines = Lines::create(path)?;
    for record in &listed.tools {
        let tool = record.tool.as_ref().map(|tool| ToolRef { version: 0, ..tool.clone() });
        let request = GetToolRequest { namespace: remote.namespace.clone(), tool };
        let shown = registry.get_tool(request).await.with_context(|| lines.incomplete())?.into_inner();
        let line = to_tools_line(record, &shown.definition.unwrap_or_default());
        lines.write(format!("{line}\n").as_bytes())?;
    }
    lines.finish()
}

/// Returns a line of a tools file: the name as traces write it, and the whole definition's size.
fn to_tools_line(record: &ToolRecord, definition: &ToolDefinition) -> Value {
    let mut line = Map::new();
    line.insert("name".to_owned(), json!(format!("{}__{}", definition.source, definition.name)));
    line.insert("description".to_owned(), json!(definition.description));
    line.insert("input_schema".to_owned(), json::embedded(&definition.input_schema));
    if !definition.group.is_empty() {
        line.insert("domain".to_owned(), json!(definition.group));
    }
    line.insert("schema_tokens".to_owned(), json!(record.full_tokens));
    if definition.initial_score > 0.0 {
        line.insert("initial_score".to_owned(), json!(definition.initial_score));
    }
    Value::Object(line)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::ids::ToolId;
    use crate::offline::trace::read_tools;

    #[test]
    fn exported_tool_reads_back() {
        let definition = ToolDefinition {
            source: "github".to_owned(),
            name: "create_issue".to_owned(),
            description: "Opens an issue".to_owned(),
            input_schema: br#"{"type":"object"}"#.as_slice().into(),
            group: "code".to_owned(),
            initial_score: 2.5,
            ..ToolDefinition::default()
        };
        let record = ToolRecord { full_tokens: 667, ..ToolRecord::default() };
        let line = to_tools_line(&record, &definition).to_string();
        let (tools, errors) = read_tools(line.as_bytes(), "default");
        assert!(errors.is_empty(), "{errors:?}");
        assert_eq!(tools[0].id, ToolId::new("github", "create_issue"));
        assert_eq!((tools[0].schema_tokens, tools[0].initial_score), (Some(667), 2.5));
        assert_eq!(tools[0].domain.as_deref(), Some("code"));
    }
}

//! `import`: registers the tools of catalog files.
//!
//! A file is read whole before the first byte is sent: a stream that broke off in the middle would look like a shorter
//! catalog, and tools would be withdrawn for it.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use bytes::Bytes;
use clap::ValueEnum;
use serde_json::{Value, json};

use super::import_report::{self, Show};
use super::remote::{Remote, new_request_id};
use super::{DONE, FAILED, Shell, failure};
use crate::engine::clock::{Clock as _, SystemClock};
use crate::proto::import_tools_request::Part;
use crate::proto::{CatalogShape, ImportTarget, ImportToolsRequest, ImportToolsResponse};

/// Bytes of one message; the daemon takes 512 KiB.
const CHUNK_BYTES: usize = 256 << 10;

/// Register the tools of catalog files: MCP, OpenAI or Anthropic lists of tools, or JSON lines
///
/// Each file is a thing asked about: it ends with 0 where something of every file came in or was there already, whatever
/// else was refused, and with 1 where a file could not be imported or all of it was refused.
#[derive(clap::Args)]
#[command(after_help = "Example: toolcrib import github.json --dry-run")]
pub(super) struct Args {
    /// The files
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Source that the tools are filed under; taken from the names or the file where it is left out
    #[arg(long)]
    source: Option<String>,
    /// What the files are; found out by looking where it is left out
    #[arg(long, value_enum)]
    shape: Option<Shape>,
    /// Say what would happen, and do nothing
    #[arg(long)]
    dry_run: bool,
    /// Show everything that is new, changed, refused or flagged
    #[arg(long, short)]
    verbose: bool,
}

#[derive(Clone, Copy, ValueEnum)]
enum Shape {
    /// The result of MCP `tools/list`
    Mcp,
    /// JSON lines, one tool each
    Jsonl,
    /// The `tools` of an OpenAI request, Chat Completions or Responses
    Openai,
    /// The `tools` of an Anthropic request
    Anthropic,
}

/// What became of one file.
struct Imported {
    file: String,
    came: anyhow::Result<ImportToolsResponse>,
}

/// Imports the files in order. Fails when one of them could not be imported, nothing of one was admitted, or one left a
/// source without a tool.
pub(super) async fn run(args: Args, shell: &Shell) -> anyhow::Result<u8> {
    let remote = shell.connect().await?;
    let clock = SystemClock::new();
    let mut imported = Vec::new();
    for path in &args.files {
        let target = target(path, &args, &remote.namespace);
        imported.push(Imported { file: path.display().to_string(), came: import(path, target, &remote).await });
    }
    let seconds = clock.monotonic().as_secs_f64();

    let files: Vec<Value> = imported.iter().map(|file| file.to_json(&args, shell)).collect();
    shell.print(&json!({ "files": files, "seconds": seconds }), &describe(&imported, &args, seconds, shell))?;
    let has_failed = imported.iter().any(Imported::has_failed);
    Ok(if has_failed { FAILED } else { DONE })
}

fn target(path: &Path, args: &Args, namespace: &str) -> ImportTarget {
    let shape = match args.shape {
        None => CatalogShape::Unspecified,
        Some(Shape::Mcp) => CatalogShape::Mcp,
        Some(Shape::Jsonl) => CatalogShape::Jsonl,
        Some(Shape::Openai) => CatalogShape::Openai,
        Some(Shape::Anthropic) => CatalogShape::Anthropic,
    };
    // The folder may be what names the source, also for a file of the folder that we are in.
    let file = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    ImportTarget {
        namespace: namespace.to_owned(),
        source: args.source.clone().unwrap_or_default(),
        shape: shape.into(),
        file_name: file.display().to_string(),
        request_id: new_request_id(),
        dry_run: args.dry_run,
        ..ImportTarget::default()
    }
}

async fn import(path: &Path, target: ImportTarget, remote: &Remote) -> anyhow::Result<ImportToolsResponse> {
    if path.is_dir() {
        bail!("{0} is a directory; name its files, or try `toolcrib apply -f {0}`", path.display());
    }
    let bytes = std::fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
    Ok(send(target, Bytes::from(bytes), remote).await?)
}

/// Sends a catalog file and returns what came of it.
pub(super) async fn send(
    target: ImportTarget,
    bytes: Bytes,
    remote: &Remote,
) -> Result<ImportToolsResponse, tonic::Status> {
    let answer = remote.registry().import_tools(tokio_stream::iter(requests(target, bytes))).await?;
    Ok(answer.into_inner())
}

/// Cuts a file into messages: the target, then the chunks.
fn requests(target: ImportTarget, mut bytes: Bytes) -> Vec<ImportToolsRequest> {
    let mut requests = vec![ImportToolsRequest { part: Some(Part::Target(target)) }];
    while !bytes.is_empty() {
        let chunk = bytes.split_to(bytes.len().min(CHUNK_BYTES));
        requests.push(ImportToolsRequest { part: Some(Part::Chunk(chunk)) });
    }
    requests
}

impl Imported {
    fn has_failed(&self) -> bool {
        self.came.as_ref().map_or(true, import_report::has_failed)
    }

    fn to_json(&self, args: &Args, shell: &Shell) -> Value {
        let mut value = match &self.came {
            Err(error) => json!({ "error": failure::to_text(error, shell) }),
            Ok(answer) => import_report::to_json(answer, args.dry_run),
        };
        value["file"] = json!(self.file);
        value
    }
}

fn describe(imported: &[Imported], args: &Args, seconds: f64, shell: &Shell) -> String {
    let show = Show { is_verbose: args.verbose, is_dry_run: args.dry_run, place: &|index| format!("#{index}") };
    let mut text = String::new();
    for Imported { file, came } in imported {
        match came {
            Ok(answer) => text.push_str(&format!("{file}: {}", import_report::describe(answer, &show))),
            Err(error) => text.push_str(&format!("{file}\n{}\n", failure::to_text(error, shell))),
        }
    }
    format!("{text}{seconds:.2} s\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_is_sent_whole_after_its_target() {
        let bytes: Vec<u8> = (0..CHUNK_BYTES + 7).map(|n| u8::try_from(n % 251).unwrap_or(0)).collect();
        let requests = requests(ImportTarget::default(), Bytes::from(bytes.clone()));
        assert!(matches!(requests[0].part, Some(Part::Target(_))));
        let mut sent = Vec::new();
        for request in &requests[1..] {
            let Some(Part::Chunk(chunk)) = &request.part else { panic!("a second target") };
            assert!(!chunk.is_empty() && chunk.len() <= CHUNK_BYTES);
            sent.extend_from_slice(chunk);
        }
        assert_eq!((requests.len(), sent), (3, bytes));
    }

    #[test]
    fn folder_of_a_file_is_told_also_where_it_was_not_named() {
        let args = Args { files: Vec::new(), source: None, shape: None, dry_run: false, verbose: false };
        let target = target(Path::new("tools.jsonl"), &args, "default");
        let named = Path::new(&target.file_name);
        assert!(named.is_absolute() && named.ends_with("tools.jsonl"), "{named:?}");
    }

    #[test]
    fn empty_file_is_still_an_import() {
        assert_eq!(requests(ImportTarget::default(), Bytes::new()).len(), 1);
    }
}

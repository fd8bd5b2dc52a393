//! `import`: registers the tools of catalog files.
//!
//! A file is read whole before the first byte is sent: a stream that broke off in the middle would look like a shorter
//! catalog, and tools would be withdrawn for it.

use std::path::{Path, PathBuf};

use anyhow::Context as _;
use bytes::Bytes;
use clap::ValueEnum;
use serde_json::{Value, json};

use super::output::{Column, count, table};
use super::remote::{Remote, new_request_id};
use super::{DONE, FAILED, Shell, admissions, failure};
use crate::engine::clock::{Clock as _, SystemClock};
use crate::proto::import_tools_request::Part;
use crate::proto::{AdmissionResult, CatalogShape, ImportTarget, ImportToolsRequest, ImportToolsResponse};

/// Bytes of one message; the daemon takes 512 KiB.
const CHUNK_BYTES: usize = 256 << 10;

/// Refusals shown without `--verbose`.
const SHOWN: usize = 5;

/// Register the tools of catalog files: MCP `tools/list` results, or JSON lines
///
/// Each file is a thing asked about: it ends with 0 where something of every file came in or was there already, whatever
/// else was refused, and with 1 where a file could not be imported or all of it was refused.
#[derive(clap::Args)]
#[command(after_help = "Example: toolcrib import github.json --namespace default")]
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
    /// Show everything that was refused or flagged
    #[arg(long, short)]
    verbose: bool,
}

#[derive(Clone, Copy, ValueEnum)]
enum Shape {
    /// The result of MCP `tools/list`
    Mcp,
    /// JSON lines, one tool each
    Jsonl,
}

/// What became of one file.
struct Imported {
    file: String,
    came: anyhow::Result<ImportToolsResponse>,
}

/// Imports the files in order. Fails when one of them could not be imported, or nothing of one was admitted.
pub(super) async fn run(args: Args, shell: &Shell) -> anyhow::Result<u8> {
    let remote = shell.connect().await?;
    let clock = SystemClock::new();
    let mut imported = Vec::new();
    for path in &args.files {
        let target = target(path, &args, &remote.namespace);
        imported.push(Imported { file: path.display().to_string(), came: import(path, target, &remote).await });
    }
    let seconds = clock.monotonic().as_secs_f64();

    let files: Vec<Value> = imported.iter().map(|file| file.to_json(shell)).collect();
    shell.print(&json!({ "files": files, "seconds": seconds }), &describe(&imported, &args, seconds, shell))?;
    let has_failed = imported.iter().any(Imported::has_failed);
    Ok(if has_failed { FAILED } else { DONE })
}

fn target(path: &Path, args: &Args, namespace: &str) -> ImportTarget {
    let shape = match args.shape {
        None => CatalogShape::Unspecified,
        Some(Shape::Mcp) => CatalogShape::Mcp,
        Some(Shape::Jsonl) => CatalogShape::Jsonl,
    };
    // The folder may be what names the source, also for a file of the folder that we are in.
    let file = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    ImportTarget {
        namespace: namespace.to_owned(),
        source: args.source.clone().unwrap_or_default(),
        shape: shape.into(),
        file_name: file.display().to_string(),
        request_id: new_request_id(),
    }
}

async fn import(path: &Path, target: ImportTarget, remote: &Remote) -> anyhow::Result<ImportToolsResponse> {
    let bytes = std::fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
    let requests = requests(target, Bytes::from(bytes));
    let answer = remote.registry().import_tools(tokio_stream::iter(requests)).await?;
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
        match &self.came {
            Err(_) => true,
            Ok(answer) => {
                let counts = answer.counts.unwrap_or_default();
                counts.refused > 0 && counts.admitted + counts.unchanged + counts.flagged == 0
            }
        }
    }

    fn to_json(&self, shell: &Shell) -> Value {
        match &self.came {
            Err(error) => json!({ "file": self.file, "error": failure::to_text(error, shell) }),
            Ok(answer) => {
                let counts = answer.counts.unwrap_or_default();
                json!({
                    "file": self.file,
                    "admitted": counts.admitted,
                    "unchanged": counts.unchanged,
                    "flagged": counts.flagged,
                    "refused": counts.refused,
                    "withdrawn": answer.withdrawn,
                    "refusals": admissions::refusals(&answer.admissions),
                    "flags": admissions::flags(&answer.admissions),
                    "durable": answer.durable,
                })
            }
        }
    }
}

fn describe(imported: &[Imported], args: &Args, seconds: f64, shell: &Shell) -> String {
    let mut rows = Vec::new();
    let mut details = String::new();
    for Imported { file, came } in imported {
        let answer = match came {
            Ok(answer) => answer,
            Err(error) => {
                details.push_str(&format!("\n{file}\n{}\n", failure::to_text(error, shell)));
                continue;
            }
        };
        let counts = answer.counts.unwrap_or_default();
        let mut row = vec![file.clone()];
        let numbers = [counts.admitted, counts.unchanged, counts.flagged, counts.refused, answer.withdrawn.into()];
        row.extend(numbers.map(count));
        rows.push(row);
        details.push_str(&describe_findings(file, answer, args.verbose));
    }
    let columns = [
        Column::Left("file"),
        Column::Right("admitted"),
        Column::Right("unchanged"),
        Column::Right("flagged"),
        Column::Right("refused"),
        Column::Right("withdrawn"),
    ];
    let table = table(&columns, rows, "nothing was imported");
    format!("{table}{details}\n{seconds:.2} s\n")
}

/// Writes the refusals of a file, a few or with `--verbose` all of them, and then the warnings too.
fn describe_findings(file: &str, answer: &ImportToolsResponse, is_verbose: bool) -> String {
    let mut text = String::new();
    let mut left_out: u64 = 0;
    let mut shown = 0;
    for admission in &answer.admissions {
        let is_refused = admission.result() == AdmissionResult::Refused;
        if is_verbose || (is_refused && shown < SHOWN) {
            admissions::describe(&mut text, admission);
            shown += 1;
        } else if is_refused {
            left_out += 1;
        }
    }
    if left_out > 0 {
        text.push_str(&format!("{left_out} more refused; --verbose shows them\n"));
    }
    let flagged = answer.counts.unwrap_or_default().flagged;
    if flagged > 0 && !is_verbose {
        text.push_str(&format!("{flagged} flagged: they are in, and worth a look; --verbose says why\n"));
    }
    if text.is_empty() { text } else { format!("\n{file}\n{text}") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::proto::{Admission, AdmissionCounts};

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
        let args = Args { files: Vec::new(), source: None, shape: None, verbose: false };
        let target = target(Path::new("tools.jsonl"), &args, "default");
        let named = Path::new(&target.file_name);
        assert!(named.is_absolute() && named.ends_with("tools.jsonl"), "{named:?}");
    }

    #[test]
    fn empty_file_is_still_an_import() {
        assert_eq!(requests(ImportTarget::default(), Bytes::new()).len(), 1);
    }

    #[test]
    fn only_a_few_refusals_are_shown_unasked() {
        let refused = Admission { result: AdmissionResult::Refused.into(), ..Admission::default() };
        let answer = ImportToolsResponse { admissions: vec![refused; 12], ..ImportToolsResponse::default() };
        assert!(describe_findings("f", &answer, false).ends_with("7 more refused; --verbose shows them\n"));
        assert_eq!(describe_findings("f", &answer, true).matches("refused #0").count(), 12);
    }

    #[test]
    fn import_of_which_nothing_was_admitted_has_failed() {
        let import = |admitted, refused| {
            let counts = AdmissionCounts { admitted, refused, ..AdmissionCounts::default() };
            let came = Ok(ImportToolsResponse { counts: Some(counts), ..ImportToolsResponse::default() });
            Imported { file: "f".to_owned(), came }.has_failed()
        };
        assert_eq!((import(0, 1), import(1, 1), import(0, 0)), (true, false, false));
    }
}

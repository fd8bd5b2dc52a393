//! `tool withdraw`: takes all tools of a source out, as if it had stopped listing them.

use bytes::Bytes;

use crate::cli::import;
use crate::cli::import_report::{self, Show};
use crate::cli::remote::new_request_id;
use crate::cli::{DONE, Shell};
use crate::proto::ImportTarget;

/// Withdraw all tools of a source that is gone; they come back by themselves when it is imported again
#[derive(clap::Args)]
#[command(after_help = "Example: toolcrib tool withdraw github --dry-run")]
pub(super) struct Args {
    /// The source
    source: String,
    /// Say what would happen, and do nothing
    #[arg(long)]
    dry_run: bool,
    /// Name every tool
    #[arg(long, short)]
    verbose: bool,
}

/// Withdraws the tools.
pub(super) async fn run(args: Args, shell: &Shell) -> anyhow::Result<u8> {
    let remote = shell.connect().await?;
    let target = ImportTarget {
        namespace: remote.namespace.clone(),
        gone_sources: vec![args.source.clone()],
        dry_run: args.dry_run,
        request_id: new_request_id(),
        ..ImportTarget::default()
    };
    let answer = import::send(target, Bytes::new(), &remote).await?;
    let place = |index| format!("#{index}");
    let show = Show { is_verbose: args.verbose, is_dry_run: args.dry_run, place: &place };
    let text = format!("{}: {}", args.source, import_report::describe(&answer, &show));
    shell.print(&import_report::to_json(&answer, args.dry_run), &text)?;
    Ok(DONE)
}

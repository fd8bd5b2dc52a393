//! `session erase`: forgetting what was said in a session.

use serde_json::json;

use crate::cli::{DONE, Shell, output};
use crate::proto::EraseSessionRequest;

/// Erase what is kept of a session's words
///
/// Its queries are deleted; its texts, and its ids with those of its calls, are replaced in the log and in memory, for
/// good. Figures stay. An open session is closed first. Backups and exports made before keep what they have. The database
/// file is written anew, and changes wait meanwhile.
#[derive(clap::Args)]
#[command(after_help = "Example: toolcrib session erase conversation-1")]
pub(super) struct Args {
    /// Which session
    session: String,
}

/// Erases the session and says what was found of it.
pub(super) async fn run(args: Args, shell: &Shell) -> anyhow::Result<u8> {
    let remote = shell.connect().await?;
    let request = EraseSessionRequest { namespace: remote.namespace.clone(), session_id: args.session.clone() };
    let erased = remote.sessions().erase_session(request).await?.into_inner();
    let value = json!({
        "session_id": args.session,
        "erased_as": erased.erased_as,
        "queries": erased.queries,
        "records": erased.records,
        "rewritten": erased.rewritten,
    });
    let mut text = format!(
        "session {} is erased: {} kept queries deleted, {} records changed; the log calls it {}\n",
        args.session,
        output::count(erased.queries),
        output::count(erased.records),
        erased.erased_as,
    );
    if !erased.rewritten {
        text.push_str(
            "the database file could not be written anew, so remains may be left in unused space of it; the daemon \
             tries again within the hour, its log says why\n",
        );
    }
    shell.print(&value, &text)?;
    Ok(DONE)
}

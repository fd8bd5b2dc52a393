//! `restore`: a backup in the place of a database.

use std::path::PathBuf;

use super::backup::{Database, to_json, to_text};
use super::{DONE, Shell};
use crate::engine::clock::{Clock, SystemClock};
use crate::store::sqlite;

/// Put a backup in the place of the database
///
/// The backup is checked first. Refused while a daemon uses the database. With --force, a database that is there is kept
/// beside it as FILE.before-restore-N.
#[derive(clap::Args)]
#[command(after_help = "Example: toolcrib restore crib-monday.db --db crib.db --force")]
pub(super) struct Args {
    /// The backup
    #[arg(value_name = "BACKUP")]
    backup: PathBuf,
    #[command(flatten)]
    database: Database,
    /// Take the place of a database that is there
    #[arg(long)]
    force: bool,
}

/// Puts the copy in place and says what is in it.
pub(super) fn run(args: &Args, shell: &Shell) -> anyhow::Result<u8> {
    let path = args.database.path()?;
    let clock = SystemClock::new();
    let made = sqlite::restore(&args.backup, &path, args.force)?;
    let took = clock.monotonic();
    let mut text = format!("{} is restored from {}\n", path.display(), args.backup.display());
    if let Some(kept) = &made.kept {
        text.push_str(&format!("what was there before is kept as {}\n", kept.display()));
    }
    text.push_str(&format!("\n{}\nstart it with `toolcrib serve --db {}`\n", to_text(&made, took), path.display()));
    shell.print(&to_json(&made, &path, took), &text)?;
    Ok(DONE)
}

//! `backup`: a copy of a database that a daemon may be using.

use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::{Value, json};

use super::output::{self, Column, facts, table};
use super::{DONE, Shell};
use crate::config::{self, RawConfig, RawStore};
use crate::engine::clock::{Clock, SystemClock};
use crate::store::sqlite::{self, Copied};

/// Copy the database, also while a daemon runs
///
/// The copy is one moment of the database: all that was acknowledged before it began, whole. It is checked before this
/// says that it is done. It holds what is erased from the database later.
#[derive(clap::Args)]
#[command(after_help = "Example: toolcrib backup --db crib.db crib-monday.db")]
pub(super) struct Args {
    #[command(flatten)]
    database: Database,
    /// The file to write
    #[arg(value_name = "OUT")]
    out: PathBuf,
    /// Replace the file if it is there
    #[arg(long)]
    force: bool,
}

/// Which database, found as `serve` finds it.
#[derive(clap::Args)]
pub(super) struct Database {
    /// The database file [env: TOOLCRIB_DB] [default: toolcrib.db]
    #[arg(long, value_name = "FILE")]
    db: Option<String>,
    /// The daemon's configuration file, TOML
    #[arg(long, value_name = "FILE", env = "TOOLCRIB_CONFIG", hide_env_values = true)]
    config: Option<PathBuf>,
}

impl Database {
    /// Returns where it is.
    pub(super) fn path(&self) -> anyhow::Result<PathBuf> {
        let flags = RawConfig { store: RawStore { path: self.db.clone() }, ..RawConfig::default() };
        let (config, _) = config::load(flags, |name| std::env::var(name).ok(), self.config.as_deref())?;
        Ok(config.store.path)
    }
}

/// Makes the copy and says what is in it.
pub(super) fn run(args: &Args, shell: &Shell) -> anyhow::Result<u8> {
    let path = args.database.path()?;
    let clock = SystemClock::new();
    let made = sqlite::backup(&path, &args.out, args.force)?;
    let took = clock.monotonic();
    let text = format!("{} is a whole copy of {}\n\n{}", args.out.display(), path.display(), to_text(&made, took));
    shell.print(&to_json(&made, &args.out, took), &text)?;
    Ok(DONE)
}

/// Writes a copy as JSON.
pub(super) fn to_json(made: &Copied, file: &Path, took: Duration) -> Value {
    let namespaces = made.namespaces.iter().map(|(name, last)| json!({ "namespace": name.as_str(), "last": last.0 }));
    json!({
        "file": file.display().to_string(),
        "bytes": made.bytes,
        "seconds": took.as_secs_f64(),
        "namespaces": namespaces.collect::<Vec<_>>(),
        "kept": made.kept.as_ref().map(|path| path.display().to_string()),
    })
}

/// Writes a copy for people.
pub(super) fn to_text(made: &Copied, took: Duration) -> String {
    let size = format!("{} bytes", output::count(made.bytes));
    let shown = facts(&[("size", size), ("took", format!("{:.1} s", took.as_secs_f64()))]);
    let row = |(name, last): &(_, _)| vec![ToString::to_string(name), output::count(last)];
    let rows = made.namespaces.iter().map(row).collect();
    let columns = [Column::Left("namespace"), Column::Right("last record")];
    format!("{shown}\n{}", table(&columns, rows, "no namespaces"))
}

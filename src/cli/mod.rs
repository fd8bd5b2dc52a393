//! The command line: one file a command, and the only place that prints.
//!
//! This file holds the arguments that every command shares, the list of commands and the exit codes. A command asks the
//! daemon through `Shell::connect`, builds its answer twice, as JSON and as text, and hands both to `Shell::print`.
//! To add a command: its file with `Args` and `run`, its line in `Command`, its arm in `Command::run`. `anyhow` ends
//! here.

mod admissions;
mod apply;
mod backup;
mod check_config;
mod completions;
mod counts;
mod demo;
mod explain;
mod failure;
mod import;
mod import_report;
mod json;
mod output;
mod plan;
mod policy;
mod remote;
mod replay;
mod request;
mod restore;
mod serve;
mod session;
mod stats;
mod tool;
mod traffic;
mod visit;
mod watch;

use std::process::ExitCode;

use anyhow::Context as _;
use clap::Parser;
use serde_json::Value;

use remote::{Address, Remote};

/// Exit code: what was asked for was done.
const DONE: u8 = 0;
/// Exit code: what was asked for failed.
const FAILED: u8 = 1;
/// Exit code: it was asked for in a way that means nothing.
const USAGE: u8 = 2;

#[derive(Parser)]
#[command(name = "toolcrib", version, max_term_width = 100)]
#[command(about = "Keeps the tool definitions of LLM agents and issues them on demand")]
#[command(after_help = "Example: toolcrib plan --query \"create an issue\"")]
struct Cli {
    #[command(flatten)]
    shell: Shell,
    #[command(subcommand)]
    command: Command,
}

/// What every command is told.
#[derive(clap::Args)]
#[command(next_help_heading = "Common options")]
struct Shell {
    /// Where the daemon listens
    #[arg(long, global = true, env = "TOOLCRIB_ADDR", hide_env_values = true, value_name = "URL")]
    #[arg(default_value = "http://127.0.0.1:7117")]
    addr: Address,
    /// Whose tools
    #[arg(long, global = true, env = "TOOLCRIB_NAMESPACE", hide_env_values = true, value_name = "NAME")]
    #[arg(default_value = "default")]
    namespace: String,
    /// Print JSON instead of text
    #[arg(long, global = true)]
    json: bool,
}

#[derive(clap::Subcommand)]
enum Command {
    Serve(serve::Args),
    Demo(demo::Args),
    Import(import::Args),
    Apply(apply::Args),
    Tool(tool::Args),
    Session(session::Args),
    Plan(plan::Args),
    Request(request::Args),
    Explain(explain::Args),
    Policy(policy::Args),
    Stats(stats::Args),
    Watch(watch::Args),
    Traffic(traffic::Args),
    Replay(replay::Args),
    Backup(backup::Args),
    Restore(restore::Args),
    CheckConfig(check_config::Args),
    Completions(completions::Args),
}

impl Command {
    /// Runs the command and returns the exit code.
    async fn run(self, shell: &Shell) -> anyhow::Result<u8> {
        match self {
            Self::Serve(args) => serve::run(args).await,
            Self::Demo(args) => demo::run(args, shell.json).await.map(|()| DONE),
            Self::Import(args) => import::run(args, shell).await,
            Self::Apply(args) => apply::run(args, shell).await,
            Self::Tool(args) => tool::run(args, shell).await,
            Self::Session(args) => session::run(args, shell).await,
            Self::Plan(args) => plan::run(args, shell).await,
            Self::Request(args) => request::run(args, shell).await,
            Self::Explain(args) => explain::run(args, shell).await,
            Self::Policy(args) => policy::run(args, shell).await,
            Self::Stats(args) => stats::run(args, shell).await,
            Self::Watch(args) => watch::run(args, shell).await,
            Self::Traffic(args) => traffic::run(args, shell).await,
            Self::Replay(args) => replay::run(&args, shell),
            Self::Backup(args) => backup::run(&args, shell),
            Self::Restore(args) => restore::run(&args, shell),
            Self::CheckConfig(args) => check_config::run(&args, shell),
            Self::Completions(args) => completions::run(&args),
        }
    }
}

impl Shell {
    /// Connects to the daemon.
    async fn connect(&self) -> anyhow::Result<Remote> {
        Remote::connect(&self.addr, &self.namespace).await
    }

    /// Prints an answer: one line of JSON where that was asked for, the text otherwise.
    fn print(&self, value: &Value, text: &str) -> anyhow::Result<()> {
        if self.json { output::print_line(&value.to_string()) } else { output::print_text(text) }
    }
}

/// Reads the arguments, runs the command, and says what went wrong if anything did.
pub fn main() -> ExitCode {
    let Cli { shell, command } = match Cli::try_parse() {
        Ok(cli) => cli,
        // Help and the version are no failures.
        Err(error) if !error.use_stderr() => error.exit(),
        Err(error) => {
            failure::print_usage(&error, std::env::args_os());
            return ExitCode::from(USAGE);
        }
    };
    let done = runtime().and_then(|runtime| {
        let done = runtime.block_on(command.run(&shell));
        // A task that hangs must not keep the process: what had to be waited for was waited for.
        runtime.shutdown_background();
        done
    });
    match done {
        Ok(code) => ExitCode::from(code),
        Err(error) if output::is_reader_gone(&error) => ExitCode::from(DONE),
        Err(error) => {
            failure::print(&error, &shell);
            ExitCode::from(FAILED)
        }
    }
}

fn runtime() -> anyhow::Result<tokio::runtime::Runtime> {
    tokio::runtime::Builder::new_multi_thread().enable_all().build().context("cannot start the runtime")
}

#[cfg(test)]
mod tests;

//! `tool`: the registry, by hand.

mod approve;
mod change;
mod diff;
mod find;
mod history;
mod list;
mod register;
mod show;
mod trust;
mod withdraw;

use super::Shell;
pub(super) use list::all as list_all;

/// List, show, register, approve and move tools
#[derive(clap::Args)]
#[command(after_help = "Example: toolcrib tool list --state quarantined")]
pub(super) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(clap::Subcommand)]
enum Command {
    List(list::Args),
    Show(show::Args),
    Register(register::Args),
    History(history::Args),
    Withdraw(withdraw::Args),
    Diff(diff::Args),
    Approve(approve::ApproveArgs),
    Accept(approve::AcceptArgs),
    #[command(flatten)]
    Change(change::Command),
}

/// Runs the subcommand.
pub(super) async fn run(args: Args, shell: &Shell) -> anyhow::Result<u8> {
    match args.command {
        Command::List(args) => list::run(args, shell).await,
        Command::Show(args) => show::run(args, shell).await,
        Command::Register(args) => register::run(args, shell).await,
        Command::History(args) => history::run(args, shell).await,
        Command::Withdraw(args) => withdraw::run(args, shell).await,
        Command::Diff(args) => diff::run(args, shell).await,
        Command::Approve(args) => approve::run(args, shell).await,
        Command::Accept(args) => approve::run_accept(args, shell).await,
        Command::Change(command) => change::run(command, shell).await,
    }
}

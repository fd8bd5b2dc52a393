//! `completions`: what a shell needs to complete our commands.

use clap::CommandFactory as _;

use super::{Cli, DONE, output};

/// Print completions for a shell
#[derive(clap::Args)]
#[command(after_help = "Example: toolcrib completions bash > ~/.local/share/bash-completion/completions/toolcrib")]
pub(super) struct Args {
    /// Which shell
    shell: clap_complete::Shell,
}

/// Prints the completions.
pub(super) fn run(args: &Args) -> anyhow::Result<u8> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "toolcrib", &mut script);
    output::print_bytes(&script)?;
    Ok(DONE)
}

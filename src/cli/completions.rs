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
    output::print_bytes(&script(args.shell))?;
    Ok(DONE)
}

fn script(shell: clap_complete::Shell) -> Vec<u8> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "toolcrib", &mut script);
    script
}

#[cfg(test)]
mod tests {
    use clap::ValueEnum as _;

    use super::*;

    /// Made from the commands themselves, so a new one is completed without another line.
    #[test]
    fn every_shell_completes_every_command() {
        fn names(command: &clap::Command, all: &mut Vec<String>) {
            for sub in command.get_subcommands() {
                all.push(sub.get_name().to_owned());
                names(sub, all);
            }
        }
        let mut all = Vec::new();
        names(&Cli::command(), &mut all);
        assert!(all.contains(&"reference".to_owned()) && all.contains(&"tools".to_owned()), "{all:?}");
        for shell in clap_complete::Shell::value_variants() {
            let script = String::from_utf8(script(*shell)).expect("text");
            for name in &all {
                assert!(script.contains(name.as_str()), "{shell}: {name}");
            }
        }
    }
}

//! The arguments of every command, as people type them.

use clap::CommandFactory as _;

use super::*;

fn parse(line: &str) -> Result<Cli, clap::Error> {
    Cli::try_parse_from(line.split(' '))
}

#[test]
fn arguments_are_well_formed() {
    Cli::command().debug_assert();
}

#[test]
fn every_help_text_has_one_example() {
    fn check(command: &clap::Command, path: &str) {
        let path = format!("{path} {}", command.get_name());
        let help = command.get_after_help().map(ToString::to_string).unwrap_or_default();
        assert_eq!(help.matches("Example: toolcrib").count(), 1, "{path}: {help}");
        assert!(command.get_about().is_some(), "{path} says nothing of itself");
        for sub in command.get_subcommands() {
            check(sub, &path);
        }
    }
    check(&Cli::command(), "");
}

#[test]
fn every_example_can_be_typed() {
    fn check(command: &clap::Command) {
        let help = command.get_after_help().map(ToString::to_string).unwrap_or_default();
        let example = help.lines().next().unwrap_or_default().trim_start_matches("Example: ");
        let example = example.split([',', '>']).next().unwrap_or_default().trim();
        let mut words = Vec::new();
        for (index, part) in example.split(['"', '\'']).enumerate() {
            if index % 2 == 1 {
                words.push(part);
            } else {
                words.extend(part.split_whitespace());
            }
        }
        if let Err(error) = Cli::try_parse_from(&words) {
            panic!("{example}: {error}");
        }
        command.get_subcommands().for_each(check);
    }
    check(&Cli::command());
}

#[test]
fn shared_arguments_go_before_and_after_the_command() {
    for line in ["toolcrib --json --namespace gh tool list", "toolcrib tool list --json --namespace gh"] {
        let Cli { shell, .. } = parse(line).unwrap_or_else(|error| panic!("{line}: {error}"));
        assert_eq!((shell.json, shell.namespace.as_str()), (true, "gh"), "{line}");
    }
}

#[test]
fn usage_that_means_nothing_ends_with_2() {
    for line in [
        "toolcrib",
        "toolcrib nonsense",
        "toolcrib import",
        "toolcrib request",
        "toolcrib request name --need more",
        "toolcrib traffic export",
        "toolcrib traffic export --events --demand",
        "toolcrib traffic export --events --tools tools.jsonl",
        "toolcrib policy set hot_pool.slots",
        "toolcrib replay",
        "toolcrib replay --tools t.jsonl",
        "toolcrib replay --events e.jsonl --trace t.jsonl",
        "toolcrib --addr 7117 stats",
    ] {
        match parse(line) {
            Ok(_) => panic!("{line} was taken"),
            Err(error) => assert_eq!(error.exit_code(), 2, "{line}"),
        }
    }
}

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

/// Cuts a line of a shell into words: quotes hold together, and a comment, a pipe, a redirection or an `&` ends it.
fn words_of(line: &str) -> Vec<&str> {
    let mut words = Vec::new();
    for (index, part) in line.split(['"', '\'']).enumerate() {
        if index % 2 == 1 {
            words.push(part);
            continue;
        }
        for word in part.split_whitespace() {
            if word.starts_with(['#', '|', '>', '&', ';']) {
                return words;
            }
            words.push(word);
        }
    }
    words
}

fn check_can_be_typed(line: &str) {
    if let Err(error) = Cli::try_parse_from(words_of(line)) {
        // `--help` and `--version` are no errors of the line.
        assert!(!error.use_stderr(), "{line}: {error}");
    }
}

#[test]
fn every_example_can_be_typed() {
    fn check(command: &clap::Command) {
        let help = command.get_after_help().map(ToString::to_string).unwrap_or_default();
        let example = help.lines().next().unwrap_or_default().trim_start_matches("Example: ");
        check_can_be_typed(example.split(',').next().unwrap_or_default());
        command.get_subcommands().for_each(check);
    }
    check(&Cli::command());
}

/// Returns the pages that people read, each with its name.
fn pages() -> Vec<(String, String)> {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut paths = vec![root.join("README.md")];
    for entry in std::fs::read_dir(root.join("docs")).expect("docs").flatten() {
        paths.push(entry.path());
    }
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "md"));
    let read = |path: &std::path::PathBuf| std::fs::read_to_string(path).expect("a page of text");
    paths.iter().map(|path| (path.display().to_string(), read(path))).collect()
}

#[test]
fn every_command_in_the_documentation_can_be_typed() {
    let mut n_lines = 0;
    for (page, text) in pages() {
        let joined = text.replace("\\\n", " ");
        let mut is_shell = false;
        for line in joined.lines() {
            if let Some(language) = line.trim_start().strip_prefix("```") {
                is_shell = matches!(language, "sh" | "console");
                continue;
            }
            let command = line.trim_start().trim_start_matches("$ ");
            if is_shell && command.starts_with("toolcrib ") {
                println!("{page}: {command}");
                check_can_be_typed(command);
                n_lines += 1;
            }
        }
    }
    assert!(n_lines >= 5, "only {n_lines} commands were found");
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

//! What a configuration may say, who wins, and what is refused.

use std::io::Write as _;

use super::*;

fn file(text: &str) -> tempfile::NamedTempFile {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(text.as_bytes()).unwrap();
    file
}

fn load_file(text: &str) -> Result<(Config, Vec<Setting>), ConfigError> {
    load(RawConfig::default(), |_| None, Some(file(text).path()))
}

fn check_refused(text: &str, expected: &[&str]) {
    let refused = load_file(text).unwrap_err().to_string();
    assert_eq!(refused.lines().collect::<Vec<_>>(), expected);
}

#[test]
fn nothing_said_gives_the_defaults() {
    let (config, settings) = load(RawConfig::default(), |_| None, None).unwrap();
    assert_eq!(config, Config::default());
    assert!(settings.iter().all(|setting| setting.origin == Origin::Default));
    assert_eq!(settings[0].value, r#""127.0.0.1:7117""#);
}

#[test]
fn every_default_is_within_its_own_range() {
    let mut text = String::new();
    for Setting { name, value, .. } in load(RawConfig::default(), |_| None, None).unwrap().1 {
        text += &format!("{name} = {value}\n");
    }
    let (config, settings) = load_file(&text).unwrap();
    assert_eq!(config, Config::default());
    assert!(settings.iter().all(|setting| setting.origin == Origin::File));
}

#[test]
fn a_flag_wins_over_the_environment_and_that_over_the_file() {
    let mut flags = RawConfig::default();
    flags.server.listen = Some("127.0.0.1:1".into());
    let variable = |name: &str| match name {
        "TOOLCRIB_LISTEN" => Some("127.0.0.1:2".into()),
        "TOOLCRIB_METRICS" => Some("127.0.0.1:3".into()),
        "TOOLCRIB_DB" => Some(String::new()),
        _ => None,
    };
    let file =
        file("server = { listen = '127.0.0.1:4', metrics = '127.0.0.1:5', reflection = true }\nstore.path = 'a.db'");
    let (config, settings) = load(flags, variable, Some(file.path())).unwrap();
    assert_eq!(config.server.listen.port(), 1);
    assert_eq!(config.server.metrics.port(), 3);
    assert!(config.server.reflection);
    assert_eq!(config.store.path, Path::new("a.db"));
    let origins: Vec<Origin> = settings[..4].iter().map(|setting| setting.origin).collect();
    assert_eq!(origins, [Origin::Flag, Origin::Environment, Origin::File, Origin::File]);
}

#[test]
fn everything_that_is_wrong_is_said_at_once() {
    check_refused(
        r#"
        server.listen = "0.0.0.0:7117"
        server.metrics = "here"
        store.path = ""
        log.level = "loud"
        limits.requests = 0
        journal.flush_ms = -1
        "#,
        &[
            r#"server.listen = "0.0.0.0:7117": must be a loopback address; anything else needs TLS and tokens, which this version does not have (from file)"#,
            r#"server.metrics = "here": must be an address and a port such as 127.0.0.1:7117 (from file)"#,
            r#"store.path = "": must be the path of a file (from file)"#,
            r#"log.level = "loud": must be error | warn | info | debug | trace (from file)"#,
            r#"limits.requests = 0: must be 1..=65536 (from file)"#,
            r#"journal.flush_ms = -1: must be 1..=1000 (from file)"#,
        ],
    );
}

#[test]
fn ipv6_loopback_is_loopback() {
    assert!(load_file("server.listen = '[::1]:7117'").unwrap().0.server.listen.is_ipv6());
}

#[test]
fn values_must_fit_each_other() {
    check_refused(
        "server.metrics = '127.0.0.1:7117'\njournal.buffer_events = 100",
        &[
            r#"server.metrics = "127.0.0.1:7117": must differ from server.listen (from file)"#,
            "journal.buffer_events = 100: must be at least journal.batch_events (from file)",
        ],
    );
}

#[test]
fn two_ports_to_be_chosen_may_look_alike() {
    assert!(load_file("server = { listen = '127.0.0.1:0', metrics = '127.0.0.1:0' }").is_ok());
}

#[test]
fn an_unknown_key_is_refused_with_its_line_and_a_caret() {
    let refused = load_file("[server]\nlisten = '127.0.0.1:1'\nlisen = 'x'").unwrap_err().to_string();
    assert!(refused.contains("line 3"), "{refused}");
    assert!(refused.contains("3 | lisen = 'x'"), "{refused}");
    assert!(refused.contains("^^^^^"), "{refused}");
    assert!(refused.contains("unknown field `lisen`, expected one of"), "{refused}");
}

#[test]
fn a_value_of_the_wrong_type_is_refused_with_its_line() {
    let refused = load_file("limits.requests = 'many'").unwrap_err().to_string();
    assert!(refused.contains("line 1"), "{refused}");
}

#[test]
fn a_file_that_is_not_there_is_refused_by_name() {
    let refused = load(RawConfig::default(), |_| None, Some(Path::new("no/such.toml"))).unwrap_err();
    assert_eq!(refused.to_string(), "cannot read no/such.toml");
}

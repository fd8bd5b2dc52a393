//! The program as people start it: arguments in, text, JSON and exit codes out, signals.

use std::fs;
use std::io::{BufRead, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, ChildStderr, Command, Output, Stdio};

use serde_json::Value;
use tempfile::TempDir;

const CATALOG: &str = r#"{"name":"github__create_issue","description":"Creates an issue in a repository. Use it to report a bug.","input_schema":{"type":"object","properties":{"title":{"type":"string","description":"Title of the issue"}},"required":["title"]}}
{"name":"github__list_branches","description":"Lists the branches of a repository.","input_schema":{"type":"object","properties":{"repo":{"type":"string"}}}}
{"name":"fs__read_file","description":"Reads a text file from the disk.","input_schema":{"type":"object","properties":{"path":{"type":"string"}}}}
{"name":"fs__nothing_said","input_schema":{"type":"object"}}
"#;

const DEFINITION: &str = r#"{"source":"fs","name":"cat","summary":"Shows the content of a file","when_to_use":"to look into a text file","keywords":["read","print"],"size_tokens":32,"description":"Shows a file.","input_schema":{"type":"object","properties":{"path":{"type":"string"}},"required":["path"]}}"#;

/// Returns the value of a field in a log line.
fn field_of(line: &str, name: &str) -> String {
    let (_, after) = line.split_once(name).expect("the field");
    after.split_whitespace().next().expect("its value").to_owned()
}

/// A daemon in a process of its own.
struct Serve {
    child: Child,
    log: BufReader<ChildStderr>,
    addr: String,
    metrics: String,
    dir: TempDir,
}

impl Serve {
    fn start() -> Self {
        let dir = tempfile::tempdir().expect("a throw-away folder");
        fs::write(dir.path().join("c.toml"), "").expect("a configuration");
        let mut child = serve(dir.path()).stderr(Stdio::piped()).spawn().expect("a daemon");
        let log = BufReader::new(child.stderr.take().expect("its log"));
        let mut daemon = Self { child, log, addr: String::new(), metrics: String::new(), dir };
        daemon.metrics = field_of(&daemon.read_log_until("starting"), "metrics=");
        daemon.addr = field_of(&daemon.read_log_until("serving"), "addr=");
        daemon
    }

    /// Reads the log up to a line that holds the text, and returns that line.
    fn read_log_until(&mut self, text: &str) -> String {
        let mut line = String::new();
        while self.log.read_line(&mut line).expect("a log") > 0 {
            if line.contains(text) {
                return line;
            }
            line.clear();
        }
        panic!("the log ended before \"{text}\"");
    }

    fn signal(&self, name: &str) {
        let kill = format!("kill -{name} {}", self.child.id());
        assert!(Command::new("sh").args(["-c", &kill]).status().expect("a shell").success());
    }

    fn configure(&self, text: &str) {
        fs::write(self.dir.path().join("c.toml"), text).expect("a configuration");
    }

    fn run(&self, line: &str) -> Output {
        let mut args: Vec<&str> = line.split(' ').collect();
        args.extend(["--addr", &self.addr]);
        toolcrib(self.dir.path()).args(args).output().expect("an answer")
    }

    /// Returns what `/metrics` says.
    fn scrape(&self) -> String {
        let mut stream = TcpStream::connect(&self.metrics).expect("the daemon answers");
        stream.write_all(b"GET /metrics HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n").expect("a request");
        let mut page = String::new();
        stream.read_to_string(&mut page).expect("a page");
        page
    }

    fn json(&self, line: &str) -> Value {
        let output = self.run(&format!("{line} --json"));
        let text = String::from_utf8(output.stdout).expect("text");
        assert_eq!(text.lines().count(), 1, "{line}: {text}{}", String::from_utf8_lossy(&output.stderr));
        let value: Value = serde_json::from_str(&text).unwrap_or_else(|error| panic!("{line}: {error}"));
        assert!(value.is_object(), "{line}: {value}");
        value
    }

    fn stop(&mut self) -> Option<i32> {
        self.signal("TERM");
        self.child.wait().expect("an end").code()
    }
}

impl Drop for Serve {
    fn drop(&mut self) {
        // Only a test that failed has left it running.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Returns a command that reads no settings of whoever runs the tests.
fn toolcrib(dir: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_toolcrib"));
    command.current_dir(dir);
    for name in ["ADDR", "NAMESPACE", "CONFIG", "LISTEN", "METRICS", "DB", "LOG_FORMAT", "LOG_LEVEL"] {
        command.env_remove(format!("TOOLCRIB_{name}"));
    }
    command
}

fn serve(dir: &Path) -> Command {
    let mut command = toolcrib(dir);
    command.args("serve --listen 127.0.0.1:0 --metrics 127.0.0.1:0 --db crib.db --config c.toml".split(' '));
    command
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn every_answer_is_one_json_object() {
    let mut daemon = Serve::start();
    fs::write(daemon.dir.path().join("tools.jsonl"), CATALOG).expect("a catalog");
    fs::write(daemon.dir.path().join("cat.json"), DEFINITION).expect("a definition");
    let changed = DEFINITION.replacen("\"summary\":\"", "\"summary\":\"Now ", 1);
    assert_ne!(changed, DEFINITION);
    fs::write(daemon.dir.path().join("changed.json"), changed).expect("a definition");
    let imported = daemon.json("import tools.jsonl");
    assert_eq!(imported["files"][0]["refused"], 1, "{imported}");
    let plan = daemon.json("plan --query branches");
    assert_eq!(plan["session"]["closed"], true, "{plan}");
    for change in [
        "tool register cat.json",
        "policy set admission.pin_definitions=true",
        "tool register changed.json",
        "tool pin github/create_issue",
        "tool unpin github__create_issue",
        "tool quarantine read_file --reason broken",
        "tool repair read_file",
        "tool retire list_branches",
        "tool restore list_branches",
        "session open s1 --format openai-chat",
        "policy set hot_pool.slots=5",
    ] {
        daemon.json(change);
    }
    for look in [
        "check-config",
        "tool list --state active",
        "tool show create_issue",
        "tool show fs/cat --waiting",
        "tool diff fs/cat",
        "tool list --waiting",
        "tool list --flagged",
        "tool history",
        "session list",
        "plan --session s1 --query issue --present a,b",
        "request create_issue --session s1",
        "explain --session s1 --query issue --tool read_file --limit 3",
        "session show s1 --pieces",
        "session refresh s1",
        "policy get",
        "policy get plan --origin --reasons",
        "policy reference",
        "stats --all",
        "stats tools",
        "stats tools --order density --all",
        "tool history --all",
        "traffic export --demand --tools t.jsonl -o d.jsonl",
        "traffic export --events -o e.jsonl",
        "replay --events e.jsonl",
        "replay --tools t.jsonl --trace d.jsonl",
        "replay --tools t.jsonl --trace d.jsonl --residency frozen",
    ] {
        daemon.json(look);
        let for_people = daemon.run(look);
        assert_eq!(for_people.status.code(), Some(0), "{look}: {}", stderr(&for_people));
        assert!(!for_people.stdout.is_empty(), "{look}");
    }
    daemon.json("session close s1");
    assert_eq!(daemon.stop(), Some(0));
}

#[test]
fn explain_says_in_its_first_line_why_a_tool_is_not_issued() {
    let mut daemon = Serve::start();
    fs::write(daemon.dir.path().join("tools.jsonl"), CATALOG).expect("a catalog");
    daemon.run("import tools.jsonl");
    daemon.run("tool quarantine read_file --reason broken");
    let explained = daemon.run("explain --query read --tool read_file");
    let text = String::from_utf8(explained.stdout).expect("text");
    let first = text.lines().next().expect("a line");
    assert!(
        first.starts_with("fs__read_file is not issued: quarantined: is out of order at the moment, since 2"),
        "{text}"
    );
    assert!(first.contains("(quarantined_by_hand: broken)"), "{text}");
    assert!(text.contains("next: mend it, then: toolcrib tool repair fs/read_file"), "{text}");
    assert!(text.contains("left out      1 quarantined (1 match)"), "{text}");
    let unknown = daemon.run("explain --query read --tool raed_file");
    assert_eq!(unknown.status.code(), Some(1));
    let text = String::from_utf8(unknown.stdout).expect("text");
    assert!(text.starts_with("raed_file is not issued: unknown: is not registered.\n"), "{text}");
    assert!(text.contains("Nearest: fs__read_file"), "{text}");
    assert_eq!(daemon.stop(), Some(0));
}

#[test]
fn watch_prints_a_line_for_each_event_and_ends_well_when_interrupted() {
    let mut daemon = Serve::start();
    fs::write(daemon.dir.path().join("tools.jsonl"), CATALOG).expect("a catalog");
    daemon.run("import tools.jsonl");
    let mut watching = toolcrib(daemon.dir.path())
        .args(["watch", "--json", "--after", "1", "--addr", &daemon.addr])
        .stdout(Stdio::piped())
        .spawn()
        .expect("a watch");
    let mut lines = BufReader::new(watching.stdout.take().expect("its lines")).lines();
    let mut next = || -> Value {
        let line = lines.next().expect("it goes on").expect("a line");
        serde_json::from_str(&line).unwrap_or_else(|error| panic!("{line}: {error}"))
    };
    assert_eq!(next()["kind"], "started");
    let admitted = next();
    assert_eq!((&admitted["kind"], &admitted["event"]["total"]), (&"admissions".into(), &3.into()), "{admitted}");
    daemon.run("tool retire read_file");
    let retired = loop {
        let event = next();
        if event["event"]["new_state"] == "retired" {
            break event;
        }
    };
    assert_eq!(retired["event"]["sequence"], retired["sequence"], "{retired}");
    let kill = format!("kill -INT {}", watching.id());
    assert!(Command::new("sh").args(["-c", &kill]).status().expect("a shell").success());
    assert_eq!(watching.wait().expect("an end").code(), Some(0));
    assert_eq!(daemon.stop(), Some(0));
}

#[test]
fn refusal_says_every_field_and_ends_with_1() {
    let mut daemon = Serve::start();
    let refused = daemon.run("policy set hot_pool.slots=0 no.such=1");
    assert_eq!(refused.status.code(), Some(1));
    assert_eq!(
        stderr(&refused),
        "toolcrib: this was refused; mend it and try again (invalid_field)\n  values.hot_pool.slots: must be \
         1..=512\n  values.no.such: no such key; `policy get` lists them\n"
    );
    let unknown = daemon.run("tool list --json --namespace none");
    assert!(unknown.stdout.is_empty());
    let said: Value = serde_json::from_slice(&unknown.stderr).expect("an object");
    assert_eq!(said["error"]["reason"], "unknown_namespace");
    assert_eq!(daemon.stop(), Some(0));
}

/// Programs read standard error too: wrong usage used to come as text whatever was asked for.
#[test]
fn wrong_usage_is_json_where_json_was_asked_for() {
    let dir = tempfile::tempdir().expect("a throw-away folder");
    let run = |line: &str| toolcrib(dir.path()).args(line.split(' ')).output().expect("an end");
    for line in ["tool show --json", "--json nonsense", "stats --top many --json"] {
        let output = run(line);
        assert_eq!((output.status.code(), output.stdout.len()), (Some(2), 0), "{line}");
        let said: Value = serde_json::from_slice(&output.stderr).unwrap_or_else(|error| panic!("{line}: {error}"));
        assert_eq!(said["error"]["reason"], "usage", "{line}");
        let is_said = |name: &str| said["error"][name].as_str().is_some_and(|text| !text.is_empty());
        assert!(is_said("message") && is_said("next"), "{line}: {said}");
    }
    let text = run("tool show");
    assert_eq!(text.status.code(), Some(2));
    assert!(stderr(&text).starts_with("error: "), "{}", stderr(&text));
    for line in ["--help", "tool --help --json", "--version"] {
        assert_eq!(run(line).status.code(), Some(0), "{line}");
    }
}

#[test]
fn completions_and_the_policy_reference_need_no_daemon() {
    let dir = tempfile::tempdir().expect("a throw-away folder");
    for (line, holds) in [("completions bash", "policy"), ("policy reference", "`hot_pool.slots`")] {
        let output = toolcrib(dir.path()).args(line.split(' ')).output().expect("an end");
        assert_eq!(output.status.code(), Some(0), "{line}: {}", stderr(&output));
        assert!(String::from_utf8_lossy(&output.stdout).contains(holds), "{line}");
    }
}

/// One rule for both: a thing that was asked about and refused ends with 1.
#[test]
fn import_fails_by_file_and_register_by_definition() {
    let mut daemon = Serve::start();
    let write = |name: &str, text: &str| fs::write(daemon.dir.path().join(name), text).expect("a file");
    write("tools.jsonl", CATALOG);
    write("refused.jsonl", "{\"name\":\"nothing_said\",\"input_schema\":{\"type\":\"object\"}}\n");
    write("cat.json", DEFINITION);
    write("both.json", &format!("[{DEFINITION},{{\"source\":\"fs\",\"name\":\"dog\"}}]"));
    for (line, code) in [
        ("import tools.jsonl", 0),
        ("import tools.jsonl", 0),
        ("import refused.jsonl", 1),
        ("import tools.jsonl refused.jsonl", 1),
        ("import missing.jsonl", 1),
        ("tool register cat.json", 0),
        ("tool register cat.json", 0),
        ("tool register both.json", 1),
    ] {
        let output = daemon.run(line);
        assert_eq!(output.status.code(), Some(code), "{line}: {}", stderr(&output));
    }
    assert_eq!(daemon.stop(), Some(0));
}

#[test]
fn without_a_daemon_the_way_to_one_is_said() {
    let dir = tempfile::tempdir().expect("a throw-away folder");
    let closed = std::net::TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr()).expect("a port");
    let output = toolcrib(dir.path()).args(["stats", "--addr", &closed.to_string()]).output().expect("an answer");
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(
        stderr(&output),
        format!(
            "toolcrib: nothing listens on {closed}; start it with `toolcrib serve`, or name another place with --addr\n"
        )
    );
}

#[test]
fn store_in_use_is_left_alone() {
    let mut daemon = Serve::start();
    let second = serve(daemon.dir.path()).output().expect("an end");
    assert_eq!(second.status.code(), Some(1));
    assert!(stderr(&second).contains("in use by another daemon"), "{}", stderr(&second));
    assert_eq!(daemon.stop(), Some(0));
}

#[test]
fn hangup_takes_over_the_log_level_and_names_what_waits_for_a_restart() {
    let mut daemon = Serve::start();
    let waits = "this setting changes at the next start only";
    daemon.configure("[log]\nlevel = \"warn\"\n[limits]\nrequests = 7\n");
    daemon.signal("HUP");
    assert!(daemon.read_log_until(waits).contains("limits.requests"));
    daemon.configure("[log]\nlevel = \"loud\"\n");
    daemon.signal("HUP");
    // The first reload had more to say, but that is below `warn`.
    let next = daemon.read_log_until("configuration");
    assert!(next.contains("configuration not reloaded"), "{next}");
    daemon.configure("[log]\nlevel = \"info\"\n");
    daemon.signal("HUP");
    daemon.read_log_until("configuration reloaded");
    let page = daemon.scrape();
    for line in [r#"{result="ok"} 2"#, r#"{result="refused"} 1"#] {
        assert!(page.contains(&format!("toolcrib_config_reloads_total{line}\n")), "{line} is not in {page}");
    }
    assert_eq!(daemon.stop(), Some(0));
}

#[test]
fn file_size_limit_ends_no_daemon() {
    let mut daemon = Serve::start();
    daemon.signal("XFSZ");
    assert_eq!(daemon.run("stats --all").status.code(), Some(0));
    assert_eq!(daemon.stop(), Some(0));
}

#[test]
fn with_nobody_to_read_an_error_the_exit_code_is_what_it_is() {
    for (line, code) in [("--json", 2), ("restore nothing.db --db neither.db", 1), ("--json restore nothing.db", 1)] {
        let (reader, writer) = std::io::pipe().expect("a pipe");
        drop(reader);
        let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_toolcrib"));
        let ended = command.args(line.split(' ')).stderr(writer).status().expect("the program");
        assert_eq!(ended.code(), Some(code), "{line}");
    }
}

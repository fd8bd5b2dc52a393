//! A catalog kept in files, made to hold by `toolcrib apply`, and the same in text for people.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;
use toolcrib::proto::*;

use crate::common::{NAMESPACE, TestDaemon, definition};

/// Runs the program against a daemon of this process.
async fn run(daemon: &TestDaemon, line: &str) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_toolcrib"));
    command.current_dir(env!("CARGO_MANIFEST_DIR")).args(line.split(' '));
    command.args(["--addr", &daemon.address, "--namespace", NAMESPACE]);
    tokio::task::spawn_blocking(move || command.output()).await.expect("no panic").expect("an answer")
}

async fn text(daemon: &TestDaemon, line: &str, code: i32) -> String {
    let output = run(daemon, line).await;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert_eq!(output.status.code(), Some(code), "{line}: {text}{}", String::from_utf8_lossy(&output.stderr));
    text
}

async fn json(daemon: &TestDaemon, line: &str, code: i32) -> Value {
    let text = text(daemon, &format!("{line} --json"), code).await;
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{line}: {error}: {text}"))
}

/// Returns the hash of every tool.
async fn hashes(daemon: &mut TestDaemon) -> Vec<(String, String)> {
    let request = ListToolsRequest { namespace: NAMESPACE.into(), ..Default::default() };
    let listed = daemon.registry.list_tools(request).await.expect("a list").into_inner().tools;
    listed.into_iter().map(|record| (record.alias, record.hash)).collect()
}

fn write(dir: &Path, name: &str, text: &str) -> PathBuf {
    let path = dir.join(name);
    fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
    fs::write(&path, text).expect("a file");
    path
}

const LINE: &str = r#"{"name":"fs__cat","description":"Shows a file of the disk.","input_schema":{"type":"object"}}"#;

#[tokio::test]
async fn the_example_is_taken_in_and_a_second_time_there_is_nothing_to_do() {
    let mut daemon = TestDaemon::start().await;
    let said = json(&daemon, "apply -f examples/catalog --dry-run", 0).await;
    assert_eq!((&said["tools"]["added"], &said["policy"][0]["new"]), (&Value::from(2), &Value::from("8")), "{said}");
    assert_eq!(hashes_or_none(&mut daemon).await, None, "a dry run makes no namespace");
    let done = text(&daemon, "apply -f examples/catalog", 0).await;
    for part in ["policy: hot_pool.slots 10 -> 8\n", "tools: 2 new\n", "  + github/create_issue\n"] {
        assert!(done.contains(part), "{part} is not in {done}");
    }
    let before = daemon.export(ExportKind::Events).await.len();
    let again = text(&daemon, "apply -f examples/catalog --prune", 0).await;
    assert_eq!(again, "nothing to do: 2 tools of 2 sources are as in the directory\n");
    assert_eq!(daemon.export(ExportKind::Events).await.len(), before);
    daemon.stop().await;
}

async fn hashes_or_none(daemon: &mut TestDaemon) -> Option<u32> {
    let request = ListToolsRequest { namespace: NAMESPACE.into(), ..Default::default() };
    daemon.registry.list_tools(request).await.ok().map(|listed| listed.into_inner().total_size)
}

#[tokio::test]
async fn apply_and_import_of_the_same_files_are_the_same_tools() {
    let (mut applied, mut imported) = (TestDaemon::start().await, TestDaemon::start().await);
    text(&applied, "apply -f examples/catalog", 0).await;
    text(&imported, "import examples/catalog/files.jsonl examples/catalog/github/tools.json", 0).await;
    assert_eq!(hashes(&mut applied).await, hashes(&mut imported).await);
    let again = text(&applied, "import examples/catalog/github/tools.json", 0).await;
    assert!(again.contains("tools.json: nothing to do: 1 unchanged\n"), "{again}");
    // A whole catalog of a real server, whose keywords are derived from all of it.
    let dir = tempfile::tempdir().expect("a folder");
    fs::copy("examples/demo/github.json", dir.path().join("github.json")).expect("a copy");
    text(&imported, "import examples/demo/github.json", 0).await;
    let line = format!("apply -f {} --dry-run --json", dir.path().display());
    let said: Value = serde_json::from_str(&text(&imported, &line, 0).await).expect("JSON");
    assert_eq!((&said["changes"], &said["tools"]["unchanged"]), (&Value::from(false), &Value::from(117)), "{said}");
    applied.stop().await;
    imported.stop().await;
}

#[tokio::test]
async fn one_refusal_keeps_everything_out_and_names_the_file_and_the_place() {
    let mut daemon = TestDaemon::start().await;
    daemon.register(vec![definition("other")]).await;
    let dir = tempfile::tempdir().expect("a folder");
    write(dir.path(), "good.jsonl", LINE);
    write(dir.path(), "policy.toml", "hot_pool.slots = 3");
    // The gate's refusal and the reader's are both said.
    let mute = LINE.replace("Shows a file of the disk.", "").replace("cat", "mute");
    write(
        dir.path(),
        "a/bad.jsonl",
        &format!("{}\n{mute}\n", LINE.replace(r#"{"type":"object"}"#, r#"{"type":7}"#).replace("cat", "odd")),
    );
    let before = daemon.export(ExportKind::Events).await.len();
    for flag in ["", " --dry-run"] {
        let refused = json(&daemon, &format!("apply -f {}{flag}", dir.path().display()), 1).await;
        let places: Vec<(&str, u64, &str)> = refused["refused"]
            .as_array()
            .expect("a list")
            .iter()
            .map(|r| {
                (r["file"].as_str().unwrap_or(""), r["index"].as_u64().unwrap_or(9), r["tool"].as_str().unwrap_or(""))
            })
            .collect();
        assert_eq!(places[0], ("a/bad.jsonl", 1, "fs/mute"), "{refused}");
        assert!(places[1..].iter().all(|place| *place == ("a/bad.jsonl", 0, "fs/odd")), "{refused}");
        assert!(places.len() > 1, "{refused}");
    }
    assert_eq!(daemon.export(ExportKind::Events).await.len(), before);
    daemon.stop().await;
}

#[tokio::test]
async fn the_policy_of_the_directory_is_the_whole_policy_and_unknown_keys_are_refused() {
    let mut daemon = TestDaemon::start().await;
    let dir = tempfile::tempdir().expect("a folder");
    let apply = format!("apply -f {}", dir.path().display());
    write(dir.path(), "t.jsonl", LINE);
    daemon.set_policy("plan.top_m", "3").await;
    text(&daemon, &apply, 0).await;
    assert_eq!(policy(&mut daemon, "plan.top_m").await, "3", "without a file the policy is left alone");
    write(dir.path(), "policy.toml", "hot_pool = { slots = 4 }\nhot_pool.decy = 1\n");
    text(&daemon, &apply, 1).await;
    write(dir.path(), "policy.toml", "hot_pool.slot = 4");
    let refused = String::from_utf8_lossy(&run(&daemon, &apply).await.stderr).into_owned();
    assert!(refused.contains("hot_pool.slot: no such key; nearest: hot_pool.slots"), "{refused}");
    write(dir.path(), "policy.toml", "hot_pool.slots = 4");
    let done = text(&daemon, &apply, 0).await;
    assert_eq!(done.lines().filter(|line| line.starts_with("policy: ")).count(), 2, "{done}");
    let values = (policy(&mut daemon, "hot_pool.slots").await, policy(&mut daemon, "plan.top_m").await);
    assert_eq!(values, ("4".to_owned(), "8".to_owned()));
    daemon.stop().await;
}

async fn policy(daemon: &mut TestDaemon, key: &str) -> String {
    let answer = daemon.policy.get_policy(GetPolicyRequest { namespace: NAMESPACE.into() }).await.expect("a policy");
    answer.into_inner().values.into_iter().find(|value| value.key == key).expect("the key").value
}

#[tokio::test]
async fn a_stricter_policy_of_the_directory_is_what_its_tools_are_judged_by() {
    let mut daemon = TestDaemon::start().await;
    let dir = tempfile::tempdir().expect("a folder");
    write(dir.path(), "t.jsonl", &LINE.replace("of the disk", &"of the disk ".repeat(100)));
    write(dir.path(), "policy.toml", "admission.description_bytes = 1024");
    let apply = format!("apply -f {}", dir.path().display());
    let refused = text(&daemon, &apply, 1).await;
    assert!(refused.contains("! t.jsonl #0 fs/cat: description"), "{refused}");
    assert_eq!(hashes_or_none(&mut daemon).await, None, "nor was the policy set");
    daemon.stop().await;
}

#[tokio::test]
async fn a_dry_run_says_what_the_policy_of_the_directory_makes_of_tools_beside_each_other() {
    let mut daemon = TestDaemon::start().await;
    let dir = tempfile::tempdir().expect("a folder");
    write(dir.path(), "t.jsonl", LINE);
    let apply = format!("apply -f {}", dir.path().display());
    for is_known in [false, true] {
        write(dir.path(), "policy.toml", "admission.pin_definitions = true");
        let looked = json(&daemon, &format!("{apply} --dry-run"), 0).await;
        assert_eq!((&looked["tools"]["pending"], is_known), (&Value::from(1), is_known), "{looked}");
        // The namespace is there from now on, and its own policy holds nothing back.
        daemon.register(vec![definition("other")]).await;
    }
    // A name that is nearly another's shows only beside it; what the policy to be refuses must not set the policy first.
    write(dir.path(), "policy.toml", r#"admission.flags.names = "refuse""#);
    write(dir.path(), "t.jsonl", &format!("{LINE}\n{}", LINE.replace("fs__cat", "FS__cat")));
    let refused = text(&daemon, &apply, 1).await;
    assert!(refused.contains("nothing was changed"), "{refused}");
    daemon.stop().await;
}

#[tokio::test]
async fn sources_that_the_directory_has_not_are_named_and_withdrawn_with_prune_only() {
    let mut daemon = TestDaemon::start().await;
    daemon.register(vec![definition("other"), definition("another")]).await;
    let dir = tempfile::tempdir().expect("a folder");
    write(dir.path(), "t.jsonl", LINE);
    let apply = format!("apply -f {}", dir.path().display());
    let kept = text(&daemon, &apply, 0).await;
    assert!(kept.contains("not in the directory: s (2 tools); --prune withdraws them"), "{kept}");
    let said = text(&daemon, &format!("{apply} --prune --dry-run"), 0).await;
    assert!(said.contains("tools: 2 vanished, 1 unchanged\n"), "{said}");
    assert!(said.contains("  - s/another vanished\n"), "{said}");
    let pruned = json(&daemon, &format!("{apply} --prune"), 0).await;
    assert_eq!(pruned["tools"]["withdrawn"], 2, "{pruned}");
    let again = json(&daemon, &format!("{apply} --prune"), 0).await;
    assert_eq!((&again["changes"], &again["other_sources"]), (&Value::from(false), &serde_json::json!({})));
    fs::remove_file(dir.path().join("t.jsonl")).expect("removed");
    write(dir.path(), "policy.toml", "");
    text(&daemon, &format!("{apply} --prune"), 1).await;
    daemon.stop().await;
}

#[tokio::test]
async fn import_says_a_diff_in_few_lines_and_one_line_where_there_is_nothing_to_do() {
    let daemon = TestDaemon::start().await;
    let dir = tempfile::tempdir().expect("a folder");
    let lines = |n: usize| (0..n).map(|i| LINE.replace("cat", &format!("cat{i}"))).collect::<Vec<_>>().join("\n");
    let file = write(dir.path(), "t.jsonl", &lines(9));
    let import = format!("import {}", file.display());
    let first = text(&daemon, &format!("{import} --dry-run"), 0).await;
    assert!(first.contains("9 new\n") && first.contains("4 more new; --verbose shows them\n"), "{first}");
    assert!(first.contains("nothing was done: this is a dry run\n"), "{first}");
    text(&daemon, &import, 0).await;
    let again = text(&daemon, &import, 0).await;
    assert_eq!(again.lines().count(), 2, "{again}");
    let mute = LINE.replace("Shows a file of the disk.", " ").replace("cat", "mute");
    let stricter = lines(8).replacen(r#"{"type":"object"}"#, r#"{"type":"object","required":["path"]}"#, 1);
    write(dir.path(), "t.jsonl", &format!("{stricter}\n{mute}\n"));
    let changed = text(&daemon, &import, 0).await;
    for part in [
        "1 changed (breaking), 1 vanished, 1 refused, 7 unchanged\n",
        "  ~ fs/cat0 changed (breaking): input_schema/required",
        "  - fs/cat8 vanished\n",
        "  ! #8 fs/mute refused: description: missing or empty, must say what the tool does\n",
    ] {
        assert!(changed.contains(part), "{part} is not in {changed}");
    }
    daemon.stop().await;
}

#[tokio::test]
async fn a_source_without_tools_ends_with_1_and_says_what_to_look_at() {
    let daemon = TestDaemon::start().await;
    let dir = tempfile::tempdir().expect("a folder");
    write(dir.path(), "t.jsonl", LINE);
    text(&daemon, &format!("apply -f {}", dir.path().display()), 0).await;
    let file = write(dir.path(), "fs.json", r#"{"tools":[]}"#);
    for (text_of_file, reason) in [
        (r#"{"tools":[]}"#, "lists no tools"),
        (r#"[{"name":"cat","description":" ","inputSchema":{"type":"object"}}]"#, "no tool is in of fs"),
    ] {
        fs::write(&file, text_of_file).expect("a file");
        let said = text(&daemon, &format!("import {}", file.display()), 1).await;
        assert!(said.contains(reason) && said.contains("started without its credentials?"), "{said}");
    }
    let dry = text(&daemon, "tool withdraw fs --dry-run", 0).await;
    assert!(dry.contains("fs: 1 vanished\n  - fs/cat vanished\n") && dry.contains("nothing was done"), "{dry}");
    assert_eq!(json(&daemon, "tool withdraw fs", 0).await["withdrawn"], 1);
    let folder = run(&daemon, &format!("import {}", dir.path().display())).await;
    assert!(String::from_utf8_lossy(&folder.stdout).contains("is a directory"), "{folder:?}");
    daemon.stop().await;
}

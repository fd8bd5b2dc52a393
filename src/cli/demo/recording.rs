//! The catalogs and the traffic that the demo plays: public files, embedded so that the binary needs no other.
//!
//! `examples/demo/SOURCE.md` says where each comes from and under which licence. Reads the trace with the same reader
//! as replay does, and sorts its lines by session; knows nothing of the daemon.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use anyhow::Context as _;

use crate::core::event::Ending;
use crate::core::ids::ToolId;
use crate::offline::trace::read_trace;

/// A catalog file.
pub struct Catalog {
    /// Its path, from which the tools of an MCP file take their source.
    pub file_name: &'static str,
    /// What it holds.
    pub bytes: &'static [u8],
}

/// The catalogs, in the order in which they are imported.
pub const CATALOGS: [Catalog; 2] = [
    Catalog { file_name: "github.json", bytes: include_bytes!("../../../examples/demo/github.json") },
    Catalog {
        file_name: "livemcpbench/tools.jsonl",
        bytes: include_bytes!("../../../examples/demo/livemcpbench/tools.jsonl"),
    },
];

/// What the recorded traffic is called.
pub const TRACE_NAME: &str = "LiveMCPBench";

/// The model whose traffic it is, as its provider names it.
pub const MODEL: &str = "claude-sonnet-4-20250514";

/// That model's context window in tokens.
pub const WINDOW: u32 = 200_000;

const TRACE: &[u8] = include_bytes!("../../../examples/demo/livemcpbench/trace.jsonl");

/// One recorded session.
#[derive(Debug, PartialEq)]
pub struct Script {
    /// Its id as recorded.
    pub session: String,
    /// Its steps in order.
    pub steps: Vec<ScriptStep>,
}

/// One recorded step.
#[derive(Debug, PartialEq)]
pub struct ScriptStep {
    /// What the agent was after, in the trace's words: those of this step, or the session's last ones.
    pub words: Arc<str>,
    /// Its calls; several are one parallel batch.
    pub calls: Vec<ScriptCall>,
}

/// One recorded call.
#[derive(Debug, PartialEq)]
pub struct ScriptCall {
    /// Which tool.
    pub tool: ToolId,
    /// Whether it is recorded that the call ended well.
    pub ended_well: bool,
}

/// Reads the embedded trace: its sessions in the order of their first lines.
pub fn scripts() -> anyhow::Result<Vec<Script>> {
    read_scripts(TRACE)
}

/// Returns the tools that scripts call.
pub fn called_tools(scripts: &[Script]) -> BTreeSet<ToolId> {
    let calls = scripts.iter().flat_map(|script| &script.steps).flat_map(|step| &step.calls);
    calls.map(|call| call.tool.clone()).collect()
}

fn read_scripts(trace: &[u8]) -> anyhow::Result<Vec<Script>> {
    let (lines, errors) = read_trace(trace, TRACE_NAME);
    if let Some(error) = errors.into_iter().next() {
        return Err(error).context("the embedded trace is broken");
    }
    let mut scripts: Vec<Script> = Vec::new();
    let mut places = BTreeMap::new();
    for line in lines {
        let place = *places.entry(line.session.clone()).or_insert_with(|| {
            scripts.push(Script { session: line.session.to_string(), steps: Vec::new() });
            scripts.len() - 1
        });
        let steps = &mut scripts[place].steps;
        if line.starts_step {
            steps.push(ScriptStep { words: line.query.unwrap_or_default(), calls: Vec::new() });
        }
        if let (Some(step), Some(call)) = (steps.last_mut(), line.call) {
            step.calls.push(ScriptCall { tool: call.tool, ended_well: call.ending == Ending::Ok });
        }
    }
    Ok(scripts)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::admission::check;
    use crate::core::instance::smallest_instance;
    use crate::core::policy::Policy;
    use crate::core::validation::Validator;
    use crate::import::{self, Shape};

    #[test]
    fn lines_of_interleaved_sessions_are_sorted_and_batches_kept_together() {
        let trace = br#"{"session":"a","step":0,"tool":"s__x","query":"first","ok":true}
{"session":"b","step":0,"tool":"s__y","query":"other","ok":false}
{"session":"a","step":0,"tool":"s__y","query":null,"ok":true}
{"session":"a","step":1,"tool":"s__x","query":null,"ok":true}
"#;
        let scripts = read_scripts(trace).unwrap();
        let call = |name, ended_well| ScriptCall { tool: ToolId::new("s", name), ended_well };
        assert_eq!(scripts.iter().map(|script| script.session.as_str()).collect::<Vec<_>>(), ["a", "b"]);
        assert_eq!(scripts[0].steps[0].calls, [call("x", true), call("y", true)]);
        assert_eq!(scripts[0].steps[1], ScriptStep { words: "first".into(), calls: vec![call("x", true)] });
        assert_eq!(scripts[1].steps[0].calls, [call("y", false)]);
    }

    #[test]
    fn every_recorded_step_has_words_and_a_call() {
        let scripts = scripts().unwrap();
        assert_eq!(scripts.len(), 43);
        let steps: Vec<&ScriptStep> = scripts.iter().flat_map(|script| &script.steps).collect();
        assert_eq!(steps.len(), 261);
        assert!(steps.iter().all(|step| !step.words.trim().is_empty() && !step.calls.is_empty()));
    }

    #[test]
    fn only_tools_without_description_are_refused_and_the_traffic_calls_none_of_them() {
        let policy = Policy::default().admission;
        let mut admitted = BTreeMap::new();
        for catalog in &CATALOGS {
            let read = import::read(catalog.bytes, Shape::Detect, catalog.file_name, None).unwrap();
            assert!(read.refused.iter().all(|refused| refused.field == "description"), "{:?}", read.refused);
            for found in read.tools {
                let checked = check(&found.definition, &policy);
                assert!(checked.is_admitted(), "{}: {:?}", found.definition.id, checked.violations);
                let schema = found.definition.input_schema.as_str().to_owned();
                let earlier = admitted.insert(found.definition.id, schema);
                assert_eq!(earlier, None, "no tool stands in two catalogs");
            }
        }
        assert!(admitted.len() >= 300, "{} tools", admitted.len());
        for tool in called_tools(&scripts().unwrap()) {
            let schema = admitted.get(&tool).unwrap_or_else(|| panic!("{tool} is called and not admitted"));
            let schema = serde_json::from_str(schema).unwrap();
            let arguments = smallest_instance(&schema);
            assert!(Validator::of_value(&schema).unwrap().fits(&arguments), "{tool}: {arguments}");
        }
    }
}

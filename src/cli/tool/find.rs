//! Finds the tool that somebody means.

use anyhow::bail;

use super::list;
use crate::cli::json;
use crate::cli::remote::Remote;
use crate::proto::{ListToolsRequest, ToolRecord, ToolRef};

/// Names shown when none is meant clearly.
const SHOWN: usize = 8;

/// Returns the tool behind `source/name`, an alias or a bare name; fails where a bare name is that of several.
pub(super) async fn find(remote: &Remote, name: &str) -> anyhow::Result<ToolRef> {
    if let Some((source, name)) = name.split_once('/') {
        return Ok(ToolRef { source: source.to_owned(), name: name.to_owned(), version: 0 });
    }
    let request = ListToolsRequest { contains: name.to_owned(), ..ListToolsRequest::default() };
    let records = list::all(remote, request, None).await?.tools;
    if let Some(found) = choose(&records, name)? {
        return Ok(found);
    }
    bail!("no tool is named {name}; search with `toolcrib tool list --contains TEXT`")
}

fn choose(records: &[ToolRecord], name: &str) -> anyhow::Result<Option<ToolRef>> {
    let mut meant = Vec::new();
    for record in records {
        let Some(tool) = &record.tool else { continue };
        if record.alias == name {
            return Ok(Some(ToolRef { version: 0, ..tool.clone() }));
        }
        if tool.name == name {
            meant.push(tool);
        }
    }
    match meant.as_slice() {
        [] => Ok(None),
        [one] => Ok(Some(ToolRef { version: 0, ..(*one).clone() })),
        several => {
            let names: Vec<_> = several.iter().take(SHOWN).map(|tool| json::tool_name(Some(tool))).collect();
            bail!("{} tools are named {name}; say which: {}", several.len(), names.join(", "))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(source: &str, name: &str) -> ToolRecord {
        let tool = ToolRef { source: source.to_owned(), name: name.to_owned(), version: 3 };
        ToolRecord { alias: format!("{source}__{name}"), tool: Some(tool), ..ToolRecord::default() }
    }

    #[test]
    fn bare_name_and_alias_mean_the_current_version() {
        let records = [record("github", "create_issue"), record("gitlab", "create_issue"), record("fs", "cat")];
        let expected = ToolRef { source: "fs".to_owned(), name: "cat".to_owned(), version: 0 };
        assert_eq!(choose(&records, "cat").expect("one"), Some(expected));
        let found = choose(&records, "gitlab__create_issue").expect("one");
        assert_eq!(found.map(|tool| tool.source).as_deref(), Some("gitlab"));
        assert_eq!(choose(&records, "dog").expect("none"), None);
    }

    #[test]
    fn name_of_several_tools_is_asked_back() {
        let records = [record("github", "create_issue"), record("gitlab", "create_issue")];
        let asked = choose(&records, "create_issue").expect_err("a question").to_string();
        assert_eq!(asked, "2 tools are named create_issue; say which: github/create_issue, gitlab/create_issue");
    }
}

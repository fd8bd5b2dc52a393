//! The tools of a file as a namespace takes them in: with whole definitions, or with stand-ins of the right size.
//!
//! What a file lacks is derived as import derives it. The gate is asked but not obeyed: a replay ranks every line of a
//! tools file, and says how many the daemon would have refused.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde_json::json;

use super::trace::TraceTool;
use crate::core::admission::check;
use crate::core::admission::derive::{Corpus, fill};
use crate::core::definition::{Definition, Json};
use crate::core::event::Admitted;
use crate::core::ids::Version;
use crate::core::policy::AdmissionPolicy;
use crate::core::tokens;

/// One token that no index takes for a word.
const FILLER: &str = " .";

/// The tools of a file, ready to be taken in.
pub struct Definitions {
    /// Every tool, in file order.
    pub admitted: Vec<Arc<Admitted>>,
    /// How many the gate would refuse; `None` where the file holds no definition.
    pub would_be_refused: Option<u64>,
}

impl Definitions {
    /// Makes definitions of a file's tools.
    pub fn of(tools: &[TraceTool], policy: &AdmissionPolicy) -> Self {
        let mut definitions: Vec<Definition> = tools.iter().map(definition).collect();
        let whole = definitions.iter().zip(tools).filter(|(_, tool)| tool.input_schema.is_some());
        let corpus = Corpus::of(whole.map(|(definition, _)| definition));
        let mut would_be_refused = None;
        let mut admitted = Vec::with_capacity(tools.len());
        for (definition, tool) in definitions.iter_mut().zip(tools) {
            fill(definition, &corpus);
            let (hash, measured_tokens) = if tool.input_schema.is_some() {
                let checked = check(definition, policy);
                *would_be_refused.get_or_insert(0) += u64::from(!checked.is_admitted());
                (checked.hash, checked.measured_tokens)
            } else {
                (definition.content_hash(), tool.schema_tokens.unwrap_or(definition.size_tokens))
            };
            let definition = definition.clone();
            admitted.push(Arc::new(Admitted {
                definition,
                version: Version(1),
                hash,
                measured_tokens,
                flags: Vec::new(),
                waits: None,
            }));
        }
        Self { admitted, would_be_refused }
    }

    /// Returns what sending every definition would cost in tokens.
    pub fn everything_tokens(&self) -> u64 {
        self.admitted.iter().map(|admitted| u64::from(admitted.measured_tokens)).sum()
    }
}

fn definition(tool: &TraceTool) -> Definition {
    let mut definition = Definition {
        id: tool.id.clone(),
        title: None,
        summary: String::new(),
        when_to_use: String::new(),
        keywords: Vec::new(),
        size_tokens: 0,
        description: tool.description.clone(),
        input_schema: Json::from_value(&json!({"type": "object"})),
        output_schema: None,
        annotations: None,
        group: tool.domain.clone().unwrap_or_default(),
        tags: Vec::new(),
        attributes: BTreeMap::new(),
        initial_score: tool.initial_score,
        derived: BTreeSet::new(),
    };
    match &tool.input_schema {
        Some(schema) => definition.input_schema = schema.clone(),
        None => stand_in(&mut definition, tool.schema_tokens),
    }
    definition
}

/// Fills a tool that is known by its size up to that size, so that budgets bite as they would have.
fn stand_in(definition: &mut Definition, schema_tokens: Option<u32>) {
    definition.summary = definition.id.name.replace(['_', '-', '.'], " ");
    let lacking = schema_tokens.unwrap_or(0).saturating_sub(tokens::count(&definition.measured_text()));
    definition.description.push_str(&FILLER.repeat(lacking as usize));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::policy::Policy;
    use crate::offline::trace::read_tools;

    fn definitions(text: &str) -> Definitions {
        let (tools, errors) = read_tools(text.as_bytes(), "s");
        assert!(errors.is_empty(), "{errors:?}");
        Definitions::of(&tools, &Policy::default().admission)
    }

    #[test]
    fn stand_in_is_as_large_as_the_file_says() {
        let made = definitions("{\"name\":\"tool_01\",\"schema_tokens\":667}\n{\"name\":\"b\",\"schema_tokens\":3}");
        let [large, small] = &made.admitted[..] else { panic!("two tools") };
        assert_eq!((large.measured_tokens, small.measured_tokens), (667, 3));
        let measured = tokens::count(&large.definition.measured_text());
        assert!(measured.abs_diff(667) <= 2, "{measured}");
        assert_eq!(large.definition.summary, "tool 01");
        assert_eq!(made.would_be_refused, None);
    }

    #[test]
    fn refused_tools_are_counted_and_kept() {
        let made = definitions(concat!(
            r#"{"name":"list_files","description":"Lists the files of a folder. Use it when a path is unknown.","#,
            r#""input_schema":{"type":"object"}}"#,
            "\n",
            r#"{"name":"nothing said","description":"","input_schema":{"type":"object"}}"#,
        ));
        assert_eq!(made.admitted.len(), 2);
        assert_eq!(made.would_be_refused, Some(1));
    }
}

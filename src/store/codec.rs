//! Events and queries as they stand in a row.
//!
//! An event is two columns: `kind`, its name, and `body`, its fields as JSON, so that `sqlite3` can count by kind and
//! `body ->> '$.session'` reads as one would write it. Together they are exactly what serde writes for the event, and
//! the two are cut apart and joined as text: going through a tree would cost a parse for every row.

use serde_json::Error;

use super::QueryBody;
use crate::core::event::Event;

/// The body of an event without fields.
const NO_FIELDS: &str = "null";

/// An event's two columns.
pub(super) struct EventRow {
    text: String,
    kind_end: usize,
}

impl EventRow {
    /// Writes an event: `{"kind":body}`, or `"kind"` where it has no fields.
    pub(super) fn of(event: &Event) -> Result<Self, Error> {
        let text = serde_json::to_string(event)?;
        let kind_start = if text.starts_with('{') { 2 } else { 1 };
        let kind_len = text[kind_start..].find('"').unwrap_or(0);
        Ok(Self { kind_end: kind_start + kind_len, text })
    }

    /// Returns the event's name in snake case.
    pub(super) fn kind(&self) -> &str {
        self.text[..self.kind_end].trim_start_matches(['{', '"'])
    }

    /// Returns the event's fields as JSON.
    pub(super) fn body(&self) -> &str {
        match self.text.strip_suffix('}') {
            Some(open) => &open[self.kind_end + "\":".len()..],
            None => NO_FIELDS,
        }
    }
}

/// Reads an event back from its two columns.
pub(super) fn event(kind: &str, body: &str) -> Result<Event, Error> {
    if body == NO_FIELDS {
        return serde_json::from_str(&format!("\"{kind}\""));
    }
    serde_json::from_str(&format!("{{\"{kind}\":{body}}}"))
}

/// Writes a query as JSON.
pub(super) fn query_text(query: &QueryBody) -> Result<String, Error> {
    serde_json::to_string(query)
}

/// Reads a query back.
pub(super) fn query(text: &str) -> Result<QueryBody, Error> {
    serde_json::from_str(text)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::core::definition::{Definition, Json};
    use crate::core::event::{
        Admitted, Diagnosis, Flag, MoveCause, SessionClosed, ToolMoved, ToolState, ToolsRegistered, WaitCause, Word,
    };
    use crate::core::ids::{Digest, ToolId, Version};

    fn quarantined(heat: f64) -> Event {
        Event::ToolMoved(ToolMoved {
            tool: ToolId::new("github", "create_issue"),
            old: Some(ToolState::Active),
            new: ToolState::Quarantined,
            cause: MoveCause::ALL[0],
            actor: "core".into(),
            reason: String::new(),
            until: None,
            diagnosis: Some(Diagnosis { failures: Vec::new(), last_success: None, heat, rank: None }),
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn every_finite_float_reads_back_bit_for_bit(bits in any::<u64>()) {
            let heat = f64::from_bits(bits);
            prop_assume!(heat.is_finite());
            let row = EventRow::of(&quarantined(heat)).unwrap();
            let Event::ToolMoved(moved) = event(row.kind(), row.body()).unwrap() else { panic!("another kind") };
            prop_assert_eq!(moved.diagnosis.unwrap().heat.to_bits(), bits);
        }
    }

    #[test]
    fn a_definition_keeps_its_key_order_and_numbers() {
        let schema = serde_json::json!({"type": "object", "b": 1, "a": 1.0, "c": {"}": "\u{0}\"}"}});
        let definition = Definition {
            id: ToolId::new("github", "create_issue"),
            title: None,
            summary: "Opens an issue".into(),
            when_to_use: String::new(),
            keywords: vec!["bug".into()],
            size_tokens: 40,
            description: "多行\n\"quoted\"}".into(),
            input_schema: Json::from_value(&schema),
            output_schema: None,
            annotations: None,
            group: String::new(),
            tags: Vec::new(),
            attributes: Default::default(),
            initial_score: 0.1 + 0.2,
            derived: Default::default(),
        };
        let admitted = Admitted {
            definition,
            version: Version(1),
            hash: Digest::of(b""),
            measured_tokens: 41,
            flags: vec![Flag {
                rule: "link".into(),
                field: "description".into(),
                description: "a URL".into(),
                accepted: String::new(),
            }],
            waits: Some(WaitCause::Flagged),
        };
        let registered = Event::ToolsRegistered(ToolsRegistered {
            request_id: "r".into(),
            actor: "operator".into(),
            admitted: vec![admitted.into()],
            notes: Vec::new(),
            complete_sources: Default::default(),
            listed: Default::default(),
            no_longer_waiting: Default::default(),
        });
        let row = EventRow::of(&registered).unwrap();
        assert_eq!(event(row.kind(), row.body()).unwrap(), registered);
    }

    fn check(event_in: &Event, kind: &str, body: &str) {
        let row = EventRow::of(event_in).unwrap();
        assert_eq!((row.kind(), row.body()), (kind, body));
        assert_eq!(&event(row.kind(), row.body()).unwrap(), event_in);
    }

    #[test]
    fn an_event_is_its_name_and_its_fields() {
        check(
            &Event::SessionClosed(SessionClosed { session: "s}\"1".into() }),
            "session_closed",
            r#"{"session":"s}\"1"}"#,
        );
        check(&Event::TimePassed, "time_passed", "null");
    }

    #[test]
    fn an_unknown_kind_is_an_error() {
        assert!(event("tool_polished", "{}").is_err());
        assert!(event("a\":1,\"b", "{}").is_err());
    }

    #[test]
    fn queries_read_back_the_same() {
        let text = QueryBody::Text { user: "find bugs".into(), model: String::new(), goal: "triage".into() };
        for body in [QueryBody::Terms(vec![0, 7, u32::MAX]), text] {
            assert_eq!(query(&query_text(&body).unwrap()).unwrap(), body);
        }
    }
}

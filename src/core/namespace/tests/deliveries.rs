//! Deliveries: what holds of a namespace whichever way definitions reach its models.

use std::collections::BTreeSet;

use proptest::prelude::*;
use serde_json::Value;

use super::support::{Crib, SUBJECTS, alias_of, id_of, spec, tool, tools};
use crate::core::block::{PendingChange, pending_changes};
use crate::core::definition::Definition;
use crate::core::event::{Delivery, Ending, Format, Piece, RequestResult, SessionSpec, Word as _};
use crate::core::namespace::Namespace;

/// Every format with every delivery that it carries.
fn kinds() -> Vec<SessionSpec> {
    let mut kinds = Vec::new();
    for format in [Format::Mcp, Format::OpenaiChat, Format::OpenaiResponses, Format::Anthropic] {
        let carried = Delivery::ALL.iter().filter(|delivery| format.carries(**delivery));
        kinds.extend(carried.map(|delivery| SessionSpec { format, delivery: *delivery, ..spec() }));
    }
    kinds
}

fn by_reference() -> SessionSpec {
    SessionSpec { format: Format::Anthropic, delivery: Delivery::Reference, ..spec() }
}

fn name_of(spec: &SessionSpec) -> String {
    format!("{:?}-{:?}", spec.format, spec.delivery)
}

/// Writes a tool with a parameter of this name.
fn with_parameter(id: &str, parameter: &str) -> Definition {
    let mut written = tool(id, "Looks up one hotel in the records of the town");
    written.input_schema =
        serde_json::from_value(serde_json::json!({"type": "object", "properties": {parameter: {"type": "string"}}}))
            .unwrap();
    written.size_tokens = crate::core::tokens::count(&written.measured_text());
    written
}

#[test]
fn a_model_is_told_to_ask_by_the_tool_that_it_has() {
    let mut crib = Crib::new(&tools(24));
    crib.set("directory.max_tokens", "400");
    for spec in kinds() {
        let (session, is_search) =
            (name_of(&spec), (spec.format, spec.delivery) == (Format::OpenaiResponses, Delivery::Append));
        let block = crib.open_with(&session, spec);
        let directory = block.pieces.last().unwrap().content.clone();
        let refused = crib.check(&session, None, &[("1", "s__no_such", "{}")]).remove(0).pieces.remove(0).content;
        let missed = crib.request(&session, None, r#"{"name":"zzzz"}"#).text;
        for text in [directory, refused, missed] {
            assert_eq!(text.contains("tool_search"), is_search, "{session}: {text}");
            assert_eq!(text.contains("request_tool"), !is_search, "{session}: {text}");
        }
    }
}

#[test]
fn a_model_that_was_sent_every_tool_is_not_told_to_ask() {
    let mut crib = Crib::new(&tools(5));
    assert!(crib.open("a").pass_through);
    let refused = crib.check("a", None, &[("1", "s__no_such", "{}")]).remove(0).pieces.remove(0).content;
    assert!(refused.contains("no tool of that name") && !refused.contains("request_tool"), "{refused}");
}

#[test]
fn a_deferred_definition_that_changed_waits_for_a_refresh_also_where_it_has_no_line() {
    let mut crib = Crib::new(&tools(24));
    crib.set("directory.max_tokens", "300");
    let block = crib.open_with("a", by_reference());
    let unlisted: Vec<&str> =
        SUBJECTS.iter().copied().filter(|subject| !block.directory.contains_key(&id_of(subject))).collect();
    let changed = id_of(unlisted[0]);
    assert!(block.deferred.contains_key(&changed));
    crib.register(&[tool(&changed.to_string(), "Does the same in other words when asked")]);
    let view = crib.ns.view();
    let now = view.freeze(crib.session("a").spec());
    assert_eq!(pending_changes(&view.registry, &block, &now), [PendingChange::NewVersion(changed)]);
}

/// The tool is served in a version that this session can never be shown; the one that it was shown goes on.
#[test]
fn a_call_of_a_shown_version_runs_though_the_provider_refuses_the_next() {
    let mut crib = Crib::new(&tools(24));
    let anthropic = SessionSpec { format: Format::Anthropic, ..spec() };
    crib.open_with("shown", anthropic.clone());
    crib.plan("shown", "hotel");
    crib.register(&[with_parameter("s/find_hotel", "año")]);
    let checked = crib.check("shown", None, &[("1", &alias_of("hotel"), r#"{"text":"a"}"#)]).remove(0);
    assert!(checked.run, "{:?}", checked.exclusion);
    assert_eq!(checked.tool.unwrap().1.0, 1);
    let name = format!(r#"{{"name":"{}"}}"#, alias_of("hotel"));
    assert_eq!(crib.request("shown", None, &name).result, RequestResult::AlreadyPresent);
    crib.call("shown", None, &id_of("hotel"), Ending::Ok);
    let after_compaction = crib.plan_present("shown", "", &[]);
    assert_eq!(after_compaction.issued.iter().map(|issue| issue.version.0).collect::<Vec<_>>(), [1]);
    crib.open_with("new", anthropic);
    assert!(!crib.check("new", None, &[("1", &alias_of("hotel"), r#"{"año":"a"}"#)])[0].run);
    assert_eq!(crib.request("new", None, &name).result, RequestResult::Unavailable);
}

#[test]
fn the_first_tokens_issued_are_those_of_the_pieces_under_every_delivery() {
    let mut crib = Crib::new(&tools(24));
    for spec in kinds() {
        let session = name_of(&spec);
        crib.open_with(&session, spec);
        let planned = crib.plan(&session, "hotel museum");
        assert_eq!(planned.issued.len(), 2, "{session}");
        let pieces = crib.ns.view().pieces(crib.session(&session).spec(), &planned.issued);
        let cost: u32 = pieces.iter().map(|piece| piece.tokens).sum();
        assert_eq!(planned.tokens.issued, cost, "{session}");
    }
}

/// A refusal after a refresh brought the new version, and the old one stands in the same messages.
#[test]
fn a_session_is_given_again_each_version_that_it_was_shown() {
    let mut crib = Crib::new(&tools(24));
    crib.open_with("a", by_reference());
    crib.plan("a", "hotel");
    crib.register(&[tool(&id_of("hotel").to_string(), "Looks up one hotel in the records of the town")]);
    crib.refresh("a", &[]);
    let refused = crib.check("a", None, &[("1", &alias_of("hotel"), "{}")]).remove(0);
    assert_eq!(refused.carried.map(|shown| shown.admitted().version.0), Some(2));
    let given = crib.session("a").given().into_iter().flat_map(|given| given.issued);
    assert_eq!(given.map(|issue| issue.version.0).collect::<Vec<_>>(), [1, 2]);
}

/// A file of a build that knew two formats and two deliveries.
#[test]
fn a_snapshot_of_an_older_build_is_read() {
    let mut crib = Crib::new(&tools(24));
    crib.open("a");
    crib.plan("a", "hotel");
    let mut snapshot: Value = serde_json::from_slice(&crib.ns.to_snapshot().unwrap()).unwrap();
    let mut n_dropped = 0;
    drop_fields(&mut snapshot, &["deliveries", "mark_cache", "recall_reserve", "reference_tools"], &mut n_dropped);
    assert!(n_dropped >= 4);
    let text = snapshot.to_string();
    assert!(!text.contains("deferred"), "what says nothing is not written");
    let old = Namespace::from_snapshot(text.as_bytes()).unwrap();
    assert_eq!(old.policy(), crib.ns.policy());
    assert_eq!(old.session(&"a".into()), crib.ns.session(&"a".into()));
}

/// Takes fields out of every object.
fn drop_fields(value: &mut Value, names: &[&str], n_dropped: &mut u32) {
    match value {
        Value::Object(object) => {
            object.retain(|key, _| {
                !names.contains(&key.as_str()) || {
                    *n_dropped += 1;
                    false
                }
            });
            object.values_mut().for_each(|inner| drop_fields(inner, names, n_dropped));
        }
        Value::Array(items) => items.iter_mut().for_each(|inner| drop_fields(inner, names, n_dropped)),
        _ => {}
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(12) })]
    #[test]
    fn a_block_is_the_same_bytes_in_whatever_order_its_tools_came(
        order in Just((0..24).collect::<Vec<usize>>()).prop_shuffle(),
        kind in prop::sample::select(kinds()),
        most in 1..30_u32,
    ) {
        let written = tools(24);
        let block = |definitions: &[Definition]| {
            let mut crib = Crib::new(definitions);
            crib.set("session.reference_tools", &most.to_string());
            crib.set("directory.max_tokens", "400");
            crib.open_with("a", SessionSpec { mark_cache: true, ..kind.clone() })
        };
        let shuffled: Vec<Definition> = order.iter().map(|i| written[*i].clone()).collect();
        let (one, other) = (block(&written), block(&shuffled));
        prop_assert_eq!(&one.pieces, &other.pieces);
        prop_assert_eq!(one.digest, other.digest);
        let is_deferred = |piece: &Piece| piece.deferred;
        let n_deferred = one.pieces.iter().filter(|piece| is_deferred(piece)).count();
        prop_assert_eq!(n_deferred, one.deferred.len());
        prop_assert!(!is_deferred(&one.pieces[one.cache_after as usize]));
    }

    #[test]
    fn whatever_the_delivery_a_namespace_recovers_and_gives_a_session_again_all_that_it_was_shown(
        kind in prop::sample::select(kinds()),
        history in prop::collection::vec((0..7_u8, 0..24_usize), 1..30),
    ) {
        let mut crib = Crib::new(&tools(24));
        crib.open_with("a", kind.clone());
        for (what, which) in history {
            let subject = SUBJECTS[which];
            match what {
                0 => drop(crib.plan("a", subject)),
                1 => drop(crib.plan_present("a", subject, &[&alias_of(SUBJECTS[(which + 1) % 24])])),
                2 => drop(crib.request("a", None, &format!(r#"{{"name":"{}"}}"#, alias_of(subject)))),
                3 => drop(crib.check("a", None, &[(&format!("x{which}"), &alias_of(subject), "{}")])),
                4 => drop(crib.register(&[tool(&id_of(subject).to_string(), &format!("Does thing {which} when asked"))])),
                5 => drop(crib.refresh("a", &[id_of(subject)])),
                _ => drop(crib.call("a", None, &id_of(subject), Ending::Ok)),
            }
        }
        let session = crib.session("a");
        let given: BTreeSet<_> =
            session.given().into_iter().flat_map(|given| given.issued).map(|issue| issue.tool).collect();
        for subject in SUBJECTS {
            let id = id_of(subject);
            let is_resident = session.block().unwrap().resident_version(&id).is_some();
            prop_assert!(is_resident || session.was_shown(&id) == given.contains(&id), "{}", subject);
        }
        crib.assert_recovers();
    }
}

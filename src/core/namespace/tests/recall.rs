//! `request_tool`: a true answer for every kind of name.

use super::support::{Crib, alias_of, id_of, spec, tool, tools};
use crate::core::block::Exclusion;
use crate::core::event::{Delivery, Ending, Issue, Place, RequestResult, SessionSpec, ToolAction, ToolState};
use crate::core::ids::CallId;
use crate::core::ids::ToolId;
use crate::core::recall::Answer;
use crate::core::render::Shown;
use crate::core::render::{self, ResultKind};

fn crib() -> Crib {
    let mut crib = Crib::new(&tools(24));
    crib.register(&[
        tool("giphy/image_search", "Searches moving pictures by a phrase"),
        tool("plugin_x/ask_codex", "Puts a question to the coding assistant"),
        tool("north/get_status", "Reads the status of a northern depot"),
        tool("south/get_status", "Reads the status of a southern depot"),
    ]);
    crib.open("a");
    crib
}

fn by_name(crib: &mut Crib, name: &str) -> Answer {
    crib.request("a", None, &serde_json::json!({"name": name}).to_string())
}

fn issued(answer: &Answer) -> Vec<ToolId> {
    answer.issued.iter().map(|issue: &Issue| issue.tool.clone()).collect()
}

/// Asks for a name and expects one tool.
fn check(name: &str, result: RequestResult, tool: ToolId) {
    let answer = by_name(&mut crib(), name);
    assert_eq!((answer.result, issued(&answer)), (result, vec![tool]), "{name}");
    assert_eq!(answer.kind, ResultKind::Answer);
    assert!(answer.text.starts_with("Loaded: "), "{}", answer.text);
}

#[test]
fn aliases_local_names_ids_and_prefixed_names_match() {
    let codex = || ToolId::new("plugin_x", "ask_codex");
    check("s__find_hotel", RequestResult::Exact, id_of("hotel"));
    check("  s__find_hotel ", RequestResult::Exact, id_of("hotel"));
    check("find_hotel", RequestResult::Exact, id_of("hotel"));
    check("s/find_hotel", RequestResult::Exact, id_of("hotel"));
    check("ask_codex", RequestResult::Exact, codex());
    check("mcp__plugin_x__ask_codex", RequestResult::Exact, codex());
}

#[test]
fn another_case_or_separator_and_a_slip_of_the_pen_are_near() {
    check("findHotel", RequestResult::Near, id_of("hotel"));
    check("find_hotl", RequestResult::Near, id_of("hotel"));
    check("s__find_hottel", RequestResult::Near, id_of("hotel"));
}

#[test]
fn an_ambiguous_name_brings_all_that_it_names() {
    let answer = by_name(&mut crib(), "get_status");
    assert_eq!(issued(&answer), [ToolId::new("north", "get_status"), ToolId::new("south", "get_status")]);
}

#[test]
fn a_need_is_searched_for_however_it_is_written() {
    for arguments in [r#"{"need":"a hotel"}"#, r#""a hotel""#, "a hotel", r#"{"name":"","need":"a hotel"}"#] {
        let answer = crib().request("a", None, arguments);
        assert_eq!((answer.result, issued(&answer)), (RequestResult::Retrieved, vec![id_of("hotel")]), "{arguments}");
    }
}

#[test]
fn a_name_that_means_nothing_falls_back_on_the_need() {
    let answer = crib().request("a", None, r#"{"name":"zzz","need":"a hotel"}"#);
    assert_eq!((answer.result, issued(&answer)), (RequestResult::Retrieved, vec![id_of("hotel")]));
}

#[test]
fn what_is_in_the_context_is_said_to_be_and_not_issued_again() {
    let mut crib = crib();
    crib.plan("a", "weather");
    let answer = by_name(&mut crib, "s__find_weather");
    assert_eq!((answer.result, answer.issued.len()), (RequestResult::AlreadyPresent, 0));
    assert_eq!(answer.text, "Available already: s__find_weather.");
}

#[test]
fn own_and_meta_tools_need_no_asking() {
    for name in ["bash", "request_tool", "call_tool"] {
        let answer = by_name(&mut crib(), name);
        assert_eq!((answer.result, answer.issued.len()), (RequestResult::Own, 0));
        assert!(answer.text.contains("Call it directly"));
    }
}

#[test]
fn a_quarantined_tool_is_answered_with_the_reason_and_alternatives_that_can_be_used() {
    let mut crib = crib();
    crib.break_tool("a", &id_of("hotel"));
    let answer = by_name(&mut crib, "find_hotel");
    assert_eq!((answer.result, answer.kind), (RequestResult::Unavailable, ResultKind::Error));
    assert_eq!(answer.exclusion, Some(Exclusion::State(ToolState::Quarantined)));
    assert!(answer.text.starts_with("s__find_hotel is out of order"), "{}", answer.text);
    assert!(!answer.nearest.is_empty() && answer.issued.is_empty());
    assert!(answer.nearest.iter().all(|name| name.as_str() != "s__find_hotel"));
}

#[test]
fn a_quarantined_resident_is_not_said_to_be_available() {
    let mut crib = crib();
    crib.call_often("a", &id_of("hotel"), 10);
    crib.open("b");
    crib.break_tool("a", &id_of("hotel"));
    assert!(crib.block("b").resident_version(&id_of("hotel")).is_some());
    let answer = crib.request("b", None, r#"{"name":"s__find_hotel"}"#);
    assert_eq!(answer.result, RequestResult::Unavailable);
}

#[test]
fn a_retired_tool_is_said_to_be_retired() {
    let mut crib = crib();
    crib.change(&id_of("hotel"), ToolAction::Retire).unwrap();
    let answer = by_name(&mut crib, "find_hotel");
    assert_eq!((answer.result, answer.issued.len()), (RequestResult::Retired, 0));
    assert!(answer.text.starts_with("s__find_hotel was retired"), "{}", answer.text);
}

#[test]
fn what_a_session_may_not_see_is_not_found_and_not_among_the_nearest() {
    let mut crib = crib();
    let mut narrow = spec();
    narrow.pool.deny.insert("giphy/*".parse().unwrap());
    crib.open_with("n", narrow);
    for name in ["giphy__image_search", "image_search", "image_serch"] {
        let answer = crib.request("n", None, &format!(r#"{{"name":"{name}"}}"#));
        assert_eq!((answer.result, answer.exclusion), (RequestResult::NotFound, None), "{name}");
        assert!(!answer.text.contains("giphy") && answer.nearest.is_empty(), "{}", answer.text);
    }
    let answer = crib.request("n", None, r#"{"need":"moving pictures"}"#);
    assert_eq!(answer.result, RequestResult::NotFound);
}

#[test]
fn an_invented_name_is_not_found_with_the_nearest_and_the_next_step() {
    let answer = by_name(&mut crib(), "giphy__image_search_tool");
    assert_eq!((answer.result, answer.kind), (RequestResult::NotFound, ResultKind::Error));
    assert_eq!(answer.nearest[0].as_str(), "giphy__image_search");
    assert!(answer.text.starts_with("No such tool. Nearest: giphy__image_search"), "{}", answer.text);
    assert!(answer.text.contains("Ask request_tool"));
}

#[test]
fn asking_for_nothing_is_answered_too() {
    for arguments in ["{}", "", "null", "[1]", r#"{"name":7}"#] {
        let answer = crib().request("a", None, arguments);
        assert_eq!(answer.result, RequestResult::NotFound, "{arguments}");
        assert!(answer.text.contains("request_tool"));
    }
}

#[test]
fn exactly_one_tool_result_answers() {
    for delivery in [Delivery::Invoke, Delivery::Tools] {
        let mut crib = crib();
        crib.open_with("d", SessionSpec { delivery, ..spec() });
        for arguments in [r#"{"need":"hotel museum"}"#, r#"{"name":"zzz"}"#, r#"{"name":"bash"}"#] {
            let answer = crib.request("d", None, arguments);
            let view = crib.ns.view();
            let shown: Vec<&Shown> =
                answer.issued.iter().filter_map(|issue| view.shown(issue)).map(|shown| &**shown).collect();
            let spec = crib.session("d").spec();
            let pieces = render::tool_result(spec, &CallId::from("c"), answer.kind, &answer.text, &shown);
            let n_results = pieces.iter().filter(|piece| piece.place == Place::ToolResult).count();
            assert_eq!(n_results, 1);
            let n_names: usize = pieces.iter().map(|piece| piece.names.len()).sum();
            assert_eq!(n_names, answer.issued.len());
        }
    }
}

#[test]
fn a_recall_is_bounded_and_says_that_there_is_more() {
    let mut crib = crib();
    crib.set("plan.recall_limit", "2");
    let answer = crib.request("a", None, r#"{"need":"look up in the records"}"#);
    assert_eq!((answer.issued.len(), answer.listing.returned), (2, 2));
    assert!(answer.listing.has_more() && answer.text.contains("more match"), "{}", answer.text);
}

#[test]
fn a_recalled_tool_works_like_any_other_afterwards() {
    let mut crib = crib();
    let step = Some(crib.plan("a", "").step);
    crib.request("a", step, r#"{"need":"hotel"}"#);
    let next = crib.plan("a", "hotel");
    assert!(next.issued.is_empty());
    let answers = crib.check("a", Some(next.step), &[("1", &alias_of("hotel"), r#"{"text":"x"}"#)]);
    assert!(answers[0].run);
    crib.call("a", Some(next.step), &id_of("hotel"), Ending::Ok);
    assert_eq!(crib.ns.figures().coverage(), Some(1.0));
}

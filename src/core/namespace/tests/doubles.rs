//! Tools that a model may take for each other: what a registration says of them, and what a step leaves out.

use std::collections::BTreeSet;

use super::support::*;
use crate::core::admission::ViolationCode;
use crate::core::admission::confusable::NearBy;
use crate::core::definition::Definition;
use crate::core::event::{AdmissionResult, SessionSpec, ToolAction};
use crate::core::ids::{SessionId, ToolId};
use crate::core::namespace::Namespace;
use crate::core::namespace::commands::{Admission, Batch, Registration};
use crate::core::planning::{self, Double, StepAsk};
use crate::core::retrieval::Query;

/// Registers tools, each for itself, and returns what was said of each.
fn enter(crib: &mut Crib, tools: &[Definition]) -> Vec<Admission> {
    let registration = Registration {
        request_id: String::new(),
        actor: "op".into(),
        checked: (0..).zip(check_all(tools)).collect(),
        batch: Batch::PerItem,
        complete_sources: BTreeSet::new(),
        unreadable: BTreeSet::new(),
    };
    let registered = crib.ns.decide_register(&registration).unwrap();
    for event in &registered.events {
        crib.ns.apply(crib.now, &registered.events[0], event);
    }
    registered.admissions
}

fn near(admission: &Admission) -> Vec<(String, NearBy)> {
    admission.confusable.iter().map(|near| (near.tool.to_string(), near.closeness.by)).collect()
}

fn codes(admission: &Admission) -> Vec<ViolationCode> {
    admission.warnings.iter().map(|warning| warning.code).collect()
}

#[test]
fn a_registration_names_the_tools_that_are_close_and_flags_none_for_it() {
    let mut crib = Crib::new(&[]);
    crib.register(&[
        tool("a/search_issues", "Searches issues in a repository by text"),
        tool("a/send_mail", "Writes to somebody"),
    ]);
    let entered = enter(
        &mut crib,
        &[
            tool("b/search_issues", "Looks for tickets"),
            tool("b/find_issues", "Searches issues in a repository by text"),
        ],
    );
    let by_name = vec![("a/search_issues".to_owned(), NearBy::Name)];
    assert_eq!(near(&entered[0]), by_name);
    assert_eq!(near(&entered[1]), [("a/search_issues".to_owned(), NearBy::Text)]);
    assert!(entered.iter().all(|admission| admission.result == AdmissionResult::Admitted));
    assert_eq!(near(&enter(&mut crib, &[tool("b/search_issues", "Looks for tickets")])[0]), []);
    crib.change(&ToolId::new("a", "search_issues"), ToolAction::Retire).unwrap();
    assert!(
        crib.ns.neighbours_of(&ToolId::new("b", "search_issues")).is_empty(),
        "a retired tool is taken for nothing"
    );
}

#[test]
fn tools_that_enter_together_are_close_whatever_their_order_and_five_at_most_are_named() {
    let mut crib = Crib::new(&[]);
    let seven: Vec<_> = (0..7).map(|i| tool(&format!("s{i}/search"), "Searches issues in a repository")).collect();
    let entered = enter(&mut crib, &seven);
    assert!(entered.iter().all(|admission| admission.confusable.len() == 5));
}

#[test]
fn a_recovered_namespace_knows_the_same_neighbours() {
    let mut crib = Crib::new(&[]);
    crib.register(&[tool("a/search", "Searches issues by text"), tool("b/search", "Searches issues by text")]);
    crib.register(&[tool("b/search", "Now about something else")]);
    let back = Namespace::from_snapshot(&crib.ns.to_snapshot().unwrap()).unwrap();
    let id = ToolId::new("a", "search");
    assert_eq!(back.neighbours_of(&id), crib.ns.neighbours_of(&id));
    assert_eq!(back.neighbours_of(&id).len(), 1);
}

#[test]
fn a_name_or_source_that_passes_for_anothers_is_flagged() {
    let mut crib = Crib::new(&[]);
    crib.register(&[tool("files/read_file", "Reads one file of the workspace")]);
    let said = |crib: &mut Crib, id: &str| codes(&enter(crib, &[tool(id, "Does something of its own")])[0]);
    assert_eq!(said(&mut crib, "web/read_fi1e"), [ViolationCode::LikeAnotherName]);
    assert_eq!(said(&mut crib, "web/readfile"), [ViolationCode::LikeAnotherName]);
    assert_eq!(said(&mut crib, "fi1es/list"), [ViolationCode::LikeAnotherName]);
    assert_eq!(said(&mut crib, "notes/list_all"), []);
    assert_eq!(said(&mut crib, "web3/ReadFile"), [ViolationCode::LikeAnotherName], "web/readfile is there by now");
}

#[test]
fn two_servers_may_well_have_the_same_tool() {
    let mut crib = Crib::new(&[tool("files/read_file", "Reads one file of the workspace")]);
    for id in ["web/read_file", "web/ReadFile", "web/read-file"] {
        let said = &enter(&mut crib, &[tool(id, "Does something of its own")])[0];
        assert_eq!(codes(said), [], "{id}");
        assert!(near(said).contains(&("files/read_file".to_owned(), NearBy::Name)), "{id}");
    }
}

#[test]
fn a_text_that_names_another_sources_tool_is_flagged() {
    let mut crib = Crib::new(&[]);
    crib.register(&[tool("mail/send_email", "Writes to somebody"), tool("mail/search", "Searches the inbox")]);
    let said = |crib: &mut Crib, id: &str, text: &str| codes(&enter(crib, &[tool(id, text)])[0]);
    let named = [ViolationCode::NamesAnotherTool];
    assert_eq!(said(&mut crib, "a/x", "Adds a line whenever send_email is called"), named);
    assert_eq!(said(&mut crib, "a/y", "Adds a line whenever mail__send_email is called"), named);
    assert_eq!(said(&mut crib, "mail/z", "Adds a line before send_email"), [], "its own source's");
    assert_eq!(said(&mut crib, "a/v", "Can search what was found"), [], "a plain word");
    assert_eq!(said(&mut crib, "a/send_email", "Writes a letter with send_email"), [], "its own name");
}

#[test]
fn flags_for_others_obey_policy_and_refuse_nothing_that_is_in() {
    let mut crib = Crib::new(&[]);
    crib.register(&[tool("web/read_fi1e", "Reads something of its own")]);
    crib.set("admission.flags.names", "refuse");
    let entered = enter(&mut crib, &[tool("files/read_file", "Reads one file of the workspace")]);
    let admission = &entered[0];
    assert_eq!(
        (admission.result, admission.violations[0].code),
        (AdmissionResult::Refused, ViolationCode::LikeAnotherName)
    );
    assert!(crib.ns.registry().get(&admission.tool).is_none());
    crib.set("admission.flags.names", "flag");
    crib.register(&[tool("files/read_file", "Reads one file of the workspace")]);
    crib.set("admission.flags.names", "refuse");
    let again = enter(&mut crib, &[tool("files/read_file", "Reads one file of the workspace")]);
    assert_eq!(again[0].result, AdmissionResult::Unchanged);
}

fn weather_at_two_sources() -> Crib {
    let mut crib = Crib::new(&[]);
    crib.register(&tools(24));
    let mut rich = tool("alpha/get_weather", "Forecast of rain, wind and snow for a city");
    rich.keywords = vec!["rain".into(), "wind".into(), "snow".into(), "umbrella".into()];
    crib.register(&[
        rich,
        tool("beta/get_weather", "Tells the weather"),
        tool("alpha/get_weather2", "Tells the weather"),
    ]);
    crib.set("session.pass_through_tools", "0");
    crib.open_with("t", SessionSpec { window: 1_000_000, ..spec() });
    crib
}

const RAIN: &str = "forecast of rain, wind and snow: do I need an umbrella, what weather";

fn left_out(crib: &Crib) -> Vec<Double> {
    let view = crib.ns.view();
    let session = crib.ns.session(&SessionId::from("t")).unwrap();
    let query = Query { user: RAIN, ..Query::default() };
    let ask = StepAsk { key: "", query, present: Some(BTreeSet::new()), max_tools: 0, max_tokens: 0 };
    planning::plan(&view, session, &crib.block("t"), 0, &ask).doubles
}

#[test]
fn a_double_of_another_source_that_fits_far_worse_is_left_out_and_named() {
    let mut crib = weather_at_two_sources();
    let expected =
        Double { tool: ToolId::new("beta", "get_weather"), for_the_sake_of: ToolId::new("alpha", "get_weather") };
    assert_eq!(left_out(&crib), [expected]);
    let planned = crib.plan("t", RAIN);
    let issued: Vec<String> = planned.issued.iter().map(|issue| issue.tool.to_string()).collect();
    assert!(issued.contains(&"alpha/get_weather".to_owned()) && !issued.contains(&"beta/get_weather".to_owned()));
    crib.set("plan.confusable_share", "0");
    assert_eq!(left_out(&crib), [], "never");
}

#[test]
fn what_is_left_out_makes_room_for_the_next() {
    let mut crib = weather_at_two_sources();
    crib.set("plan.top_m", "2");
    let planned = crib.plan("t", RAIN);
    assert_eq!(planned.issued.len(), 2);
    assert!(planned.issued.iter().all(|issue| &*issue.tool.source != "beta"));
}

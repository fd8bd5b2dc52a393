//! The frozen block: nothing that happens changes it while its session is open.

use proptest::prelude::*;

use super::support::{Crib, SUBJECTS, id_of, spec, tool, tools};
use crate::core::block::{PendingChange, pending_changes};
use crate::core::definition::Definition;
use crate::core::event::{Delivery, Ending, Event, Format, SessionSpec, ToolAction, ToolState};
use crate::core::ids::{Alias, ToolId};

fn pending(crib: &Crib, session: &str) -> Vec<PendingChange> {
    let now = crib.ns.view().freeze(crib.session(session).spec());
    pending_changes(crib.ns.registry(), &crib.block(session), &now)
}

/// Tools that come later than those of [`tools`].
fn later(n: usize) -> Vec<Definition> {
    (0..n).map(|i| tool(&format!("late/extra_{i}"), &format!("Does the extra thing number {i} when asked"))).collect()
}

/// A namespace whose pool holds the first ten tools, in an open session `a`.
fn warm() -> Crib {
    let mut crib = Crib::new(&tools(24));
    crib.open("w");
    for subject in &SUBJECTS[..10] {
        crib.call("w", None, &id_of(subject), Ending::Ok);
    }
    crib.open("a");
    crib
}

#[test]
fn registrations_re_ranks_and_a_quarantine_leave_an_open_block_alone() {
    let mut crib = warm();
    let before = crib.block("a");
    assert_eq!(before.residents.len(), 10);
    crib.register(&later(20));
    for round in 0..50 {
        let subject = SUBJECTS[10 + round / 5];
        crib.call_often("w", &id_of(subject), 10);
    }
    let broken = before.residents[0].tool.clone();
    crib.break_tool("w", &broken);
    assert_eq!(crib.state(&broken), ToolState::Quarantined);
    assert_eq!(crib.block("a"), before);
    assert_eq!(crib.session("a").n_blocks(), 1);
    assert!(crib.ns.view().may_change_block_of(crib.session("a")));

    let changes = pending(&crib, "a");
    let n_added = changes.iter().filter(|change| matches!(change, PendingChange::Added(_))).count();
    assert_eq!(n_added, 20);
    assert!(changes.contains(&PendingChange::Unavailable(broken.clone(), ToolState::Quarantined)));
    assert!(changes.contains(&PendingChange::Enters(id_of(SUBJECTS[19]))));
    assert!(changes.iter().any(|change| matches!(change, PendingChange::Leaves(_))));

    let after = crib.refresh("a", &[]);
    assert_ne!(after.digest, before.digest);
    assert_eq!(after.resident_version(&broken), None);
    assert_eq!(pending(&crib, "a"), []);
    assert!(!crib.ns.view().may_change_block_of(crib.session("a")));
    assert_eq!((crib.session("a").n_blocks(), crib.session("a").generation().0), (2, 2));
    crib.assert_recovers();
}

#[test]
fn a_refresh_keeps_declared_what_the_history_uses_whatever_its_state() {
    let mut crib = warm();
    let broken = crib.block("a").residents[0].tool.clone();
    crib.break_tool("w", &broken);
    let block = crib.refresh("a", std::slice::from_ref(&broken));
    assert!(block.resident_version(&broken).is_some());
    let alias = crib.ns.view().alias(&broken).unwrap().to_string();
    let answer = crib.check("a", None, &[("1", &alias, r#"{"text":"a"}"#)]);
    assert!(!answer[0].run, "declared is not allowed");
}

/// Keeping is for tools whose state changed; it is no way round the session's pool.
#[test]
fn a_refresh_keeps_nothing_that_the_session_may_not_see() {
    let mut crib = warm();
    crib.register(&later(1));
    let mut narrow = spec();
    narrow.pool.deny.insert("late/*".parse().unwrap());
    crib.open_with("n", narrow);
    let foreign = ToolId::new("late", "extra_0");
    let block = crib.refresh("n", &[foreign.clone(), ToolId::new("no", "such")]);
    assert_eq!(block.resident_version(&foreign), None);
}

#[test]
fn a_changed_definition_waits_and_the_session_is_shown_the_version_it_knows() {
    let mut crib = warm();
    let resident = crib.block("a").residents[0].tool.clone();
    let before = crib.block("a");
    let changed = tool(&resident.to_string(), "Does the same in other words when asked");
    crib.register(&[changed]);
    assert_eq!(crib.block("a"), before);
    assert!(pending(&crib, "a").contains(&PendingChange::NewVersion(resident.clone())));
    assert_eq!(crib.session("a").shown_version(&resident).map(|version| version.0), Some(1));
    crib.refresh("a", &[]);
    assert_eq!(crib.session("a").shown_version(&resident).map(|version| version.0), Some(2));
}

#[test]
fn equal_specs_at_one_epoch_get_equal_bytes_without_a_trace_of_the_session() {
    let mut crib = warm();
    let mut other = spec();
    other.model = "some-model-4711".into();
    other.parent = Some("parent-4711".into());
    let block = crib.open_with("session-4711", other);
    assert_eq!(block, crib.block("a"));
    assert!(block.pieces.iter().all(|piece| !piece.content.contains("4711")));
    let mcp = crib.open_with("m", SessionSpec { format: Format::Mcp, ..spec() });
    let rebuilt = crib.open_with("t", SessionSpec { delivery: Delivery::Tools, ..spec() });
    assert_ne!(mcp.digest, block.digest);
    assert_ne!(rebuilt.digest, block.digest);
}

/// Heat is published at every re-rank; where the directory is over its budget that reordered it, and the cache of
/// every new session broke although nobody entered or left the pool.
#[test]
fn a_re_rank_that_moves_nobody_changes_no_new_block() {
    let mut crib = Crib::new(&tools(24));
    crib.set("directory.max_tokens", "400");
    crib.set("hot_pool.slots", "2");
    crib.open("w");
    for (subject, n_calls) in [("weather", 30), ("hotel", 20), ("museum", 9), ("library", 11)] {
        crib.call_often("w", &id_of(subject), n_calls);
    }
    crib.call_often("w", &id_of("weather"), 10);
    crib.call_often("w", &id_of("hotel"), 10);
    let (epoch, before) = (crib.ns.pool().epoch(), crib.open("a"));
    assert!(before.directory.len() < 24, "the directory must be over its budget");
    for subject in ["weather", "hotel", "satellite"] {
        crib.call_often("w", &id_of(subject), if subject == "satellite" { 1 } else { 10 });
    }
    crib.call_often("w", &id_of("hotel"), 9);
    assert_eq!(crib.ns.pool().epoch(), epoch);
    assert_eq!(crib.open("b").digest, before.digest);
}

#[test]
fn a_fork_gets_the_block_of_its_original_and_knows_that_it_is_old() {
    let mut crib = warm();
    let before = crib.block("a");
    crib.register(&later(1));
    let fork = crib.open_with("f", SessionSpec { fork_of: Some("a".into()), ..spec() });
    assert_eq!(fork, before);
    assert!(crib.ns.view().may_change_block_of(crib.session("f")));
    assert!(!pending(&crib, "f").is_empty());
}

#[test]
fn a_fork_of_an_ended_session_gets_its_block_all_the_same() {
    let mut crib = warm();
    let before = crib.block("a");
    crib.close("w");
    crib.close("a");
    let fork = crib.open_with("f", SessionSpec { fork_of: Some("a".into()), ..spec() });
    assert_eq!(fork, before);
    crib.assert_recovers();
}

#[test]
fn the_runtimes_own_tools_are_never_in_a_block() {
    let mut crib = warm();
    let mut own = spec();
    own.own_tools[0].name = Alias::from("s__find_invoice");
    let block = crib.open_with("o", own);
    assert_eq!(block.resident_version(&id_of("invoice")), None);
    assert!(!block.directory.contains_key(&id_of("invoice")));
}

#[test]
fn few_tools_are_resident_all_and_nothing_else_is_in_the_block() {
    let mut crib = Crib::new(&tools(10));
    let block = crib.open("a");
    assert!(block.pass_through);
    assert_eq!((block.residents.len(), block.pieces.len()), (10, 10));
    crib.register(&later(1));
    assert!(!crib.open("b").pass_through);
}

/// One thing that may happen around an open session.
fn happen(crib: &mut Crib, what: u8, which: usize) {
    let id = id_of(SUBJECTS[which]);
    let action = [ToolAction::Retire, ToolAction::Restore, ToolAction::Quarantine, ToolAction::Repair, ToolAction::Pin]
        [which % 5];
    match what {
        0 => crib.call_often("w", &id, 7),
        1 => drop(crib.break_tool("w", &id)),
        2 => drop(crib.change(&id, action)),
        3 => drop(crib.list(&tools(which), &["s"])),
        4 => drop(crib.register(&[tool(&id.to_string(), &format!("Does thing number {which} when asked"))])),
        5 => drop(crib.pass(61)),
        6 => crib.set("hot_pool.slots", &(which + 1).to_string()),
        7 => drop(crib.plan("a", SUBJECTS[which])),
        8 => drop(crib.request("a", None, r#"{"need":"museum"}"#)),
        _ => drop(crib.call("a", None, &id, Ending::Ok)),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(24) })]
    #[test]
    fn a_block_never_changes_while_its_session_is_open(
        history in prop::collection::vec((0..10_u8, 0..24_usize), 1..40),
    ) {
        let mut crib = warm();
        crib.set("session.idle_secs", "604800");
        let before = crib.block("a");
        for (what, which) in history {
            happen(&mut crib, what, which);
            prop_assert_eq!(&crib.block("a"), &before);
        }
        let drawn = crib.fold(Event::TimePassed);
        let is_frozen_again = drawn.iter().any(|event| matches!(event, Event::BlockFrozen(_)));
        prop_assert!(!is_frozen_again);
        crib.assert_recovers();
    }
}

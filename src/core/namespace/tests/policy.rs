//! Where the values of the policy come from.

use super::support::{Crib, tools};
use crate::core::event::{Event, PolicySet};

#[test]
fn a_key_remembers_who_set_it_last_when_and_at_which_version() {
    let mut crib = Crib::new(&tools(3));
    let before = crib.ns.policy_version();
    assert_eq!(crib.ns.policy_origin("plan.top_m"), None);
    crib.pass(60);
    crib.set("plan.top_m", "3");
    let set_at = crib.now;
    crib.pass(60);
    crib.set("hot_pool.slots", "4");
    let origin = crib.ns.policy_origin("plan.top_m").unwrap();
    assert_eq!((origin.version, origin.at, origin.actor.as_str()), (before + 1, set_at, "op"));
    assert_eq!(crib.ns.policy_origin("hot_pool.slots").unwrap().version, before + 2);
    crib.set("plan.top_m", "");
    assert_eq!(crib.ns.policy_origin("plan.top_m").unwrap().version, before + 3);
    crib.assert_recovers();
}

/// A value that this build does not take changes nothing, so nobody has set it.
#[test]
fn a_value_that_was_not_taken_has_no_origin() {
    let mut crib = Crib::new(&tools(3));
    let values = [("hot_pool.slots".to_owned(), "0".to_owned())].into();
    crib.fold(Event::PolicySet(PolicySet { request_id: String::new(), actor: "old build".into(), values }));
    assert_eq!(crib.ns.policy_origin("hot_pool.slots"), None);
}

//! Beside which tools a definition is looked at, as tools wait, are approved, retired and restored.

use super::support::{Crib, check_all, tool};
use crate::core::admission::ViolationCode;
use crate::core::admission::neighbours::ENOUGH;
use crate::core::definition::{Definition, Json};
use crate::core::event::ToolAction;
use crate::core::ids::ToolId;
use crate::core::namespace::Namespace;
use crate::core::namespace::commands::{Admission, Batch, Registration};

const SUMMARY: &str = "Looks up one parcel in the records of the depot";

fn decide(ns: &Namespace, definition: &Definition) -> Admission {
    let registration = Registration {
        request_id: String::new(),
        actor: "op".into(),
        checked: check_all(std::slice::from_ref(definition)).into_iter().map(|checked| (0, checked)).collect(),
        batch: Batch::PerItem,
        complete_sources: Default::default(),
        unreadable: Default::default(),
    };
    ns.decide_register(&registration).unwrap().admissions.remove(0)
}

/// Decides in the namespace as it is, and as it is read from a snapshot: both must say the same.
fn look(crib: &Crib, definition: &Definition) -> (Vec<ToolId>, Vec<ViolationCode>) {
    let reread = Namespace::from_snapshot(&crib.ns.to_snapshot().unwrap()).unwrap();
    let [here, there] = [&crib.ns, &reread].map(|ns| {
        let admission = decide(ns, definition);
        let close: Vec<ToolId> = admission.confusable.into_iter().map(|near| near.tool).collect();
        (close, admission.warnings.into_iter().map(|flag| flag.code).collect::<Vec<_>>())
    });
    assert_eq!(here, there);
    here
}

#[test]
fn a_retired_family_does_not_hide_the_tool_that_is_left() {
    let family: Vec<Definition> = (0..=ENOUGH).map(|i| tool(&format!("old/lookup_{i}"), SUMMARY)).collect();
    let mut crib = Crib::new(&family);
    let live = tool("shop/lookup_parcel", SUMMARY);
    crib.register(std::slice::from_ref(&live));
    for retired in &family {
        crib.change(&retired.id, ToolAction::Retire).unwrap();
    }
    let twin = tool("other/lookup_parcels", SUMMARY);
    assert_eq!(look(&crib, &twin).0, std::slice::from_ref(&live.id));
    crib.change(&family[0].id, ToolAction::Restore).unwrap();
    assert_eq!(look(&crib, &twin).0.len(), 2);
    // A new version of what is retired does not bring it back.
    let mut changed = family[1].clone();
    changed.description.push_str(" Anew.");
    changed.size_tokens = crate::core::tokens::count(&changed.measured_text());
    crib.register(&[changed]);
    assert_eq!(look(&crib, &twin).0.len(), 2);
    crib.assert_recovers();
}

#[test]
fn of_two_look_alikes_that_wait_the_second_is_flagged() {
    let mut crib = Crib::new(&[]);
    crib.set("admission.pin_definitions", "true");
    let impostor = tool("impostor/send_mai1", "Sends a letter to somebody");
    let honest = tool("post/send_mail", "Delivers a message to a person");
    crib.register(std::slice::from_ref(&impostor));
    let like = [ViolationCode::LikeAnotherName];
    assert_eq!(look(&crib, &honest).1, like);
    let hash = crib.ns.registry().get(&impostor.id).unwrap().waiting().map(|shown| shown.admitted().hash);
    crib.change_quoting(&impostor.id, ToolAction::Approve, hash).unwrap();
    assert_eq!(look(&crib, &honest).1, like);
    crib.change(&impostor.id, ToolAction::Retire).unwrap();
    assert!(look(&crib, &honest).1.is_empty());
}

#[test]
fn a_tool_counts_by_what_is_served_of_it_and_not_by_what_waits() {
    let mut crib = Crib::new(&[tool("shop/lookup_parcel", SUMMARY)]);
    crib.set("admission.pin_definitions", "true");
    crib.register(&[tool("shop/lookup_parcel", "Paints a house in any colour that is wanted")]);
    assert_eq!(look(&crib, &tool("other/find_it", SUMMARY)).0, [ToolId::new("shop", "lookup_parcel")]);
}

#[test]
fn no_number_of_names_in_one_text_hides_a_name_in_another() {
    let known: Vec<Definition> = (0..20).map(|i| tool(&format!("known/look_{i}"), SUMMARY)).collect();
    let crib = Crib::new(&known);
    let mut naming = tool("other/name_many", "Says what others are called, one by one");
    naming.description = (0..19).map(|i| format!("Like look_{i}. ")).collect();
    let parameter = serde_json::json!({"type": "string", "description": "What look_19 wants"});
    naming.input_schema = Json::from_value(&serde_json::json!({"type": "object", "properties": {"text": parameter}}));
    naming.size_tokens = crate::core::tokens::count(&naming.measured_text());
    let flags = decide(&crib.ns, &naming).warnings;
    let named = flags.iter().filter(|flag| flag.code == ViolationCode::NamesAnotherTool);
    let fields: Vec<&str> = named.map(|flag| flag.field.as_str()).collect();
    assert_eq!(fields.iter().filter(|field| **field == "description").count(), 16);
    assert_eq!(fields.last(), Some(&"input_schema/properties/text/description"));
}

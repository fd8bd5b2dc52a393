//! What a changed definition means for calls that fitted the old one.
//!
//! Careful by default: a schema change that is not known to let every old call through counts as breaking.

mod schema;

use serde::{Deserialize, Serialize};

use crate::core::definition::{Definition, DerivedField, Json};

/// How far a change reaches.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ChangeClass {
    /// Words only: every call means what it meant.
    Cosmetic,
    /// Every call that fitted still fits.
    Compatible,
    /// A call that fitted may fit no longer.
    Breaking,
}

/// One thing that differs.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Difference {
    /// Path of the field, as in violations.
    pub field: String,
    /// How far it reaches.
    pub class: ChangeClass,
    /// What changed.
    pub description: String,
}

/// The change from one definition to another.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Change {
    /// The farthest-reaching of the differences.
    pub class: ChangeClass,
    /// Everything that differs; empty when nothing does.
    pub differences: Vec<Difference>,
}

/// Compares two definitions of one tool. The size estimate is no difference.
pub fn classify(old: &Definition, new: &Definition) -> Change {
    let mut differences = Vec::new();
    let mut note = |field: &str, differs: bool, class| {
        if differs {
            differences.push(Difference { field: field.into(), class, description: "changed".into() });
        }
    };
    note("title", old.title != new.title, ChangeClass::Cosmetic);
    // What import derived both times says nothing that the rest does not say.
    let is_given = |field| !(old.derived.contains(&field) && new.derived.contains(&field));
    let is_other_summary = is_given(DerivedField::Summary) && old.summary != new.summary;
    note("summary", is_other_summary, ChangeClass::Cosmetic);
    let is_other_use = is_given(DerivedField::WhenToUse) && old.when_to_use != new.when_to_use;
    note("when_to_use", is_other_use, ChangeClass::Cosmetic);
    let are_other_keywords = is_given(DerivedField::Keywords) && old.keywords != new.keywords;
    note("keywords", are_other_keywords, ChangeClass::Cosmetic);
    note("description", old.description != new.description, ChangeClass::Cosmetic);
    // These steer rules, confirmations and what is done with results, so they are more than words.
    note("group", old.group() != new.group(), ChangeClass::Compatible);
    note("tags", old.tags != new.tags, ChangeClass::Compatible);
    note("attributes", old.attributes != new.attributes, ChangeClass::Compatible);
    note("annotations", differ(&old.annotations, &new.annotations), ChangeClass::Compatible);
    note("output_schema", differ(&old.output_schema, &new.output_schema), ChangeClass::Compatible);
    schema::compare("input_schema", &old.input_schema.to_value(), &new.input_schema.to_value(), &mut differences);
    let class = differences.iter().map(|difference| difference.class).max().unwrap_or(ChangeClass::Cosmetic);
    Change { class, differences }
}

/// Compares JSON by what it says: the order of keys is no difference.
fn differ(old: &Option<Json>, new: &Option<Json>) -> bool {
    old.as_ref().map(Json::to_value) != new.as_ref().map(Json::to_value)
}

#[cfg(test)]
mod tests;

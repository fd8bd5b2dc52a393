//! Sizes: the token estimate against what is measured, and the limits in bytes.

use super::{Violation, ViolationCode};
use crate::core::definition::{Definition, Json};
use crate::core::policy::AdmissionPolicy;
use crate::core::tokens;

/// Adds the violations of size; returns the measured size in tokens.
pub(super) fn check(definition: &Definition, policy: &AdmissionPolicy, violations: &mut Vec<Violation>) -> u32 {
    let measured = measure(definition);
    check_estimate(definition.size_tokens, measured, policy.size_tolerance, violations);
    for (field, bytes, limit) in [
        ("description", definition.description.len(), policy.description_bytes),
        ("input_schema", definition.input_schema.as_str().len(), policy.schema_bytes),
        ("definition", total_bytes(definition), policy.definition_bytes),
    ] {
        if bytes > limit as usize {
            let (description, accepted) = (format!("{bytes} bytes"), format!("at most {limit} bytes"));
            violations.push(Violation::new(field, ViolationCode::TooLong, description, accepted));
        }
    }
    measured
}

/// Returns the size in o200k tokens of compact `{name, description, input_schema}`.
pub(super) fn measure(definition: &Definition) -> u32 {
    tokens::count(&definition.measured_text())
}

fn check_estimate(estimate: u32, measured: u32, tolerance: f64, violations: &mut Vec<Violation>) {
    let accepted = format!("{measured} tokens as measured with {}, ±{:.0} %", tokens::TOKENIZER, tolerance * 100.0);
    if estimate == 0 {
        let description = format!("missing; measured are {measured}");
        violations.push(Violation::new("size_tokens", ViolationCode::Missing, description, accepted));
        return;
    }
    let off = f64::from(estimate.abs_diff(measured));
    if off > tolerance * f64::from(measured) {
        let description = format!("{estimate} where {measured} are measured");
        violations.push(Violation::new("size_tokens", ViolationCode::SizeMismatch, description, accepted));
    }
}

/// Sums the bytes of all texts and schemas of a definition.
fn total_bytes(definition: &Definition) -> usize {
    let optional = |json: &Option<Json>| json.as_ref().map_or(0, |json| json.as_str().len());
    let lists = definition.keywords.iter().chain(&definition.tags).map(String::len).sum::<usize>();
    let attributes = definition.attributes.iter().map(|(key, value)| key.len() + value.len()).sum::<usize>();
    definition.id.source.len()
        + definition.id.name.len()
        + definition.title.as_ref().map_or(0, String::len)
        + definition.summary.len()
        + definition.when_to_use.len()
        + definition.description.len()
        + definition.group.len()
        + definition.input_schema.as_str().len()
        + optional(&definition.output_schema)
        + optional(&definition.annotations)
        + lists
        + attributes
}

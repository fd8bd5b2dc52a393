//! The smallest text that fits a format, a pattern and a length.

use regex_syntax::hir::{Class, Hir, HirKind};
use serde_json::{Map, Value};

/// Most characters that are made up to meet a minimum length.
const MOST_CHARS: u64 = 4096;

/// Returns a short text that fits a string schema.
pub fn smallest_text(schema: &Map<String, Value>) -> String {
    let length = |keyword: &str| schema.get(keyword).and_then(Value::as_u64);
    let least = length("minLength").unwrap_or(0).min(MOST_CHARS) as usize;
    if let Some(pattern) = schema.get("pattern").and_then(Value::as_str)
        && let Ok(hir) = regex_syntax::parse(pattern)
    {
        return matching(&hir, least);
    }
    let sample = match schema.get("format").and_then(Value::as_str).unwrap_or_default() {
        "date" => "2024-01-01",
        "date-time" => "2024-01-01T00:00:00Z",
        "time" => "00:00:00Z",
        "duration" => "P1D",
        "email" | "idn-email" => "a@example.com",
        "hostname" | "idn-hostname" => "example.com",
        "ipv4" => "192.0.2.1",
        "ipv6" => "2001:db8::1",
        "uri" | "iri" | "uri-reference" | "iri-reference" | "uri-template" => "https://example.com",
        "uuid" => "00000000-0000-4000-8000-000000000000",
        _ => "",
    };
    let mut text = sample.to_owned();
    let n_missing = least.saturating_sub(text.chars().count());
    text.push_str(&"a".repeat(n_missing));
    text
}

/// Returns a text that a pattern matches, with repetitions as short as a minimum length allows.
fn matching(hir: &Hir, least: usize) -> String {
    let mut repeats = 0;
    loop {
        let mut text = String::new();
        write_match(hir, repeats, &mut text);
        // A pattern of fixed length does not grow; what cannot be met is for the caller to find out.
        if text.chars().count() >= least || repeats as usize > least {
            return text;
        }
        repeats += 1;
    }
}

fn write_match(hir: &Hir, repeats: u32, text: &mut String) {
    match hir.kind() {
        HirKind::Empty | HirKind::Look(_) => {}
        HirKind::Literal(literal) => text.push_str(&String::from_utf8_lossy(&literal.0)),
        HirKind::Class(class) => text.extend(sample(class)),
        HirKind::Repetition(repetition) => {
            let most = repetition.max.unwrap_or(u32::MAX);
            for _ in 0..repetition.min.max(repeats).min(most) {
                if text.len() as u64 > MOST_CHARS {
                    return;
                }
                write_match(&repetition.sub, repeats, text);
            }
        }
        HirKind::Capture(capture) => write_match(&capture.sub, repeats, text),
        HirKind::Concat(parts) => parts.iter().for_each(|part| write_match(part, repeats, text)),
        HirKind::Alternation(parts) => {
            if let Some(part) = parts.first() {
                write_match(part, repeats, text);
            }
        }
    }
}

/// Returns a character of a class, a plain one where there is one.
fn sample(class: &Class) -> Option<char> {
    match class {
        Class::Unicode(class) => {
            let holds = |c: char| class.ranges().iter().any(|range| (range.start()..=range.end()).contains(&c));
            ['a', 'A', '0', '1'].into_iter().find(|&c| holds(c)).or_else(|| class.ranges().first().map(|r| r.start()))
        }
        Class::Bytes(class) => class.ranges().first().map(|range| char::from(range.start())),
    }
}

//! Reads JSON that a stranger wrote: refuses duplicate keys and deep nesting, and says where.
//!
//! `serde_json` keeps the last of two equal keys without a word, so what an operator reviews and what a model is shown
//! could differ. Every schema and catalog therefore enters through [`parse_json`].

use std::fmt;

use serde::de::{DeserializeSeed, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};

use crate::core::json_schema::push_pointer;

/// Deepest nesting that is read. Below the 128 of `serde_json`, so that what is admitted can always be read again.
pub const MAX_DEPTH: usize = 100;

/// Keys under which `serde_json` smuggles raw text through its own data model; as a key of input they would be read
/// as something else than they say.
const RESERVED_PREFIX: &str = "$serde_json::private::";

/// Why bytes are not taken as JSON.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum JsonRefusal {
    /// The bytes are not UTF-8.
    #[error("not UTF-8 at byte {offset}; must be JSON in UTF-8")]
    NotUtf8 {
        /// The first byte that does not fit, from 0.
        offset: usize,
    },
    /// The text is not JSON.
    #[error("not JSON at line {line}, column {column}: {reason}")]
    Syntax {
        /// From 1.
        line: usize,
        /// From 1.
        column: usize,
        /// The parser's words.
        reason: String,
    },
    /// An object holds a key twice.
    #[error("key {key:?} stands twice in {at}; must stand once")]
    DuplicateKey {
        /// JSON pointer of the object; `the top` for the outermost.
        at: String,
        /// The key.
        key: String,
    },
    /// Nested deeper than [`MAX_DEPTH`].
    #[error("nested deeper than {MAX_DEPTH} levels at {at}; must be flatter")]
    TooDeep {
        /// JSON pointer of the value.
        at: String,
    },
    /// A key that the JSON library keeps for itself.
    #[error("key {key:?} in {at} is reserved; must be another name")]
    ReservedKey {
        /// JSON pointer of the object.
        at: String,
        /// The key.
        key: String,
    },
}

/// Parses JSON of unknown origin. A byte order mark at the start is passed over.
pub fn parse_json(bytes: &[u8]) -> Result<Value, JsonRefusal> {
    let bytes = bytes.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(bytes);
    let text = std::str::from_utf8(bytes).map_err(|e| JsonRefusal::NotUtf8 { offset: e.valid_up_to() })?;
    let mut place = Place::default();
    let mut deserializer = serde_json::Deserializer::from_str(text);
    let parsed = (Reader { place: &mut place })
        .deserialize(&mut deserializer)
        .and_then(|value| deserializer.end().map(|()| value));
    match (parsed, place.refusal) {
        (Ok(value), None) => Ok(value),
        (_, Some(refusal)) => Err(refusal),
        (Err(error), None) => Err(error.into()),
    }
}

impl From<serde_json::Error> for JsonRefusal {
    fn from(error: serde_json::Error) -> Self {
        let text = error.to_string();
        let reason = text.split(" at line ").next().unwrap_or_default().to_owned();
        Self::Syntax { line: error.line(), column: error.column(), reason }
    }
}

impl JsonRefusal {
    /// Returns the refusal with its place counted from the start of a file of which what was read is a part that begins
    /// at byte `offset`, `n_lines` line feeds into it, the last of them just before byte `line_start`.
    pub fn in_file(self, offset: usize, n_lines: usize, line_start: usize) -> Self {
        match self {
            Self::NotUtf8 { offset: within } => Self::NotUtf8 { offset: offset + within },
            Self::Syntax { line, column, reason } => {
                let column = if line == 1 { column + offset.saturating_sub(line_start) } else { column };
                Self::Syntax { line: line + n_lines, column, reason }
            }
            other => other,
        }
    }
}

/// Where the reader is, and what it refused: an error of `serde` carries text only.
#[derive(Default)]
struct Place {
    path: Vec<String>,
    refusal: Option<JsonRefusal>,
}

impl Place {
    fn pointer(&self) -> String {
        let mut pointer = String::new();
        for segment in &self.path {
            push_pointer(&mut pointer, segment);
        }
        if pointer.is_empty() { "the top".into() } else { pointer }
    }

    fn refuse<E: serde::de::Error>(&mut self, refusal: JsonRefusal) -> E {
        let error = E::custom(&refusal);
        self.refusal = Some(refusal);
        error
    }
}

struct Reader<'p> {
    place: &'p mut Place,
}

impl<'de> DeserializeSeed<'de> for Reader<'_> {
    type Value = Value;

    fn deserialize<D: serde::Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Reader<'_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(Value::Number(value.into()))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(Value::Number(value.into()))
    }

    fn visit_f64<E: serde::de::Error>(self, value: f64) -> Result<Value, E> {
        Number::from_f64(value).map(Value::Number).ok_or_else(|| E::custom("number out of range"))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(Value::String(value.to_owned()))
    }

    fn visit_string<E>(self, value: String) -> Result<Value, E> {
        Ok(Value::String(value))
    }

    fn visit_seq<A: SeqAccess<'de>>(mut self, mut items: A) -> Result<Value, A::Error> {
        self.check_depth()?;
        let mut array = Vec::new();
        loop {
            self.place.path.push(array.len().to_string());
            let Some(item) = items.next_element_seed(Reader { place: &mut *self.place })? else { break };
            self.place.path.pop();
            array.push(item);
        }
        self.place.path.pop();
        Ok(Value::Array(array))
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut entries: A) -> Result<Value, A::Error> {
        self.check_depth()?;
        let mut map = Map::new();
        while let Some(key) = entries.next_key::<String>()? {
            if map.contains_key(&key) {
                let at = self.place.pointer();
                return Err(self.place.refuse(JsonRefusal::DuplicateKey { at, key }));
            }
            if key.starts_with(RESERVED_PREFIX) {
                let at = self.place.pointer();
                return Err(self.place.refuse(JsonRefusal::ReservedKey { at, key }));
            }
            self.place.path.push(key.clone());
            let value = entries.next_value_seed(Reader { place: &mut *self.place })?;
            self.place.path.pop();
            map.insert(key, value);
        }
        Ok(Value::Object(map))
    }
}

impl Reader<'_> {
    /// Refuses a container below [`MAX_DEPTH`] others; the length of the path is their number.
    fn check_depth<E: serde::de::Error>(&mut self) -> Result<(), E> {
        if self.place.path.len() < MAX_DEPTH {
            return Ok(());
        }
        let at = self.place.pointer();
        Err(self.place.refuse(JsonRefusal::TooDeep { at }))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    #[test]
    fn a_duplicate_key_is_refused_with_its_place() {
        let refusal = parse_json(br#"{"a":[{"b":1,"c":2,"b":3}]}"#).unwrap_err();
        assert_eq!(refusal, JsonRefusal::DuplicateKey { at: "/a/0".into(), key: "b".into() });
        let escaped = parse_json(br#"{"a":1,"\u0061":2}"#).unwrap_err();
        assert_eq!(escaped, JsonRefusal::DuplicateKey { at: "the top".into(), key: "a".into() });
    }

    #[test]
    fn nesting_is_bounded_and_the_bound_itself_is_read() {
        let nested = |depth: usize| "[".repeat(depth) + &"]".repeat(depth);
        assert!(parse_json(nested(MAX_DEPTH).as_bytes()).is_ok());
        for depth in [MAX_DEPTH + 1, 200, 100_000] {
            let refusal = parse_json(nested(depth).as_bytes()).unwrap_err();
            assert!(matches!(refusal, JsonRefusal::TooDeep { .. }), "{refusal}");
        }
    }

    #[test]
    fn what_is_not_json_is_refused_with_its_place() {
        let refusal = parse_json(b"{\"a\":1,\n oops}").unwrap_err();
        assert!(matches!(refusal, JsonRefusal::Syntax { line: 2, .. }), "{refusal}");
        assert_eq!(parse_json(b"\"a\xFF\"").unwrap_err(), JsonRefusal::NotUtf8 { offset: 2 });
        assert!(parse_json(b"{} {}").is_err());
        assert!(parse_json(b"").is_err());
        assert!(parse_json(br#""\ud800""#).is_err());
        assert!(parse_json(b"1e999").is_err());
    }

    #[test]
    fn a_byte_order_mark_at_the_start_is_passed_over() {
        assert_eq!(parse_json(b"\xEF\xBB\xBF[1]").unwrap(), json!([1]));
    }

    #[test]
    fn the_key_the_json_library_keeps_for_itself_is_refused() {
        let refusal = parse_json(br#"{"$serde_json::private::RawValue":"{}"}"#).unwrap_err();
        assert!(matches!(refusal, JsonRefusal::ReservedKey { .. }));
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn any_bytes_are_read_or_refused(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = parse_json(&bytes);
        }

        #[test]
        fn what_is_read_equals_what_the_library_reads(text in r#"[\[\]{}:,"a-c0-9 \\.-]{0,40}"#) {
            if let Ok(value) = parse_json(text.as_bytes()) {
                prop_assert_eq!(value, serde_json::from_str::<Value>(&text).unwrap());
            }
        }
    }
}

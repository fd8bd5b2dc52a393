//! Text as a key of a [`super::shared_map::SharedMap`], ordered by bytes.
//!
//! The first eight bytes stand beside the pointer: most comparisons end there, without a visit to the text.

use std::cmp::Ordering;
use std::sync::Arc;

/// A stored key.
#[derive(Clone, Debug)]
pub(super) struct Key {
    head: u64,
    text: Arc<str>,
}

/// A key that is looked for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Wanted<'t> {
    head: u64,
    text: &'t str,
}

impl<'t> Wanted<'t> {
    pub(super) fn new(text: &'t str) -> Self {
        let mut head = [0; 8];
        let n_bytes = text.len().min(8);
        head[..n_bytes].copy_from_slice(&text.as_bytes()[..n_bytes]);
        Self { head: u64::from_be_bytes(head), text }
    }

    /// Says how a stored key compares with this one.
    pub(super) fn compare(&self, key: &Key) -> Ordering {
        key.head.cmp(&self.head).then_with(|| (*key.text).cmp(self.text))
    }

    /// Says whether the stored key begins with this one.
    pub(super) fn begins(&self, key: &Key) -> bool {
        let n_bits = 8 * self.text.len().min(8) as u32;
        let differs = (key.head ^ self.head).checked_shr(64 - n_bits).unwrap_or(0);
        differs == 0 && key.text.starts_with(self.text)
    }

    /// Makes a key to store.
    pub(super) fn to_key(self) -> Key {
        Key { head: self.head, text: self.text.into() }
    }
}

impl Key {
    pub(super) fn text(&self) -> &Arc<str> {
        &self.text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_order_and_begin_as_their_texts() {
        let texts = ["", "a", "a\0", "ab", "abcdefgh", "abcdefghi", "abcdefgj", "é", "日本語の法令"];
        for a in texts {
            for b in texts {
                let (wanted, key) = (Wanted::new(b), Wanted::new(a).to_key());
                assert_eq!(wanted.compare(&key), a.cmp(b), "{a:?} {b:?}");
                assert_eq!(wanted.begins(&key), a.starts_with(b), "{a:?} {b:?}");
            }
        }
    }
}

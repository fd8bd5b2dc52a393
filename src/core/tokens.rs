//! The one place that counts tokens, so that every figure the daemon prints speaks of the same tokenizer.
//!
//! Knows nothing above it. The table is part of the binary and is read at the first call (tens of milliseconds), so the
//! server counts something once before it listens.

use bpe_openai::{Normalizable, o200k_base};

/// The tokenizer that all counts and savings are in.
pub const TOKENIZER: &str = "o200k_base";

/// Returns the number of tokens of a text.
pub fn count(text: &str) -> u32 {
    u32::try_from(o200k_base().count(text)).unwrap_or(u32::MAX)
}

/// Returns the number of tokens of a text, or `None` where they are more than `limit`; does not read a long text to
/// its end to say so.
pub fn count_up_to(text: &str, limit: u32) -> Option<u32> {
    let counted = o200k_base().count_till_limit(&text.normalize(false), limit as usize)?;
    u32::try_from(counted).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_texts_have_their_published_counts() {
        assert_eq!(count(""), 0);
        assert_eq!(count("hello world"), 2);
        assert_eq!(count("tiktoken is great!"), 6);
    }

    #[test]
    fn counting_stops_above_the_limit() {
        assert_eq!(count_up_to("hello world", 2), Some(2));
        assert_eq!(count_up_to("hello world", 1), None);
        assert_eq!(count_up_to("", 0), Some(0));
    }
}

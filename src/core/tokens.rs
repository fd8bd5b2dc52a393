//! The one place that counts tokens, so that every figure the daemon prints speaks of the same tokenizer.
//!
//! Knows nothing above it. The table is part of the binary and is read at the first call, or by [`load`].

use bpe_openai::o200k_base;

/// The tokenizer that all counts and savings are in.
pub const TOKENIZER: &str = "o200k_base";

/// Reads the tokenizer's table, which takes tens of milliseconds that no request should wait for.
pub fn load() {
    o200k_base();
}

/// Returns the number of tokens of a text.
pub fn count(text: &str) -> u32 {
    u32::try_from(o200k_base().count(text)).unwrap_or(u32::MAX)
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
}

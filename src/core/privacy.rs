//! What may be kept of a query: keyed hashes of its stems, which can be compared with each other and not read.

use std::collections::BTreeSet;

use sha2::{Digest as _, Sha256};

use super::ids::Digest;
use super::retrieval::text::{TermKind, for_each_term};

/// Most terms kept of one query.
const TERMS_KEPT: usize = 256;

/// Hashes the stems of a query under a namespace's key; sorted, each once. Stop words are left out.
pub fn term_hashes<'a>(salt: &Digest, texts: impl IntoIterator<Item = &'a str>) -> Vec<u32> {
    let mut hashes = BTreeSet::new();
    for text in texts {
        for_each_term(text, &mut |term, kind| {
            if kind != TermKind::Stop && hashes.len() < TERMS_KEPT {
                hashes.insert(hash(salt, term));
            }
        });
    }
    hashes.into_iter().collect()
}

fn hash(salt: &Digest, term: &str) -> u32 {
    let mut hasher = Sha256::new();
    hasher.update(salt.as_bytes());
    hasher.update(term.as_bytes());
    let bytes = hasher.finalize();
    u32::from_be_bytes([bytes[0], bytes[1], bytes[2], bytes[3]])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inflections_share_a_hash_and_other_keys_do_not() {
        let (key, other) = (Digest::of(b"a"), Digest::of(b"b"));
        assert_eq!(term_hashes(&key, ["creating issues"]), term_hashes(&key, ["create the issue"]));
        assert_ne!(term_hashes(&key, ["issue"]), term_hashes(&other, ["issue"]));
    }
}

//! The four numbers and the hint that go with every list a model may read.
//!
//! A cap never hides that there was more: the reader is told how many matched, how many are here, and what to do next.

/// Counts of a narrowed list, and what to do next.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Listing {
    /// How many matched.
    pub total: u32,
    /// How many are here.
    pub returned: u32,
    /// The cap that applied.
    pub limit: u32,
    /// What to do next, in words for the model.
    pub hint: String,
}

impl Listing {
    /// Returns whether more matched than are here.
    pub fn has_more(&self) -> bool {
        self.total > self.returned
    }
}

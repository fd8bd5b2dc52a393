//! The engine: what drives the core. Time, threads and the disk meet here and nowhere below.

pub mod clock;
pub mod journal;

//! Offline: recorded traffic played through the same core that the daemon runs, without a daemon.
//!
//! `trace` reads the file shapes. `replay` plays a trace against a hot-pool policy alone, with *live* residency;
//! `bound` is the best that any pool could have done there; `frozen` plays it through a whole namespace, as the daemon would have served it; `refold` draws the consequences of
//! an exported event log again; `demand` writes traces out of such a log. `report` holds what came of it as plain
//! values; printing is left to the command line. Knows the core only, and is synchronous.

pub mod bound;
pub mod definitions;
pub mod demand;
pub mod frozen;
pub mod refold;
pub mod replay;
pub mod report;
pub mod trace;

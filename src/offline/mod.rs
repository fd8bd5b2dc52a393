//! Offline: recorded traffic played through the same core that the daemon runs, without a daemon.
//!
//! `trace` reads the file shapes, `replay` plays them, `report` holds what came of it as plain values; printing is left
//! to the command line. Knows the core only, and is synchronous.

pub mod demand;
pub mod replay;
pub mod report;
pub mod trace;

//! The core: everything toolcrib decides, as plain synchronous code. No tokio, no clock, no I/O, no randomness; time
//! and tick come in as arguments, and what happened is returned.

pub mod definition;
pub mod event;
pub mod figures;
pub mod ids;
pub mod lifecycle;
pub mod policy;

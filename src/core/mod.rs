//! The core: everything toolcrib decides, as plain synchronous code. No tokio, no clock, no I/O, no randomness; time
//! and tick come in as arguments, and what happened is returned.

pub mod admission;
pub mod definition;
pub mod event;
pub mod heat;
pub mod hot_pool;
pub mod ids;
pub mod lifecycle;
pub mod policy;
pub mod retrieval;
pub mod instance;
pub mod json_schema;
pub mod policy;
pub mod tokens;
pub mod validation;

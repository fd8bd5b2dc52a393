//! The core: everything toolcrib decides, as plain synchronous code. No tokio, no clock, no I/O, no randomness; time
//! and tick come in as arguments, and what happened is returned.
//!
//! In reading order: the words (`ids`, `definition`, `policy`, `event`), what each piece decides, and `namespace`, where
//! everything that can happen stands in one place.

pub mod definition;
pub mod event;
pub mod ids;
pub mod policy;
pub mod tokens;

pub mod admission;
pub mod instance;
pub mod json_schema;
pub mod validation;

pub mod heat;
pub mod hot_pool;
pub mod retrieval;

pub mod registry;
pub mod render;

pub mod block;
pub mod checking;
pub mod erasure;
pub mod explain;
pub mod judging;
pub mod lifecycle;
pub mod narrowing;
pub mod planning;
pub mod privacy;
pub mod recall;
pub mod session;
pub mod view;

pub mod figures;
pub mod history;
pub mod namespace;

//! What the integration tests share.

mod daemon;
mod tools;

pub use daemon::TestDaemon;
pub use tools::{definition, fields_of, reason_of};

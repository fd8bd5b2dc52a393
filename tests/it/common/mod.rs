//! What the integration tests share.

mod daemon;
mod process;
mod tools;

pub use daemon::{NAMESPACE, TestDaemon};
pub use process::Process;
pub use tools::{definition, fields_of, reason_of};

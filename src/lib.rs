pub mod core;
pub mod proto;
pub mod offline;
pub mod import;

pub mod config;
pub mod core;
pub mod import;
pub mod offline;
pub mod proto;
pub mod telemetry;

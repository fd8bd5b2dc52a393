pub mod config;
pub mod core;
pub mod engine;
pub mod import;
pub mod offline;
pub mod proto;
pub mod store;
pub mod telemetry;

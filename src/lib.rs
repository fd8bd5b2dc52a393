pub mod config;
pub mod core;
pub mod proto;
pub mod telemetry;

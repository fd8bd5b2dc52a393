pub mod core;
pub mod engine;
pub mod store;

pub mod core;
pub mod import;

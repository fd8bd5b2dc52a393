pub mod core;
pub mod offline;

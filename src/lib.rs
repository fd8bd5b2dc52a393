pub mod core;
pub mod proto;

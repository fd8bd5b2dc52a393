//! Everything that is tested through the front door: a real server on a port of its own, a real store in a throw-away
//! folder, and a clock that tests turn.

mod common;

mod architecture;
mod cli;
mod confusable;
mod crash;
mod demo;
mod field;
mod flags;
mod frozen;
mod lives;
mod privacy;
mod registry;
mod retrieval;
mod scrape;
mod serving;
mod sessions;
mod store_failures;

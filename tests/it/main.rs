//! Everything that is tested through the front door: a real server on a port of its own, a real store in a throw-away
//! folder, and a clock that tests turn.

mod common;

mod apply;
mod approval;
mod architecture;
mod backup;
mod cli;
mod confusable;
mod crash;
mod deliveries;
mod demo;
mod documents;
mod erasure;
mod explain;
mod field;
mod flags;
mod frozen;
mod imports;
mod lives;
mod privacy;
mod registry;
mod retention;
mod retrieval;
mod scrape;
mod serving;
mod sessions;
mod stats;
mod store_failures;
mod watch;

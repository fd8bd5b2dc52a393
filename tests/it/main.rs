//! Everything that is tested through the front door: a real server on a port of its own, a real store in a throw-away
//! folder, and a clock that tests turn.

mod common;

mod architecture;
mod crash;
mod demo;
mod frozen;
mod lives;
mod registry;
mod retrieval;
mod scrape;
mod sessions;

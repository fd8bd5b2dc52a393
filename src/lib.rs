//! toolcrib keeps the tool definitions of LLM agents and issues them on demand.
//!
//! An agent runtime asks before each model request which definitions to put in front of the model, and says afterwards
//! what was called and how that went. From this the daemon decides who stays resident, who is out after failures, and
//! how often the model had in front of it what it called.
//!
//! This page is the map. `README.md` says how to use the daemon, `ARCHITECTURE.md` how the parts work together and what
//! must hold, `docs/decisions` why it is so.
//!
//! # In reading order
//!
//! **The core decides.** It is plain synchronous code without clock, disk, thread or chance: time comes in as an
//! argument, what happened comes out as a value. Start here.
//!
//! 1. The words: [`core::ids`], [`core::definition`], [`core::policy`] (every tunable with its reason) and
//!    [`core::event`] (everything that can stand in the log).
//! 2. [`core::namespace`], where everything that can happen to a namespace stands in one place. Its three ways in,
//!    `commands`, `fold` and `apply`, are the shape of the whole program.
//! 3. The way in: [`core::admission`] is the gate, [`core::registry`] keeps what passed it, [`core::render`] writes it
//!    for a model.
//! 4. A session: [`core::block`] is what it is given when it opens, [`core::session`] what is taken to be in its
//!    context, [`core::planning`] one step of it, [`core::recall`] the model's own asking, [`core::checking`] its calls
//!    before they run, [`core::explain`] says why. All of them read a [`core::view`].
//! 5. From use: [`core::heat`] and [`core::hot_pool`] choose the residents, [`core::judging`] says which pick was
//!    wrong, [`core::lifecycle`] takes a failing tool out and back, [`core::figures`] counts.
//! 6. [`core::retrieval`] finds the tools that fit a query. The `README.md` beside it has the method and what it
//!    measures.
//!
//! **The shell carries.**
//!
//! 7. [`store`] is the durable log: a trait, and SQLite behind it.
//! 8. [`engine`] drives the core: [`engine::clock`] is the only reader of time, [`engine::journal`] the one thread that
//!    writes the log, [`engine::writer`] the one thread that changes a namespace, [`engine::handle`] and
//!    [`engine::steps`] what a request handler holds and does.
//! 9. [`grpc`] turns messages into calls of the engine and its answers into messages; [`proto`] is the generated code.
//! 10. [`server`] puts a daemon together and takes it down within a bound; [`config`] says what it runs with, and
//!     [`telemetry`] holds every metric it exports.
//!
//! **Around it.**
//!
//! 11. [`import`] reads catalog files into definitions for the gate.
//! 12. [`offline`] plays recorded traffic through the same core, and draws an exported log again.
//! 13. [`cli`] is one file a command, and the only place that prints.
//!
//! # Who knows whom
//!
//! `core` knows nobody. `store`, `telemetry`, `config`, `import`, `offline` and `proto` know `core` only. Above them
//! stand `engine`, `grpc`, `server` and `cli`. `tests/it/architecture.rs` has the exact list and reads the sources to
//! hold it.

pub mod cli;
pub mod config;
pub mod core;
pub mod engine;
pub mod grpc;
pub mod import;
pub mod offline;
pub mod proto;
pub mod server;
pub mod store;
pub mod telemetry;

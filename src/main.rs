//! Hands the arguments to the command line.

use std::process::ExitCode;

fn main() -> ExitCode {
    toolcrib::cli::main()
}

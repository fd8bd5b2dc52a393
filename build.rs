//! Generates the gRPC code and the descriptor set for reflection, without a system protoc.

use std::error::Error;
use std::path::PathBuf;
use std::{env, fs};

use protox::prost::Message as _;

const PROTOS: [&str; 6] = ["common", "policy", "registry", "session", "stats", "watch"];

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo:rerun-if-changed=proto");

    let files = PROTOS.map(|name| format!("toolcrib/v1/{name}.proto"));
    let descriptors = protox::compile(files, ["proto"])?;
    let out_dir = PathBuf::from(env::var("OUT_DIR")?);
    fs::write(out_dir.join("toolcrib_descriptor.bin"), descriptors.encode_to_vec())?;

    // Contents are `Bytes`: a definition rendered once is shared by every answer that carries it.
    tonic_prost_build::configure().bytes(".").compile_fds(descriptors)?;
    Ok(())
}

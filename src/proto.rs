//! The generated messages, services and clients of `toolcrib.v1`; `proto/toolcrib/v1` has their documentation.
//!
//! Holds no code of its own. Only `grpc` and the command line use it; the core never sees a generated type.

tonic::include_proto!("toolcrib.v1");

/// The descriptors of every file, encoded, as gRPC reflection serves them.
pub const FILE_DESCRIPTOR_SET: &[u8] = tonic::include_file_descriptor_set!("toolcrib_descriptor");

#[cfg(test)]
mod tests;

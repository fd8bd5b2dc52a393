//! gRPC requests by method and code, those in work, and how long the hot ones take.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use metrics::{Counter, Gauge, Histogram};
use metrics_exporter_prometheus::PrometheusRecorder;
use tonic::Code;

use super::metrics::{GRPC_DURATION, GRPC_INFLIGHT, GRPC_REQUESTS};

/// The label of each of our methods, which is its name; the last stands for health, reflection and paths that nobody
/// answers. The hot ones come first.
const METHODS: [&str; 26] = [
    "OpenSession",
    "PlanStep",
    "RequestTool",
    "ValidateCalls",
    "ReportOutcomes",
    "ReadSession",
    "RefreshSession",
    "GetSession",
    "Explain",
    "ListSessions",
    "CloseSession",
    "EraseSession",
    "RegisterTools",
    "ImportTools",
    "ListTools",
    "GetTool",
    "ChangeTool",
    "DiffTool",
    "ListTransitions",
    "GetPolicy",
    "SetPolicy",
    "GetStats",
    "ListToolStats",
    "ExportTraffic",
    "Watch",
    "other",
];
/// Methods whose duration is exported.
const HOT: usize = 5;
const CODES: usize = 17;

/// The series of all methods.
pub(super) struct Grpc {
    recorder: Arc<PrometheusRecorder>,
    in_flight: Gauge,
    /// By method and code. OK is there from the start, the rest from the first time: 442 series would be mostly zero.
    requests: [[OnceLock<Counter>; CODES]; METHODS.len()],
    durations: [Histogram; HOT],
}

impl Grpc {
    pub(super) fn new(recorder: &Arc<PrometheusRecorder>) -> Self {
        let grpc = Self {
            recorder: recorder.clone(),
            in_flight: GRPC_INFLIGHT.level(recorder, &[]),
            requests: Default::default(),
            durations: std::array::from_fn(|i| GRPC_DURATION.spread(recorder, &[("method", METHODS[i])])),
        };
        for method in 0..METHODS.len() {
            grpc.requests(method, Code::Ok);
        }
        grpc
    }

    fn requests(&self, method: usize, code: Code) -> &Counter {
        self.requests[method][code as usize].get_or_init(|| {
            GRPC_REQUESTS.count(&self.recorder, &[("method", METHODS[method]), ("code", code_name(code))])
        })
    }
}

/// A request in work. Dropped without an end, it counts as cancelled: the client went away.
pub struct InFlight {
    grpc: Arc<Grpc>,
    method: usize,
    has_ended: bool,
}

impl InFlight {
    /// Starts counting a request for a path such as `/toolcrib.v1.SessionService/PlanStep`.
    pub(super) fn start(grpc: &Arc<Grpc>, path: &str) -> Self {
        let other = METHODS.len() - 1;
        let method = match path.strip_prefix("/toolcrib.v1.").and_then(|path| path.split_once('/')) {
            Some((_, name)) => METHODS.iter().position(|method| *method == name).unwrap_or(other),
            None => other,
        };
        grpc.in_flight.increment(1.0);
        Self { grpc: grpc.clone(), method, has_ended: false }
    }

    /// Records how it ended and how long it took.
    pub fn end(mut self, code: Code, elapsed: Duration) {
        self.has_ended = true;
        self.grpc.requests(self.method, code).increment(1);
        if let Some(duration) = self.grpc.durations.get(self.method) {
            duration.record(elapsed);
        }
    }
}

impl Drop for InFlight {
    fn drop(&mut self) {
        self.grpc.in_flight.decrement(1.0);
        if !self.has_ended {
            self.grpc.requests(self.method, Code::Cancelled).increment(1);
        }
    }
}

fn code_name(code: Code) -> &'static str {
    match code {
        Code::Ok => "OK",
        Code::Cancelled => "CANCELLED",
        Code::Unknown => "UNKNOWN",
        Code::InvalidArgument => "INVALID_ARGUMENT",
        Code::DeadlineExceeded => "DEADLINE_EXCEEDED",
        Code::NotFound => "NOT_FOUND",
        Code::AlreadyExists => "ALREADY_EXISTS",
        Code::PermissionDenied => "PERMISSION_DENIED",
        Code::ResourceExhausted => "RESOURCE_EXHAUSTED",
        Code::FailedPrecondition => "FAILED_PRECONDITION",
        Code::Aborted => "ABORTED",
        Code::OutOfRange => "OUT_OF_RANGE",
        Code::Unimplemented => "UNIMPLEMENTED",
        Code::Internal => "INTERNAL",
        Code::Unavailable => "UNAVAILABLE",
        Code::DataLoss => "DATA_LOSS",
        Code::Unauthenticated => "UNAUTHENTICATED",
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use prost::Message as _;

    use super::*;

    #[test]
    fn every_method_has_a_label() {
        let files = prost_types::FileDescriptorSet::decode(crate::proto::FILE_DESCRIPTOR_SET).unwrap().file;
        let methods: BTreeSet<&str> =
            files.iter().flat_map(|file| &file.service).flat_map(|s| &s.method).map(|method| method.name()).collect();
        let labels: BTreeSet<&str> = METHODS.iter().copied().filter(|label| *label != "other").collect();
        assert_eq!(labels, methods);
    }
}

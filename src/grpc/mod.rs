//! The gRPC layer: converts in, calls the engine, converts out. Decides nothing.
//!
//! One file a service. [`Api`] stands behind all four, and every request passes `Api::serve`: it bounds how many are
//! in work, gives each a deadline, and counts it.

mod convert;
mod policy;
mod registry;
mod session;
mod stats;
pub mod status;
mod words;

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tonic::{Code, Response, Status};
use tonic_types::ErrorDetails;

use crate::config::Limits;
use crate::engine::Engine;
use crate::proto::ErrorReason;
use crate::telemetry::metrics::{Metrics, Shed};

/// What stands behind every service.
#[derive(Clone)]
pub struct Api {
    engine: Arc<Engine>,
    metrics: Metrics,
    limits: Limits,
    permits: Arc<Semaphore>,
}

impl Api {
    /// Puts the layer on an engine.
    pub fn new(engine: Arc<Engine>, metrics: Metrics, limits: Limits) -> Self {
        let permits = Arc::new(Semaphore::new(limits.requests));
        Self { engine, metrics, limits, permits }
    }

    /// Serves one request: counted, within a deadline, and shed early where too many are in work.
    async fn serve<T>(
        &self,
        method: &str,
        work: impl Future<Output = Result<T, Status>>,
    ) -> Result<Response<T>, Status> {
        self.serve_within(method, Duration::from_secs(self.limits.request_secs), work).await
    }

    /// Serves one request within a deadline of its own.
    async fn serve_within<T>(
        &self,
        method: &str,
        most: Duration,
        work: impl Future<Output = Result<T, Status>>,
    ) -> Result<Response<T>, Status> {
        let started = self.engine.clock().monotonic();
        let request = self.metrics.request_started(method);
        let answer = match self.permit() {
            Ok(_permit) => within(most, work).await,
            Err(status) => Err(status),
        };
        let code = answer.as_ref().err().map_or(Code::Ok, Status::code);
        request.end(code, self.engine.clock().monotonic().saturating_sub(started));
        answer.map(Response::new)
    }

    fn permit(&self) -> Result<OwnedSemaphorePermit, Status> {
        self.permits.clone().try_acquire_owned().map_err(|_| {
            self.metrics.shed(Shed::Requests);
            status::overloaded("too many requests are in work; try again")
        })
    }
}

async fn within<T>(most: Duration, work: impl Future<Output = Result<T, Status>>) -> Result<T, Status> {
    match tokio::time::timeout(most, work).await {
        Ok(answer) => answer,
        Err(_) => {
            let message = format!("not done within {} s; try again", most.as_secs());
            Err(status::status(Code::DeadlineExceeded, ErrorReason::Overloaded, message, ErrorDetails::new()))
        }
    }
}

/// Runs work that takes a while without asking the runtime's threads for it.
async fn in_background<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T, Status> {
    tokio::task::spawn_blocking(work).await.map_err(|error| status::internal("a task ended early", &error))
}

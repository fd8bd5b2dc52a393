//! The gRPC layer: converts in, calls the engine, converts out. Decides nothing.
//!
//! One file a service. [`Api`] stands behind all four, and every request passes `Api::serve` or `Api::serve_stream`:
//! they bound how many are in work, give each a deadline, and count it.

mod convert;
mod definitions;
mod explain;
mod figures;
mod history;
mod imports;
mod policy;
mod read;
mod records;
mod registry;
mod session;
mod stats;
pub mod status;
mod stream;
mod watch;
mod words;

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_util::sync::CancellationToken;
use tonic::{Code, Response, Status};

use crate::config::Limits;
use crate::engine::Engine;
use crate::telemetry::metrics::{Metrics, Shed};

use stream::{Account, Bounded, Messages};

/// What stands behind every service.
#[derive(Clone)]
pub struct Api {
    engine: Arc<Engine>,
    metrics: Metrics,
    limits: Limits,
    permits: Arc<Semaphore>,
    /// Bytes of catalogs that may be in memory at once, over all imports.
    import_bytes: Arc<Semaphore>,
    /// Watches that may be open at once; they live long, and so take no place among the requests.
    watches: Arc<Semaphore>,
    /// Cancelled when the daemon stops: streams that would live on end then.
    stop: CancellationToken,
}

impl Api {
    /// Puts the layer on an engine. What lives long ends when `stop` is cancelled.
    pub fn new(engine: Arc<Engine>, metrics: Metrics, limits: Limits, stop: CancellationToken) -> Self {
        let permits = Arc::new(Semaphore::new(limits.requests));
        let import_bytes = Arc::new(Semaphore::new(limits.import_bytes));
        let watches = Arc::new(Semaphore::new(limits.watches));
        Self { engine, metrics, limits, permits, import_bytes, watches, stop }
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

    /// Serves one request that is answered by a stream: as any other until the stream begins, and within a deadline of
    /// its own until it ends.
    async fn serve_stream<T: Send + 'static>(
        &self,
        method: &str,
        work: impl Future<Output = Result<Messages<T>, Status>>,
    ) -> Result<Response<Messages<T>>, Status> {
        self.stream_within(method, Duration::from_secs(self.limits.stream_secs), self.permit(), work).await
    }

    /// Serves one request that is answered by a stream, within a deadline of its own and with a permit of its own.
    async fn stream_within<T: Send + 'static>(
        &self,
        method: &str,
        most: Duration,
        permit: Result<OwnedSemaphorePermit, Status>,
        work: impl Future<Output = Result<Messages<T>, Status>>,
    ) -> Result<Response<Messages<T>>, Status> {
        let clock = self.engine.clock().clone();
        let started = clock.monotonic();
        let request = self.metrics.request_started(method);
        let begun = match permit {
            Ok(permit) => {
                within(Duration::from_secs(self.limits.request_secs), work).await.map(|messages| (permit, messages))
            }
            Err(status) => Err(status),
        };
        match begun {
            Ok((permit, messages)) => {
                let account = Account { request, _permit: permit, started, clock };
                Ok(Response::new(Box::pin(Bounded::new(messages, account, most))))
            }
            Err(status) => {
                request.end(status.code(), clock.monotonic().saturating_sub(started));
                Err(status)
            }
        }
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
        Err(_) => Err(status::too_late(most)),
    }
}

/// Runs work that takes a while without asking the runtime's threads for it.
async fn in_background<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T, Status> {
    tokio::task::spawn_blocking(work).await.map_err(|error| status::internal("a task ended early", &error))
}

//! Answers that are streams: counted until they end, and ended when their time is over.
//!
//! The library asks a stream for its next message only when the reader has room for it, so a reader that stands still
//! would hold whatever the stream holds, for ever. Here a task looks at the time: it takes the stream away, and with it
//! the messages that wait, the thread that makes them and the request's permit. What is left for the reader, should it
//! ever come back, is a status.

use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use tokio::sync::OwnedSemaphorePermit;
use tokio::task::AbortHandle;
use tokio_stream::Stream;
use tonic::{Code, Status};

use super::status;
use crate::engine::clock::Clock;
use crate::telemetry::metrics::InFlight;

/// Messages of a stream, as they are made.
pub type Messages<T> = Pin<Box<dyn Stream<Item = Result<T, Status>> + Send>>;

/// The account of a request that is answered by a stream; ends with it.
pub struct Account {
    /// Counts it as in work.
    pub request: InFlight,
    /// Its place among the requests in work.
    pub _permit: OwnedSemaphorePermit,
    /// When it began, on this clock.
    pub started: Duration,
    /// The clock.
    pub clock: Arc<dyn Clock>,
}

impl Account {
    fn close(self, code: Code) {
        self.request.end(code, self.clock.monotonic().saturating_sub(self.started));
    }
}

/// A stream with an end.
pub struct Bounded<T> {
    state: Arc<Mutex<State<T>>>,
    watch: AbortHandle,
}

struct State<T> {
    /// `None` once it has ended.
    live: Option<(Messages<T>, Account)>,
    /// Why it was ended, if the reader is still to be told.
    refusal: Option<Status>,
    /// Whom to wake when it is ended.
    reader: Option<Waker>,
}

impl<T: Send + 'static> Bounded<T> {
    /// Lets messages through until they end or `most` is over.
    pub fn new(messages: Messages<T>, account: Account, most: Duration) -> Self {
        let state = Arc::new(Mutex::new(State { live: Some((messages, account)), refusal: None, reader: None }));
        let watched = state.clone();
        let watch = tokio::spawn(async move {
            tokio::time::sleep(most).await;
            let mut state = lock(&watched);
            if let Some((messages, account)) = state.live.take() {
                drop(messages);
                state.refusal = Some(status::stream_over(most));
                account.close(Code::DeadlineExceeded);
            }
            if let Some(reader) = state.reader.take() {
                reader.wake();
            }
        });
        Self { state, watch: watch.abort_handle() }
    }
}

impl<T> Stream for Bounded<T> {
    type Item = Result<T, Status>;

    fn poll_next(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let mut state = lock(&self.state);
        if let Some(refusal) = state.refusal.take() {
            return Poll::Ready(Some(Err(refusal)));
        }
        let Some((messages, _)) = &mut state.live else { return Poll::Ready(None) };
        let next = messages.as_mut().poll_next(context);
        let code = match &next {
            Poll::Pending => {
                state.reader = Some(context.waker().clone());
                return Poll::Pending;
            }
            Poll::Ready(Some(Ok(_))) => return next,
            Poll::Ready(Some(Err(status))) => status.code(),
            Poll::Ready(None) => Code::Ok,
        };
        if let Some((_, account)) = state.live.take() {
            account.close(code);
        }
        next
    }
}

impl<T> Drop for Bounded<T> {
    fn drop(&mut self) {
        // At once: the task is dropped only when the runtime comes to it.
        lock(&self.state).live = None;
        self.watch.abort();
    }
}

/// Nothing panics while it holds the lock but a stream that is broken anyway.
fn lock<T>(state: &Mutex<State<T>>) -> MutexGuard<'_, State<T>> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use tokio::sync::Semaphore;
    use tokio_stream::StreamExt as _;

    use super::*;
    use crate::core::ids::UnixMillis;
    use crate::engine::clock::ManualClock;
    use crate::telemetry::metrics::Metrics;

    struct Fixture {
        metrics: Metrics,
        permits: Arc<Semaphore>,
    }

    impl Fixture {
        fn new() -> Self {
            Self { metrics: Metrics::new(1), permits: Arc::new(Semaphore::new(1)) }
        }

        fn stream(&self, messages: Messages<u8>, most: Duration) -> Bounded<u8> {
            let account = Account {
                request: self.metrics.request_started("/toolcrib.v1.StatsService/ExportTraffic"),
                _permit: self.permits.clone().try_acquire_owned().unwrap(),
                started: Duration::ZERO,
                clock: Arc::new(ManualClock::at(UnixMillis(0))),
            };
            Bounded::new(messages, account, most)
        }

        fn check_counted(&self, code: &str) {
            let line = format!(r#"toolcrib_grpc_requests_total{{method="ExportTraffic",code="{code}"}} 1"#);
            let page = self.metrics.render();
            assert!(page.contains(&line) && page.contains("toolcrib_grpc_inflight 0"), "{page}");
        }
    }

    #[tokio::test]
    async fn a_stream_that_nobody_reads_gives_back_what_it_held() {
        let fixture = Fixture::new();
        let (sender, receiver) = tokio::sync::mpsc::channel(1);
        let messages = Box::pin(tokio_stream::wrappers::ReceiverStream::new(receiver));
        let mut stream = fixture.stream(messages, Duration::from_millis(10));
        // Whoever makes the messages is let go, and so is the place among the requests.
        sender.closed().await;
        let _permit = fixture.permits.acquire().await.unwrap();
        fixture.check_counted("DEADLINE_EXCEEDED");
        assert_eq!(stream.next().await.unwrap().unwrap_err().code(), Code::DeadlineExceeded);
        assert!(stream.next().await.is_none());
    }

    #[tokio::test]
    async fn a_reader_that_waits_is_told_when_the_time_is_over() {
        let fixture = Fixture::new();
        let mut stream = fixture.stream(Box::pin(tokio_stream::pending()), Duration::from_millis(10));
        assert_eq!(stream.next().await.unwrap().unwrap_err().code(), Code::DeadlineExceeded);
        assert!(stream.next().await.is_none());
    }

    #[tokio::test]
    async fn a_stream_that_ends_in_time_is_counted_once_at_its_end() {
        let fixture = Fixture::new();
        let mut stream = fixture.stream(Box::pin(tokio_stream::iter([Ok(1), Ok(2)])), Duration::from_secs(600));
        assert_eq!(stream.next().await.unwrap().unwrap(), 1);
        assert!(fixture.permits.try_acquire().is_err());
        assert_eq!(stream.next().await.unwrap().unwrap(), 2);
        assert!(stream.next().await.is_none() && stream.next().await.is_none());
        fixture.check_counted("OK");
        assert!(fixture.permits.try_acquire().is_ok());
    }

    #[tokio::test]
    async fn a_stream_that_is_dropped_counts_as_cancelled() {
        let fixture = Fixture::new();
        drop(fixture.stream(Box::pin(tokio_stream::pending()), Duration::from_secs(600)));
        fixture.check_counted("CANCELLED");
    }
}

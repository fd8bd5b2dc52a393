//! The promise that something will be on disk, or the reason why it is not.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::sync::oneshot;

use crate::store::StoreError;

/// The thread's end: answered once, or dropped with the thread.
pub(super) type Waiter = oneshot::Sender<Result<(), StoreError>>;

/// Resolves once what it was given for is on disk, or will not be as things are.
///
/// A future for async code; [`Durable::wait`] for plain threads. May be dropped by whoever need not know.
#[derive(Debug)]
#[must_use = "dropping it is fine, but then push what nobody waits for"]
pub struct Durable(oneshot::Receiver<Result<(), StoreError>>);

impl Durable {
    /// Blocks the thread until it is known. Panics inside an async task, which must await instead.
    pub fn wait(self) -> Result<(), StoreError> {
        self.0.blocking_recv().unwrap_or(Err(StoreError::Closed))
    }

    /// Makes one that is known to have failed.
    pub(super) fn failed(why: StoreError) -> Self {
        let (waiter, durable) = pair();
        tell(waiter, Err(why));
        durable
    }
}

impl Future for Durable {
    type Output = Result<(), StoreError>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        Pin::new(&mut self.0).poll(context).map(|told| told.unwrap_or(Err(StoreError::Closed)))
    }
}

/// Makes the two ends; the waiter's comes as the queue keeps it.
pub(super) fn pair() -> (Option<Waiter>, Durable) {
    let (waiter, receiver) = oneshot::channel();
    (Some(waiter), Durable(receiver))
}

/// Answers a waiter if there is one; it may have gone away meanwhile, which is its own affair.
pub(super) fn tell(waiter: Option<Waiter>, told: Result<(), StoreError>) {
    if let Some(waiter) = waiter {
        let _ = waiter.send(told);
    }
}

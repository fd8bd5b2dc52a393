//! The door: how many connections there may be, and how long a new one may say nothing.
//!
//! Stands in front of the library's acceptor, which knows no bound on connections, waits for ever on a silent one, and
//! spins when the process is out of file descriptors.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};
use tokio_stream::wrappers::ReceiverStream;
use tokio_util::sync::CancellationToken;
use tonic::transport::server::{Connected, TcpConnectInfo};

use crate::telemetry::metrics::{Metrics, Shed};

/// Connections that wait for the server to take them over.
const QUEUE: usize = 64;

/// Pause after a failed accept, which is most often a lack of file descriptors.
const PAUSE: Duration = Duration::from_millis(100);

/// Accepts connections until it is stopped: at most `most` at once, each of which must send something within
/// `first_bytes`.
pub fn accept(
    listener: TcpListener,
    most: usize,
    first_bytes: Duration,
    metrics: Metrics,
    stop: CancellationToken,
) -> ReceiverStream<io::Result<Connection>> {
    let (sender, receiver) = mpsc::channel(QUEUE);
    let slots = Arc::new(Semaphore::new(most));
    tokio::spawn(async move {
        loop {
            let accepted = tokio::select! {
                () = stop.cancelled() => return,
                accepted = listener.accept() => accepted,
            };
            let Ok((stream, _)) = accepted else {
                tokio::time::sleep(PAUSE).await;
                continue;
            };
            let Ok(slot) = slots.clone().try_acquire_owned() else {
                metrics.shed(Shed::Connections);
                continue;
            };
            let sender = sender.clone();
            tokio::spawn(async move {
                let mut first = [0];
                let spoke = tokio::time::timeout(first_bytes, stream.peek(&mut first)).await;
                if matches!(spoke, Ok(Ok(n)) if n > 0) {
                    // Latency counts more than packets: answers are small.
                    let _ = stream.set_nodelay(true);
                    let _ = sender.send(Ok(Connection { stream, _slot: slot })).await;
                }
            });
        }
    });
    ReceiverStream::new(receiver)
}

/// A connection that holds its slot until it is dropped.
pub struct Connection {
    stream: TcpStream,
    _slot: OwnedSemaphorePermit,
}

impl Connected for Connection {
    type ConnectInfo = TcpConnectInfo;

    fn connect_info(&self) -> TcpConnectInfo {
        self.stream.connect_info()
    }
}

impl AsyncRead for Connection {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(cx, buf)
    }
}

impl AsyncWrite for Connection {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(cx, buf)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write_vectored(cx, bufs)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }
}

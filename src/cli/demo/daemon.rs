//! A daemon in this process, on a store that is gone when the demo is.

use std::fs;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;

use anyhow::{Context as _, bail};
use tokio::net::TcpListener;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tonic::transport::{Channel, Endpoint};
use uuid::Uuid;

use crate::config::Config;
use crate::engine::clock::SystemClock;
use crate::server::{self, Ended, Parts};
use crate::store::sqlite;
use crate::telemetry::metrics::Metrics;

/// Where the daemon listens.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Ports {
    /// Wherever there is room: for a daemon that only this process talks to.
    Any,
    /// Where `toolcrib serve` listens, so that every other command finds it.
    Default,
}

/// A running daemon.
pub struct Daemon {
    /// A connection to it.
    pub channel: Channel,
    /// Where gRPC listens.
    pub grpc: SocketAddr,
    /// Where `/metrics` listens.
    pub metrics: SocketAddr,
    stop_wanted: oneshot::Sender<()>,
    task: JoinHandle<anyhow::Result<Ended>>,
    // Declared last: the store is closed before its folder goes.
    _folder: Folder,
}

impl Daemon {
    /// Starts a daemon and connects to it.
    pub async fn start(ports: Ports) -> anyhow::Result<Self> {
        let mut config = Config::default();
        if ports == Ports::Any {
            let any = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
            (config.server.listen, config.server.metrics) = (any, any);
        }
        let folder = Folder::new()?;
        config.store.path = folder.path.join("demo.db");
        let (log, reader) = sqlite::open(&config.store.path).context("cannot open the throw-away store")?;
        let listener = listen(config.server.listen).await?;
        let metrics_listener = listen(config.server.metrics).await?;
        let grpc = listener.local_addr()?;
        let metrics = metrics_listener.local_addr()?;
        let parts = Parts {
            counts: Metrics::new(config.limits.metric_namespaces),
            config,
            listener,
            metrics: metrics_listener,
            log: Box::new(log),
            reader: Arc::new(reader),
            clock: Arc::new(SystemClock::new()),
            upkeep: server::UPKEEP,
        };
        let (stop_wanted, stopped) = oneshot::channel::<()>();
        let task = tokio::spawn(server::run(parts, async {
            // Dropped without a word is a stop too.
            let _ = stopped.await;
        }));
        let endpoint = Endpoint::from_shared(format!("http://{grpc}"))?;
        let channel = endpoint.connect().await.context("the daemon did not come up")?;
        Ok(Self { channel, grpc, metrics, stop_wanted, task, _folder: folder })
    }

    /// Waits until the daemon has ended by itself, which it does on a failure only; [`Daemon::stop`] says on which.
    pub async fn ended(&mut self) {
        self.stop_wanted.closed().await;
    }

    /// Stops the daemon and waits until it has ended.
    pub async fn stop(self) -> anyhow::Result<()> {
        // Nobody listens where the daemon has ended by itself; then its own error is what counts.
        let _ = self.stop_wanted.send(());
        match self.task.await.context("the daemon ended by a panic")?.context("the daemon failed")? {
            Ended::Clean => Ok(()),
            Ended::Failed => bail!("the throw-away store failed; see the log lines above"),
        }
    }
}

async fn listen(address: SocketAddr) -> anyhow::Result<TcpListener> {
    TcpListener::bind(address)
        .await
        .with_context(|| format!("cannot listen on {address}; is `toolcrib serve` running there?"))
}

/// A folder of our own in the place for temporary files; removed with what is in it when dropped.
struct Folder {
    path: PathBuf,
}

impl Folder {
    fn new() -> anyhow::Result<Self> {
        let path = std::env::temp_dir().join(format!("toolcrib-demo-{}", Uuid::new_v4()));
        fs::create_dir(&path).with_context(|| format!("cannot make {}", path.display()))?;
        Ok(Self { path })
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // Nothing can be done about it here, and the system clears the place in time.
        let _ = fs::remove_dir_all(&self.path);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn throw_away_folder_goes_with_what_is_in_it() {
        let folder = Folder::new().unwrap();
        let path = folder.path.clone();
        fs::write(path.join("demo.db"), b"x").unwrap();
        drop(folder);
        assert!(!path.exists());
    }
}

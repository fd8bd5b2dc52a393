//! The connection to the daemon.

use std::str::FromStr;
use std::time::Duration;

use tonic::transport::{Channel, Endpoint};

use crate::proto::policy_service_client::PolicyServiceClient;
use crate::proto::registry_service_client::RegistryServiceClient;
use crate::proto::session_service_client::SessionServiceClient;
use crate::proto::stats_service_client::StatsServiceClient;

/// How long a connection may take; the daemon is on the same machine.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// How long a daemon is waited for that does not listen yet.
const START_ALLOWANCE: Duration = Duration::from_secs(1);

/// Pause between two tries.
const RETRY: Duration = Duration::from_millis(50);

/// The most one answer may hold: a page of the largest definitions stays well below.
const MAX_ANSWER_BYTES: usize = 64 << 20;

/// Where a daemon listens.
#[derive(Clone, Debug)]
pub(super) struct Address {
    text: String,
    endpoint: Endpoint,
}

impl FromStr for Address {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        const ACCEPTED: &str = "must be an address and a port such as http://127.0.0.1:7117";
        let (scheme, authority) = text.split_once("://").unwrap_or(("http", text));
        match scheme {
            "http" => {}
            "https" => return Err(format!("TLS is not spoken in this version, {ACCEPTED}")),
            _ => return Err(ACCEPTED.to_owned()),
        }
        let endpoint = Endpoint::from_shared(format!("http://{authority}")).map_err(|_| ACCEPTED.to_owned())?;
        if endpoint.uri().port().is_none() || endpoint.uri().path() != "/" {
            return Err(ACCEPTED.to_owned());
        }
        Ok(Self { text: authority.trim_end_matches('/').to_owned(), endpoint })
    }
}

impl Address {
    /// Returns the address and port, without a scheme.
    pub(super) fn as_str(&self) -> &str {
        &self.text
    }
}

/// Nobody answers where the daemon should.
#[derive(Debug, thiserror::Error)]
#[error("nothing listens on {address}; start it with `toolcrib serve`, or name another place with --addr")]
pub(super) struct NothingListens {
    address: String,
    #[source]
    source: tonic::transport::Error,
}

/// A connected daemon, and the namespace that is asked for.
pub(super) struct Remote {
    /// Whose tools.
    pub(super) namespace: String,
    channel: Channel,
}

impl Remote {
    /// Connects. A daemon that was started a moment ago is waited for: `serve &` and the next command race.
    pub(super) async fn connect(address: &Address, namespace: &str) -> anyhow::Result<Self> {
        let endpoint = address.endpoint.clone().connect_timeout(CONNECT_TIMEOUT);
        let started = tokio::time::Instant::now();
        loop {
            match endpoint.connect().await {
                Ok(channel) => return Ok(Self { namespace: namespace.to_owned(), channel }),
                Err(_) if started.elapsed() < START_ALLOWANCE => tokio::time::sleep(RETRY).await,
                Err(source) => return Err(NothingListens { address: address.text.clone(), source }.into()),
            }
        }
    }

    /// Returns a client of the registry.
    pub(super) fn registry(&self) -> RegistryServiceClient<Channel> {
        RegistryServiceClient::new(self.channel.clone()).max_decoding_message_size(MAX_ANSWER_BYTES)
    }

    /// Returns a client of the sessions.
    pub(super) fn sessions(&self) -> SessionServiceClient<Channel> {
        SessionServiceClient::new(self.channel.clone()).max_decoding_message_size(MAX_ANSWER_BYTES)
    }

    /// Returns a client of the policies.
    pub(super) fn policies(&self) -> PolicyServiceClient<Channel> {
        PolicyServiceClient::new(self.channel.clone()).max_decoding_message_size(MAX_ANSWER_BYTES)
    }

    /// Returns a client of the figures.
    pub(super) fn stats(&self) -> StatsServiceClient<Channel> {
        StatsServiceClient::new(self.channel.clone()).max_decoding_message_size(MAX_ANSWER_BYTES)
    }
}

/// Returns a key for one change, so that the daemon can tell a retry from a second wish.
pub(super) fn new_request_id() -> String {
    uuid::Uuid::now_v7().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn address_goes_with_and_without_a_scheme() {
        for text in ["127.0.0.1:7117", "http://127.0.0.1:7117", "http://127.0.0.1:7117/"] {
            assert_eq!(text.parse::<Address>().map(|address| address.text).as_deref(), Ok("127.0.0.1:7117"), "{text}");
        }
    }

    #[test]
    fn address_that_cannot_be_one_is_refused_with_an_example() {
        for text in ["", "7117", "127.0.0.1", "ftp://127.0.0.1:1", "https://127.0.0.1:7117", "http://a:1/path", "a b:1"]
        {
            let refusal = text.parse::<Address>().map(|address| address.text).expect_err(text);
            assert!(refusal.ends_with("such as http://127.0.0.1:7117"), "{text}: {refusal}");
        }
    }
}

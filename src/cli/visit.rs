//! A session to try things in: the one that was named, or one made for this command and closed after it.

use serde_json::{Value, json};
use tonic_types::StatusExt as _;

use super::remote::Remote;
use super::session::open::Opening;
use crate::proto::{CloseSessionRequest, GetSessionRequest};

/// A session that is open while a command runs.
pub(super) struct Visit {
    /// Its id.
    pub(super) session_id: String,
    is_ours: bool,
}

impl Visit {
    /// Opens the named session where it is not open, or one of our own where none is named.
    pub(super) async fn begin(remote: &Remote, named: Option<String>, opening: &Opening) -> anyhow::Result<Self> {
        let (session_id, is_ours) = match named {
            Some(id) => (id, false),
            None => (format!("try-{}", uuid::Uuid::now_v7()), true),
        };
        if is_ours || !is_open(remote, &session_id).await? {
            let request = opening.to_request(&remote.namespace, &session_id);
            remote.sessions().open_session(request).await?;
        }
        Ok(Self { session_id, is_ours })
    }

    /// Closes the session where it was made for this command.
    pub(super) async fn end(&self, remote: &Remote) -> anyhow::Result<()> {
        if self.is_ours {
            let request = CloseSessionRequest {
                namespace: remote.namespace.clone(),
                session_id: self.session_id.clone(),
                ..CloseSessionRequest::default()
            };
            remote.sessions().close_session(request).await?;
        }
        Ok(())
    }

    /// Says which session it was, for JSON.
    pub(super) fn to_json(&self) -> Value {
        json!({ "session_id": self.session_id, "closed": self.is_ours })
    }

    /// Says which session it was, for people.
    pub(super) fn describe(&self) -> String {
        let note = if self.is_ours { " (made for this command, closed again; --session keeps one)" } else { "" };
        format!("session {}{note}", self.session_id)
    }
}

async fn is_open(remote: &Remote, session_id: &str) -> Result<bool, tonic::Status> {
    let request = GetSessionRequest { namespace: remote.namespace.clone(), session_id: session_id.to_owned() };
    match remote.sessions().get_session(request).await {
        Ok(_) => Ok(true),
        Err(status) => match status.get_details_error_info() {
            Some(info) if matches!(info.reason.as_str(), "UNKNOWN_SESSION" | "SESSION_ENDED") => Ok(false),
            Some(_) | None => Err(status),
        },
    }
}

//! A session to try things in: the one that was named, or one made for this command and closed after it.

use serde_json::{Value, json};
use tonic_types::StatusExt as _;

use super::remote::Remote;
use super::session::open::Opening;
use crate::proto::{CloseSessionRequest, GetSessionRequest, Present};

/// What every command that tries something in a session is told.
#[derive(clap::Args)]
pub(super) struct InSession {
    /// Which session
    #[arg(long, value_name = "ID")]
    session: Option<String>,
    /// Names of the on-demand definitions in the context; without it, all that was issued. Empty says none
    #[arg(long, value_delimiter = ',', value_name = "NAMES")]
    present: Option<Vec<String>>,
    /// Show the pieces as a runtime would place them
    #[arg(long)]
    pub(super) pieces: bool,
    #[command(flatten)]
    opening: Opening,
}

impl InSession {
    /// Returns the list of what is present: unset where nothing was said, empty where nothing is there.
    pub(super) fn present(&self) -> Option<Present> {
        let names = self.present.as_ref()?.iter().filter(|name| !name.is_empty()).cloned().collect();
        Some(Present { names })
    }
}

/// A session that is open while a command runs.
pub(super) struct Visit {
    /// Its id.
    session_id: String,
    is_ours: bool,
}

impl Visit {
    /// Does something in a session, which is opened before and, where it is our own, closed after, also when the work
    /// failed.
    pub(super) async fn during<T>(
        remote: &Remote,
        args: &InSession,
        work: impl AsyncFnOnce(&str) -> Result<T, tonic::Status>,
    ) -> anyhow::Result<(Self, T)> {
        let visit = Self::begin(remote, args).await?;
        let worked = work(&visit.session_id).await;
        let ended = visit.end(remote).await;
        let answer = worked?;
        ended?;
        Ok((visit, answer))
    }

    /// Opens the named session where it is not open, or one of our own where none is named.
    async fn begin(remote: &Remote, args: &InSession) -> anyhow::Result<Self> {
        let (session_id, is_ours) = match args.session.clone() {
            Some(id) => (id, false),
            None => (format!("try-{}", uuid::Uuid::now_v7()), true),
        };
        if is_ours || !is_open(remote, &session_id).await? {
            let request = args.opening.to_request(&remote.namespace, &session_id);
            remote.sessions().open_session(request).await?;
        }
        Ok(Self { session_id, is_ours })
    }

    /// Closes the session where it was made for this command.
    async fn end(&self, remote: &Remote) -> anyhow::Result<()> {
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
    let request =
        GetSessionRequest { namespace: remote.namespace.clone(), session_id: session_id.to_owned(), ended: false };
    match remote.sessions().get_session(request).await {
        Ok(_) => Ok(true),
        Err(status) => match status.get_details_error_info() {
            Some(info) if matches!(info.reason.as_str(), "UNKNOWN_SESSION" | "SESSION_ENDED") => Ok(false),
            Some(_) | None => Err(status),
        },
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        args: InSession,
    }

    #[test]
    fn nothing_said_of_what_is_present_is_not_nothing_present() {
        let present = |line: &[&str]| Line::parse_from(line).args.present().map(|present| present.names);
        assert_eq!(present(&["try"]), None);
        assert_eq!(present(&["try", "--present", ""]), Some(Vec::new()));
        assert_eq!(present(&["try", "--present", "a,b"]), Some(vec!["a".to_owned(), "b".to_owned()]));
    }
}

//! Says what went wrong and what to do next, on standard error.
//!
//! The first line is what and the next step; then one line for each field that was refused. With `--json` all of it is
//! one JSON object, also on standard error.

use std::ffi::OsString;
use std::fmt::Write as _;

use serde_json::{Value, json};
use tonic::{Code, Status};
use tonic_types::StatusExt as _;

use super::Shell;
use super::output::{one_line, print_aside, printable, word};
use crate::proto::ErrorReason;

/// What to look at where a source has no tools.
pub(super) const EMPTY_SOURCE: &str = "was its server started without its credentials? `toolcrib tool withdraw SOURCE` \
    withdraws a source on purpose";

/// What went wrong, ready to print.
#[derive(Debug, PartialEq)]
struct Failure {
    /// What.
    what: String,
    /// The reason, as the log writes it; empty where the daemon gave none.
    reason: String,
    /// What to do; empty where the text says so itself.
    next: String,
    /// Fields that were refused, with what would be accepted.
    fields: Vec<(String, String)>,
}

/// Prints an error to standard error.
pub(super) fn print(error: &anyhow::Error, shell: &Shell) {
    let failure = describe(error, shell);
    if shell.json {
        print_aside(&format!("{}\n", failure.to_json()));
    } else {
        print_aside(&printable(&failure.to_text()));
    }
}

/// Prints wrong usage to standard error: as clap writes it or, where the arguments hold `--json`, as one JSON object.
pub(super) fn print_usage(error: &clap::Error, args: impl IntoIterator<Item = OsString>) {
    let is_json = args.into_iter().take_while(|arg| arg != "--").any(|arg| arg == "--json");
    if is_json {
        print_aside(&format!("{}\n", describe_usage(error).to_json()));
    } else {
        // Nobody is there to tell if this cannot be written.
        let _ = error.print();
    }
}

fn describe_usage(error: &clap::Error) -> Failure {
    let text = error.render().to_string();
    let mut paragraphs = text.split("\n\n").map(|paragraph| paragraph.split_whitespace().collect::<Vec<_>>().join(" "));
    let first = paragraphs.next().unwrap_or_default();
    let usage = paragraphs.find(|paragraph| paragraph.starts_with("Usage: ")).unwrap_or_default();
    // Where nothing at all was said clap answers with its help, and not with an error.
    let what = first.strip_prefix("error: ").unwrap_or("a command or an argument is missing").to_owned();
    let next = match usage.strip_prefix("Usage: ") {
        Some(usage) => format!("it is used as `{usage}`; --help says more"),
        None => "--help says how it is used".to_owned(),
    };
    Failure { what, reason: "usage".to_owned(), next, fields: Vec::new() }
}

/// Says an error in one piece of text, for a report that goes on.
pub(super) fn to_text(error: &anyhow::Error, shell: &Shell) -> String {
    describe(error, shell).to_text().trim_end().to_owned()
}

fn describe(error: &anyhow::Error, shell: &Shell) -> Failure {
    let Some(status) = error.chain().find_map(|cause| cause.downcast_ref::<Status>()) else {
        return Failure { what: with_causes(error), reason: String::new(), next: String::new(), fields: Vec::new() };
    };
    // Whatever was being done when the daemon answered.
    let doing: Vec<String> =
        error.chain().take_while(|cause| !cause.is::<Status>()).map(|cause| format!("{cause}: ")).collect();
    let mut failure = describe_status(status, shell);
    failure.what.insert_str(0, &doing.concat());
    failure
}

fn describe_status(status: &Status, shell: &Shell) -> Failure {
    let details = status.get_error_details();
    let named = details.error_info().and_then(|info| {
        ErrorReason::from_str_name(&format!("ERROR_REASON_{}", info.reason)).map(|reason| (info.reason.clone(), reason))
    });
    let mut fields = Vec::new();
    if let Some(refused) = details.bad_request() {
        for violation in &refused.field_violations {
            fields.push((violation.field.clone(), violation.description.clone()));
        }
    }
    let retry = details.retry_info().and_then(|info| info.retry_delay);
    let next = match (&named, retry) {
        (_, Some(delay)) => format!("try again in {}", humantime::format_duration(delay)),
        (Some((_, reason)), None) => next_step(*reason, shell),
        (None, None) => String::new(),
    };
    // Without a reason of ours the connection, and not the daemon, has spoken.
    let what = match status.code() {
        Code::Unavailable if named.is_none() => {
            format!("the connection to {} broke; see the daemon's log", shell.addr.as_str())
        }
        Code::Unimplemented if named.is_none() => {
            format!(
                "what listens on {} does not know this call; is it a toolcrib of this version?",
                shell.addr.as_str()
            )
        }
        // The message says the fields over again, each of which has a line of its own here.
        _ if !fields.is_empty() => "this was refused; mend it and try again".to_owned(),
        _ => status.message().to_owned(),
    };
    let reason = named.map_or_else(String::new, |(name, _)| word(&name, ""));
    Failure { what, reason, next, fields }
}

/// Returns the command that helps; most of the daemon's messages say the way out themselves.
fn next_step(reason: ErrorReason, shell: &Shell) -> String {
    match reason {
        ErrorReason::UnknownNamespace => format!("try `toolcrib import FILE --namespace {}`", shell.namespace),
        ErrorReason::UnknownSession | ErrorReason::SessionEnded => "try `toolcrib session list`".to_owned(),
        ErrorReason::VersionMismatch => "try `toolcrib policy get`".to_owned(),
        ErrorReason::ActionNotPossible => "`toolcrib tool history NAME` says how it came there".to_owned(),
        ErrorReason::AdmissionRefused => "docs/errors.md says what each rule accepts".to_owned(),
        ErrorReason::Overloaded | ErrorReason::StoreNotWritable | ErrorReason::Stopping => "try again later".to_owned(),
        ErrorReason::Deadline => "see whether it was done before trying again".to_owned(),
        ErrorReason::Internal => "see the daemon's log".to_owned(),
        ErrorReason::EmptyCatalog => EMPTY_SOURCE.to_owned(),
        ErrorReason::Unspecified
        | ErrorReason::InvalidField
        | ErrorReason::TooLarge
        | ErrorReason::UnknownTool
        | ErrorReason::SessionDiffers
        | ErrorReason::RequestDiffers
        | ErrorReason::LogCut
        | ErrorReason::HashMismatch
        | ErrorReason::TooManyNamespaces
        | ErrorReason::TooManySessions => String::new(),
    }
}

/// Joins an error and what lies behind it, each said once.
fn with_causes(error: &anyhow::Error) -> String {
    if error.is::<super::remote::NothingListens>() {
        return error.to_string();
    }
    let mut text = String::new();
    for cause in error.chain() {
        let said = cause.to_string();
        if text.is_empty() {
            text = said;
        } else if !text.contains(&said) {
            let _ = write!(text, ": {said}");
        }
    }
    text
}

impl Failure {
    fn to_text(&self) -> String {
        let mut text = format!("toolcrib: {}", self.what);
        if !self.reason.is_empty() {
            let _ = write!(text, " ({})", self.reason);
        }
        if !self.next.is_empty() {
            let _ = write!(text, "; {}", self.next);
        }
        text.push('\n');
        for (field, description) in &self.fields {
            let _ = writeln!(text, "  {}: {}", one_line(field), one_line(description));
        }
        text
    }

    fn to_json(&self) -> Value {
        let mut violations = Vec::new();
        for (field, description) in &self.fields {
            violations.push(json!({ "field": field, "description": description }));
        }
        json!({ "error": {
            "message": self.what, "reason": self.reason, "next": self.next, "violations": violations,
        } })
    }
}

#[cfg(test)]
mod tests {
    use anyhow::Context as _;
    use tonic_types::ErrorDetails;

    use super::*;

    fn shell() -> Shell {
        Shell { addr: "127.0.0.1:7117".parse().expect("an address"), namespace: "gh".to_owned(), json: false }
    }

    fn said(error: impl Into<anyhow::Error>) -> String {
        describe(&error.into(), &shell()).to_text()
    }

    fn status(code: Code, message: &str, reason: &str, mut details: ErrorDetails) -> Status {
        details.set_error_info(reason, "toolcrib", std::collections::HashMap::new());
        Status::with_error_details(code, message, details)
    }

    #[test]
    fn reason_and_next_step_stand_on_the_first_line() {
        let status = status(Code::NotFound, "no namespace gh", "UNKNOWN_NAMESPACE", ErrorDetails::new());
        assert_eq!(
            said(status),
            "toolcrib: no namespace gh (unknown_namespace); try `toolcrib import FILE --namespace gh`\n"
        );
    }

    #[test]
    fn every_refused_field_has_its_line() {
        let mut details = ErrorDetails::new();
        details.add_bad_request_violation("summary", "is missing, must be 8..=200 characters");
        details.add_bad_request_violation("keywords", "is missing, must be 1..=32 words");
        let status = status(Code::InvalidArgument, "summary: is missing", "ADMISSION_REFUSED", details);
        assert_eq!(
            said(status),
            "toolcrib: this was refused; mend it and try again (admission_refused); docs/errors.md says what each rule \
             accepts\n  summary: is missing, must be 8..=200 characters\n  keywords: is \
             missing, must be 1..=32 words\n"
        );
    }

    #[test]
    fn retry_hint_is_said_in_words() {
        let details = ErrorDetails::with_retry_info(Some(std::time::Duration::from_millis(250)));
        let status = status(Code::ResourceExhausted, "too many requests", "OVERLOADED", details);
        assert_eq!(said(status), "toolcrib: too many requests (overloaded); try again in 250ms\n");
    }

    #[test]
    fn broken_connection_is_not_blamed_on_the_request() {
        let broken = Status::unavailable("tcp connect error");
        assert_eq!(said(broken), "toolcrib: the connection to 127.0.0.1:7117 broke; see the daemon's log\n");
    }

    fn usage_error(line: &str) -> Failure {
        use clap::Parser as _;
        let parsed = crate::cli::Cli::try_parse_from(line.split(' '));
        describe_usage(&parsed.err().unwrap_or_else(|| panic!("{line} was taken")))
    }

    #[test]
    fn wrong_usage_is_one_sentence_with_the_way_it_is_used() {
        let failure = usage_error("toolcrib tool show --json");
        assert_eq!(failure.reason, "usage");
        assert!(failure.what.starts_with("the following required arguments were not provided: <NAME>"), "{failure:?}");
        assert!(failure.next.starts_with("it is used as `toolcrib tool show"), "{failure:?}");
        for line in ["toolcrib --json", "toolcrib nonsense", "toolcrib stats --top x", "toolcrib tool"] {
            let failure = usage_error(line);
            assert!(
                !failure.what.is_empty() && !failure.what.contains('\n') && !failure.next.is_empty(),
                "{failure:?}"
            );
        }
    }

    #[test]
    fn causes_follow_what_was_tried() {
        let cause = std::io::Error::other("permission denied");
        let error = Err::<(), _>(cause).context("cannot read tools.json").expect_err("an error");
        assert_eq!(said(error), "toolcrib: cannot read tools.json: permission denied\n");
    }
}

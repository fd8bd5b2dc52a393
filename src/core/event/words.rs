//! The closed word lists of the log: what a state, an ending, a presence or a verdict can be.
//!
//! Each word is written in snake case in the log, in JSON output and as a metric label; [`Word::as_str`] is that form.

use serde::{Deserialize, Serialize};

/// A closed list of words, each with the one way it is written.
pub trait Word: Copy + Sized + 'static {
    /// Every word of the list, in order.
    const ALL: &'static [Self];

    /// Returns the word as the log, JSON and metrics write it.
    fn as_str(self) -> &'static str;

    /// Returns the word that is written so, if there is one.
    fn parse(text: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|word| word.as_str() == text)
    }
}

/// Makes a closed list of words: the enum, and how each is written.
macro_rules! words {
    ($(#[$doc:meta])* $name:ident { $($(#[$variant_doc:meta])* $variant:ident = $text:literal,)+ }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
        pub enum $name {
            $($(#[$variant_doc])* #[serde(rename = $text)] $variant,)+
        }

        impl $crate::core::event::Word for $name {
            const ALL: &'static [Self] = &[$(Self::$variant),+];

            fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $text,)+ }
            }
        }
    };
}

pub(in crate::core) use words;

words! {
    /// Where a tool stands in its life.
    ToolState {
        /// In use.
        Active = "active",
        /// Out after failures in a row.
        Quarantined = "quarantined",
        /// On trial after a quarantine: issuable, not resident.
        Probation = "probation",
        /// Quarantined too often: waits for an operator.
        Held = "held",
        /// A changed or flagged definition waits for approval.
        Pending = "pending",
        /// Its source stopped listing it.
        Withdrawn = "withdrawn",
        /// Written off; kept, and can be restored.
        Retired = "retired",
    }
}

impl ToolState {
    /// Returns whether a tool in this state may be put in front of a model.
    pub fn is_issuable(self) -> bool {
        matches!(self, Self::Active | Self::Probation)
    }
}

words! {
    /// Why a tool moved from one state to another.
    MoveCause {
        /// It was registered.
        Admitted = "admitted",
        /// Countable failures in a row.
        Failures = "failures",
        /// An operator took it out.
        QuarantinedByHand = "quarantined_by_hand",
        /// Its backoff is over.
        BackoffOver = "backoff_over",
        /// Somebody said that it was mended.
        Repaired = "repaired",
        /// It worked often enough in probation.
        Recovered = "recovered",
        /// It failed in probation.
        FailedProbation = "failed_probation",
        /// Quarantined too often within a day.
        TooManyQuarantines = "too_many_quarantines",
        /// Nobody called it for the whole cool-down.
        Unused = "unused",
        /// A quarantined tool went 30 days without a success.
        NeverRecovered = "never_recovered",
        /// An operator wrote it off.
        RetiredByHand = "retired_by_hand",
        /// An operator took it back.
        Restored = "restored",
        /// Its source stopped listing it.
        Vanished = "vanished",
        /// Its source lists it again.
        ListedAgain = "listed_again",
        /// Its definition waits for approval.
        AwaitsApproval = "awaits_approval",
        /// Its definition was approved.
        Approved = "approved",
    }
}

words! {
    /// What an operator does to a tool.
    ToolAction {
        /// Writes it off.
        Retire = "retire",
        /// Takes it back.
        Restore = "restore",
        /// Takes it out until it is repaired.
        Quarantine = "quarantine",
        /// Says that it was mended.
        Repair = "repair",
        /// Keeps it in the hot pool.
        Pin = "pin",
        /// Ends that.
        Unpin = "unpin",
        /// Lets the definition that waits be served.
        Approve = "approve",
        /// Takes the flags of what is served for false alarms.
        AcceptFlags = "accept_flags",
    }
}

words! {
    /// How a call ended, in the caller's words.
    Ending {
        /// Not known: demand, and nothing else.
        Unspecified = "unspecified",
        /// The tool did its work.
        Ok = "ok",
        /// The tool refused the arguments.
        BadArguments = "bad_arguments",
        /// The thing asked for is not there.
        NotFound = "not_found",
        /// The tool said no, for a reason of its own.
        Refused = "refused",
        /// Credentials. Countable.
        Auth = "auth",
        /// No answer in time. Countable.
        Timeout = "timeout",
        /// Could not be reached. Countable.
        Transport = "transport",
        /// The server failed. Countable.
        ServerError = "server_error",
        /// Not run: denied by a person or a guard, or the run was cancelled.
        NotRun = "not_run",
    }
}

impl Ending {
    /// Returns whether the failure is the tool's own, and so counts towards quarantine.
    pub fn is_countable(self) -> bool {
        matches!(self, Self::Auth | Self::Timeout | Self::Transport | Self::ServerError)
    }

    /// Returns whether the ending lies with the caller's choice of tool or arguments.
    pub fn is_callers(self) -> bool {
        matches!(self, Self::BadArguments | Self::NotFound | Self::Refused)
    }
}

words! {
    /// Whether a definition was in front of the model in the step that called it.
    Presence {
        /// In the block.
        Resident = "resident",
        /// Issued before the call.
        Issued = "issued",
        /// There because the model had asked for it: the first call after a recall.
        Recalled = "recalled",
        /// Not there.
        Absent = "absent",
        /// Cannot be said: the step is no longer known. Outside the rate.
        Unknown = "unknown",
    }
}

words! {
    /// What a selection was judged to be.
    Verdict {
        /// The tool that was wanted, called as it can be.
        Right = "right",
        /// Another tool was wanted.
        WrongTool = "wrong_tool",
        /// No such tool.
        UnknownTool = "unknown_tool",
        /// It exists and may not be used now.
        Unavailable = "unavailable",
        /// The arguments do not fit the schema.
        InvalidArguments = "invalid_arguments",
        /// Nothing can be said.
        Unjudged = "unjudged",
    }
}

impl Verdict {
    /// Returns whether the verdict counts as a wrong pick.
    pub fn is_wrong(self) -> bool {
        !matches!(self, Self::Right | Self::Unjudged)
    }
}

words! {
    /// Who judged a selection.
    Judge {
        /// The daemon, by what it saw.
        Rule = "rule",
        /// A label known beforehand.
        Label = "label",
        /// A person.
        Person = "person",
        /// A model.
        Model = "model",
    }
}

words! {
    /// Why a tool is in front of the model.
    Origin {
        /// In the block.
        Resident = "resident",
        /// Issued by PlanStep for the query.
        Issued = "issued",
        /// Asked for by the model.
        Recalled = "recalled",
        /// Issued because the model called it while absent.
        CalledAbsent = "called_absent",
        /// Called lately and no longer present: put back without being asked for.
        Reissued = "reissued",
        /// The daemon's own meta tool.
        Meta = "meta",
    }
}

words! {
    /// What a step's plan came to.
    PlanResult {
        /// Definitions are issued.
        Issued = "issued",
        /// What is present answers the query.
        PresentSuffices = "present_suffices",
        /// Nothing matched.
        NothingFound = "nothing_found",
        /// There was no text to go by.
        NoQuery = "no_query",
        /// Planned with a fallback.
        Degraded = "degraded",
    }
}

words! {
    /// What came of a model asking for a tool.
    RequestResult {
        /// The name itself, its suffix or its alias.
        Exact = "exact",
        /// A near name.
        Near = "near",
        /// Found by search.
        Retrieved = "retrieved",
        /// It was present already.
        AlreadyPresent = "already_present",
        /// The runtime's own tool, which needs no asking.
        Own = "own",
        /// In quarantine, held, withdrawn or pending: not to be used now.
        Unavailable = "unavailable",
        /// Retired.
        Retired = "retired",
        /// Not to be found, or not to be seen by this session.
        NotFound = "not_found",
    }
}

words! {
    /// How a step ended that made no call.
    StepEnd {
        /// The model answered.
        Answered = "answered",
        /// The model said that it cannot.
        GaveUp = "gave_up",
        /// The model asked the user back.
        AskedUser = "asked_user",
        /// Not said.
        Unknown = "unknown",
    }
}

words! {
    /// Why a session ended.
    SessionEnd {
        /// The runtime closed it.
        Closed = "closed",
        /// Nothing was heard of it for the idle time.
        Expired = "expired",
    }
}

words! {
    /// What the daemon did with an outcome.
    OutcomeResult {
        /// Counted.
        Applied = "applied",
        /// Seen before.
        Duplicate = "duplicate",
        /// Its session has ended.
        Late = "late",
        /// Not counted: the runtime's own tool, a meta tool, or a name that stands for nothing.
        Ignored = "ignored",
        /// Not taken: the log's buffer is full or the store is failing.
        NotStored = "not_stored",
    }
}

words! {
    /// What admission said of a tool.
    AdmissionResult {
        /// In.
        Admitted = "admitted",
        /// In already; nothing changed.
        Unchanged = "unchanged",
        /// In, with warnings.
        Flagged = "flagged",
        /// Not in.
        Refused = "refused",
        /// Taken in, and not served until an operator approves it.
        Pending = "pending",
    }
}

words! {
    /// Why a definition waits for approval.
    WaitCause {
        /// Definitions are pinned: new and changed ones wait.
        Pinned = "pinned",
        /// A rule of the gate flagged it, and such flags wait.
        Flagged = "flagged",
    }
}

words! {
    /// Why the provider's prompt cache broke.
    CacheBreak {
        /// The block or the tools array changed.
        Tools = "tools",
        /// Something else in the request changed.
        Other = "other",
        /// It ran out.
        Expired = "expired",
        /// Not known.
        Unknown = "unknown",
    }
}

impl CacheBreak {
    /// Returns what a provider's word for a miss says; `None` where it gave none.
    pub fn named(miss_reason: &str) -> Option<Self> {
        match miss_reason {
            "" => None,
            reason if reason.contains("tools") => Some(Self::Tools),
            reason if reason.contains("expired") => Some(Self::Expired),
            _ => Some(Self::Other),
        }
    }
}

words! {
    /// The wire format in which definitions are rendered.
    Format {
        /// Model Context Protocol tool objects.
        Mcp = "mcp",
        /// OpenAI Chat Completions.
        OpenaiChat = "openai_chat",
        /// OpenAI Responses.
        OpenaiResponses = "openai_responses",
        /// Anthropic Messages.
        Anthropic = "anthropic",
    }
}

impl Format {
    /// Returns whether requests of this format can carry a cache breakpoint.
    pub fn marks_cache(self) -> bool {
        self == Self::Anthropic
    }

    /// Returns whether requests of this format have what a delivery needs. Whether the model takes it is another
    /// question.
    pub fn carries(self, delivery: Delivery) -> bool {
        match delivery {
            Delivery::Append => matches!(self, Self::OpenaiResponses | Self::Anthropic),
            Delivery::Reference => self == Self::Anthropic,
            Delivery::Invoke | Delivery::Tools => true,
        }
    }
}

words! {
    /// How a definition that is not in the block reaches the model.
    Delivery {
        /// An item of the provider's own, appended to the conversation, carries it.
        Append = "append",
        /// It stands deferred in the tools array, and a tool result refers to it.
        Reference = "reference",
        /// As text; the call goes through the frozen meta tool `call_tool`.
        Invoke = "invoke",
        /// The tools array is rebuilt, which breaks the provider's prompt cache.
        Tools = "tools",
    }
}

words! {
    /// Why a tool entered or left the hot pool.
    PoolReason {
        /// Its score is among the best.
        Score = "score",
        /// Seeded by its registration.
        Seeded = "seeded",
        /// Pinned by an operator.
        Pinned = "pinned",
        /// It took a slot that became free.
        FilledSlot = "filled_slot",
        /// Others score better.
        Outranked = "outranked",
        /// It may not be resident now: quarantined, withdrawn, retired.
        Unavailable = "unavailable",
        /// The policy has fewer slots.
        FewerSlots = "fewer_slots",
    }
}

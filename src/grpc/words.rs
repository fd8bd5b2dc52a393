//! The words of the core and the enums of the protocol, one to one.

use crate::core::admission::{change, confusable};
use crate::core::namespace::commands::AdmissionEffect;
use crate::core::{checking, event, namespace};
use crate::proto;

/// Converts between a word list of the core and its enum in the protocol; `From` from the core, and the other way an
/// `Option` that is `None` for what the core does not know.
macro_rules! same_words {
    ($core:path => $proto:path as $read:ident { $($word:ident),+ $(,)? }) => {
        impl From<$core> for $proto {
            fn from(word: $core) -> Self {
                use $core as Core;
                use $proto as Proto;
                match word { $(Core::$word => Proto::$word),+ }
            }
        }

        /// Reads a word as the protocol sends it.
        pub fn $read(number: i32) -> Option<$core> {
            use $core as Core;
            use $proto as Proto;
            match Proto::try_from(number).ok()? {
                $(Proto::$word => Some(Core::$word),)+
                #[allow(unreachable_patterns, reason = "every enum has its unspecified value besides")]
                _ => None,
            }
        }
    };
}

/// Converts a word list of the core that is only ever sent.
macro_rules! sent_words {
    ($core:path => $proto:path { $($word:ident),+ $(,)? }) => {
        impl From<$core> for $proto {
            fn from(word: $core) -> Self {
                use $core as Core;
                use $proto as Proto;
                match word { $(Core::$word => Proto::$word),+ }
            }
        }
    };
}

same_words!(event::ToolState => proto::ToolState as tool_state {
    Active, Quarantined, Probation, Held, Pending, Withdrawn, Retired
});
same_words!(event::ToolAction => proto::ToolAction as tool_action {
    Retire, Restore, Quarantine, Repair, Pin, Unpin, Approve, AcceptFlags
});
same_words!(event::Format => proto::Format as format { Mcp, OpenaiChat, OpenaiResponses, Anthropic });
same_words!(event::Delivery => proto::Delivery as delivery { Append, Reference, Invoke, Tools });
same_words!(event::Verdict => proto::Verdict as verdict {
    Right, WrongTool, UnknownTool, Unavailable, InvalidArguments, Unjudged
});
same_words!(event::Judge => proto::Judge as judge { Rule, Label, Person, Model });
same_words!(namespace::ToolOrder => proto::ToolOrder as tool_order { Calls, Heat, Failures, Absent, Density, Name });
same_words!(event::StepEnd => proto::StepEnd as step_end { Answered, GaveUp, AskedUser, Unknown });

sent_words!(event::MoveCause => proto::MoveCause {
    Admitted, Failures, QuarantinedByHand, BackoffOver, Repaired, Recovered, FailedProbation, TooManyQuarantines,
    Unused, NeverRecovered, RetiredByHand, Restored, Vanished, ListedAgain, AwaitsApproval, Approved,
});
sent_words!(event::Presence => proto::Presence { Resident, Issued, Recalled, Absent, Unknown });
sent_words!(event::Origin => proto::Origin { Resident, Issued, Recalled, CalledAbsent, Reissued, Meta });
sent_words!(event::PlanResult => proto::PlanResult { Issued, PresentSuffices, NothingFound, NoQuery, Degraded });
sent_words!(event::RequestResult => proto::RequestResult {
    Exact, Near, Retrieved, AlreadyPresent, Own, Unavailable, Retired, NotFound
});
sent_words!(event::OutcomeResult => proto::OutcomeResult { Applied, Duplicate, Late, Ignored, NotStored });
sent_words!(event::AdmissionResult => proto::AdmissionResult { Admitted, Unchanged, Flagged, Refused, Pending });
sent_words!(event::WaitCause => proto::WaitCause { Pinned, Flagged });
sent_words!(change::ChangeClass => proto::ChangeClass { Cosmetic, Compatible, Breaking });
sent_words!(event::PoolReason => proto::PoolReason {
    Score, Seeded, Pinned, FilledSlot, Outranked, Unavailable, FewerSlots
});
sent_words!(confusable::NearBy => proto::NearBy { Name, Text });
sent_words!(event::Place => proto::Place { Tools, System, Messages, ToolResult });
sent_words!(event::CacheBreak => proto::CacheBreak { Tools, Other, Expired, Unknown });
sent_words!(event::SessionEnd => proto::SessionEnd { Closed, Expired });
sent_words!(event::Ending => proto::Ending {
    Unspecified, Ok, BadArguments, NotFound, Refused, Auth, Timeout, Transport, ServerError, NotRun
});
sent_words!(checking::CallKind => proto::CallKind { Tool, Request, Own });

impl From<AdmissionEffect> for proto::AdmissionEffect {
    fn from(effect: AdmissionEffect) -> Self {
        match effect {
            AdmissionEffect::Nothing => Self::None,
            AdmissionEffect::NextPlan => Self::NextPlan,
            AdmissionEffect::AfterApproval => Self::AfterApproval,
            AdmissionEffect::OnceUsable => Self::OnceUsable,
        }
    }
}

/// Reads an ending; what is not said is an ending too.
pub fn ending(number: i32) -> Option<event::Ending> {
    use event::Ending as Core;
    use proto::Ending as Proto;
    Some(match Proto::try_from(number).ok()? {
        Proto::Unspecified => Core::Unspecified,
        Proto::Ok => Core::Ok,
        Proto::BadArguments => Core::BadArguments,
        Proto::NotFound => Core::NotFound,
        Proto::Refused => Core::Refused,
        Proto::Auth => Core::Auth,
        Proto::Timeout => Core::Timeout,
        Proto::Transport => Core::Transport,
        Proto::ServerError => Core::ServerError,
        Proto::NotRun => Core::NotRun,
    })
}

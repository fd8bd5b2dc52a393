//! What admission finds, in groups small enough for a label.

use crate::core::admission::{Violation, ViolationCode};
use crate::core::event::Word;

/// A group of admission rules.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum FindingGroup {
    /// A field that is missing or of the wrong length or kind.
    Field,
    /// The name or the source.
    Name,
    /// The size estimate.
    Size,
    /// A schema.
    Schema,
    /// Characters that no tool text may hold.
    Characters,
    /// Text that steers a model, leads elsewhere or is there for the rank.
    Phrases,
    /// What a model may take for another.
    Confusable,
}

impl Word for FindingGroup {
    const ALL: &'static [Self] =
        &[Self::Field, Self::Name, Self::Size, Self::Schema, Self::Characters, Self::Phrases, Self::Confusable];

    fn as_str(self) -> &'static str {
        match self {
            Self::Field => "field",
            Self::Name => "name",
            Self::Size => "size",
            Self::Schema => "schema",
            Self::Characters => "characters",
            Self::Phrases => "phrases",
            Self::Confusable => "confusable",
        }
    }
}

impl FindingGroup {
    /// Returns the group of a violation or warning.
    pub(super) fn of(finding: &Violation) -> Self {
        use ViolationCode as Code;
        match finding.code {
            Code::Missing | Code::Malformed | Code::TooShort | Code::TooLong | Code::OnlyTheName | Code::Duplicate => {
                let is_name = matches!(finding.field.as_str(), "name" | "source");
                if is_name { Self::Name } else { Self::Field }
            }
            Code::SizeMismatch => Self::Size,
            Code::UnreadableJson
            | Code::NotAnObject
            | Code::TooComplex
            | Code::UnknownType
            | Code::BadReference
            | Code::BadPattern
            | Code::InvalidSchema => Self::Schema,
            Code::ForbiddenCharacter
            | Code::CombiningMarks
            | Code::UnusualSpace
            | Code::StrayJoiner
            | Code::MixedScripts
            | Code::BlankRun => Self::Characters,
            Code::LikeAnotherName => Self::Confusable,
            Code::Order
            | Code::RoleToken
            | Code::NamesAnotherTool
            | Code::NotesParameter
            | Code::Link
            | Code::Blob
            | Code::Praise
            | Code::RepeatedWord => Self::Phrases,
        }
    }
}

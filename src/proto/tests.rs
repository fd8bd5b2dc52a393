//! The contract beside the core: the same words, no keyword as a field, a namespace in every request.

use prost::Message as _;
use prost_types::{DescriptorProto, EnumDescriptorProto, FileDescriptorSet};

use super::FILE_DESCRIPTOR_SET;
use crate::core::event::{
    AdmissionResult, Delivery, Ending, Format, Judge, MoveCause, Origin, OutcomeResult, PlanResult, PoolReason,
    Presence, RequestResult, StepEnd, ToolAction, ToolState, Verdict, WaitCause, Word,
};

/// Words that Python, Rust or TypeScript reserve.
const KEYWORDS: &str = "\
    abstract and as assert async await become box break case catch class const continue crate debugger def default \
    del delete do dyn elif else enum except export extends extern false final finally fn for from function gen \
    global if impl implements import in instanceof interface is lambda let loop macro match mod move mut new none \
    nonlocal not null or override package pass priv private protected pub public raise ref return self static \
    struct super switch this throw trait true try type typeof unsafe unsized use var virtual void where while with \
    yield";

fn descriptors() -> FileDescriptorSet {
    FileDescriptorSet::decode(FILE_DESCRIPTOR_SET).unwrap()
}

/// Returns our own messages, without Google's.
fn messages() -> Vec<DescriptorProto> {
    descriptors().file.into_iter().filter(|f| f.package() == "toolcrib.v1").flat_map(|f| f.message_type).collect()
}

fn enumeration(name: &str) -> EnumDescriptorProto {
    descriptors().file.into_iter().flat_map(|f| f.enum_type).find(|e| e.name() == name).unwrap()
}

/// Checks that the proto enum has the core's words in the core's order, and no others but UNSPECIFIED.
fn check_words<W: Word>(name: &str, prefix: &str) {
    let values = enumeration(name).value;
    let sent: Vec<String> =
        values.iter().map(|value| value.name().strip_prefix(prefix).unwrap().to_lowercase()).collect();
    let mut expected: Vec<&str> = W::ALL.iter().map(|word| word.as_str()).collect();
    if expected.first() != Some(&"unspecified") {
        expected.insert(0, "unspecified");
    }
    assert_eq!(sent, expected, "{name}");
}

#[test]
fn enums_have_the_words_of_the_core() {
    check_words::<AdmissionResult>("AdmissionResult", "ADMISSION_RESULT_");
    check_words::<Delivery>("Delivery", "DELIVERY_");
    check_words::<Ending>("Ending", "ENDING_");
    check_words::<Format>("Format", "FORMAT_");
    check_words::<Judge>("Judge", "JUDGE_");
    check_words::<MoveCause>("MoveCause", "MOVE_CAUSE_");
    check_words::<Origin>("Origin", "ORIGIN_");
    check_words::<OutcomeResult>("OutcomeResult", "OUTCOME_RESULT_");
    check_words::<PlanResult>("PlanResult", "PLAN_RESULT_");
    check_words::<PoolReason>("PoolReason", "POOL_REASON_");
    check_words::<Presence>("Presence", "PRESENCE_");
    check_words::<RequestResult>("RequestResult", "REQUEST_RESULT_");
    check_words::<StepEnd>("StepEnd", "STEP_END_");
    check_words::<ToolAction>("ToolAction", "TOOL_ACTION_");
    check_words::<ToolState>("ToolState", "TOOL_STATE_");
    check_words::<Verdict>("Verdict", "VERDICT_");
    check_words::<WaitCause>("WaitCause", "WAIT_CAUSE_");
}

#[test]
fn no_field_is_named_by_a_keyword() {
    for message in messages() {
        for field in &message.field {
            assert!(!KEYWORDS.split(' ').any(|word| word == field.name()), "{}.{}", message.name(), field.name());
        }
    }
}

#[test]
fn every_session_request_begins_with_its_namespace() {
    let files = descriptors().file;
    let service = files.iter().flat_map(|f| &f.service).find(|s| s.name() == "SessionService").unwrap();
    for method in &service.method {
        let request = method.input_type().rsplit('.').next().unwrap();
        let message = messages().into_iter().find(|m| m.name() == request).unwrap();
        assert_eq!((message.field[0].name(), message.field[0].number()), ("namespace", 1), "{request}");
    }
}

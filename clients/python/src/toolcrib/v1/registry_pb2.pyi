from google.protobuf import timestamp_pb2 as _timestamp_pb2
from toolcrib.v1 import common_pb2 as _common_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from typing import ClassVar as _ClassVar, Iterable as _Iterable, Mapping as _Mapping, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class WaitCause(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    WAIT_CAUSE_UNSPECIFIED: _ClassVar[WaitCause]
    WAIT_CAUSE_PINNED: _ClassVar[WaitCause]
    WAIT_CAUSE_FLAGGED: _ClassVar[WaitCause]

class AdmissionResult(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    ADMISSION_RESULT_UNSPECIFIED: _ClassVar[AdmissionResult]
    ADMISSION_RESULT_ADMITTED: _ClassVar[AdmissionResult]
    ADMISSION_RESULT_UNCHANGED: _ClassVar[AdmissionResult]
    ADMISSION_RESULT_FLAGGED: _ClassVar[AdmissionResult]
    ADMISSION_RESULT_REFUSED: _ClassVar[AdmissionResult]
    ADMISSION_RESULT_PENDING: _ClassVar[AdmissionResult]

class AdmissionEffect(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    ADMISSION_EFFECT_UNSPECIFIED: _ClassVar[AdmissionEffect]
    ADMISSION_EFFECT_NONE: _ClassVar[AdmissionEffect]
    ADMISSION_EFFECT_NEXT_PLAN: _ClassVar[AdmissionEffect]
    ADMISSION_EFFECT_AFTER_APPROVAL: _ClassVar[AdmissionEffect]
    ADMISSION_EFFECT_ONCE_USABLE: _ClassVar[AdmissionEffect]

class ChangeClass(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    CHANGE_CLASS_UNSPECIFIED: _ClassVar[ChangeClass]
    CHANGE_CLASS_COSMETIC: _ClassVar[ChangeClass]
    CHANGE_CLASS_COMPATIBLE: _ClassVar[ChangeClass]
    CHANGE_CLASS_BREAKING: _ClassVar[ChangeClass]

class NearBy(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    NEAR_BY_UNSPECIFIED: _ClassVar[NearBy]
    NEAR_BY_NAME: _ClassVar[NearBy]
    NEAR_BY_TEXT: _ClassVar[NearBy]

class CatalogShape(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    CATALOG_SHAPE_UNSPECIFIED: _ClassVar[CatalogShape]
    CATALOG_SHAPE_MCP: _ClassVar[CatalogShape]
    CATALOG_SHAPE_JSONL: _ClassVar[CatalogShape]
    CATALOG_SHAPE_OPENAI: _ClassVar[CatalogShape]
    CATALOG_SHAPE_ANTHROPIC: _ClassVar[CatalogShape]

class ToolAction(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    TOOL_ACTION_UNSPECIFIED: _ClassVar[ToolAction]
    TOOL_ACTION_RETIRE: _ClassVar[ToolAction]
    TOOL_ACTION_RESTORE: _ClassVar[ToolAction]
    TOOL_ACTION_QUARANTINE: _ClassVar[ToolAction]
    TOOL_ACTION_REPAIR: _ClassVar[ToolAction]
    TOOL_ACTION_PIN: _ClassVar[ToolAction]
    TOOL_ACTION_UNPIN: _ClassVar[ToolAction]
    TOOL_ACTION_APPROVE: _ClassVar[ToolAction]
    TOOL_ACTION_ACCEPT_FLAGS: _ClassVar[ToolAction]
WAIT_CAUSE_UNSPECIFIED: WaitCause
WAIT_CAUSE_PINNED: WaitCause
WAIT_CAUSE_FLAGGED: WaitCause
ADMISSION_RESULT_UNSPECIFIED: AdmissionResult
ADMISSION_RESULT_ADMITTED: AdmissionResult
ADMISSION_RESULT_UNCHANGED: AdmissionResult
ADMISSION_RESULT_FLAGGED: AdmissionResult
ADMISSION_RESULT_REFUSED: AdmissionResult
ADMISSION_RESULT_PENDING: AdmissionResult
ADMISSION_EFFECT_UNSPECIFIED: AdmissionEffect
ADMISSION_EFFECT_NONE: AdmissionEffect
ADMISSION_EFFECT_NEXT_PLAN: AdmissionEffect
ADMISSION_EFFECT_AFTER_APPROVAL: AdmissionEffect
ADMISSION_EFFECT_ONCE_USABLE: AdmissionEffect
CHANGE_CLASS_UNSPECIFIED: ChangeClass
CHANGE_CLASS_COSMETIC: ChangeClass
CHANGE_CLASS_COMPATIBLE: ChangeClass
CHANGE_CLASS_BREAKING: ChangeClass
NEAR_BY_UNSPECIFIED: NearBy
NEAR_BY_NAME: NearBy
NEAR_BY_TEXT: NearBy
CATALOG_SHAPE_UNSPECIFIED: CatalogShape
CATALOG_SHAPE_MCP: CatalogShape
CATALOG_SHAPE_JSONL: CatalogShape
CATALOG_SHAPE_OPENAI: CatalogShape
CATALOG_SHAPE_ANTHROPIC: CatalogShape
TOOL_ACTION_UNSPECIFIED: ToolAction
TOOL_ACTION_RETIRE: ToolAction
TOOL_ACTION_RESTORE: ToolAction
TOOL_ACTION_QUARANTINE: ToolAction
TOOL_ACTION_REPAIR: ToolAction
TOOL_ACTION_PIN: ToolAction
TOOL_ACTION_UNPIN: ToolAction
TOOL_ACTION_APPROVE: ToolAction
TOOL_ACTION_ACCEPT_FLAGS: ToolAction

class ToolDefinition(_message.Message):
    __slots__ = ("source", "name", "title", "summary", "when_to_use", "keywords", "size_tokens", "description", "input_schema", "output_schema", "annotations", "group", "tags", "attributes", "initial_score")
    class AttributesEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    SOURCE_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    TITLE_FIELD_NUMBER: _ClassVar[int]
    SUMMARY_FIELD_NUMBER: _ClassVar[int]
    WHEN_TO_USE_FIELD_NUMBER: _ClassVar[int]
    KEYWORDS_FIELD_NUMBER: _ClassVar[int]
    SIZE_TOKENS_FIELD_NUMBER: _ClassVar[int]
    DESCRIPTION_FIELD_NUMBER: _ClassVar[int]
    INPUT_SCHEMA_FIELD_NUMBER: _ClassVar[int]
    OUTPUT_SCHEMA_FIELD_NUMBER: _ClassVar[int]
    ANNOTATIONS_FIELD_NUMBER: _ClassVar[int]
    GROUP_FIELD_NUMBER: _ClassVar[int]
    TAGS_FIELD_NUMBER: _ClassVar[int]
    ATTRIBUTES_FIELD_NUMBER: _ClassVar[int]
    INITIAL_SCORE_FIELD_NUMBER: _ClassVar[int]
    source: str
    name: str
    title: str
    summary: str
    when_to_use: str
    keywords: _containers.RepeatedScalarFieldContainer[str]
    size_tokens: int
    description: str
    input_schema: bytes
    output_schema: bytes
    annotations: bytes
    group: str
    tags: _containers.RepeatedScalarFieldContainer[str]
    attributes: _containers.ScalarMap[str, str]
    initial_score: float
    def __init__(self, source: _Optional[str] = ..., name: _Optional[str] = ..., title: _Optional[str] = ..., summary: _Optional[str] = ..., when_to_use: _Optional[str] = ..., keywords: _Optional[_Iterable[str]] = ..., size_tokens: _Optional[int] = ..., description: _Optional[str] = ..., input_schema: _Optional[bytes] = ..., output_schema: _Optional[bytes] = ..., annotations: _Optional[bytes] = ..., group: _Optional[str] = ..., tags: _Optional[_Iterable[str]] = ..., attributes: _Optional[_Mapping[str, str]] = ..., initial_score: _Optional[float] = ...) -> None: ...

class Flag(_message.Message):
    __slots__ = ("finding", "accepted", "note", "actor", "accept_time")
    FINDING_FIELD_NUMBER: _ClassVar[int]
    ACCEPTED_FIELD_NUMBER: _ClassVar[int]
    NOTE_FIELD_NUMBER: _ClassVar[int]
    ACTOR_FIELD_NUMBER: _ClassVar[int]
    ACCEPT_TIME_FIELD_NUMBER: _ClassVar[int]
    finding: _common_pb2.Violation
    accepted: bool
    note: str
    actor: str
    accept_time: _timestamp_pb2.Timestamp
    def __init__(self, finding: _Optional[_Union[_common_pb2.Violation, _Mapping]] = ..., accepted: bool = ..., note: _Optional[str] = ..., actor: _Optional[str] = ..., accept_time: _Optional[_Union[_timestamp_pb2.Timestamp, _Mapping]] = ...) -> None: ...

class WaitingVersion(_message.Message):
    __slots__ = ("version", "hash", "cause", "flags", "change")
    VERSION_FIELD_NUMBER: _ClassVar[int]
    HASH_FIELD_NUMBER: _ClassVar[int]
    CAUSE_FIELD_NUMBER: _ClassVar[int]
    FLAGS_FIELD_NUMBER: _ClassVar[int]
    CHANGE_FIELD_NUMBER: _ClassVar[int]
    version: int
    hash: str
    cause: WaitCause
    flags: _containers.RepeatedCompositeFieldContainer[Flag]
    change: ChangeClass
    def __init__(self, version: _Optional[int] = ..., hash: _Optional[str] = ..., cause: _Optional[_Union[WaitCause, str]] = ..., flags: _Optional[_Iterable[_Union[Flag, _Mapping]]] = ..., change: _Optional[_Union[ChangeClass, str]] = ...) -> None: ...

class ToolRecord(_message.Message):
    __slots__ = ("tool", "alias", "state", "cause", "state_reason", "group", "summary", "full_tokens", "slim_tokens", "derived", "hash", "calls", "heat", "resident", "pinned", "flags", "waiting")
    TOOL_FIELD_NUMBER: _ClassVar[int]
    ALIAS_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    CAUSE_FIELD_NUMBER: _ClassVar[int]
    STATE_REASON_FIELD_NUMBER: _ClassVar[int]
    GROUP_FIELD_NUMBER: _ClassVar[int]
    SUMMARY_FIELD_NUMBER: _ClassVar[int]
    FULL_TOKENS_FIELD_NUMBER: _ClassVar[int]
    SLIM_TOKENS_FIELD_NUMBER: _ClassVar[int]
    DERIVED_FIELD_NUMBER: _ClassVar[int]
    HASH_FIELD_NUMBER: _ClassVar[int]
    CALLS_FIELD_NUMBER: _ClassVar[int]
    HEAT_FIELD_NUMBER: _ClassVar[int]
    RESIDENT_FIELD_NUMBER: _ClassVar[int]
    PINNED_FIELD_NUMBER: _ClassVar[int]
    FLAGS_FIELD_NUMBER: _ClassVar[int]
    WAITING_FIELD_NUMBER: _ClassVar[int]
    tool: _common_pb2.ToolRef
    alias: str
    state: _common_pb2.ToolState
    cause: _common_pb2.MoveCause
    state_reason: str
    group: str
    summary: str
    full_tokens: int
    slim_tokens: int
    derived: _containers.RepeatedScalarFieldContainer[str]
    hash: str
    calls: int
    heat: float
    resident: bool
    pinned: bool
    flags: _containers.RepeatedCompositeFieldContainer[Flag]
    waiting: WaitingVersion
    def __init__(self, tool: _Optional[_Union[_common_pb2.ToolRef, _Mapping]] = ..., alias: _Optional[str] = ..., state: _Optional[_Union[_common_pb2.ToolState, str]] = ..., cause: _Optional[_Union[_common_pb2.MoveCause, str]] = ..., state_reason: _Optional[str] = ..., group: _Optional[str] = ..., summary: _Optional[str] = ..., full_tokens: _Optional[int] = ..., slim_tokens: _Optional[int] = ..., derived: _Optional[_Iterable[str]] = ..., hash: _Optional[str] = ..., calls: _Optional[int] = ..., heat: _Optional[float] = ..., resident: bool = ..., pinned: bool = ..., flags: _Optional[_Iterable[_Union[Flag, _Mapping]]] = ..., waiting: _Optional[_Union[WaitingVersion, _Mapping]] = ...) -> None: ...

class Difference(_message.Message):
    __slots__ = ("field", "reach", "description")
    FIELD_FIELD_NUMBER: _ClassVar[int]
    REACH_FIELD_NUMBER: _ClassVar[int]
    DESCRIPTION_FIELD_NUMBER: _ClassVar[int]
    field: str
    reach: ChangeClass
    description: str
    def __init__(self, field: _Optional[str] = ..., reach: _Optional[_Union[ChangeClass, str]] = ..., description: _Optional[str] = ...) -> None: ...

class ConfusableTool(_message.Message):
    __slots__ = ("tool", "by")
    TOOL_FIELD_NUMBER: _ClassVar[int]
    BY_FIELD_NUMBER: _ClassVar[int]
    tool: _common_pb2.ToolRef
    by: NearBy
    def __init__(self, tool: _Optional[_Union[_common_pb2.ToolRef, _Mapping]] = ..., by: _Optional[_Union[NearBy, str]] = ...) -> None: ...

class Admission(_message.Message):
    __slots__ = ("index", "tool", "result", "violations", "warnings", "measured_tokens", "change", "differences", "effect", "wait_cause", "hash", "stops_waiting", "confusable")
    INDEX_FIELD_NUMBER: _ClassVar[int]
    TOOL_FIELD_NUMBER: _ClassVar[int]
    RESULT_FIELD_NUMBER: _ClassVar[int]
    VIOLATIONS_FIELD_NUMBER: _ClassVar[int]
    WARNINGS_FIELD_NUMBER: _ClassVar[int]
    MEASURED_TOKENS_FIELD_NUMBER: _ClassVar[int]
    CHANGE_FIELD_NUMBER: _ClassVar[int]
    DIFFERENCES_FIELD_NUMBER: _ClassVar[int]
    EFFECT_FIELD_NUMBER: _ClassVar[int]
    WAIT_CAUSE_FIELD_NUMBER: _ClassVar[int]
    HASH_FIELD_NUMBER: _ClassVar[int]
    STOPS_WAITING_FIELD_NUMBER: _ClassVar[int]
    CONFUSABLE_FIELD_NUMBER: _ClassVar[int]
    index: int
    tool: _common_pb2.ToolRef
    result: AdmissionResult
    violations: _containers.RepeatedCompositeFieldContainer[_common_pb2.Violation]
    warnings: _containers.RepeatedCompositeFieldContainer[_common_pb2.Violation]
    measured_tokens: int
    change: ChangeClass
    differences: _containers.RepeatedCompositeFieldContainer[Difference]
    effect: AdmissionEffect
    wait_cause: WaitCause
    hash: str
    stops_waiting: int
    confusable: _containers.RepeatedCompositeFieldContainer[ConfusableTool]
    def __init__(self, index: _Optional[int] = ..., tool: _Optional[_Union[_common_pb2.ToolRef, _Mapping]] = ..., result: _Optional[_Union[AdmissionResult, str]] = ..., violations: _Optional[_Iterable[_Union[_common_pb2.Violation, _Mapping]]] = ..., warnings: _Optional[_Iterable[_Union[_common_pb2.Violation, _Mapping]]] = ..., measured_tokens: _Optional[int] = ..., change: _Optional[_Union[ChangeClass, str]] = ..., differences: _Optional[_Iterable[_Union[Difference, _Mapping]]] = ..., effect: _Optional[_Union[AdmissionEffect, str]] = ..., wait_cause: _Optional[_Union[WaitCause, str]] = ..., hash: _Optional[str] = ..., stops_waiting: _Optional[int] = ..., confusable: _Optional[_Iterable[_Union[ConfusableTool, _Mapping]]] = ...) -> None: ...

class RegisterToolsRequest(_message.Message):
    __slots__ = ("namespace", "tools", "atomic", "dry_run", "request_id")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    TOOLS_FIELD_NUMBER: _ClassVar[int]
    ATOMIC_FIELD_NUMBER: _ClassVar[int]
    DRY_RUN_FIELD_NUMBER: _ClassVar[int]
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    tools: _containers.RepeatedCompositeFieldContainer[ToolDefinition]
    atomic: bool
    dry_run: bool
    request_id: str
    def __init__(self, namespace: _Optional[str] = ..., tools: _Optional[_Iterable[_Union[ToolDefinition, _Mapping]]] = ..., atomic: bool = ..., dry_run: bool = ..., request_id: _Optional[str] = ...) -> None: ...

class RegisterToolsResponse(_message.Message):
    __slots__ = ("admissions", "durable")
    ADMISSIONS_FIELD_NUMBER: _ClassVar[int]
    DURABLE_FIELD_NUMBER: _ClassVar[int]
    admissions: _containers.RepeatedCompositeFieldContainer[Admission]
    durable: bool
    def __init__(self, admissions: _Optional[_Iterable[_Union[Admission, _Mapping]]] = ..., durable: bool = ...) -> None: ...

class ImportTarget(_message.Message):
    __slots__ = ("namespace", "source", "shape", "file_name", "request_id", "dry_run", "atomic", "gone_sources", "policy")
    class PolicyEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    SOURCE_FIELD_NUMBER: _ClassVar[int]
    SHAPE_FIELD_NUMBER: _ClassVar[int]
    FILE_NAME_FIELD_NUMBER: _ClassVar[int]
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    DRY_RUN_FIELD_NUMBER: _ClassVar[int]
    ATOMIC_FIELD_NUMBER: _ClassVar[int]
    GONE_SOURCES_FIELD_NUMBER: _ClassVar[int]
    POLICY_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    source: str
    shape: CatalogShape
    file_name: str
    request_id: str
    dry_run: bool
    atomic: bool
    gone_sources: _containers.RepeatedScalarFieldContainer[str]
    policy: _containers.ScalarMap[str, str]
    def __init__(self, namespace: _Optional[str] = ..., source: _Optional[str] = ..., shape: _Optional[_Union[CatalogShape, str]] = ..., file_name: _Optional[str] = ..., request_id: _Optional[str] = ..., dry_run: bool = ..., atomic: bool = ..., gone_sources: _Optional[_Iterable[str]] = ..., policy: _Optional[_Mapping[str, str]] = ...) -> None: ...

class ImportToolsRequest(_message.Message):
    __slots__ = ("target", "chunk")
    TARGET_FIELD_NUMBER: _ClassVar[int]
    CHUNK_FIELD_NUMBER: _ClassVar[int]
    target: ImportTarget
    chunk: bytes
    def __init__(self, target: _Optional[_Union[ImportTarget, _Mapping]] = ..., chunk: _Optional[bytes] = ...) -> None: ...

class AdmissionCounts(_message.Message):
    __slots__ = ("admitted", "unchanged", "flagged", "refused", "added", "cosmetic", "compatible", "breaking", "repeated", "passed_over", "pending")
    ADMITTED_FIELD_NUMBER: _ClassVar[int]
    UNCHANGED_FIELD_NUMBER: _ClassVar[int]
    FLAGGED_FIELD_NUMBER: _ClassVar[int]
    REFUSED_FIELD_NUMBER: _ClassVar[int]
    ADDED_FIELD_NUMBER: _ClassVar[int]
    COSMETIC_FIELD_NUMBER: _ClassVar[int]
    COMPATIBLE_FIELD_NUMBER: _ClassVar[int]
    BREAKING_FIELD_NUMBER: _ClassVar[int]
    REPEATED_FIELD_NUMBER: _ClassVar[int]
    PASSED_OVER_FIELD_NUMBER: _ClassVar[int]
    PENDING_FIELD_NUMBER: _ClassVar[int]
    admitted: int
    unchanged: int
    flagged: int
    refused: int
    added: int
    cosmetic: int
    compatible: int
    breaking: int
    repeated: int
    passed_over: int
    pending: int
    def __init__(self, admitted: _Optional[int] = ..., unchanged: _Optional[int] = ..., flagged: _Optional[int] = ..., refused: _Optional[int] = ..., added: _Optional[int] = ..., cosmetic: _Optional[int] = ..., compatible: _Optional[int] = ..., breaking: _Optional[int] = ..., repeated: _Optional[int] = ..., passed_over: _Optional[int] = ..., pending: _Optional[int] = ...) -> None: ...

class PassedOver(_message.Message):
    __slots__ = ("index", "name", "reason")
    INDEX_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    index: int
    name: str
    reason: str
    def __init__(self, index: _Optional[int] = ..., name: _Optional[str] = ..., reason: _Optional[str] = ...) -> None: ...

class ImportToolsResponse(_message.Message):
    __slots__ = ("counts", "admissions", "withdrawn", "durable", "vanished", "returned", "returned_total", "passed_over", "empty_sources", "nameless", "turned_away")
    COUNTS_FIELD_NUMBER: _ClassVar[int]
    ADMISSIONS_FIELD_NUMBER: _ClassVar[int]
    WITHDRAWN_FIELD_NUMBER: _ClassVar[int]
    DURABLE_FIELD_NUMBER: _ClassVar[int]
    VANISHED_FIELD_NUMBER: _ClassVar[int]
    RETURNED_FIELD_NUMBER: _ClassVar[int]
    RETURNED_TOTAL_FIELD_NUMBER: _ClassVar[int]
    PASSED_OVER_FIELD_NUMBER: _ClassVar[int]
    EMPTY_SOURCES_FIELD_NUMBER: _ClassVar[int]
    NAMELESS_FIELD_NUMBER: _ClassVar[int]
    TURNED_AWAY_FIELD_NUMBER: _ClassVar[int]
    counts: AdmissionCounts
    admissions: _containers.RepeatedCompositeFieldContainer[Admission]
    withdrawn: int
    durable: bool
    vanished: _containers.RepeatedCompositeFieldContainer[_common_pb2.ToolRef]
    returned: _containers.RepeatedCompositeFieldContainer[_common_pb2.ToolRef]
    returned_total: int
    passed_over: _containers.RepeatedCompositeFieldContainer[PassedOver]
    empty_sources: _containers.RepeatedScalarFieldContainer[str]
    nameless: int
    turned_away: bool
    def __init__(self, counts: _Optional[_Union[AdmissionCounts, _Mapping]] = ..., admissions: _Optional[_Iterable[_Union[Admission, _Mapping]]] = ..., withdrawn: _Optional[int] = ..., durable: bool = ..., vanished: _Optional[_Iterable[_Union[_common_pb2.ToolRef, _Mapping]]] = ..., returned: _Optional[_Iterable[_Union[_common_pb2.ToolRef, _Mapping]]] = ..., returned_total: _Optional[int] = ..., passed_over: _Optional[_Iterable[_Union[PassedOver, _Mapping]]] = ..., empty_sources: _Optional[_Iterable[str]] = ..., nameless: _Optional[int] = ..., turned_away: bool = ...) -> None: ...

class ListToolsRequest(_message.Message):
    __slots__ = ("namespace", "states", "contains", "page_size", "page_token", "flagged", "waiting")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    STATES_FIELD_NUMBER: _ClassVar[int]
    CONTAINS_FIELD_NUMBER: _ClassVar[int]
    PAGE_SIZE_FIELD_NUMBER: _ClassVar[int]
    PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    FLAGGED_FIELD_NUMBER: _ClassVar[int]
    WAITING_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    states: _containers.RepeatedScalarFieldContainer[_common_pb2.ToolState]
    contains: str
    page_size: int
    page_token: str
    flagged: bool
    waiting: bool
    def __init__(self, namespace: _Optional[str] = ..., states: _Optional[_Iterable[_Union[_common_pb2.ToolState, str]]] = ..., contains: _Optional[str] = ..., page_size: _Optional[int] = ..., page_token: _Optional[str] = ..., flagged: bool = ..., waiting: bool = ...) -> None: ...

class ListToolsResponse(_message.Message):
    __slots__ = ("tools", "next_page_token", "total_size")
    TOOLS_FIELD_NUMBER: _ClassVar[int]
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    TOTAL_SIZE_FIELD_NUMBER: _ClassVar[int]
    tools: _containers.RepeatedCompositeFieldContainer[ToolRecord]
    next_page_token: str
    total_size: int
    def __init__(self, tools: _Optional[_Iterable[_Union[ToolRecord, _Mapping]]] = ..., next_page_token: _Optional[str] = ..., total_size: _Optional[int] = ...) -> None: ...

class GetToolRequest(_message.Message):
    __slots__ = ("namespace", "tool")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    TOOL_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    tool: _common_pb2.ToolRef
    def __init__(self, namespace: _Optional[str] = ..., tool: _Optional[_Union[_common_pb2.ToolRef, _Mapping]] = ...) -> None: ...

class GetToolResponse(_message.Message):
    __slots__ = ("record", "definition", "slim_schema", "confusable")
    RECORD_FIELD_NUMBER: _ClassVar[int]
    DEFINITION_FIELD_NUMBER: _ClassVar[int]
    SLIM_SCHEMA_FIELD_NUMBER: _ClassVar[int]
    CONFUSABLE_FIELD_NUMBER: _ClassVar[int]
    record: ToolRecord
    definition: ToolDefinition
    slim_schema: bytes
    confusable: _containers.RepeatedCompositeFieldContainer[ConfusableTool]
    def __init__(self, record: _Optional[_Union[ToolRecord, _Mapping]] = ..., definition: _Optional[_Union[ToolDefinition, _Mapping]] = ..., slim_schema: _Optional[bytes] = ..., confusable: _Optional[_Iterable[_Union[ConfusableTool, _Mapping]]] = ...) -> None: ...

class DiffToolRequest(_message.Message):
    __slots__ = ("namespace", "tool", "from_version", "to_version")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    TOOL_FIELD_NUMBER: _ClassVar[int]
    FROM_VERSION_FIELD_NUMBER: _ClassVar[int]
    TO_VERSION_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    tool: _common_pb2.ToolRef
    from_version: int
    to_version: int
    def __init__(self, namespace: _Optional[str] = ..., tool: _Optional[_Union[_common_pb2.ToolRef, _Mapping]] = ..., from_version: _Optional[int] = ..., to_version: _Optional[int] = ...) -> None: ...

class DiffToolResponse(_message.Message):
    __slots__ = ("record", "from_version", "to_version", "change", "differences", "from_definition", "to_definition", "to_hash")
    RECORD_FIELD_NUMBER: _ClassVar[int]
    FROM_VERSION_FIELD_NUMBER: _ClassVar[int]
    TO_VERSION_FIELD_NUMBER: _ClassVar[int]
    CHANGE_FIELD_NUMBER: _ClassVar[int]
    DIFFERENCES_FIELD_NUMBER: _ClassVar[int]
    FROM_DEFINITION_FIELD_NUMBER: _ClassVar[int]
    TO_DEFINITION_FIELD_NUMBER: _ClassVar[int]
    TO_HASH_FIELD_NUMBER: _ClassVar[int]
    record: ToolRecord
    from_version: int
    to_version: int
    change: ChangeClass
    differences: _containers.RepeatedCompositeFieldContainer[Difference]
    from_definition: ToolDefinition
    to_definition: ToolDefinition
    to_hash: str
    def __init__(self, record: _Optional[_Union[ToolRecord, _Mapping]] = ..., from_version: _Optional[int] = ..., to_version: _Optional[int] = ..., change: _Optional[_Union[ChangeClass, str]] = ..., differences: _Optional[_Iterable[_Union[Difference, _Mapping]]] = ..., from_definition: _Optional[_Union[ToolDefinition, _Mapping]] = ..., to_definition: _Optional[_Union[ToolDefinition, _Mapping]] = ..., to_hash: _Optional[str] = ...) -> None: ...

class ChangeToolRequest(_message.Message):
    __slots__ = ("namespace", "tool", "action", "reason", "request_id", "hash")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    TOOL_FIELD_NUMBER: _ClassVar[int]
    ACTION_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    HASH_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    tool: _common_pb2.ToolRef
    action: ToolAction
    reason: str
    request_id: str
    hash: str
    def __init__(self, namespace: _Optional[str] = ..., tool: _Optional[_Union[_common_pb2.ToolRef, _Mapping]] = ..., action: _Optional[_Union[ToolAction, str]] = ..., reason: _Optional[str] = ..., request_id: _Optional[str] = ..., hash: _Optional[str] = ...) -> None: ...

class ChangeToolResponse(_message.Message):
    __slots__ = ("record", "durable")
    RECORD_FIELD_NUMBER: _ClassVar[int]
    DURABLE_FIELD_NUMBER: _ClassVar[int]
    record: ToolRecord
    durable: bool
    def __init__(self, record: _Optional[_Union[ToolRecord, _Mapping]] = ..., durable: bool = ...) -> None: ...

class Transition(_message.Message):
    __slots__ = ("sequence", "time", "tool", "old_state", "new_state", "cause", "actor", "reason", "until_time", "diagnosis")
    SEQUENCE_FIELD_NUMBER: _ClassVar[int]
    TIME_FIELD_NUMBER: _ClassVar[int]
    TOOL_FIELD_NUMBER: _ClassVar[int]
    OLD_STATE_FIELD_NUMBER: _ClassVar[int]
    NEW_STATE_FIELD_NUMBER: _ClassVar[int]
    CAUSE_FIELD_NUMBER: _ClassVar[int]
    ACTOR_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    UNTIL_TIME_FIELD_NUMBER: _ClassVar[int]
    DIAGNOSIS_FIELD_NUMBER: _ClassVar[int]
    sequence: int
    time: _timestamp_pb2.Timestamp
    tool: _common_pb2.ToolRef
    old_state: _common_pb2.ToolState
    new_state: _common_pb2.ToolState
    cause: _common_pb2.MoveCause
    actor: str
    reason: str
    until_time: _timestamp_pb2.Timestamp
    diagnosis: bytes
    def __init__(self, sequence: _Optional[int] = ..., time: _Optional[_Union[_timestamp_pb2.Timestamp, _Mapping]] = ..., tool: _Optional[_Union[_common_pb2.ToolRef, _Mapping]] = ..., old_state: _Optional[_Union[_common_pb2.ToolState, str]] = ..., new_state: _Optional[_Union[_common_pb2.ToolState, str]] = ..., cause: _Optional[_Union[_common_pb2.MoveCause, str]] = ..., actor: _Optional[str] = ..., reason: _Optional[str] = ..., until_time: _Optional[_Union[_timestamp_pb2.Timestamp, _Mapping]] = ..., diagnosis: _Optional[bytes] = ...) -> None: ...

class ListTransitionsRequest(_message.Message):
    __slots__ = ("namespace", "tool", "page_size", "page_token")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    TOOL_FIELD_NUMBER: _ClassVar[int]
    PAGE_SIZE_FIELD_NUMBER: _ClassVar[int]
    PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    tool: _common_pb2.ToolRef
    page_size: int
    page_token: str
    def __init__(self, namespace: _Optional[str] = ..., tool: _Optional[_Union[_common_pb2.ToolRef, _Mapping]] = ..., page_size: _Optional[int] = ..., page_token: _Optional[str] = ...) -> None: ...

class ListTransitionsResponse(_message.Message):
    __slots__ = ("transitions", "next_page_token")
    TRANSITIONS_FIELD_NUMBER: _ClassVar[int]
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    transitions: _containers.RepeatedCompositeFieldContainer[Transition]
    next_page_token: str
    def __init__(self, transitions: _Optional[_Iterable[_Union[Transition, _Mapping]]] = ..., next_page_token: _Optional[str] = ...) -> None: ...

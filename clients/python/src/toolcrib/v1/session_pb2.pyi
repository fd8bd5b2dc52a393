from google.protobuf import duration_pb2 as _duration_pb2
from google.protobuf import timestamp_pb2 as _timestamp_pb2
from toolcrib.v1 import common_pb2 as _common_pb2
from toolcrib.v1 import registry_pb2 as _registry_pb2
from toolcrib.v1 import stats_pb2 as _stats_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from typing import ClassVar as _ClassVar, Iterable as _Iterable, Mapping as _Mapping, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class Format(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    FORMAT_UNSPECIFIED: _ClassVar[Format]
    FORMAT_MCP: _ClassVar[Format]
    FORMAT_OPENAI_CHAT: _ClassVar[Format]
    FORMAT_OPENAI_RESPONSES: _ClassVar[Format]
    FORMAT_ANTHROPIC: _ClassVar[Format]

class Delivery(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    DELIVERY_UNSPECIFIED: _ClassVar[Delivery]
    DELIVERY_APPEND: _ClassVar[Delivery]
    DELIVERY_REFERENCE: _ClassVar[Delivery]
    DELIVERY_INVOKE: _ClassVar[Delivery]
    DELIVERY_TOOLS: _ClassVar[Delivery]

class Place(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    PLACE_UNSPECIFIED: _ClassVar[Place]
    PLACE_TOOLS: _ClassVar[Place]
    PLACE_SYSTEM: _ClassVar[Place]
    PLACE_MESSAGES: _ClassVar[Place]
    PLACE_TOOL_RESULT: _ClassVar[Place]

class Origin(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    ORIGIN_UNSPECIFIED: _ClassVar[Origin]
    ORIGIN_RESIDENT: _ClassVar[Origin]
    ORIGIN_ISSUED: _ClassVar[Origin]
    ORIGIN_RECALLED: _ClassVar[Origin]
    ORIGIN_CALLED_ABSENT: _ClassVar[Origin]
    ORIGIN_REISSUED: _ClassVar[Origin]
    ORIGIN_META: _ClassVar[Origin]

class Reason(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    REASON_UNSPECIFIED: _ClassVar[Reason]
    REASON_UNKNOWN: _ClassVar[Reason]
    REASON_NOT_IN_POOL: _ClassVar[Reason]
    REASON_QUARANTINED: _ClassVar[Reason]
    REASON_HELD: _ClassVar[Reason]
    REASON_PENDING: _ClassVar[Reason]
    REASON_WITHDRAWN: _ClassVar[Reason]
    REASON_RETIRED: _ClassVar[Reason]
    REASON_NAME_TAKEN: _ClassVar[Reason]
    REASON_OVER_BUDGET: _ClassVar[Reason]
    REASON_CONFUSABLE: _ClassVar[Reason]
    REASON_NOT_RENDERABLE: _ClassVar[Reason]

class StepEnd(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    STEP_END_UNSPECIFIED: _ClassVar[StepEnd]
    STEP_END_ANSWERED: _ClassVar[StepEnd]
    STEP_END_GAVE_UP: _ClassVar[StepEnd]
    STEP_END_ASKED_USER: _ClassVar[StepEnd]
    STEP_END_UNKNOWN: _ClassVar[StepEnd]

class PlanResult(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    PLAN_RESULT_UNSPECIFIED: _ClassVar[PlanResult]
    PLAN_RESULT_ISSUED: _ClassVar[PlanResult]
    PLAN_RESULT_PRESENT_SUFFICES: _ClassVar[PlanResult]
    PLAN_RESULT_NOTHING_FOUND: _ClassVar[PlanResult]
    PLAN_RESULT_NO_QUERY: _ClassVar[PlanResult]
    PLAN_RESULT_DEGRADED: _ClassVar[PlanResult]

class RequestResult(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    REQUEST_RESULT_UNSPECIFIED: _ClassVar[RequestResult]
    REQUEST_RESULT_EXACT: _ClassVar[RequestResult]
    REQUEST_RESULT_NEAR: _ClassVar[RequestResult]
    REQUEST_RESULT_RETRIEVED: _ClassVar[RequestResult]
    REQUEST_RESULT_ALREADY_PRESENT: _ClassVar[RequestResult]
    REQUEST_RESULT_OWN: _ClassVar[RequestResult]
    REQUEST_RESULT_UNAVAILABLE: _ClassVar[RequestResult]
    REQUEST_RESULT_RETIRED: _ClassVar[RequestResult]
    REQUEST_RESULT_NOT_FOUND: _ClassVar[RequestResult]

class Verdict(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    VERDICT_UNSPECIFIED: _ClassVar[Verdict]
    VERDICT_RIGHT: _ClassVar[Verdict]
    VERDICT_WRONG_TOOL: _ClassVar[Verdict]
    VERDICT_UNKNOWN_TOOL: _ClassVar[Verdict]
    VERDICT_UNAVAILABLE: _ClassVar[Verdict]
    VERDICT_INVALID_ARGUMENTS: _ClassVar[Verdict]
    VERDICT_UNJUDGED: _ClassVar[Verdict]

class Presence(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    PRESENCE_UNSPECIFIED: _ClassVar[Presence]
    PRESENCE_RESIDENT: _ClassVar[Presence]
    PRESENCE_ISSUED: _ClassVar[Presence]
    PRESENCE_RECALLED: _ClassVar[Presence]
    PRESENCE_ABSENT: _ClassVar[Presence]
    PRESENCE_UNKNOWN: _ClassVar[Presence]

class CallKind(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    CALL_KIND_UNSPECIFIED: _ClassVar[CallKind]
    CALL_KIND_TOOL: _ClassVar[CallKind]
    CALL_KIND_REQUEST: _ClassVar[CallKind]
    CALL_KIND_OWN: _ClassVar[CallKind]

class Ending(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    ENDING_UNSPECIFIED: _ClassVar[Ending]
    ENDING_OK: _ClassVar[Ending]
    ENDING_BAD_ARGUMENTS: _ClassVar[Ending]
    ENDING_NOT_FOUND: _ClassVar[Ending]
    ENDING_REFUSED: _ClassVar[Ending]
    ENDING_AUTH: _ClassVar[Ending]
    ENDING_TIMEOUT: _ClassVar[Ending]
    ENDING_TRANSPORT: _ClassVar[Ending]
    ENDING_SERVER_ERROR: _ClassVar[Ending]
    ENDING_NOT_RUN: _ClassVar[Ending]

class Judge(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    JUDGE_UNSPECIFIED: _ClassVar[Judge]
    JUDGE_RULE: _ClassVar[Judge]
    JUDGE_LABEL: _ClassVar[Judge]
    JUDGE_PERSON: _ClassVar[Judge]
    JUDGE_MODEL: _ClassVar[Judge]

class OutcomeResult(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    OUTCOME_RESULT_UNSPECIFIED: _ClassVar[OutcomeResult]
    OUTCOME_RESULT_APPLIED: _ClassVar[OutcomeResult]
    OUTCOME_RESULT_DUPLICATE: _ClassVar[OutcomeResult]
    OUTCOME_RESULT_LATE: _ClassVar[OutcomeResult]
    OUTCOME_RESULT_IGNORED: _ClassVar[OutcomeResult]
    OUTCOME_RESULT_NOT_STORED: _ClassVar[OutcomeResult]

class ChangeKind(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    CHANGE_KIND_UNSPECIFIED: _ClassVar[ChangeKind]
    CHANGE_KIND_ENTERS: _ClassVar[ChangeKind]
    CHANGE_KIND_LEAVES: _ClassVar[ChangeKind]
    CHANGE_KIND_ADDED: _ClassVar[ChangeKind]
    CHANGE_KIND_REMOVED: _ClassVar[ChangeKind]
    CHANGE_KIND_VERSION: _ClassVar[ChangeKind]
    CHANGE_KIND_UNAVAILABLE: _ClassVar[ChangeKind]

class SessionEnd(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    SESSION_END_UNSPECIFIED: _ClassVar[SessionEnd]
    SESSION_END_CLOSED: _ClassVar[SessionEnd]
    SESSION_END_EXPIRED: _ClassVar[SessionEnd]

class Fate(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    FATE_UNSPECIFIED: _ClassVar[Fate]
    FATE_ISSUED: _ClassVar[Fate]
    FATE_OWED: _ClassVar[Fate]
    FATE_RESIDENT: _ClassVar[Fate]
    FATE_PRESENT: _ClassVar[Fate]
    FATE_OVER_BUDGET: _ClassVar[Fate]
    FATE_BEYOND_M: _ClassVar[Fate]
    FATE_NO_MATCH: _ClassVar[Fate]
    FATE_NOT_SOUGHT: _ClassVar[Fate]
    FATE_EXCLUDED: _ClassVar[Fate]
    FATE_OWN: _ClassVar[Fate]
    FATE_CONFUSABLE: _ClassVar[Fate]
FORMAT_UNSPECIFIED: Format
FORMAT_MCP: Format
FORMAT_OPENAI_CHAT: Format
FORMAT_OPENAI_RESPONSES: Format
FORMAT_ANTHROPIC: Format
DELIVERY_UNSPECIFIED: Delivery
DELIVERY_APPEND: Delivery
DELIVERY_REFERENCE: Delivery
DELIVERY_INVOKE: Delivery
DELIVERY_TOOLS: Delivery
PLACE_UNSPECIFIED: Place
PLACE_TOOLS: Place
PLACE_SYSTEM: Place
PLACE_MESSAGES: Place
PLACE_TOOL_RESULT: Place
ORIGIN_UNSPECIFIED: Origin
ORIGIN_RESIDENT: Origin
ORIGIN_ISSUED: Origin
ORIGIN_RECALLED: Origin
ORIGIN_CALLED_ABSENT: Origin
ORIGIN_REISSUED: Origin
ORIGIN_META: Origin
REASON_UNSPECIFIED: Reason
REASON_UNKNOWN: Reason
REASON_NOT_IN_POOL: Reason
REASON_QUARANTINED: Reason
REASON_HELD: Reason
REASON_PENDING: Reason
REASON_WITHDRAWN: Reason
REASON_RETIRED: Reason
REASON_NAME_TAKEN: Reason
REASON_OVER_BUDGET: Reason
REASON_CONFUSABLE: Reason
REASON_NOT_RENDERABLE: Reason
STEP_END_UNSPECIFIED: StepEnd
STEP_END_ANSWERED: StepEnd
STEP_END_GAVE_UP: StepEnd
STEP_END_ASKED_USER: StepEnd
STEP_END_UNKNOWN: StepEnd
PLAN_RESULT_UNSPECIFIED: PlanResult
PLAN_RESULT_ISSUED: PlanResult
PLAN_RESULT_PRESENT_SUFFICES: PlanResult
PLAN_RESULT_NOTHING_FOUND: PlanResult
PLAN_RESULT_NO_QUERY: PlanResult
PLAN_RESULT_DEGRADED: PlanResult
REQUEST_RESULT_UNSPECIFIED: RequestResult
REQUEST_RESULT_EXACT: RequestResult
REQUEST_RESULT_NEAR: RequestResult
REQUEST_RESULT_RETRIEVED: RequestResult
REQUEST_RESULT_ALREADY_PRESENT: RequestResult
REQUEST_RESULT_OWN: RequestResult
REQUEST_RESULT_UNAVAILABLE: RequestResult
REQUEST_RESULT_RETIRED: RequestResult
REQUEST_RESULT_NOT_FOUND: RequestResult
VERDICT_UNSPECIFIED: Verdict
VERDICT_RIGHT: Verdict
VERDICT_WRONG_TOOL: Verdict
VERDICT_UNKNOWN_TOOL: Verdict
VERDICT_UNAVAILABLE: Verdict
VERDICT_INVALID_ARGUMENTS: Verdict
VERDICT_UNJUDGED: Verdict
PRESENCE_UNSPECIFIED: Presence
PRESENCE_RESIDENT: Presence
PRESENCE_ISSUED: Presence
PRESENCE_RECALLED: Presence
PRESENCE_ABSENT: Presence
PRESENCE_UNKNOWN: Presence
CALL_KIND_UNSPECIFIED: CallKind
CALL_KIND_TOOL: CallKind
CALL_KIND_REQUEST: CallKind
CALL_KIND_OWN: CallKind
ENDING_UNSPECIFIED: Ending
ENDING_OK: Ending
ENDING_BAD_ARGUMENTS: Ending
ENDING_NOT_FOUND: Ending
ENDING_REFUSED: Ending
ENDING_AUTH: Ending
ENDING_TIMEOUT: Ending
ENDING_TRANSPORT: Ending
ENDING_SERVER_ERROR: Ending
ENDING_NOT_RUN: Ending
JUDGE_UNSPECIFIED: Judge
JUDGE_RULE: Judge
JUDGE_LABEL: Judge
JUDGE_PERSON: Judge
JUDGE_MODEL: Judge
OUTCOME_RESULT_UNSPECIFIED: OutcomeResult
OUTCOME_RESULT_APPLIED: OutcomeResult
OUTCOME_RESULT_DUPLICATE: OutcomeResult
OUTCOME_RESULT_LATE: OutcomeResult
OUTCOME_RESULT_IGNORED: OutcomeResult
OUTCOME_RESULT_NOT_STORED: OutcomeResult
CHANGE_KIND_UNSPECIFIED: ChangeKind
CHANGE_KIND_ENTERS: ChangeKind
CHANGE_KIND_LEAVES: ChangeKind
CHANGE_KIND_ADDED: ChangeKind
CHANGE_KIND_REMOVED: ChangeKind
CHANGE_KIND_VERSION: ChangeKind
CHANGE_KIND_UNAVAILABLE: ChangeKind
SESSION_END_UNSPECIFIED: SessionEnd
SESSION_END_CLOSED: SessionEnd
SESSION_END_EXPIRED: SessionEnd
FATE_UNSPECIFIED: Fate
FATE_ISSUED: Fate
FATE_OWED: Fate
FATE_RESIDENT: Fate
FATE_PRESENT: Fate
FATE_OVER_BUDGET: Fate
FATE_BEYOND_M: Fate
FATE_NO_MATCH: Fate
FATE_NOT_SOUGHT: Fate
FATE_EXCLUDED: Fate
FATE_OWN: Fate
FATE_CONFUSABLE: Fate

class Piece(_message.Message):
    __slots__ = ("place", "content", "tokens", "names", "deferred")
    PLACE_FIELD_NUMBER: _ClassVar[int]
    CONTENT_FIELD_NUMBER: _ClassVar[int]
    TOKENS_FIELD_NUMBER: _ClassVar[int]
    NAMES_FIELD_NUMBER: _ClassVar[int]
    DEFERRED_FIELD_NUMBER: _ClassVar[int]
    place: Place
    content: bytes
    tokens: int
    names: _containers.RepeatedScalarFieldContainer[str]
    deferred: bool
    def __init__(self, place: _Optional[_Union[Place, str]] = ..., content: _Optional[bytes] = ..., tokens: _Optional[int] = ..., names: _Optional[_Iterable[str]] = ..., deferred: bool = ...) -> None: ...

class Offer(_message.Message):
    __slots__ = ("name", "tool", "origin", "tokens", "score", "reason")
    NAME_FIELD_NUMBER: _ClassVar[int]
    TOOL_FIELD_NUMBER: _ClassVar[int]
    ORIGIN_FIELD_NUMBER: _ClassVar[int]
    TOKENS_FIELD_NUMBER: _ClassVar[int]
    SCORE_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    name: str
    tool: _common_pb2.ToolRef
    origin: Origin
    tokens: int
    score: float
    reason: str
    def __init__(self, name: _Optional[str] = ..., tool: _Optional[_Union[_common_pb2.ToolRef, _Mapping]] = ..., origin: _Optional[_Union[Origin, str]] = ..., tokens: _Optional[int] = ..., score: _Optional[float] = ..., reason: _Optional[str] = ...) -> None: ...

class Listing(_message.Message):
    __slots__ = ("total", "returned", "has_more", "limit", "hint")
    TOTAL_FIELD_NUMBER: _ClassVar[int]
    RETURNED_FIELD_NUMBER: _ClassVar[int]
    HAS_MORE_FIELD_NUMBER: _ClassVar[int]
    LIMIT_FIELD_NUMBER: _ClassVar[int]
    HINT_FIELD_NUMBER: _ClassVar[int]
    total: int
    returned: int
    has_more: bool
    limit: int
    hint: str
    def __init__(self, total: _Optional[int] = ..., returned: _Optional[int] = ..., has_more: bool = ..., limit: _Optional[int] = ..., hint: _Optional[str] = ...) -> None: ...

class Tokens(_message.Message):
    __slots__ = ("directory", "resident", "issued", "meta", "everything", "window", "tokenizer")
    DIRECTORY_FIELD_NUMBER: _ClassVar[int]
    RESIDENT_FIELD_NUMBER: _ClassVar[int]
    ISSUED_FIELD_NUMBER: _ClassVar[int]
    META_FIELD_NUMBER: _ClassVar[int]
    EVERYTHING_FIELD_NUMBER: _ClassVar[int]
    WINDOW_FIELD_NUMBER: _ClassVar[int]
    TOKENIZER_FIELD_NUMBER: _ClassVar[int]
    directory: int
    resident: int
    issued: int
    meta: int
    everything: int
    window: int
    tokenizer: str
    def __init__(self, directory: _Optional[int] = ..., resident: _Optional[int] = ..., issued: _Optional[int] = ..., meta: _Optional[int] = ..., everything: _Optional[int] = ..., window: _Optional[int] = ..., tokenizer: _Optional[str] = ...) -> None: ...

class OwnTool(_message.Message):
    __slots__ = ("name", "tokens")
    NAME_FIELD_NUMBER: _ClassVar[int]
    TOKENS_FIELD_NUMBER: _ClassVar[int]
    name: str
    tokens: int
    def __init__(self, name: _Optional[str] = ..., tokens: _Optional[int] = ...) -> None: ...

class Pool(_message.Message):
    __slots__ = ("allow", "deny", "must_have")
    ALLOW_FIELD_NUMBER: _ClassVar[int]
    DENY_FIELD_NUMBER: _ClassVar[int]
    MUST_HAVE_FIELD_NUMBER: _ClassVar[int]
    allow: _containers.RepeatedScalarFieldContainer[str]
    deny: _containers.RepeatedScalarFieldContainer[str]
    must_have: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, allow: _Optional[_Iterable[str]] = ..., deny: _Optional[_Iterable[str]] = ..., must_have: _Optional[_Iterable[str]] = ...) -> None: ...

class OpenSessionRequest(_message.Message):
    __slots__ = ("namespace", "session_id", "format", "delivery", "model", "context_window", "pool", "own_tools", "on_demand_budget", "ephemeral", "fork_of", "parent_session_id", "played", "known_digest", "mark_cache")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    SESSION_ID_FIELD_NUMBER: _ClassVar[int]
    FORMAT_FIELD_NUMBER: _ClassVar[int]
    DELIVERY_FIELD_NUMBER: _ClassVar[int]
    MODEL_FIELD_NUMBER: _ClassVar[int]
    CONTEXT_WINDOW_FIELD_NUMBER: _ClassVar[int]
    POOL_FIELD_NUMBER: _ClassVar[int]
    OWN_TOOLS_FIELD_NUMBER: _ClassVar[int]
    ON_DEMAND_BUDGET_FIELD_NUMBER: _ClassVar[int]
    EPHEMERAL_FIELD_NUMBER: _ClassVar[int]
    FORK_OF_FIELD_NUMBER: _ClassVar[int]
    PARENT_SESSION_ID_FIELD_NUMBER: _ClassVar[int]
    PLAYED_FIELD_NUMBER: _ClassVar[int]
    KNOWN_DIGEST_FIELD_NUMBER: _ClassVar[int]
    MARK_CACHE_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    session_id: str
    format: Format
    delivery: Delivery
    model: str
    context_window: int
    pool: Pool
    own_tools: _containers.RepeatedCompositeFieldContainer[OwnTool]
    on_demand_budget: int
    ephemeral: bool
    fork_of: str
    parent_session_id: str
    played: bool
    known_digest: str
    mark_cache: bool
    def __init__(self, namespace: _Optional[str] = ..., session_id: _Optional[str] = ..., format: _Optional[_Union[Format, str]] = ..., delivery: _Optional[_Union[Delivery, str]] = ..., model: _Optional[str] = ..., context_window: _Optional[int] = ..., pool: _Optional[_Union[Pool, _Mapping]] = ..., own_tools: _Optional[_Iterable[_Union[OwnTool, _Mapping]]] = ..., on_demand_budget: _Optional[int] = ..., ephemeral: bool = ..., fork_of: _Optional[str] = ..., parent_session_id: _Optional[str] = ..., played: bool = ..., known_digest: _Optional[str] = ..., mark_cache: bool = ...) -> None: ...

class Block(_message.Message):
    __slots__ = ("digest", "generation", "epoch", "pieces", "offers", "cache_after", "tokens", "size_bytes", "pass_through")
    DIGEST_FIELD_NUMBER: _ClassVar[int]
    GENERATION_FIELD_NUMBER: _ClassVar[int]
    EPOCH_FIELD_NUMBER: _ClassVar[int]
    PIECES_FIELD_NUMBER: _ClassVar[int]
    OFFERS_FIELD_NUMBER: _ClassVar[int]
    CACHE_AFTER_FIELD_NUMBER: _ClassVar[int]
    TOKENS_FIELD_NUMBER: _ClassVar[int]
    SIZE_BYTES_FIELD_NUMBER: _ClassVar[int]
    PASS_THROUGH_FIELD_NUMBER: _ClassVar[int]
    digest: str
    generation: int
    epoch: int
    pieces: _containers.RepeatedCompositeFieldContainer[Piece]
    offers: _containers.RepeatedCompositeFieldContainer[Offer]
    cache_after: int
    tokens: Tokens
    size_bytes: int
    pass_through: bool
    def __init__(self, digest: _Optional[str] = ..., generation: _Optional[int] = ..., epoch: _Optional[int] = ..., pieces: _Optional[_Iterable[_Union[Piece, _Mapping]]] = ..., offers: _Optional[_Iterable[_Union[Offer, _Mapping]]] = ..., cache_after: _Optional[int] = ..., tokens: _Optional[_Union[Tokens, _Mapping]] = ..., size_bytes: _Optional[int] = ..., pass_through: bool = ...) -> None: ...

class Exclusion(_message.Message):
    __slots__ = ("name", "reason", "detail")
    NAME_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    DETAIL_FIELD_NUMBER: _ClassVar[int]
    name: str
    reason: Reason
    detail: str
    def __init__(self, name: _Optional[str] = ..., reason: _Optional[_Union[Reason, str]] = ..., detail: _Optional[str] = ...) -> None: ...

class OpenSessionResponse(_message.Message):
    __slots__ = ("session_id", "block", "resumed", "delivery", "expire_time", "excluded", "durable", "betas")
    SESSION_ID_FIELD_NUMBER: _ClassVar[int]
    BLOCK_FIELD_NUMBER: _ClassVar[int]
    RESUMED_FIELD_NUMBER: _ClassVar[int]
    DELIVERY_FIELD_NUMBER: _ClassVar[int]
    EXPIRE_TIME_FIELD_NUMBER: _ClassVar[int]
    EXCLUDED_FIELD_NUMBER: _ClassVar[int]
    DURABLE_FIELD_NUMBER: _ClassVar[int]
    BETAS_FIELD_NUMBER: _ClassVar[int]
    session_id: str
    block: Block
    resumed: bool
    delivery: Delivery
    expire_time: _timestamp_pb2.Timestamp
    excluded: _containers.RepeatedCompositeFieldContainer[Exclusion]
    durable: bool
    betas: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, session_id: _Optional[str] = ..., block: _Optional[_Union[Block, _Mapping]] = ..., resumed: bool = ..., delivery: _Optional[_Union[Delivery, str]] = ..., expire_time: _Optional[_Union[_timestamp_pb2.Timestamp, _Mapping]] = ..., excluded: _Optional[_Iterable[_Union[Exclusion, _Mapping]]] = ..., durable: bool = ..., betas: _Optional[_Iterable[str]] = ...) -> None: ...

class ReadSessionRequest(_message.Message):
    __slots__ = ("namespace", "session_id", "issued_only", "names")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    SESSION_ID_FIELD_NUMBER: _ClassVar[int]
    ISSUED_ONLY_FIELD_NUMBER: _ClassVar[int]
    NAMES_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    session_id: str
    issued_only: bool
    names: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, namespace: _Optional[str] = ..., session_id: _Optional[str] = ..., issued_only: bool = ..., names: _Optional[_Iterable[str]] = ...) -> None: ...

class ReadSessionResponse(_message.Message):
    __slots__ = ("piece", "step_id")
    PIECE_FIELD_NUMBER: _ClassVar[int]
    STEP_ID_FIELD_NUMBER: _ClassVar[int]
    piece: Piece
    step_id: str
    def __init__(self, piece: _Optional[_Union[Piece, _Mapping]] = ..., step_id: _Optional[str] = ...) -> None: ...

class Query(_message.Message):
    __slots__ = ("user", "model", "goal")
    USER_FIELD_NUMBER: _ClassVar[int]
    MODEL_FIELD_NUMBER: _ClassVar[int]
    GOAL_FIELD_NUMBER: _ClassVar[int]
    user: str
    model: str
    goal: str
    def __init__(self, user: _Optional[str] = ..., model: _Optional[str] = ..., goal: _Optional[str] = ...) -> None: ...

class Present(_message.Message):
    __slots__ = ("names",)
    NAMES_FIELD_NUMBER: _ClassVar[int]
    names: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, names: _Optional[_Iterable[str]] = ...) -> None: ...

class Usage(_message.Message):
    __slots__ = ("step_id", "input_tokens", "cached_tokens", "miss_reason")
    STEP_ID_FIELD_NUMBER: _ClassVar[int]
    INPUT_TOKENS_FIELD_NUMBER: _ClassVar[int]
    CACHED_TOKENS_FIELD_NUMBER: _ClassVar[int]
    MISS_REASON_FIELD_NUMBER: _ClassVar[int]
    step_id: str
    input_tokens: int
    cached_tokens: int
    miss_reason: str
    def __init__(self, step_id: _Optional[str] = ..., input_tokens: _Optional[int] = ..., cached_tokens: _Optional[int] = ..., miss_reason: _Optional[str] = ...) -> None: ...

class StepEnding(_message.Message):
    __slots__ = ("step_id", "reason")
    STEP_ID_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    step_id: str
    reason: StepEnd
    def __init__(self, step_id: _Optional[str] = ..., reason: _Optional[_Union[StepEnd, str]] = ...) -> None: ...

class PlanStepRequest(_message.Message):
    __slots__ = ("namespace", "session_id", "key", "query", "present", "outcomes", "endings", "usage", "max_tools", "max_tokens")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    SESSION_ID_FIELD_NUMBER: _ClassVar[int]
    KEY_FIELD_NUMBER: _ClassVar[int]
    QUERY_FIELD_NUMBER: _ClassVar[int]
    PRESENT_FIELD_NUMBER: _ClassVar[int]
    OUTCOMES_FIELD_NUMBER: _ClassVar[int]
    ENDINGS_FIELD_NUMBER: _ClassVar[int]
    USAGE_FIELD_NUMBER: _ClassVar[int]
    MAX_TOOLS_FIELD_NUMBER: _ClassVar[int]
    MAX_TOKENS_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    session_id: str
    key: str
    query: Query
    present: Present
    outcomes: _containers.RepeatedCompositeFieldContainer[Outcome]
    endings: _containers.RepeatedCompositeFieldContainer[StepEnding]
    usage: Usage
    max_tools: int
    max_tokens: int
    def __init__(self, namespace: _Optional[str] = ..., session_id: _Optional[str] = ..., key: _Optional[str] = ..., query: _Optional[_Union[Query, _Mapping]] = ..., present: _Optional[_Union[Present, _Mapping]] = ..., outcomes: _Optional[_Iterable[_Union[Outcome, _Mapping]]] = ..., endings: _Optional[_Iterable[_Union[StepEnding, _Mapping]]] = ..., usage: _Optional[_Union[Usage, _Mapping]] = ..., max_tools: _Optional[int] = ..., max_tokens: _Optional[int] = ...) -> None: ...

class PlanStepResponse(_message.Message):
    __slots__ = ("step_id", "result", "pieces", "issued", "listing", "tokens", "block_digest", "pending", "degraded", "acks", "breaks_cache", "excluded")
    STEP_ID_FIELD_NUMBER: _ClassVar[int]
    RESULT_FIELD_NUMBER: _ClassVar[int]
    PIECES_FIELD_NUMBER: _ClassVar[int]
    ISSUED_FIELD_NUMBER: _ClassVar[int]
    LISTING_FIELD_NUMBER: _ClassVar[int]
    TOKENS_FIELD_NUMBER: _ClassVar[int]
    BLOCK_DIGEST_FIELD_NUMBER: _ClassVar[int]
    PENDING_FIELD_NUMBER: _ClassVar[int]
    DEGRADED_FIELD_NUMBER: _ClassVar[int]
    ACKS_FIELD_NUMBER: _ClassVar[int]
    BREAKS_CACHE_FIELD_NUMBER: _ClassVar[int]
    EXCLUDED_FIELD_NUMBER: _ClassVar[int]
    step_id: str
    result: PlanResult
    pieces: _containers.RepeatedCompositeFieldContainer[Piece]
    issued: _containers.RepeatedCompositeFieldContainer[Offer]
    listing: Listing
    tokens: Tokens
    block_digest: str
    pending: bool
    degraded: str
    acks: _containers.RepeatedCompositeFieldContainer[OutcomeAck]
    breaks_cache: bool
    excluded: _containers.RepeatedCompositeFieldContainer[Exclusion]
    def __init__(self, step_id: _Optional[str] = ..., result: _Optional[_Union[PlanResult, str]] = ..., pieces: _Optional[_Iterable[_Union[Piece, _Mapping]]] = ..., issued: _Optional[_Iterable[_Union[Offer, _Mapping]]] = ..., listing: _Optional[_Union[Listing, _Mapping]] = ..., tokens: _Optional[_Union[Tokens, _Mapping]] = ..., block_digest: _Optional[str] = ..., pending: bool = ..., degraded: _Optional[str] = ..., acks: _Optional[_Iterable[_Union[OutcomeAck, _Mapping]]] = ..., breaks_cache: bool = ..., excluded: _Optional[_Iterable[_Union[Exclusion, _Mapping]]] = ...) -> None: ...

class RequestToolRequest(_message.Message):
    __slots__ = ("namespace", "session_id", "step_id", "call_id", "arguments", "name", "need", "present")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    SESSION_ID_FIELD_NUMBER: _ClassVar[int]
    STEP_ID_FIELD_NUMBER: _ClassVar[int]
    CALL_ID_FIELD_NUMBER: _ClassVar[int]
    ARGUMENTS_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    NEED_FIELD_NUMBER: _ClassVar[int]
    PRESENT_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    session_id: str
    step_id: str
    call_id: str
    arguments: bytes
    name: str
    need: str
    present: Present
    def __init__(self, namespace: _Optional[str] = ..., session_id: _Optional[str] = ..., step_id: _Optional[str] = ..., call_id: _Optional[str] = ..., arguments: _Optional[bytes] = ..., name: _Optional[str] = ..., need: _Optional[str] = ..., present: _Optional[_Union[Present, _Mapping]] = ...) -> None: ...

class RequestToolResponse(_message.Message):
    __slots__ = ("result", "reason", "pieces", "issued", "listing", "nearest", "excluded")
    RESULT_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    PIECES_FIELD_NUMBER: _ClassVar[int]
    ISSUED_FIELD_NUMBER: _ClassVar[int]
    LISTING_FIELD_NUMBER: _ClassVar[int]
    NEAREST_FIELD_NUMBER: _ClassVar[int]
    EXCLUDED_FIELD_NUMBER: _ClassVar[int]
    result: RequestResult
    reason: Reason
    pieces: _containers.RepeatedCompositeFieldContainer[Piece]
    issued: _containers.RepeatedCompositeFieldContainer[Offer]
    listing: Listing
    nearest: _containers.RepeatedScalarFieldContainer[str]
    excluded: _containers.RepeatedCompositeFieldContainer[Exclusion]
    def __init__(self, result: _Optional[_Union[RequestResult, str]] = ..., reason: _Optional[_Union[Reason, str]] = ..., pieces: _Optional[_Iterable[_Union[Piece, _Mapping]]] = ..., issued: _Optional[_Iterable[_Union[Offer, _Mapping]]] = ..., listing: _Optional[_Union[Listing, _Mapping]] = ..., nearest: _Optional[_Iterable[str]] = ..., excluded: _Optional[_Iterable[_Union[Exclusion, _Mapping]]] = ...) -> None: ...

class Call(_message.Message):
    __slots__ = ("call_id", "name", "arguments")
    CALL_ID_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    ARGUMENTS_FIELD_NUMBER: _ClassVar[int]
    call_id: str
    name: str
    arguments: bytes
    def __init__(self, call_id: _Optional[str] = ..., name: _Optional[str] = ..., arguments: _Optional[bytes] = ...) -> None: ...

class ValidateCallsRequest(_message.Message):
    __slots__ = ("namespace", "session_id", "step_id", "calls")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    SESSION_ID_FIELD_NUMBER: _ClassVar[int]
    STEP_ID_FIELD_NUMBER: _ClassVar[int]
    CALLS_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    session_id: str
    step_id: str
    calls: _containers.RepeatedCompositeFieldContainer[Call]
    def __init__(self, namespace: _Optional[str] = ..., session_id: _Optional[str] = ..., step_id: _Optional[str] = ..., calls: _Optional[_Iterable[_Union[Call, _Mapping]]] = ...) -> None: ...

class CheckedCall(_message.Message):
    __slots__ = ("call_id", "kind", "run", "verdict", "tool", "arguments", "presence", "reason", "violations", "pieces", "issued", "nearest", "stale")
    CALL_ID_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    RUN_FIELD_NUMBER: _ClassVar[int]
    VERDICT_FIELD_NUMBER: _ClassVar[int]
    TOOL_FIELD_NUMBER: _ClassVar[int]
    ARGUMENTS_FIELD_NUMBER: _ClassVar[int]
    PRESENCE_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    VIOLATIONS_FIELD_NUMBER: _ClassVar[int]
    PIECES_FIELD_NUMBER: _ClassVar[int]
    ISSUED_FIELD_NUMBER: _ClassVar[int]
    NEAREST_FIELD_NUMBER: _ClassVar[int]
    STALE_FIELD_NUMBER: _ClassVar[int]
    call_id: str
    kind: CallKind
    run: bool
    verdict: Verdict
    tool: _common_pb2.ToolRef
    arguments: bytes
    presence: Presence
    reason: Reason
    violations: _containers.RepeatedCompositeFieldContainer[_common_pb2.Violation]
    pieces: _containers.RepeatedCompositeFieldContainer[Piece]
    issued: _containers.RepeatedCompositeFieldContainer[Offer]
    nearest: _containers.RepeatedScalarFieldContainer[str]
    stale: StaleVersion
    def __init__(self, call_id: _Optional[str] = ..., kind: _Optional[_Union[CallKind, str]] = ..., run: bool = ..., verdict: _Optional[_Union[Verdict, str]] = ..., tool: _Optional[_Union[_common_pb2.ToolRef, _Mapping]] = ..., arguments: _Optional[bytes] = ..., presence: _Optional[_Union[Presence, str]] = ..., reason: _Optional[_Union[Reason, str]] = ..., violations: _Optional[_Iterable[_Union[_common_pb2.Violation, _Mapping]]] = ..., pieces: _Optional[_Iterable[_Union[Piece, _Mapping]]] = ..., issued: _Optional[_Iterable[_Union[Offer, _Mapping]]] = ..., nearest: _Optional[_Iterable[str]] = ..., stale: _Optional[_Union[StaleVersion, _Mapping]] = ...) -> None: ...

class StaleVersion(_message.Message):
    __slots__ = ("current_version", "arguments_fit")
    CURRENT_VERSION_FIELD_NUMBER: _ClassVar[int]
    ARGUMENTS_FIT_FIELD_NUMBER: _ClassVar[int]
    current_version: int
    arguments_fit: bool
    def __init__(self, current_version: _Optional[int] = ..., arguments_fit: bool = ...) -> None: ...

class ValidateCallsResponse(_message.Message):
    __slots__ = ("calls",)
    CALLS_FIELD_NUMBER: _ClassVar[int]
    calls: _containers.RepeatedCompositeFieldContainer[CheckedCall]
    def __init__(self, calls: _Optional[_Iterable[_Union[CheckedCall, _Mapping]]] = ...) -> None: ...

class Outcome(_message.Message):
    __slots__ = ("call_id", "step_id", "name", "ending", "message", "duration", "retry_of", "arguments", "verdict", "judge")
    CALL_ID_FIELD_NUMBER: _ClassVar[int]
    STEP_ID_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    ENDING_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    DURATION_FIELD_NUMBER: _ClassVar[int]
    RETRY_OF_FIELD_NUMBER: _ClassVar[int]
    ARGUMENTS_FIELD_NUMBER: _ClassVar[int]
    VERDICT_FIELD_NUMBER: _ClassVar[int]
    JUDGE_FIELD_NUMBER: _ClassVar[int]
    call_id: str
    step_id: str
    name: str
    ending: Ending
    message: str
    duration: _duration_pb2.Duration
    retry_of: str
    arguments: bytes
    verdict: Verdict
    judge: Judge
    def __init__(self, call_id: _Optional[str] = ..., step_id: _Optional[str] = ..., name: _Optional[str] = ..., ending: _Optional[_Union[Ending, str]] = ..., message: _Optional[str] = ..., duration: _Optional[_Union[_duration_pb2.Duration, _Mapping]] = ..., retry_of: _Optional[str] = ..., arguments: _Optional[bytes] = ..., verdict: _Optional[_Union[Verdict, str]] = ..., judge: _Optional[_Union[Judge, str]] = ...) -> None: ...

class OutcomeAck(_message.Message):
    __slots__ = ("call_id", "result", "presence")
    CALL_ID_FIELD_NUMBER: _ClassVar[int]
    RESULT_FIELD_NUMBER: _ClassVar[int]
    PRESENCE_FIELD_NUMBER: _ClassVar[int]
    call_id: str
    result: OutcomeResult
    presence: Presence
    def __init__(self, call_id: _Optional[str] = ..., result: _Optional[_Union[OutcomeResult, str]] = ..., presence: _Optional[_Union[Presence, str]] = ...) -> None: ...

class ReportOutcomesRequest(_message.Message):
    __slots__ = ("namespace", "session_id", "outcomes", "endings", "usage", "durable")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    SESSION_ID_FIELD_NUMBER: _ClassVar[int]
    OUTCOMES_FIELD_NUMBER: _ClassVar[int]
    ENDINGS_FIELD_NUMBER: _ClassVar[int]
    USAGE_FIELD_NUMBER: _ClassVar[int]
    DURABLE_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    session_id: str
    outcomes: _containers.RepeatedCompositeFieldContainer[Outcome]
    endings: _containers.RepeatedCompositeFieldContainer[StepEnding]
    usage: Usage
    durable: bool
    def __init__(self, namespace: _Optional[str] = ..., session_id: _Optional[str] = ..., outcomes: _Optional[_Iterable[_Union[Outcome, _Mapping]]] = ..., endings: _Optional[_Iterable[_Union[StepEnding, _Mapping]]] = ..., usage: _Optional[_Union[Usage, _Mapping]] = ..., durable: bool = ...) -> None: ...

class ReportOutcomesResponse(_message.Message):
    __slots__ = ("acks", "durable")
    ACKS_FIELD_NUMBER: _ClassVar[int]
    DURABLE_FIELD_NUMBER: _ClassVar[int]
    acks: _containers.RepeatedCompositeFieldContainer[OutcomeAck]
    durable: bool
    def __init__(self, acks: _Optional[_Iterable[_Union[OutcomeAck, _Mapping]]] = ..., durable: bool = ...) -> None: ...

class RefreshSessionRequest(_message.Message):
    __slots__ = ("namespace", "session_id", "generation", "present")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    SESSION_ID_FIELD_NUMBER: _ClassVar[int]
    GENERATION_FIELD_NUMBER: _ClassVar[int]
    PRESENT_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    session_id: str
    generation: int
    present: Present
    def __init__(self, namespace: _Optional[str] = ..., session_id: _Optional[str] = ..., generation: _Optional[int] = ..., present: _Optional[_Union[Present, _Mapping]] = ...) -> None: ...

class RefreshSessionResponse(_message.Message):
    __slots__ = ("block", "taken", "durable")
    BLOCK_FIELD_NUMBER: _ClassVar[int]
    TAKEN_FIELD_NUMBER: _ClassVar[int]
    DURABLE_FIELD_NUMBER: _ClassVar[int]
    block: Block
    taken: _containers.RepeatedCompositeFieldContainer[PendingChange]
    durable: bool
    def __init__(self, block: _Optional[_Union[Block, _Mapping]] = ..., taken: _Optional[_Iterable[_Union[PendingChange, _Mapping]]] = ..., durable: bool = ...) -> None: ...

class PendingChange(_message.Message):
    __slots__ = ("name", "kind", "detail")
    NAME_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    DETAIL_FIELD_NUMBER: _ClassVar[int]
    name: str
    kind: ChangeKind
    detail: str
    def __init__(self, name: _Optional[str] = ..., kind: _Optional[_Union[ChangeKind, str]] = ..., detail: _Optional[str] = ...) -> None: ...

class SessionRecord(_message.Message):
    __slots__ = ("session_id", "format", "delivery", "model", "parent_session_id", "generation", "block_digest", "steps", "calls", "open_time", "expire_time", "end_time", "end")
    SESSION_ID_FIELD_NUMBER: _ClassVar[int]
    FORMAT_FIELD_NUMBER: _ClassVar[int]
    DELIVERY_FIELD_NUMBER: _ClassVar[int]
    MODEL_FIELD_NUMBER: _ClassVar[int]
    PARENT_SESSION_ID_FIELD_NUMBER: _ClassVar[int]
    GENERATION_FIELD_NUMBER: _ClassVar[int]
    BLOCK_DIGEST_FIELD_NUMBER: _ClassVar[int]
    STEPS_FIELD_NUMBER: _ClassVar[int]
    CALLS_FIELD_NUMBER: _ClassVar[int]
    OPEN_TIME_FIELD_NUMBER: _ClassVar[int]
    EXPIRE_TIME_FIELD_NUMBER: _ClassVar[int]
    END_TIME_FIELD_NUMBER: _ClassVar[int]
    END_FIELD_NUMBER: _ClassVar[int]
    session_id: str
    format: Format
    delivery: Delivery
    model: str
    parent_session_id: str
    generation: int
    block_digest: str
    steps: int
    calls: int
    open_time: _timestamp_pb2.Timestamp
    expire_time: _timestamp_pb2.Timestamp
    end_time: _timestamp_pb2.Timestamp
    end: SessionEnd
    def __init__(self, session_id: _Optional[str] = ..., format: _Optional[_Union[Format, str]] = ..., delivery: _Optional[_Union[Delivery, str]] = ..., model: _Optional[str] = ..., parent_session_id: _Optional[str] = ..., generation: _Optional[int] = ..., block_digest: _Optional[str] = ..., steps: _Optional[int] = ..., calls: _Optional[int] = ..., open_time: _Optional[_Union[_timestamp_pb2.Timestamp, _Mapping]] = ..., expire_time: _Optional[_Union[_timestamp_pb2.Timestamp, _Mapping]] = ..., end_time: _Optional[_Union[_timestamp_pb2.Timestamp, _Mapping]] = ..., end: _Optional[_Union[SessionEnd, str]] = ...) -> None: ...

class GetSessionRequest(_message.Message):
    __slots__ = ("namespace", "session_id", "ended")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    SESSION_ID_FIELD_NUMBER: _ClassVar[int]
    ENDED_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    session_id: str
    ended: bool
    def __init__(self, namespace: _Optional[str] = ..., session_id: _Optional[str] = ..., ended: bool = ...) -> None: ...

class SessionFinding(_message.Message):
    __slots__ = ("text", "since_time")
    TEXT_FIELD_NUMBER: _ClassVar[int]
    SINCE_TIME_FIELD_NUMBER: _ClassVar[int]
    text: str
    since_time: _timestamp_pb2.Timestamp
    def __init__(self, text: _Optional[str] = ..., since_time: _Optional[_Union[_timestamp_pb2.Timestamp, _Mapping]] = ...) -> None: ...

class MissedTool(_message.Message):
    __slots__ = ("name", "tool", "absent", "unavailable", "reason", "state", "state_since", "step_id", "time")
    NAME_FIELD_NUMBER: _ClassVar[int]
    TOOL_FIELD_NUMBER: _ClassVar[int]
    ABSENT_FIELD_NUMBER: _ClassVar[int]
    UNAVAILABLE_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    STATE_SINCE_FIELD_NUMBER: _ClassVar[int]
    STEP_ID_FIELD_NUMBER: _ClassVar[int]
    TIME_FIELD_NUMBER: _ClassVar[int]
    name: str
    tool: _common_pb2.ToolRef
    absent: int
    unavailable: int
    reason: Reason
    state: _common_pb2.ToolState
    state_since: _timestamp_pb2.Timestamp
    step_id: str
    time: _timestamp_pb2.Timestamp
    def __init__(self, name: _Optional[str] = ..., tool: _Optional[_Union[_common_pb2.ToolRef, _Mapping]] = ..., absent: _Optional[int] = ..., unavailable: _Optional[int] = ..., reason: _Optional[_Union[Reason, str]] = ..., state: _Optional[_Union[_common_pb2.ToolState, str]] = ..., state_since: _Optional[_Union[_timestamp_pb2.Timestamp, _Mapping]] = ..., step_id: _Optional[str] = ..., time: _Optional[_Union[_timestamp_pb2.Timestamp, _Mapping]] = ...) -> None: ...

class IssuedTool(_message.Message):
    __slots__ = ("name", "tool", "origin")
    NAME_FIELD_NUMBER: _ClassVar[int]
    TOOL_FIELD_NUMBER: _ClassVar[int]
    ORIGIN_FIELD_NUMBER: _ClassVar[int]
    name: str
    tool: _common_pb2.ToolRef
    origin: Origin
    def __init__(self, name: _Optional[str] = ..., tool: _Optional[_Union[_common_pb2.ToolRef, _Mapping]] = ..., origin: _Optional[_Union[Origin, str]] = ...) -> None: ...

class CallRecord(_message.Message):
    __slots__ = ("call_id", "name", "tool", "presence", "verdict", "reason", "counted", "ending")
    CALL_ID_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    TOOL_FIELD_NUMBER: _ClassVar[int]
    PRESENCE_FIELD_NUMBER: _ClassVar[int]
    VERDICT_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    COUNTED_FIELD_NUMBER: _ClassVar[int]
    ENDING_FIELD_NUMBER: _ClassVar[int]
    call_id: str
    name: str
    tool: _common_pb2.ToolRef
    presence: Presence
    verdict: Verdict
    reason: Reason
    counted: bool
    ending: Ending
    def __init__(self, call_id: _Optional[str] = ..., name: _Optional[str] = ..., tool: _Optional[_Union[_common_pb2.ToolRef, _Mapping]] = ..., presence: _Optional[_Union[Presence, str]] = ..., verdict: _Optional[_Union[Verdict, str]] = ..., reason: _Optional[_Union[Reason, str]] = ..., counted: bool = ..., ending: _Optional[_Union[Ending, str]] = ...) -> None: ...

class StepRecord(_message.Message):
    __slots__ = ("step_id", "time", "result", "matched", "issued", "tokens", "calls", "requests", "end", "cache_break")
    STEP_ID_FIELD_NUMBER: _ClassVar[int]
    TIME_FIELD_NUMBER: _ClassVar[int]
    RESULT_FIELD_NUMBER: _ClassVar[int]
    MATCHED_FIELD_NUMBER: _ClassVar[int]
    ISSUED_FIELD_NUMBER: _ClassVar[int]
    TOKENS_FIELD_NUMBER: _ClassVar[int]
    CALLS_FIELD_NUMBER: _ClassVar[int]
    REQUESTS_FIELD_NUMBER: _ClassVar[int]
    END_FIELD_NUMBER: _ClassVar[int]
    CACHE_BREAK_FIELD_NUMBER: _ClassVar[int]
    step_id: str
    time: _timestamp_pb2.Timestamp
    result: PlanResult
    matched: int
    issued: _containers.RepeatedCompositeFieldContainer[IssuedTool]
    tokens: Tokens
    calls: _containers.RepeatedCompositeFieldContainer[CallRecord]
    requests: _containers.RepeatedScalarFieldContainer[RequestResult]
    end: StepEnd
    cache_break: _stats_pb2.CacheBreak
    def __init__(self, step_id: _Optional[str] = ..., time: _Optional[_Union[_timestamp_pb2.Timestamp, _Mapping]] = ..., result: _Optional[_Union[PlanResult, str]] = ..., matched: _Optional[int] = ..., issued: _Optional[_Iterable[_Union[IssuedTool, _Mapping]]] = ..., tokens: _Optional[_Union[Tokens, _Mapping]] = ..., calls: _Optional[_Iterable[_Union[CallRecord, _Mapping]]] = ..., requests: _Optional[_Iterable[_Union[RequestResult, str]]] = ..., end: _Optional[_Union[StepEnd, str]] = ..., cache_break: _Optional[_Union[_stats_pb2.CacheBreak, str]] = ...) -> None: ...

class SessionHistory(_message.Message):
    __slots__ = ("findings", "plans", "plans_without_call", "calls", "selections", "requests", "unavailable", "cache_breaks", "missed", "steps")
    FINDINGS_FIELD_NUMBER: _ClassVar[int]
    PLANS_FIELD_NUMBER: _ClassVar[int]
    PLANS_WITHOUT_CALL_FIELD_NUMBER: _ClassVar[int]
    CALLS_FIELD_NUMBER: _ClassVar[int]
    SELECTIONS_FIELD_NUMBER: _ClassVar[int]
    REQUESTS_FIELD_NUMBER: _ClassVar[int]
    UNAVAILABLE_FIELD_NUMBER: _ClassVar[int]
    CACHE_BREAKS_FIELD_NUMBER: _ClassVar[int]
    MISSED_FIELD_NUMBER: _ClassVar[int]
    STEPS_FIELD_NUMBER: _ClassVar[int]
    findings: _containers.RepeatedCompositeFieldContainer[SessionFinding]
    plans: _stats_pb2.PlanFigures
    plans_without_call: _stats_pb2.StepEndFigures
    calls: _stats_pb2.CallFigures
    selections: _stats_pb2.SelectionFigures
    requests: _stats_pb2.RequestFigures
    unavailable: _stats_pb2.ToolStateFigures
    cache_breaks: _stats_pb2.CacheBreakFigures
    missed: _containers.RepeatedCompositeFieldContainer[MissedTool]
    steps: _containers.RepeatedCompositeFieldContainer[StepRecord]
    def __init__(self, findings: _Optional[_Iterable[_Union[SessionFinding, _Mapping]]] = ..., plans: _Optional[_Union[_stats_pb2.PlanFigures, _Mapping]] = ..., plans_without_call: _Optional[_Union[_stats_pb2.StepEndFigures, _Mapping]] = ..., calls: _Optional[_Union[_stats_pb2.CallFigures, _Mapping]] = ..., selections: _Optional[_Union[_stats_pb2.SelectionFigures, _Mapping]] = ..., requests: _Optional[_Union[_stats_pb2.RequestFigures, _Mapping]] = ..., unavailable: _Optional[_Union[_stats_pb2.ToolStateFigures, _Mapping]] = ..., cache_breaks: _Optional[_Union[_stats_pb2.CacheBreakFigures, _Mapping]] = ..., missed: _Optional[_Iterable[_Union[MissedTool, _Mapping]]] = ..., steps: _Optional[_Iterable[_Union[StepRecord, _Mapping]]] = ...) -> None: ...

class GetSessionResponse(_message.Message):
    __slots__ = ("session", "block", "present", "pending", "tokens", "distinct_blocks", "history", "on_demand_budget", "on_demand_left")
    SESSION_FIELD_NUMBER: _ClassVar[int]
    BLOCK_FIELD_NUMBER: _ClassVar[int]
    PRESENT_FIELD_NUMBER: _ClassVar[int]
    PENDING_FIELD_NUMBER: _ClassVar[int]
    TOKENS_FIELD_NUMBER: _ClassVar[int]
    DISTINCT_BLOCKS_FIELD_NUMBER: _ClassVar[int]
    HISTORY_FIELD_NUMBER: _ClassVar[int]
    ON_DEMAND_BUDGET_FIELD_NUMBER: _ClassVar[int]
    ON_DEMAND_LEFT_FIELD_NUMBER: _ClassVar[int]
    session: SessionRecord
    block: Block
    present: _containers.RepeatedCompositeFieldContainer[Offer]
    pending: _containers.RepeatedCompositeFieldContainer[PendingChange]
    tokens: Tokens
    distinct_blocks: int
    history: SessionHistory
    on_demand_budget: int
    on_demand_left: int
    def __init__(self, session: _Optional[_Union[SessionRecord, _Mapping]] = ..., block: _Optional[_Union[Block, _Mapping]] = ..., present: _Optional[_Iterable[_Union[Offer, _Mapping]]] = ..., pending: _Optional[_Iterable[_Union[PendingChange, _Mapping]]] = ..., tokens: _Optional[_Union[Tokens, _Mapping]] = ..., distinct_blocks: _Optional[int] = ..., history: _Optional[_Union[SessionHistory, _Mapping]] = ..., on_demand_budget: _Optional[int] = ..., on_demand_left: _Optional[int] = ...) -> None: ...

class ExplainRequest(_message.Message):
    __slots__ = ("namespace", "session_id", "query", "name", "present", "max_tools", "max_tokens", "limit")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    SESSION_ID_FIELD_NUMBER: _ClassVar[int]
    QUERY_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    PRESENT_FIELD_NUMBER: _ClassVar[int]
    MAX_TOOLS_FIELD_NUMBER: _ClassVar[int]
    MAX_TOKENS_FIELD_NUMBER: _ClassVar[int]
    LIMIT_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    session_id: str
    query: Query
    name: str
    present: Present
    max_tools: int
    max_tokens: int
    limit: int
    def __init__(self, namespace: _Optional[str] = ..., session_id: _Optional[str] = ..., query: _Optional[_Union[Query, _Mapping]] = ..., name: _Optional[str] = ..., present: _Optional[_Union[Present, _Mapping]] = ..., max_tools: _Optional[int] = ..., max_tokens: _Optional[int] = ..., limit: _Optional[int] = ...) -> None: ...

class ScorePart(_message.Message):
    __slots__ = ("name", "value")
    NAME_FIELD_NUMBER: _ClassVar[int]
    VALUE_FIELD_NUMBER: _ClassVar[int]
    name: str
    value: float
    def __init__(self, name: _Optional[str] = ..., value: _Optional[float] = ...) -> None: ...

class Standing(_message.Message):
    __slots__ = ("name", "tool", "rank", "score", "parts", "words", "tokens", "fate", "reason", "detail", "next_step", "last_transition")
    NAME_FIELD_NUMBER: _ClassVar[int]
    TOOL_FIELD_NUMBER: _ClassVar[int]
    RANK_FIELD_NUMBER: _ClassVar[int]
    SCORE_FIELD_NUMBER: _ClassVar[int]
    PARTS_FIELD_NUMBER: _ClassVar[int]
    WORDS_FIELD_NUMBER: _ClassVar[int]
    TOKENS_FIELD_NUMBER: _ClassVar[int]
    FATE_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    DETAIL_FIELD_NUMBER: _ClassVar[int]
    NEXT_STEP_FIELD_NUMBER: _ClassVar[int]
    LAST_TRANSITION_FIELD_NUMBER: _ClassVar[int]
    name: str
    tool: _common_pb2.ToolRef
    rank: int
    score: float
    parts: _containers.RepeatedCompositeFieldContainer[ScorePart]
    words: _containers.RepeatedScalarFieldContainer[str]
    tokens: int
    fate: Fate
    reason: Reason
    detail: str
    next_step: str
    last_transition: _registry_pb2.Transition
    def __init__(self, name: _Optional[str] = ..., tool: _Optional[_Union[_common_pb2.ToolRef, _Mapping]] = ..., rank: _Optional[int] = ..., score: _Optional[float] = ..., parts: _Optional[_Iterable[_Union[ScorePart, _Mapping]]] = ..., words: _Optional[_Iterable[str]] = ..., tokens: _Optional[int] = ..., fate: _Optional[_Union[Fate, str]] = ..., reason: _Optional[_Union[Reason, str]] = ..., detail: _Optional[str] = ..., next_step: _Optional[str] = ..., last_transition: _Optional[_Union[_registry_pb2.Transition, _Mapping]] = ...) -> None: ...

class StepBudget(_message.Message):
    __slots__ = ("window", "most", "held", "left")
    WINDOW_FIELD_NUMBER: _ClassVar[int]
    MOST_FIELD_NUMBER: _ClassVar[int]
    HELD_FIELD_NUMBER: _ClassVar[int]
    LEFT_FIELD_NUMBER: _ClassVar[int]
    window: int
    most: int
    held: int
    left: int
    def __init__(self, window: _Optional[int] = ..., most: _Optional[int] = ..., held: _Optional[int] = ..., left: _Optional[int] = ...) -> None: ...

class ExclusionCount(_message.Message):
    __slots__ = ("reason", "tools", "matching")
    REASON_FIELD_NUMBER: _ClassVar[int]
    TOOLS_FIELD_NUMBER: _ClassVar[int]
    MATCHING_FIELD_NUMBER: _ClassVar[int]
    reason: Reason
    tools: int
    matching: int
    def __init__(self, reason: _Optional[_Union[Reason, str]] = ..., tools: _Optional[int] = ..., matching: _Optional[int] = ...) -> None: ...

class PastIssue(_message.Message):
    __slots__ = ("step_id", "call_id", "name", "tool", "origin", "score")
    STEP_ID_FIELD_NUMBER: _ClassVar[int]
    CALL_ID_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    TOOL_FIELD_NUMBER: _ClassVar[int]
    ORIGIN_FIELD_NUMBER: _ClassVar[int]
    SCORE_FIELD_NUMBER: _ClassVar[int]
    step_id: str
    call_id: str
    name: str
    tool: _common_pb2.ToolRef
    origin: Origin
    score: float
    def __init__(self, step_id: _Optional[str] = ..., call_id: _Optional[str] = ..., name: _Optional[str] = ..., tool: _Optional[_Union[_common_pb2.ToolRef, _Mapping]] = ..., origin: _Optional[_Union[Origin, str]] = ..., score: _Optional[float] = ...) -> None: ...

class ExplainResponse(_message.Message):
    __slots__ = ("result", "pass_through", "issued", "budget", "top_m", "tools", "candidates", "matching", "exclusions", "standings", "named", "nearest", "past")
    RESULT_FIELD_NUMBER: _ClassVar[int]
    PASS_THROUGH_FIELD_NUMBER: _ClassVar[int]
    ISSUED_FIELD_NUMBER: _ClassVar[int]
    BUDGET_FIELD_NUMBER: _ClassVar[int]
    TOP_M_FIELD_NUMBER: _ClassVar[int]
    TOOLS_FIELD_NUMBER: _ClassVar[int]
    CANDIDATES_FIELD_NUMBER: _ClassVar[int]
    MATCHING_FIELD_NUMBER: _ClassVar[int]
    EXCLUSIONS_FIELD_NUMBER: _ClassVar[int]
    STANDINGS_FIELD_NUMBER: _ClassVar[int]
    NAMED_FIELD_NUMBER: _ClassVar[int]
    NEAREST_FIELD_NUMBER: _ClassVar[int]
    PAST_FIELD_NUMBER: _ClassVar[int]
    result: PlanResult
    pass_through: bool
    issued: _containers.RepeatedCompositeFieldContainer[Offer]
    budget: StepBudget
    top_m: int
    tools: int
    candidates: int
    matching: int
    exclusions: _containers.RepeatedCompositeFieldContainer[ExclusionCount]
    standings: _containers.RepeatedCompositeFieldContainer[Standing]
    named: _containers.RepeatedCompositeFieldContainer[Standing]
    nearest: _containers.RepeatedScalarFieldContainer[str]
    past: _containers.RepeatedCompositeFieldContainer[PastIssue]
    def __init__(self, result: _Optional[_Union[PlanResult, str]] = ..., pass_through: bool = ..., issued: _Optional[_Iterable[_Union[Offer, _Mapping]]] = ..., budget: _Optional[_Union[StepBudget, _Mapping]] = ..., top_m: _Optional[int] = ..., tools: _Optional[int] = ..., candidates: _Optional[int] = ..., matching: _Optional[int] = ..., exclusions: _Optional[_Iterable[_Union[ExclusionCount, _Mapping]]] = ..., standings: _Optional[_Iterable[_Union[Standing, _Mapping]]] = ..., named: _Optional[_Iterable[_Union[Standing, _Mapping]]] = ..., nearest: _Optional[_Iterable[str]] = ..., past: _Optional[_Iterable[_Union[PastIssue, _Mapping]]] = ...) -> None: ...

class ListSessionsRequest(_message.Message):
    __slots__ = ("namespace", "page_size", "page_token")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    PAGE_SIZE_FIELD_NUMBER: _ClassVar[int]
    PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    page_size: int
    page_token: str
    def __init__(self, namespace: _Optional[str] = ..., page_size: _Optional[int] = ..., page_token: _Optional[str] = ...) -> None: ...

class ListSessionsResponse(_message.Message):
    __slots__ = ("sessions", "next_page_token", "total_size")
    SESSIONS_FIELD_NUMBER: _ClassVar[int]
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    TOTAL_SIZE_FIELD_NUMBER: _ClassVar[int]
    sessions: _containers.RepeatedCompositeFieldContainer[SessionRecord]
    next_page_token: str
    total_size: int
    def __init__(self, sessions: _Optional[_Iterable[_Union[SessionRecord, _Mapping]]] = ..., next_page_token: _Optional[str] = ..., total_size: _Optional[int] = ...) -> None: ...

class CloseSessionRequest(_message.Message):
    __slots__ = ("namespace", "session_id", "outcomes", "endings")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    SESSION_ID_FIELD_NUMBER: _ClassVar[int]
    OUTCOMES_FIELD_NUMBER: _ClassVar[int]
    ENDINGS_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    session_id: str
    outcomes: _containers.RepeatedCompositeFieldContainer[Outcome]
    endings: _containers.RepeatedCompositeFieldContainer[StepEnding]
    def __init__(self, namespace: _Optional[str] = ..., session_id: _Optional[str] = ..., outcomes: _Optional[_Iterable[_Union[Outcome, _Mapping]]] = ..., endings: _Optional[_Iterable[_Union[StepEnding, _Mapping]]] = ...) -> None: ...

class CloseSessionResponse(_message.Message):
    __slots__ = ("acks", "durable")
    ACKS_FIELD_NUMBER: _ClassVar[int]
    DURABLE_FIELD_NUMBER: _ClassVar[int]
    acks: _containers.RepeatedCompositeFieldContainer[OutcomeAck]
    durable: bool
    def __init__(self, acks: _Optional[_Iterable[_Union[OutcomeAck, _Mapping]]] = ..., durable: bool = ...) -> None: ...

class EraseSessionRequest(_message.Message):
    __slots__ = ("namespace", "session_id")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    SESSION_ID_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    session_id: str
    def __init__(self, namespace: _Optional[str] = ..., session_id: _Optional[str] = ...) -> None: ...

class EraseSessionResponse(_message.Message):
    __slots__ = ("erased_as", "queries", "records", "rewritten")
    ERASED_AS_FIELD_NUMBER: _ClassVar[int]
    QUERIES_FIELD_NUMBER: _ClassVar[int]
    RECORDS_FIELD_NUMBER: _ClassVar[int]
    REWRITTEN_FIELD_NUMBER: _ClassVar[int]
    erased_as: str
    queries: int
    records: int
    rewritten: bool
    def __init__(self, erased_as: _Optional[str] = ..., queries: _Optional[int] = ..., records: _Optional[int] = ..., rewritten: bool = ...) -> None: ...

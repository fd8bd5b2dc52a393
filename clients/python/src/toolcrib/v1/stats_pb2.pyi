from google.protobuf import duration_pb2 as _duration_pb2
from google.protobuf import timestamp_pb2 as _timestamp_pb2
from toolcrib.v1 import common_pb2 as _common_pb2
from toolcrib.v1 import watch_pb2 as _watch_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from typing import ClassVar as _ClassVar, Iterable as _Iterable, Mapping as _Mapping, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class CacheBreak(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    CACHE_BREAK_UNSPECIFIED: _ClassVar[CacheBreak]
    CACHE_BREAK_TOOLS: _ClassVar[CacheBreak]
    CACHE_BREAK_OTHER: _ClassVar[CacheBreak]
    CACHE_BREAK_EXPIRED: _ClassVar[CacheBreak]
    CACHE_BREAK_UNKNOWN: _ClassVar[CacheBreak]

class ToolOrder(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    TOOL_ORDER_UNSPECIFIED: _ClassVar[ToolOrder]
    TOOL_ORDER_CALLS: _ClassVar[ToolOrder]
    TOOL_ORDER_HEAT: _ClassVar[ToolOrder]
    TOOL_ORDER_FAILURES: _ClassVar[ToolOrder]
    TOOL_ORDER_ABSENT: _ClassVar[ToolOrder]
    TOOL_ORDER_DENSITY: _ClassVar[ToolOrder]
    TOOL_ORDER_NAME: _ClassVar[ToolOrder]

class ExportKind(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    EXPORT_KIND_UNSPECIFIED: _ClassVar[ExportKind]
    EXPORT_KIND_EVENTS: _ClassVar[ExportKind]
    EXPORT_KIND_DEMAND: _ClassVar[ExportKind]
CACHE_BREAK_UNSPECIFIED: CacheBreak
CACHE_BREAK_TOOLS: CacheBreak
CACHE_BREAK_OTHER: CacheBreak
CACHE_BREAK_EXPIRED: CacheBreak
CACHE_BREAK_UNKNOWN: CacheBreak
TOOL_ORDER_UNSPECIFIED: ToolOrder
TOOL_ORDER_CALLS: ToolOrder
TOOL_ORDER_HEAT: ToolOrder
TOOL_ORDER_FAILURES: ToolOrder
TOOL_ORDER_ABSENT: ToolOrder
TOOL_ORDER_DENSITY: ToolOrder
TOOL_ORDER_NAME: ToolOrder
EXPORT_KIND_UNSPECIFIED: ExportKind
EXPORT_KIND_EVENTS: ExportKind
EXPORT_KIND_DEMAND: ExportKind

class GetStatsRequest(_message.Message):
    __slots__ = ("namespace", "top")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    TOP_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    top: int
    def __init__(self, namespace: _Optional[str] = ..., top: _Optional[int] = ...) -> None: ...

class CallFigures(_message.Message):
    __slots__ = ("resident", "issued", "recalled", "absent", "unknown")
    RESIDENT_FIELD_NUMBER: _ClassVar[int]
    ISSUED_FIELD_NUMBER: _ClassVar[int]
    RECALLED_FIELD_NUMBER: _ClassVar[int]
    ABSENT_FIELD_NUMBER: _ClassVar[int]
    UNKNOWN_FIELD_NUMBER: _ClassVar[int]
    resident: int
    issued: int
    recalled: int
    absent: int
    unknown: int
    def __init__(self, resident: _Optional[int] = ..., issued: _Optional[int] = ..., recalled: _Optional[int] = ..., absent: _Optional[int] = ..., unknown: _Optional[int] = ...) -> None: ...

class SelectionFigures(_message.Message):
    __slots__ = ("right", "wrong_tool", "unknown_tool", "unavailable", "invalid_arguments", "unjudged")
    RIGHT_FIELD_NUMBER: _ClassVar[int]
    WRONG_TOOL_FIELD_NUMBER: _ClassVar[int]
    UNKNOWN_TOOL_FIELD_NUMBER: _ClassVar[int]
    UNAVAILABLE_FIELD_NUMBER: _ClassVar[int]
    INVALID_ARGUMENTS_FIELD_NUMBER: _ClassVar[int]
    UNJUDGED_FIELD_NUMBER: _ClassVar[int]
    right: int
    wrong_tool: int
    unknown_tool: int
    unavailable: int
    invalid_arguments: int
    unjudged: int
    def __init__(self, right: _Optional[int] = ..., wrong_tool: _Optional[int] = ..., unknown_tool: _Optional[int] = ..., unavailable: _Optional[int] = ..., invalid_arguments: _Optional[int] = ..., unjudged: _Optional[int] = ...) -> None: ...

class TokenFigures(_message.Message):
    __slots__ = ("directory", "resident", "issued", "meta", "window", "everything")
    DIRECTORY_FIELD_NUMBER: _ClassVar[int]
    RESIDENT_FIELD_NUMBER: _ClassVar[int]
    ISSUED_FIELD_NUMBER: _ClassVar[int]
    META_FIELD_NUMBER: _ClassVar[int]
    WINDOW_FIELD_NUMBER: _ClassVar[int]
    EVERYTHING_FIELD_NUMBER: _ClassVar[int]
    directory: int
    resident: int
    issued: int
    meta: int
    window: int
    everything: int
    def __init__(self, directory: _Optional[int] = ..., resident: _Optional[int] = ..., issued: _Optional[int] = ..., meta: _Optional[int] = ..., window: _Optional[int] = ..., everything: _Optional[int] = ...) -> None: ...

class PlanFigures(_message.Message):
    __slots__ = ("issued", "present_suffices", "nothing_found", "no_query", "degraded")
    ISSUED_FIELD_NUMBER: _ClassVar[int]
    PRESENT_SUFFICES_FIELD_NUMBER: _ClassVar[int]
    NOTHING_FOUND_FIELD_NUMBER: _ClassVar[int]
    NO_QUERY_FIELD_NUMBER: _ClassVar[int]
    DEGRADED_FIELD_NUMBER: _ClassVar[int]
    issued: int
    present_suffices: int
    nothing_found: int
    no_query: int
    degraded: int
    def __init__(self, issued: _Optional[int] = ..., present_suffices: _Optional[int] = ..., nothing_found: _Optional[int] = ..., no_query: _Optional[int] = ..., degraded: _Optional[int] = ...) -> None: ...

class StepEndFigures(_message.Message):
    __slots__ = ("answered", "gave_up", "asked_user", "unknown")
    ANSWERED_FIELD_NUMBER: _ClassVar[int]
    GAVE_UP_FIELD_NUMBER: _ClassVar[int]
    ASKED_USER_FIELD_NUMBER: _ClassVar[int]
    UNKNOWN_FIELD_NUMBER: _ClassVar[int]
    answered: int
    gave_up: int
    asked_user: int
    unknown: int
    def __init__(self, answered: _Optional[int] = ..., gave_up: _Optional[int] = ..., asked_user: _Optional[int] = ..., unknown: _Optional[int] = ...) -> None: ...

class RequestFigures(_message.Message):
    __slots__ = ("exact", "near", "retrieved", "already_present", "own", "unavailable", "retired", "not_found")
    EXACT_FIELD_NUMBER: _ClassVar[int]
    NEAR_FIELD_NUMBER: _ClassVar[int]
    RETRIEVED_FIELD_NUMBER: _ClassVar[int]
    ALREADY_PRESENT_FIELD_NUMBER: _ClassVar[int]
    OWN_FIELD_NUMBER: _ClassVar[int]
    UNAVAILABLE_FIELD_NUMBER: _ClassVar[int]
    RETIRED_FIELD_NUMBER: _ClassVar[int]
    NOT_FOUND_FIELD_NUMBER: _ClassVar[int]
    exact: int
    near: int
    retrieved: int
    already_present: int
    own: int
    unavailable: int
    retired: int
    not_found: int
    def __init__(self, exact: _Optional[int] = ..., near: _Optional[int] = ..., retrieved: _Optional[int] = ..., already_present: _Optional[int] = ..., own: _Optional[int] = ..., unavailable: _Optional[int] = ..., retired: _Optional[int] = ..., not_found: _Optional[int] = ...) -> None: ...

class RerankFigures(_message.Message):
    __slots__ = ("changed", "unchanged", "swapped_in")
    CHANGED_FIELD_NUMBER: _ClassVar[int]
    UNCHANGED_FIELD_NUMBER: _ClassVar[int]
    SWAPPED_IN_FIELD_NUMBER: _ClassVar[int]
    changed: int
    unchanged: int
    swapped_in: int
    def __init__(self, changed: _Optional[int] = ..., unchanged: _Optional[int] = ..., swapped_in: _Optional[int] = ...) -> None: ...

class ToolStateFigures(_message.Message):
    __slots__ = ("active", "quarantined", "probation", "held", "pending", "withdrawn", "retired")
    ACTIVE_FIELD_NUMBER: _ClassVar[int]
    QUARANTINED_FIELD_NUMBER: _ClassVar[int]
    PROBATION_FIELD_NUMBER: _ClassVar[int]
    HELD_FIELD_NUMBER: _ClassVar[int]
    PENDING_FIELD_NUMBER: _ClassVar[int]
    WITHDRAWN_FIELD_NUMBER: _ClassVar[int]
    RETIRED_FIELD_NUMBER: _ClassVar[int]
    active: int
    quarantined: int
    probation: int
    held: int
    pending: int
    withdrawn: int
    retired: int
    def __init__(self, active: _Optional[int] = ..., quarantined: _Optional[int] = ..., probation: _Optional[int] = ..., held: _Optional[int] = ..., pending: _Optional[int] = ..., withdrawn: _Optional[int] = ..., retired: _Optional[int] = ...) -> None: ...

class TransitionCount(_message.Message):
    __slots__ = ("new_state", "cause", "count")
    NEW_STATE_FIELD_NUMBER: _ClassVar[int]
    CAUSE_FIELD_NUMBER: _ClassVar[int]
    COUNT_FIELD_NUMBER: _ClassVar[int]
    new_state: _common_pb2.ToolState
    cause: _common_pb2.MoveCause
    count: int
    def __init__(self, new_state: _Optional[_Union[_common_pb2.ToolState, str]] = ..., cause: _Optional[_Union[_common_pb2.MoveCause, str]] = ..., count: _Optional[int] = ...) -> None: ...

class CacheBreakFigures(_message.Message):
    __slots__ = ("tools", "other", "expired", "unknown")
    TOOLS_FIELD_NUMBER: _ClassVar[int]
    OTHER_FIELD_NUMBER: _ClassVar[int]
    EXPIRED_FIELD_NUMBER: _ClassVar[int]
    UNKNOWN_FIELD_NUMBER: _ClassVar[int]
    tools: int
    other: int
    expired: int
    unknown: int
    def __init__(self, tools: _Optional[int] = ..., other: _Optional[int] = ..., expired: _Optional[int] = ..., unknown: _Optional[int] = ...) -> None: ...

class DeliveryFigures(_message.Message):
    __slots__ = ("append", "reference", "invoke", "tools")
    APPEND_FIELD_NUMBER: _ClassVar[int]
    REFERENCE_FIELD_NUMBER: _ClassVar[int]
    INVOKE_FIELD_NUMBER: _ClassVar[int]
    TOOLS_FIELD_NUMBER: _ClassVar[int]
    append: int
    reference: int
    invoke: int
    tools: int
    def __init__(self, append: _Optional[int] = ..., reference: _Optional[int] = ..., invoke: _Optional[int] = ..., tools: _Optional[int] = ...) -> None: ...

class SessionFigures(_message.Message):
    __slots__ = ("open", "closed", "expired", "distinct_blocks_per_session_max", "opened")
    OPEN_FIELD_NUMBER: _ClassVar[int]
    CLOSED_FIELD_NUMBER: _ClassVar[int]
    EXPIRED_FIELD_NUMBER: _ClassVar[int]
    DISTINCT_BLOCKS_PER_SESSION_MAX_FIELD_NUMBER: _ClassVar[int]
    OPENED_FIELD_NUMBER: _ClassVar[int]
    open: int
    closed: int
    expired: int
    distinct_blocks_per_session_max: int
    opened: DeliveryFigures
    def __init__(self, open: _Optional[int] = ..., closed: _Optional[int] = ..., expired: _Optional[int] = ..., distinct_blocks_per_session_max: _Optional[int] = ..., opened: _Optional[_Union[DeliveryFigures, _Mapping]] = ...) -> None: ...

class EndingFigures(_message.Message):
    __slots__ = ("unspecified", "ok", "bad_arguments", "not_found", "refused", "auth", "timeout", "transport", "server_error")
    UNSPECIFIED_FIELD_NUMBER: _ClassVar[int]
    OK_FIELD_NUMBER: _ClassVar[int]
    BAD_ARGUMENTS_FIELD_NUMBER: _ClassVar[int]
    NOT_FOUND_FIELD_NUMBER: _ClassVar[int]
    REFUSED_FIELD_NUMBER: _ClassVar[int]
    AUTH_FIELD_NUMBER: _ClassVar[int]
    TIMEOUT_FIELD_NUMBER: _ClassVar[int]
    TRANSPORT_FIELD_NUMBER: _ClassVar[int]
    SERVER_ERROR_FIELD_NUMBER: _ClassVar[int]
    unspecified: int
    ok: int
    bad_arguments: int
    not_found: int
    refused: int
    auth: int
    timeout: int
    transport: int
    server_error: int
    def __init__(self, unspecified: _Optional[int] = ..., ok: _Optional[int] = ..., bad_arguments: _Optional[int] = ..., not_found: _Optional[int] = ..., refused: _Optional[int] = ..., auth: _Optional[int] = ..., timeout: _Optional[int] = ..., transport: _Optional[int] = ..., server_error: _Optional[int] = ...) -> None: ...

class ToolStat(_message.Message):
    __slots__ = ("tool", "state", "calls", "heat", "directory_exposures", "resident_exposures", "issued_exposures", "alias", "presence", "endings", "retries", "selections", "last_call_tick", "last_call_time", "density")
    TOOL_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    CALLS_FIELD_NUMBER: _ClassVar[int]
    HEAT_FIELD_NUMBER: _ClassVar[int]
    DIRECTORY_EXPOSURES_FIELD_NUMBER: _ClassVar[int]
    RESIDENT_EXPOSURES_FIELD_NUMBER: _ClassVar[int]
    ISSUED_EXPOSURES_FIELD_NUMBER: _ClassVar[int]
    ALIAS_FIELD_NUMBER: _ClassVar[int]
    PRESENCE_FIELD_NUMBER: _ClassVar[int]
    ENDINGS_FIELD_NUMBER: _ClassVar[int]
    RETRIES_FIELD_NUMBER: _ClassVar[int]
    SELECTIONS_FIELD_NUMBER: _ClassVar[int]
    LAST_CALL_TICK_FIELD_NUMBER: _ClassVar[int]
    LAST_CALL_TIME_FIELD_NUMBER: _ClassVar[int]
    DENSITY_FIELD_NUMBER: _ClassVar[int]
    tool: _common_pb2.ToolRef
    state: _common_pb2.ToolState
    calls: int
    heat: float
    directory_exposures: int
    resident_exposures: int
    issued_exposures: int
    alias: str
    presence: CallFigures
    endings: EndingFigures
    retries: EndingFigures
    selections: SelectionFigures
    last_call_tick: int
    last_call_time: _timestamp_pb2.Timestamp
    density: float
    def __init__(self, tool: _Optional[_Union[_common_pb2.ToolRef, _Mapping]] = ..., state: _Optional[_Union[_common_pb2.ToolState, str]] = ..., calls: _Optional[int] = ..., heat: _Optional[float] = ..., directory_exposures: _Optional[int] = ..., resident_exposures: _Optional[int] = ..., issued_exposures: _Optional[int] = ..., alias: _Optional[str] = ..., presence: _Optional[_Union[CallFigures, _Mapping]] = ..., endings: _Optional[_Union[EndingFigures, _Mapping]] = ..., retries: _Optional[_Union[EndingFigures, _Mapping]] = ..., selections: _Optional[_Union[SelectionFigures, _Mapping]] = ..., last_call_tick: _Optional[int] = ..., last_call_time: _Optional[_Union[_timestamp_pb2.Timestamp, _Mapping]] = ..., density: _Optional[float] = ...) -> None: ...

class ListToolStatsRequest(_message.Message):
    __slots__ = ("namespace", "contains", "source", "order", "page_size", "page_token")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    CONTAINS_FIELD_NUMBER: _ClassVar[int]
    SOURCE_FIELD_NUMBER: _ClassVar[int]
    ORDER_FIELD_NUMBER: _ClassVar[int]
    PAGE_SIZE_FIELD_NUMBER: _ClassVar[int]
    PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    contains: str
    source: str
    order: ToolOrder
    page_size: int
    page_token: str
    def __init__(self, namespace: _Optional[str] = ..., contains: _Optional[str] = ..., source: _Optional[str] = ..., order: _Optional[_Union[ToolOrder, str]] = ..., page_size: _Optional[int] = ..., page_token: _Optional[str] = ...) -> None: ...

class ListToolStatsResponse(_message.Message):
    __slots__ = ("tools", "next_page_token", "total_size")
    TOOLS_FIELD_NUMBER: _ClassVar[int]
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    TOTAL_SIZE_FIELD_NUMBER: _ClassVar[int]
    tools: _containers.RepeatedCompositeFieldContainer[ToolStat]
    next_page_token: str
    total_size: int
    def __init__(self, tools: _Optional[_Iterable[_Union[ToolStat, _Mapping]]] = ..., next_page_token: _Optional[str] = ..., total_size: _Optional[int] = ...) -> None: ...

class Figures(_message.Message):
    __slots__ = ("namespace", "tick", "epoch", "steps", "calls", "selections", "tokens", "plans", "plans_without_call", "requests", "extra_hops", "reranks", "tools", "transitions", "sessions", "recall_p50", "recall_p99", "hot_pool", "top", "cache_breaks")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    TICK_FIELD_NUMBER: _ClassVar[int]
    EPOCH_FIELD_NUMBER: _ClassVar[int]
    STEPS_FIELD_NUMBER: _ClassVar[int]
    CALLS_FIELD_NUMBER: _ClassVar[int]
    SELECTIONS_FIELD_NUMBER: _ClassVar[int]
    TOKENS_FIELD_NUMBER: _ClassVar[int]
    PLANS_FIELD_NUMBER: _ClassVar[int]
    PLANS_WITHOUT_CALL_FIELD_NUMBER: _ClassVar[int]
    REQUESTS_FIELD_NUMBER: _ClassVar[int]
    EXTRA_HOPS_FIELD_NUMBER: _ClassVar[int]
    RERANKS_FIELD_NUMBER: _ClassVar[int]
    TOOLS_FIELD_NUMBER: _ClassVar[int]
    TRANSITIONS_FIELD_NUMBER: _ClassVar[int]
    SESSIONS_FIELD_NUMBER: _ClassVar[int]
    RECALL_P50_FIELD_NUMBER: _ClassVar[int]
    RECALL_P99_FIELD_NUMBER: _ClassVar[int]
    HOT_POOL_FIELD_NUMBER: _ClassVar[int]
    TOP_FIELD_NUMBER: _ClassVar[int]
    CACHE_BREAKS_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    tick: int
    epoch: int
    steps: int
    calls: CallFigures
    selections: SelectionFigures
    tokens: TokenFigures
    plans: PlanFigures
    plans_without_call: StepEndFigures
    requests: RequestFigures
    extra_hops: int
    reranks: RerankFigures
    tools: ToolStateFigures
    transitions: _containers.RepeatedCompositeFieldContainer[TransitionCount]
    sessions: SessionFigures
    recall_p50: _duration_pb2.Duration
    recall_p99: _duration_pb2.Duration
    hot_pool: _containers.RepeatedCompositeFieldContainer[ToolStat]
    top: _containers.RepeatedCompositeFieldContainer[ToolStat]
    cache_breaks: CacheBreakFigures
    def __init__(self, namespace: _Optional[str] = ..., tick: _Optional[int] = ..., epoch: _Optional[int] = ..., steps: _Optional[int] = ..., calls: _Optional[_Union[CallFigures, _Mapping]] = ..., selections: _Optional[_Union[SelectionFigures, _Mapping]] = ..., tokens: _Optional[_Union[TokenFigures, _Mapping]] = ..., plans: _Optional[_Union[PlanFigures, _Mapping]] = ..., plans_without_call: _Optional[_Union[StepEndFigures, _Mapping]] = ..., requests: _Optional[_Union[RequestFigures, _Mapping]] = ..., extra_hops: _Optional[int] = ..., reranks: _Optional[_Union[RerankFigures, _Mapping]] = ..., tools: _Optional[_Union[ToolStateFigures, _Mapping]] = ..., transitions: _Optional[_Iterable[_Union[TransitionCount, _Mapping]]] = ..., sessions: _Optional[_Union[SessionFigures, _Mapping]] = ..., recall_p50: _Optional[_Union[_duration_pb2.Duration, _Mapping]] = ..., recall_p99: _Optional[_Union[_duration_pb2.Duration, _Mapping]] = ..., hot_pool: _Optional[_Iterable[_Union[ToolStat, _Mapping]]] = ..., top: _Optional[_Iterable[_Union[ToolStat, _Mapping]]] = ..., cache_breaks: _Optional[_Union[CacheBreakFigures, _Mapping]] = ...) -> None: ...

class GetStatsResponse(_message.Message):
    __slots__ = ("figures",)
    FIGURES_FIELD_NUMBER: _ClassVar[int]
    figures: _containers.RepeatedCompositeFieldContainer[Figures]
    def __init__(self, figures: _Optional[_Iterable[_Union[Figures, _Mapping]]] = ...) -> None: ...

class ExportTrafficRequest(_message.Message):
    __slots__ = ("namespace", "kind", "after")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    AFTER_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    kind: ExportKind
    after: int
    def __init__(self, namespace: _Optional[str] = ..., kind: _Optional[_Union[ExportKind, str]] = ..., after: _Optional[int] = ...) -> None: ...

class ExportTrafficResponse(_message.Message):
    __slots__ = ("lines", "log_begin")
    LINES_FIELD_NUMBER: _ClassVar[int]
    LOG_BEGIN_FIELD_NUMBER: _ClassVar[int]
    lines: bytes
    log_begin: int
    def __init__(self, lines: _Optional[bytes] = ..., log_begin: _Optional[int] = ...) -> None: ...

from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from typing import ClassVar as _ClassVar, Optional as _Optional

DESCRIPTOR: _descriptor.FileDescriptor

class ToolState(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    TOOL_STATE_UNSPECIFIED: _ClassVar[ToolState]
    TOOL_STATE_ACTIVE: _ClassVar[ToolState]
    TOOL_STATE_QUARANTINED: _ClassVar[ToolState]
    TOOL_STATE_PROBATION: _ClassVar[ToolState]
    TOOL_STATE_HELD: _ClassVar[ToolState]
    TOOL_STATE_PENDING: _ClassVar[ToolState]
    TOOL_STATE_WITHDRAWN: _ClassVar[ToolState]
    TOOL_STATE_RETIRED: _ClassVar[ToolState]

class MoveCause(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    MOVE_CAUSE_UNSPECIFIED: _ClassVar[MoveCause]
    MOVE_CAUSE_ADMITTED: _ClassVar[MoveCause]
    MOVE_CAUSE_FAILURES: _ClassVar[MoveCause]
    MOVE_CAUSE_QUARANTINED_BY_HAND: _ClassVar[MoveCause]
    MOVE_CAUSE_BACKOFF_OVER: _ClassVar[MoveCause]
    MOVE_CAUSE_REPAIRED: _ClassVar[MoveCause]
    MOVE_CAUSE_RECOVERED: _ClassVar[MoveCause]
    MOVE_CAUSE_FAILED_PROBATION: _ClassVar[MoveCause]
    MOVE_CAUSE_TOO_MANY_QUARANTINES: _ClassVar[MoveCause]
    MOVE_CAUSE_UNUSED: _ClassVar[MoveCause]
    MOVE_CAUSE_NEVER_RECOVERED: _ClassVar[MoveCause]
    MOVE_CAUSE_RETIRED_BY_HAND: _ClassVar[MoveCause]
    MOVE_CAUSE_RESTORED: _ClassVar[MoveCause]
    MOVE_CAUSE_VANISHED: _ClassVar[MoveCause]
    MOVE_CAUSE_LISTED_AGAIN: _ClassVar[MoveCause]
    MOVE_CAUSE_AWAITS_APPROVAL: _ClassVar[MoveCause]
    MOVE_CAUSE_APPROVED: _ClassVar[MoveCause]

class ErrorReason(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    ERROR_REASON_UNSPECIFIED: _ClassVar[ErrorReason]
    ERROR_REASON_INVALID_FIELD: _ClassVar[ErrorReason]
    ERROR_REASON_TOO_LARGE: _ClassVar[ErrorReason]
    ERROR_REASON_ADMISSION_REFUSED: _ClassVar[ErrorReason]
    ERROR_REASON_UNKNOWN_NAMESPACE: _ClassVar[ErrorReason]
    ERROR_REASON_UNKNOWN_TOOL: _ClassVar[ErrorReason]
    ERROR_REASON_UNKNOWN_SESSION: _ClassVar[ErrorReason]
    ERROR_REASON_SESSION_ENDED: _ClassVar[ErrorReason]
    ERROR_REASON_SESSION_DIFFERS: _ClassVar[ErrorReason]
    ERROR_REASON_REQUEST_DIFFERS: _ClassVar[ErrorReason]
    ERROR_REASON_ACTION_NOT_POSSIBLE: _ClassVar[ErrorReason]
    ERROR_REASON_VERSION_MISMATCH: _ClassVar[ErrorReason]
    ERROR_REASON_TOO_MANY_SESSIONS: _ClassVar[ErrorReason]
    ERROR_REASON_OVERLOADED: _ClassVar[ErrorReason]
    ERROR_REASON_STORE_NOT_WRITABLE: _ClassVar[ErrorReason]
    ERROR_REASON_STOPPING: _ClassVar[ErrorReason]
    ERROR_REASON_INTERNAL: _ClassVar[ErrorReason]
    ERROR_REASON_DEADLINE: _ClassVar[ErrorReason]
    ERROR_REASON_EMPTY_CATALOG: _ClassVar[ErrorReason]
    ERROR_REASON_LOG_CUT: _ClassVar[ErrorReason]
    ERROR_REASON_HASH_MISMATCH: _ClassVar[ErrorReason]
    ERROR_REASON_TOO_MANY_NAMESPACES: _ClassVar[ErrorReason]
TOOL_STATE_UNSPECIFIED: ToolState
TOOL_STATE_ACTIVE: ToolState
TOOL_STATE_QUARANTINED: ToolState
TOOL_STATE_PROBATION: ToolState
TOOL_STATE_HELD: ToolState
TOOL_STATE_PENDING: ToolState
TOOL_STATE_WITHDRAWN: ToolState
TOOL_STATE_RETIRED: ToolState
MOVE_CAUSE_UNSPECIFIED: MoveCause
MOVE_CAUSE_ADMITTED: MoveCause
MOVE_CAUSE_FAILURES: MoveCause
MOVE_CAUSE_QUARANTINED_BY_HAND: MoveCause
MOVE_CAUSE_BACKOFF_OVER: MoveCause
MOVE_CAUSE_REPAIRED: MoveCause
MOVE_CAUSE_RECOVERED: MoveCause
MOVE_CAUSE_FAILED_PROBATION: MoveCause
MOVE_CAUSE_TOO_MANY_QUARANTINES: MoveCause
MOVE_CAUSE_UNUSED: MoveCause
MOVE_CAUSE_NEVER_RECOVERED: MoveCause
MOVE_CAUSE_RETIRED_BY_HAND: MoveCause
MOVE_CAUSE_RESTORED: MoveCause
MOVE_CAUSE_VANISHED: MoveCause
MOVE_CAUSE_LISTED_AGAIN: MoveCause
MOVE_CAUSE_AWAITS_APPROVAL: MoveCause
MOVE_CAUSE_APPROVED: MoveCause
ERROR_REASON_UNSPECIFIED: ErrorReason
ERROR_REASON_INVALID_FIELD: ErrorReason
ERROR_REASON_TOO_LARGE: ErrorReason
ERROR_REASON_ADMISSION_REFUSED: ErrorReason
ERROR_REASON_UNKNOWN_NAMESPACE: ErrorReason
ERROR_REASON_UNKNOWN_TOOL: ErrorReason
ERROR_REASON_UNKNOWN_SESSION: ErrorReason
ERROR_REASON_SESSION_ENDED: ErrorReason
ERROR_REASON_SESSION_DIFFERS: ErrorReason
ERROR_REASON_REQUEST_DIFFERS: ErrorReason
ERROR_REASON_ACTION_NOT_POSSIBLE: ErrorReason
ERROR_REASON_VERSION_MISMATCH: ErrorReason
ERROR_REASON_TOO_MANY_SESSIONS: ErrorReason
ERROR_REASON_OVERLOADED: ErrorReason
ERROR_REASON_STORE_NOT_WRITABLE: ErrorReason
ERROR_REASON_STOPPING: ErrorReason
ERROR_REASON_INTERNAL: ErrorReason
ERROR_REASON_DEADLINE: ErrorReason
ERROR_REASON_EMPTY_CATALOG: ErrorReason
ERROR_REASON_LOG_CUT: ErrorReason
ERROR_REASON_HASH_MISMATCH: ErrorReason
ERROR_REASON_TOO_MANY_NAMESPACES: ErrorReason

class ToolRef(_message.Message):
    __slots__ = ("source", "name", "version")
    SOURCE_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    source: str
    name: str
    version: int
    def __init__(self, source: _Optional[str] = ..., name: _Optional[str] = ..., version: _Optional[int] = ...) -> None: ...

class Violation(_message.Message):
    __slots__ = ("field", "description", "accepted", "rule")
    FIELD_FIELD_NUMBER: _ClassVar[int]
    DESCRIPTION_FIELD_NUMBER: _ClassVar[int]
    ACCEPTED_FIELD_NUMBER: _ClassVar[int]
    RULE_FIELD_NUMBER: _ClassVar[int]
    field: str
    description: str
    accepted: str
    rule: str
    def __init__(self, field: _Optional[str] = ..., description: _Optional[str] = ..., accepted: _Optional[str] = ..., rule: _Optional[str] = ...) -> None: ...

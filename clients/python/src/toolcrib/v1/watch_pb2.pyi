from google.protobuf import timestamp_pb2 as _timestamp_pb2
from toolcrib.v1 import common_pb2 as _common_pb2
from toolcrib.v1 import registry_pb2 as _registry_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from typing import ClassVar as _ClassVar, Iterable as _Iterable, Mapping as _Mapping, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class WatchKind(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    WATCH_KIND_UNSPECIFIED: _ClassVar[WatchKind]
    WATCH_KIND_ADMISSIONS: _ClassVar[WatchKind]
    WATCH_KIND_TRANSITIONS: _ClassVar[WatchKind]
    WATCH_KIND_EPOCHS: _ClassVar[WatchKind]
    WATCH_KIND_POLICY: _ClassVar[WatchKind]

class PoolReason(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    POOL_REASON_UNSPECIFIED: _ClassVar[PoolReason]
    POOL_REASON_SCORE: _ClassVar[PoolReason]
    POOL_REASON_SEEDED: _ClassVar[PoolReason]
    POOL_REASON_PINNED: _ClassVar[PoolReason]
    POOL_REASON_FILLED_SLOT: _ClassVar[PoolReason]
    POOL_REASON_OUTRANKED: _ClassVar[PoolReason]
    POOL_REASON_UNAVAILABLE: _ClassVar[PoolReason]
    POOL_REASON_FEWER_SLOTS: _ClassVar[PoolReason]
WATCH_KIND_UNSPECIFIED: WatchKind
WATCH_KIND_ADMISSIONS: WatchKind
WATCH_KIND_TRANSITIONS: WatchKind
WATCH_KIND_EPOCHS: WatchKind
WATCH_KIND_POLICY: WatchKind
POOL_REASON_UNSPECIFIED: PoolReason
POOL_REASON_SCORE: PoolReason
POOL_REASON_SEEDED: PoolReason
POOL_REASON_PINNED: PoolReason
POOL_REASON_FILLED_SLOT: PoolReason
POOL_REASON_OUTRANKED: PoolReason
POOL_REASON_UNAVAILABLE: PoolReason
POOL_REASON_FEWER_SLOTS: PoolReason

class WatchRequest(_message.Message):
    __slots__ = ("namespace", "after_sequence", "kinds")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    AFTER_SEQUENCE_FIELD_NUMBER: _ClassVar[int]
    KINDS_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    after_sequence: int
    kinds: _containers.RepeatedScalarFieldContainer[WatchKind]
    def __init__(self, namespace: _Optional[str] = ..., after_sequence: _Optional[int] = ..., kinds: _Optional[_Iterable[_Union[WatchKind, str]]] = ...) -> None: ...

class WatchStarted(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class WatchedAdmission(_message.Message):
    __slots__ = ("tool", "result", "change", "flags", "measured_tokens")
    TOOL_FIELD_NUMBER: _ClassVar[int]
    RESULT_FIELD_NUMBER: _ClassVar[int]
    CHANGE_FIELD_NUMBER: _ClassVar[int]
    FLAGS_FIELD_NUMBER: _ClassVar[int]
    MEASURED_TOKENS_FIELD_NUMBER: _ClassVar[int]
    tool: _common_pb2.ToolRef
    result: _registry_pb2.AdmissionResult
    change: _registry_pb2.ChangeClass
    flags: int
    measured_tokens: int
    def __init__(self, tool: _Optional[_Union[_common_pb2.ToolRef, _Mapping]] = ..., result: _Optional[_Union[_registry_pb2.AdmissionResult, str]] = ..., change: _Optional[_Union[_registry_pb2.ChangeClass, str]] = ..., flags: _Optional[int] = ..., measured_tokens: _Optional[int] = ...) -> None: ...

class AdmissionsEvent(_message.Message):
    __slots__ = ("actor", "admissions", "total")
    ACTOR_FIELD_NUMBER: _ClassVar[int]
    ADMISSIONS_FIELD_NUMBER: _ClassVar[int]
    TOTAL_FIELD_NUMBER: _ClassVar[int]
    actor: str
    admissions: _containers.RepeatedCompositeFieldContainer[WatchedAdmission]
    total: int
    def __init__(self, actor: _Optional[str] = ..., admissions: _Optional[_Iterable[_Union[WatchedAdmission, _Mapping]]] = ..., total: _Optional[int] = ...) -> None: ...

class PoolMove(_message.Message):
    __slots__ = ("tool", "reason")
    TOOL_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    tool: _common_pb2.ToolRef
    reason: PoolReason
    def __init__(self, tool: _Optional[_Union[_common_pb2.ToolRef, _Mapping]] = ..., reason: _Optional[_Union[PoolReason, str]] = ...) -> None: ...

class EpochEvent(_message.Message):
    __slots__ = ("epoch", "tick", "entered", "left", "members")
    EPOCH_FIELD_NUMBER: _ClassVar[int]
    TICK_FIELD_NUMBER: _ClassVar[int]
    ENTERED_FIELD_NUMBER: _ClassVar[int]
    LEFT_FIELD_NUMBER: _ClassVar[int]
    MEMBERS_FIELD_NUMBER: _ClassVar[int]
    epoch: int
    tick: int
    entered: _containers.RepeatedCompositeFieldContainer[PoolMove]
    left: _containers.RepeatedCompositeFieldContainer[PoolMove]
    members: int
    def __init__(self, epoch: _Optional[int] = ..., tick: _Optional[int] = ..., entered: _Optional[_Iterable[_Union[PoolMove, _Mapping]]] = ..., left: _Optional[_Iterable[_Union[PoolMove, _Mapping]]] = ..., members: _Optional[int] = ...) -> None: ...

class PolicyEvent(_message.Message):
    __slots__ = ("actor", "values")
    class ValuesEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    ACTOR_FIELD_NUMBER: _ClassVar[int]
    VALUES_FIELD_NUMBER: _ClassVar[int]
    actor: str
    values: _containers.ScalarMap[str, str]
    def __init__(self, actor: _Optional[str] = ..., values: _Optional[_Mapping[str, str]] = ...) -> None: ...

class WatchResponse(_message.Message):
    __slots__ = ("sequence", "time", "started", "admissions", "transition", "epoch", "policy")
    SEQUENCE_FIELD_NUMBER: _ClassVar[int]
    TIME_FIELD_NUMBER: _ClassVar[int]
    STARTED_FIELD_NUMBER: _ClassVar[int]
    ADMISSIONS_FIELD_NUMBER: _ClassVar[int]
    TRANSITION_FIELD_NUMBER: _ClassVar[int]
    EPOCH_FIELD_NUMBER: _ClassVar[int]
    POLICY_FIELD_NUMBER: _ClassVar[int]
    sequence: int
    time: _timestamp_pb2.Timestamp
    started: WatchStarted
    admissions: AdmissionsEvent
    transition: _registry_pb2.Transition
    epoch: EpochEvent
    policy: PolicyEvent
    def __init__(self, sequence: _Optional[int] = ..., time: _Optional[_Union[_timestamp_pb2.Timestamp, _Mapping]] = ..., started: _Optional[_Union[WatchStarted, _Mapping]] = ..., admissions: _Optional[_Union[AdmissionsEvent, _Mapping]] = ..., transition: _Optional[_Union[_registry_pb2.Transition, _Mapping]] = ..., epoch: _Optional[_Union[EpochEvent, _Mapping]] = ..., policy: _Optional[_Union[PolicyEvent, _Mapping]] = ...) -> None: ...

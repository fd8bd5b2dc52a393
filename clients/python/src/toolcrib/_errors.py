"""Errors, as the daemon explains them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import grpc
from google.rpc import error_details_pb2, status_pb2

from .values import Violation

_DETAILS = "grpc-status-details-bin"
# The daemon is not there, or too busy: the same request may do better later.
_PASSING = ("UNAVAILABLE", "RESOURCE_EXHAUSTED")
# Nobody answers, or not in time, or not in its right mind: an agent goes on without.
_AWAY = (*_PASSING, "DEADLINE_EXCEEDED", "INTERNAL", "UNKNOWN", "ABORTED", "CANCELLED")


class CribError(Exception):
    """The daemon did not do what it was asked, or was not heard."""

    def __init__(
        self,
        code: str,
        message: str,
        reason: str = "",
        violations: Sequence[Violation] = (),
        retry_after: float | None = None,
    ) -> None:
        super().__init__(f"{code}: {message}")
        #: The status code of gRPC, e.g. `INVALID_ARGUMENT`.
        self.code = code
        self.message = message
        #: What exactly, as `ErrorReason` of the protocol has it, e.g. `UNKNOWN_SESSION`; empty where nobody said.
        self.reason = reason
        #: Every field that is wrong, with what would be accepted.
        self.violations = violations
        #: Seconds after which to try again, where the daemon says.
        self.retry_after = retry_after

    @property
    def is_passing(self) -> bool:
        """Whether the same request may be answered if it is sent again."""
        return self.code in _PASSING

    @property
    def is_away(self) -> bool:
        """Whether the daemon was not heard, rather than having refused."""
        return self.code in _AWAY

    @property
    def is_session_gone(self) -> bool:
        """Whether the session must be opened again."""
        return self.reason in ("UNKNOWN_SESSION", "SESSION_ENDED")


def read(error: Any) -> CribError:
    """Reads an error of grpc, with the details that the daemon sent along."""
    code = error.code().name if isinstance(error.code(), grpc.StatusCode) else "UNKNOWN"
    reason, retry_after = "", None
    violations: list[Violation] = []
    for detail in _details(error):
        info, bad, retry = error_details_pb2.ErrorInfo(), error_details_pb2.BadRequest(), error_details_pb2.RetryInfo()
        if detail.Unpack(info):
            reason = info.reason
        elif detail.Unpack(bad):
            violations += [Violation(v.field, v.description) for v in bad.field_violations]
        elif detail.Unpack(retry):
            retry_after = retry.retry_delay.ToTimedelta().total_seconds()
    return CribError(code, error.details() or "no details", reason, violations, retry_after)


def _details(error: Any) -> list[Any]:
    for key, value in error.trailing_metadata() or ():
        if key == _DETAILS:
            return list(status_pb2.Status.FromString(value).details)
    return []

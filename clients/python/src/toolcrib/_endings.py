"""How a tool's failure is reported: which ending an exception stands for."""

from __future__ import annotations

import asyncio
import concurrent.futures

from .values import Ending


class ToolFailed(Exception):
    """What a dispatcher raises to say itself how a call ended, and what the model is to read of it."""

    def __init__(self, ending: Ending, message: str) -> None:
        super().__init__(message)
        self.ending = ending
        self.message = message


# The first three are one class from Python 3.11 on.
_ENDINGS: tuple[tuple[type[Exception], Ending], ...] = (
    (TimeoutError, "timeout"),
    (asyncio.TimeoutError, "timeout"),
    (concurrent.futures.TimeoutError, "timeout"),
    (ConnectionError, "transport"),
    (PermissionError, "auth"),
)


def ending_of(error: Exception) -> tuple[Ending, str]:
    """Returns the ending that an exception of a tool stands for, and what to tell the model.

    `ToolFailed` says both itself. What nothing is known of is the server's fault.
    """
    if isinstance(error, ToolFailed):
        # A model that reads nothing takes it for success, and Anthropic refuses an error without words.
        return error.ending, error.message.strip() or f"The call failed: {error.ending}."
    ending: Ending = next((ending for kind, ending in _ENDINGS if isinstance(error, kind)), "server_error")
    words = str(error)
    return ending, f"{type(error).__name__}: {words}" if words else type(error).__name__

"""One implementation for blocking and for asynchronous callers.

Everything is written as coroutines over a transport. Over a blocking transport they never wait: what they await is done
before it returns. So a blocking caller drives a coroutine by one step, and it is finished.
"""

from __future__ import annotations

from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


def run(coroutine: Coroutine[Any, Any, T]) -> T:
    """Runs a coroutine that never waits, and returns what it returns."""
    try:
        coroutine.send(None)
    except StopIteration as done:
        result: T = done.value
        return result
    coroutine.close()
    raise RuntimeError("a coroutine over a blocking transport waited for something else")

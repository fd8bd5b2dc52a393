"""How a call of a registered tool ended: what it returned, or what it raised."""

from __future__ import annotations

import asyncio
import time
from types import TracebackType
from typing import Any

from langchain_core.messages import ToolMessage
from langchain_core.tools import ToolException
from langgraph.errors import GraphBubbleUp
from langgraph.prebuilt.tool_node import TOOL_INVOCATION_ERROR_TEMPLATE

from .._endings import ToolFailed, ending_of
from ..values import Ending
from ._contexts import Context
from ._marks import CallMark, call_mark, marked

# How LangGraph's answer begins where a tool did not take its arguments.
_BAD_ARGUMENTS = TOOL_INVOCATION_ERROR_TEMPLATE.partition("{")[0]

_CANCELLED = (asyncio.CancelledError, KeyboardInterrupt)


def as_told(result: ToolMessage | None) -> CallMark:
    """How a call ended, by the message that answers it."""
    if result is None:
        return CallMark("unspecified")
    # What is not marked was answered by somebody else: a person who refused it, or another middleware.
    return call_mark(result) or CallMark("not_run" if result.status == "error" else "unspecified")


class Run:
    """A call that is running: `with` notes how it ended.

    What a tool raises goes on to LangChain, where the agent's other middleware may handle it. Two things are answered
    instead: ToolFailed, which has words for the model, and all that a dispatcher raises.
    """

    def __init__(self, context: Context, call_id: str, name: str, answers: bool) -> None:
        """`answers` says whether all exceptions become answers."""
        self._context = context
        self._call_id = call_id
        self._name = name
        self._answers = answers
        self._start = 0.0
        #: What answers the call.
        self.result: Any = None

    def __enter__(self) -> Run:
        self._start = time.monotonic()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool:
        if isinstance(error, GraphBubbleUp):
            # The graph stops here, and the call is made again when it goes on.
            return False
        if error is None:
            self._note(*_ending_of_result(self.result))
            return False
        if not isinstance(error, Exception):
            if isinstance(error, _CANCELLED):
                self._note("not_run", type(error).__name__)
            return False
        ending, words = ending_of(error)
        if isinstance(error, ToolException):
            ending = "refused"
        is_answered = self._answers or isinstance(error, ToolFailed)
        if is_answered:
            self.result = self.answer(words, "error")
        self._note(ending, words)
        return is_answered

    def answer(self, content: Any, status: str = "success") -> ToolMessage:
        """What the model reads."""
        return ToolMessage(content, tool_call_id=self._call_id, name=self._name, status=status)

    def _note(self, ending: Ending, words: str) -> None:
        mark = CallMark(ending, words[:2_000], time.monotonic() - self._start)
        self._context.endings[self._call_id] = mark
        if isinstance(self.result, ToolMessage):
            # It may be told by another process.
            self.result = marked(self.result, mark)


def _ending_of_result(result: Any) -> tuple[Ending, str]:
    if not (isinstance(result, ToolMessage) and result.status == "error"):
        return "ok", ""
    words = str(result.text)
    # Of an error that a tool answers by itself it is not known whose it is; that the tool says no is certain.
    return "bad_arguments" if words.startswith(_BAD_ARGUMENTS) else "refused", words

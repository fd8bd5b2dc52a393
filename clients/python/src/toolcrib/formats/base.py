"""What a format is: how toolcrib reads a provider's messages and replies, and writes what answers a call.

A format never imports a provider's SDK. Messages may be dicts or the SDK's own objects.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import Enum
from typing import Any, ClassVar, NamedTuple, Protocol

from ..values import Call, Dict, Usage

__all__ = ["AgentFormat", "Content", "Dict", "Format", "Query", "Stop", "member", "parts_of", "plain", "texts_of"]

#: What answers a call: text, or parts as the provider has them.
Content = str | list[Dict]


class Query(NamedTuple):
    """What a step is about."""

    #: The user's last message.
    user: str
    #: What the model wrote since.
    model: str


class Stop(Enum):
    """Why a reply ended."""

    #: The model had said what it wanted.
    DONE = "done"
    #: The model or its provider would not.
    REFUSED = "refused"
    #: It ran out of tokens.
    CUT = "cut"
    #: The provider paused; the same history is sent again.
    PAUSED = "paused"


class Format(Protocol):
    """What a session needs to know of a provider's messages."""

    name: ClassVar[str]

    def query_of(self, messages: Sequence[Any], own_texts: Mapping[str, Sequence[str]]) -> Query:
        """The user's last text and what the model wrote since. `own_texts` are our own pieces, and no query."""
        ...

    def present_in(self, messages: Sequence[Any], own_texts: Mapping[str, Sequence[str]]) -> list[str]:
        """Names of the on-demand definitions that stand in the messages; `own_texts` are those that came as text."""
        ...

    def is_user_turn_last(self, messages: Sequence[Any]) -> bool:
        """Whether definitions may be appended now."""
        ...

    def tool_result(self, call_id: str, content: Content, is_error: bool = False) -> Dict:
        """The whole of what answers a call of a tool."""
        ...

    def refusal(self, call: Call, text: str) -> tuple[Dict, list[Dict]]:
        """The whole of what answers a call that is not run, `request_tool` included, and what is placed after it."""
        ...


class AgentFormat(Format, Protocol):
    """What an agent loop needs beside that."""

    def calls_of(self, response: Any) -> list[Call]:
        """The calls of a reply that the runtime answers."""
        ...

    def text_of(self, response: Any) -> str:
        """The text of a reply."""
        ...

    def stop_of(self, response: Any) -> Stop:
        """Why a reply ended."""
        ...

    def reply_message(self, response: Any) -> list[Dict]:
        """The reply as it goes into the history."""
        ...

    def user_message(self, content: Content) -> Dict:
        """What the user says, as a message."""
        ...

    def say(self, messages: list[Any], content: Content) -> None:
        """Puts what the user says into the history, where the provider takes it."""
        ...

    def results_message(self, results: Sequence[Dict]) -> list[Dict]:
        """The results of one reply, as they go into the history."""
        ...

    def usage_of(self, response: Any) -> Usage | None:
        """What a reply cost; None where it does not say."""
        ...


def plain(value: Any) -> Dict:
    """A message, or a part of one, as a dict: as it is, or as the SDK's object would be sent back.

    Empty for what is neither. Histories are other people's, and what cannot be read must not stop a step.
    """
    # At every step for the whole history, so the usual case first.
    if type(value) is dict:
        return value
    if isinstance(value, Mapping):
        return dict(value)
    if not hasattr(value, "model_dump"):
        return {}
    dumped: Dict = value.model_dump(
        mode="json", by_alias=True, exclude_unset=True, exclude=getattr(value, "__api_exclude__", None)
    )
    return dumped


def parts_of(content: Any) -> list[Dict]:
    """The parts of a content that is a list; none for any other.

    Iterators are left alone: they can be read once, and the provider's SDK is to read them.
    """
    return [plain(part) for part in content] if isinstance(content, (list, tuple)) else []


def texts_of(content: Any) -> list[str]:
    """The texts of a content: a string, or the `text` of its parts."""
    if isinstance(content, str):
        return [content]
    return [text for part in parts_of(content) if isinstance(text := part.get("text"), str)]


def member(value: Any, name: str) -> Any:
    """A member of a reply as the SDK has it, not dumped: each part knows for itself what is not sent back."""
    return value.get(name) if isinstance(value, Mapping) else getattr(value, name, None)

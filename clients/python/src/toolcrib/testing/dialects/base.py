"""What a scripted model sees in a request and says in its reply, whatever the provider's words for it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from ..wire import Recorded

Schema = Mapping[str, Any]

#: Names of the daemon's meta tools.
REQUEST_TOOL = "request_tool"
CALL_TOOL = "call_tool"

# How definitions stand in text: a heading with the name, the description, and the schema after these words.
_HEADING = re.compile(r"^## ([A-Za-z_][A-Za-z0-9_-]{0,63})$")
_SCHEMA = "arguments (JSON Schema): "


@dataclass(frozen=True, slots=True)
class Made:
    """One call as the scripted model makes it. Arguments may be text, so that they can be no JSON at all."""

    name: str
    arguments: Mapping[str, Any] | str = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Reply:
    """One reply of the scripted model."""

    text: str = ""
    calls: Sequence[Made] = ()
    #: How it stopped: by itself, because it refuses, cut off at the most tokens it may write, or for the runtime to
    #: send it back and let it go on (Anthropic only).
    stop: Literal["end", "refusal", "cut", "pause"] = "end"


@dataclass(slots=True)
class View:
    """What a model can see in one request."""

    #: What can be called by its name, with its schema.
    native: dict[str, Schema] = field(default_factory=dict)
    #: What stands in the messages as text, with its schema; called through `call_tool`.
    text: dict[str, Schema] = field(default_factory=dict)
    #: What users said, oldest first.
    said: list[str] = field(default_factory=list)
    #: Whether the model asks for tools by the provider's own tool search.
    has_tool_search: bool = False

    def call(self, name: str, arguments: Mapping[str, Any]) -> Made:
        """A call as it is to be made: by name, or through `call_tool` where that is all there is."""
        if name in self.native or CALL_TOOL not in self.native:
            return Made(name, arguments)
        return Made(CALL_TOOL, {"name": name, "arguments": dict(arguments)})

    def schema(self, name: str) -> Schema | None:
        """The schema of a tool, or None where its definition is not in the request."""
        return self.native.get(name, self.text.get(name) if CALL_TOOL in self.native else None)

    def hear(self, text: str) -> None:
        """Takes in a text of a user."""
        self.said.append(text)
        self.read(text)

    def read(self, text: str) -> None:
        """Takes in the definitions that stand in a text."""
        name = ""
        for line in text.splitlines():
            if heading := _HEADING.match(line):
                name = heading[1]
            elif name and line.startswith(_SCHEMA):
                at = text.index(_SCHEMA, text.index(f"## {name}\n")) + len(_SCHEMA)
                self.text[name] = json.JSONDecoder().raw_decode(text, at)[0]
                name = ""


class Dialect(Protocol):
    """One provider's API."""

    #: How the path of its URL ends.
    path: str

    def faults(self, request: Recorded) -> list[str]:
        """What the provider would refuse the request for; in words."""

    def view(self, body: Mapping[str, Any]) -> View:
        """What the model sees."""

    def answer(self, reply: Reply, model: str, number: int, tokens: tuple[int, int]) -> dict[str, Any]:
        """The response to a request. `number` makes ids unique; `tokens` are those of the input, all and cached."""

    def refuse(self, message: str) -> dict[str, Any]:
        """The body of a response with status 400."""


def texts(content: Any) -> list[str]:
    """The texts of a content that is a string or a list of parts."""
    if isinstance(content, str):
        return [content]
    return [part["text"] for part in content or () if isinstance(part, Mapping) and isinstance(part.get("text"), str)]


def empty(body: Mapping[str, Any]) -> Iterator[str]:
    """OpenAI refuses an array of tools that holds none."""
    if body.get("tools") == []:
        yield "tools is empty"


def written(arguments: Mapping[str, Any] | str) -> str:
    """Arguments as a model writes them."""
    return arguments if isinstance(arguments, str) else json.dumps(arguments)

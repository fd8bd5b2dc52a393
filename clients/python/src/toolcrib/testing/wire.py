"""A request as it went over the wire, cut into the elements that a provider's prompt cache compares.

Providers cache by prefix, in the order tools, system, messages. So an element that changes by one byte costs everything
behind it, and an element that is added to `tools` costs all messages.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

# In a provider's own order. The Responses API calls its messages `input` and its system prompt `instructions`.
PARTS = ("tools", "system", "instructions", "messages", "input")

_DECODER = json.JSONDecoder()
_SPACE = " \t\r\n"


@dataclass(frozen=True, slots=True)
class Element:
    """One element of a part, with the bytes that were sent."""

    part: str
    index: int
    sent: str

    def __str__(self) -> str:
        return f"{self.part}[{self.index}]"


@dataclass(frozen=True, slots=True)
class Recorded:
    """One request as it was sent."""

    path: str
    betas: tuple[str, ...]
    sent: bytes
    body: dict[str, Any]
    elements: tuple[Element, ...]

    @classmethod
    def of(cls, path: str, betas: Sequence[str], sent: bytes) -> Recorded:
        """Reads a body. Raises ValueError where it is no JSON object."""
        body = json.loads(sent)
        if not isinstance(body, dict):
            raise ValueError("the body is not a JSON object")
        return cls(path, tuple(betas), sent, body, tuple(elements(sent.decode())))

    def kept(self, before: Recorded) -> int:
        """How many of its elements, from the first, are those of the request before, byte for byte."""
        return next(
            (i for i, (a, b) in enumerate(zip(before.elements, self.elements, strict=False)) if a != b),
            min(len(before.elements), len(self.elements)),
        )


def elements(text: str) -> Iterator[Element]:
    """Cuts a body into its elements, in the order in which providers cache."""
    parts = dict(_members(text))
    for part in PARTS:
        value = parts.get(part, "null")
        cut = _items(value) if value.startswith("[") else [value] if value != "null" else []
        for index, sent in enumerate(cut):
            yield Element(part, index, sent)


def _members(text: str) -> Iterator[tuple[str, str]]:
    """The members of a JSON object, each value as it is written."""
    at = _skip(text, text.index("{") + 1)
    while text[at] != "}":
        name, at = _DECODER.raw_decode(text, at)
        start = _skip(text, _skip(text, at) + 1)
        _, end = _DECODER.raw_decode(text, start)
        yield name, text[start:end]
        at = _next(text, end)


def _items(text: str) -> Iterator[str]:
    """The items of a JSON array, each as it is written."""
    at = _skip(text, 1)
    while text[at] != "]":
        _, end = _DECODER.raw_decode(text, at)
        yield text[at:end]
        at = _next(text, end)


def _next(text: str, at: int) -> int:
    """Goes past a comma, where there is one."""
    at = _skip(text, at)
    return _skip(text, at + 1) if text[at] == "," else at


def _skip(text: str, at: int) -> int:
    while text[at] in _SPACE:
        at += 1
    return at

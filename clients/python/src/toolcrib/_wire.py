"""The protocol's messages as values, and the other way round. Translates, and decides nothing."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from .v1 import session_pb2 as pb
from .values import Block, Dict, Excluded, Offer, Tokens, ToolRef, Violation

TOOLS, SYSTEM, MESSAGES, TOOL_RESULT = pb.PLACE_TOOLS, pb.PLACE_SYSTEM, pb.PLACE_MESSAGES, pb.PLACE_TOOL_RESULT


def number(kind: Any, prefix: str, name: str) -> Any:
    """The number of an enum's value, from the name that users write. Raises ValueError with those that there are."""
    try:
        return kind.Value(prefix + name.upper())
    except ValueError:
        known = [word(kind, prefix, value) for value in kind.values() if value]
        raise ValueError(f"{name!r} is none of {', '.join(known)}") from None


@cache
def word(kind: Any, prefix: str, value: int) -> str:
    """The name of an enum's value as users read it: empty where it says nothing, `value_N` where it is not known."""
    if value == 0:
        return ""
    try:
        name: str = kind.Name(value)
    except ValueError:
        return f"value_{value}"
    return name.removeprefix(prefix).lower()


def ref(tool: Any) -> ToolRef:
    return ToolRef(tool.source, tool.name, tool.version)


def offers(of: Any, field: str = "issued") -> list[Offer]:
    return [
        Offer(
            offer.name,
            ref(offer.tool) if offer.HasField("tool") else None,
            word(pb.Origin, "ORIGIN_", offer.origin),
            offer.tokens,
            offer.score,
        )
        for offer in getattr(of, field)
    ]


def tokens(of: Any) -> Tokens:
    return Tokens(of.directory, of.resident, of.issued, of.meta, of.everything, of.window, of.tokenizer)


def excluded(of: Any) -> list[Excluded]:
    return [Excluded(e.name, word(pb.Reason, "REASON_", e.reason), e.detail) for e in of.excluded]


def violations(of: Any) -> list[Violation]:
    return [Violation(v.field, v.description, v.accepted) for v in of.violations]


@dataclass(frozen=True, slots=True)
class Placed:
    """A piece in the provider's format, with its place and the names that it makes callable."""

    place: int
    content: Dict
    names: Sequence[str]


def placed(pieces: Iterable[Any]) -> list[Placed]:
    """What goes into messages, tool results and the tools array."""
    return [Placed(piece.place, json.loads(piece.content), tuple(piece.names)) for piece in pieces]


def contents(pieces: Iterable[Placed], place: int) -> list[Dict]:
    """What goes to a place."""
    return [piece.content for piece in pieces if piece.place == place]


def block(of: Any, pieces: Sequence[Any], is_json: bool) -> Block:
    """A block with its pieces; `is_json` says whether its text for the system prompt is JSON too."""
    system = [piece.content.decode() for piece in pieces if piece.place == SYSTEM]
    return Block(
        digest=of.digest,
        generation=of.generation,
        tools=[json.loads(piece.content) for piece in pieces if piece.place == TOOLS],
        system=[json.loads(text) for text in system] if is_json else system,
        offers=offers(of, "offers"),
        tokens=tokens(of.tokens),
        pass_through=of.pass_through,
    )


def texts(piece: Dict) -> Iterator[str]:
    """The texts of a message, or of what answers a call, in any format. Not those inside definitions."""
    for content in (piece.get("content"), piece.get("output")):
        if isinstance(content, str):
            yield content
        elif isinstance(content, list):
            yield from (part["text"] for part in content if "text" in part)


def arguments(data: bytes) -> Dict | None:
    """Arguments as a dict, empty where there are none; None for what is no JSON object."""
    try:
        value = json.loads(data) if data.strip() else {}
    except ValueError:
        return None
    return value if isinstance(value, dict) else None

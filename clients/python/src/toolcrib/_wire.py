"""The protocol's messages as values, and the other way round. Translates, and decides nothing."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
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


def contents(pieces: Iterable[Any], place: int) -> list[Dict]:
    """What goes to a place, read."""
    return [json.loads(piece.content) for piece in pieces if piece.place == place]


def block(of: Any, pieces: Sequence[Any], is_json: bool) -> Block:
    """A block with its pieces; `is_json` says whether its text for the system prompt is JSON too."""
    system = [piece.content.decode() for piece in pieces if piece.place == SYSTEM]
    return Block(
        digest=of.digest,
        generation=of.generation,
        tools=contents(pieces, TOOLS),
        system=[json.loads(text) for text in system] if is_json else system,
        offers=offers(of, "offers"),
        tokens=tokens(of.tokens),
        pass_through=of.pass_through,
    )


def texts(value: Any) -> Iterator[str]:
    """Every text in a message of any format."""
    if isinstance(value, dict):
        for key, inner in value.items():
            if isinstance(inner, str):
                if key in ("text", "content", "output"):
                    yield inner
            else:
                yield from texts(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from texts(inner)


def arguments(data: bytes) -> Dict:
    """Arguments as a dict; empty for what is none, which the daemon would not have let pass."""
    try:
        value = json.loads(data) if data.strip() else {}
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}

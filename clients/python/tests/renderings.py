"""What a piece must be in each format, and what a provider refuses beyond what its types say."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import anthropic.types as messages
import anthropic.types.beta as beta
import mcp.types
from openai.types.chat import (
    ChatCompletionToolMessageParam,
    ChatCompletionToolParam,
    ChatCompletionUserMessageParam,
)
from openai.types.responses import (
    FunctionToolParam,
    ResponseToolSearchOutputItemParamParam,
    ToolSearchToolParam,
)
from openai.types.responses.response_input_item_param import AdditionalTools, FunctionCallOutput, Message
from sdk_types import Judge

from toolcrib.v1 import session_pb2 as pb

NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")
_PROPERTY = re.compile(r"[a-zA-Z0-9_.-]{1,64}")
META = frozenset({"request_tool", "call_tool"})


@dataclass(frozen=True, slots=True)
class Rendering:
    """A format and a delivery, and the types its pieces must be of."""

    name: str
    format: pb.Format
    delivery: pb.Delivery
    betas: tuple[str, ...]
    places: dict[int, Judge | None]  # None: plain text
    call_id: str  # the key of an answer that names its call; empty where the format has none
    refused_at_root: frozenset[str]  # JSON Schema keywords that the provider refuses at the root of a schema

    def refuses(self, schema: dict[str, Any]) -> str:
        """Why the provider would refuse a whole request for this schema; empty if it would not."""
        if schema.get("type") != "object":
            return "the root is not of type object"
        if found := self.refused_at_root & schema.keys():
            return f"{', '.join(sorted(found))} at the root"
        if self.format == pb.FORMAT_ANTHROPIC:
            for key in schema.get("properties", {}):
                if not _PROPERTY.fullmatch(key):
                    return f"property {key!r}"
        return ""

    def problems(self, piece: pb.Piece) -> list[str]:
        """What the SDK's type of that place says of a piece; empty if nothing is wrong."""
        if piece.place not in self.places:
            return [f"{pb.Place.Name(piece.place)} is no place of this format"]
        judge = self.places[piece.place]
        if judge is None:
            return [] if piece.content.decode() else ["empty text"]
        found = judge.problems(piece.content)
        for definition in definitions(json.loads(piece.content)) if not found else ():
            name, schema = definition["name"], _schema(definition)
            if not NAME.fullmatch(name):
                found.append(f"name {name!r}")
            if why := self.refuses(schema):
                found.append(f"{name}: {why}")
        return found


def definitions(value: Any) -> Iterator[dict[str, Any]]:
    """Every native tool definition in a piece, wherever it stands; a schema is not looked into."""
    if isinstance(value, list):
        for part in value:
            yield from definitions(part)
    elif isinstance(value, dict):
        if "name" in value and any(key in value for key in _SCHEMAS):
            yield value
        else:
            for part in value.values():
                yield from definitions(part)


def references(value: Any) -> Iterator[str]:
    """Every deferred tool that a piece refers to."""
    if isinstance(value, list):
        for part in value:
            yield from references(part)
    elif isinstance(value, dict):
        if value.get("type") == "tool_reference":
            yield value["tool_name"]
        for part in value.values():
            yield from references(part)


_SCHEMAS = ("input_schema", "inputSchema", "parameters")


def _schema(definition: dict[str, Any]) -> dict[str, Any]:
    schema: dict[str, Any] = next(definition[key] for key in _SCHEMAS if key in definition)
    return schema


def _mcp(name: str, delivery: pb.Delivery) -> Rendering:
    places: dict[int, Judge | None] = {
        pb.PLACE_TOOLS: Judge(mcp.types.Tool),
        pb.PLACE_SYSTEM: None,
        pb.PLACE_MESSAGES: Judge(mcp.types.PromptMessage),
        pb.PLACE_TOOL_RESULT: Judge(mcp.types.CallToolResult),
    }
    return Rendering(name, pb.FORMAT_MCP, delivery, (), places, "", frozenset())


# OpenAI names all of these when it refuses a schema; Anthropic names only the first three, and is spared them all.
_NOT_AT_ROOT = frozenset({"oneOf", "anyOf", "allOf", "enum", "const", "not"})


def _chat(name: str, delivery: pb.Delivery) -> Rendering:
    places: dict[int, Judge | None] = {
        pb.PLACE_TOOLS: Judge(ChatCompletionToolParam),
        pb.PLACE_SYSTEM: None,
        pb.PLACE_MESSAGES: Judge(ChatCompletionUserMessageParam),
        pb.PLACE_TOOL_RESULT: Judge(ChatCompletionToolMessageParam),
    }
    return Rendering(name, pb.FORMAT_OPENAI_CHAT, delivery, (), places, "tool_call_id", _NOT_AT_ROOT)


def _responses(name: str, delivery: pb.Delivery) -> Rendering:
    append = delivery == pb.DELIVERY_APPEND
    places: dict[int, Judge | None] = {
        pb.PLACE_TOOLS: Judge(FunctionToolParam, ToolSearchToolParam) if append else Judge(FunctionToolParam),
        pb.PLACE_SYSTEM: None,
        # A `tool_search_output` has no room for words, so where there is nothing to load they follow it.
        pb.PLACE_MESSAGES: Judge(AdditionalTools, Message) if append else Judge(Message),
        pb.PLACE_TOOL_RESULT: Judge(FunctionCallOutput, ResponseToolSearchOutputItemParamParam)
        if append
        else Judge(FunctionCallOutput),
    }
    return Rendering(name, pb.FORMAT_OPENAI_RESPONSES, delivery, (), places, "call_id", _NOT_AT_ROOT)


def _anthropic(name: str, delivery: pb.Delivery) -> Rendering:
    # Only what needs a beta may use the types of a beta.
    append = delivery == pb.DELIVERY_APPEND
    places: dict[int, Judge | None] = {
        pb.PLACE_TOOLS: Judge(messages.ToolParam),
        pb.PLACE_SYSTEM: Judge(messages.TextBlockParam),
        pb.PLACE_MESSAGES: Judge(beta.BetaMessageParam) if append else Judge(messages.MessageParam),
        pb.PLACE_TOOL_RESULT: Judge(messages.ToolResultBlockParam),
    }
    betas = ("inline-tools-2026-09-15",) if append else ()
    return Rendering(name, pb.FORMAT_ANTHROPIC, delivery, betas, places, "tool_use_id", _NOT_AT_ROOT)


RENDERINGS = (
    _mcp("mcp-invoke", pb.DELIVERY_INVOKE),
    _mcp("mcp-tools", pb.DELIVERY_TOOLS),
    _chat("chat-invoke", pb.DELIVERY_INVOKE),
    _chat("chat-tools", pb.DELIVERY_TOOLS),
    _responses("responses-append", pb.DELIVERY_APPEND),
    _responses("responses-invoke", pb.DELIVERY_INVOKE),
    _responses("responses-tools", pb.DELIVERY_TOOLS),
    _anthropic("anthropic-append", pb.DELIVERY_APPEND),
    _anthropic("anthropic-reference", pb.DELIVERY_REFERENCE),
    _anthropic("anthropic-invoke", pb.DELIVERY_INVOKE),
    _anthropic("anthropic-tools", pb.DELIVERY_TOOLS),
)

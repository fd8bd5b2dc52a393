"""The judge of renderings must itself notice what is wrong with one."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import mcp.types
import pytest
from anthropic.types.beta import BetaMessageParam, BetaToolUnionParam
from openai.types.chat import ChatCompletionToolParam
from openai.types.responses import ResponseInputItemParam
from pydantic import TypeAdapter
from sdk_types import Judge

DEFINITION = {"name": "read_file", "description": "Reads a file.", "input_schema": {"type": "object"}}
ADDITION = {
    "role": "system",
    "content": [{"type": "tool_addition", "tool": {"type": "tool_definition", "definition": DEFINITION}}],
}
FUNCTION = {"name": "read_file", "description": "Reads a file.", "parameters": {"type": "object"}}
CHAT_TOOL = {"type": "function", "function": FUNCTION}
ADDITIONAL = {
    "type": "additional_tools",
    "role": "developer",
    "tools": [{"type": "function", "strict": False, **FUNCTION}],
}
MCP_TOOL = {"name": "read_file", "description": "Reads a file.", "inputSchema": {"type": "object"}}

RENDERINGS = [
    pytest.param(BetaToolUnionParam, DEFINITION, [], "input_schema", id="anthropic tool"),
    pytest.param(BetaMessageParam, ADDITION, ["content", 0, "tool", "definition"], "input_schema", id="tool_addition"),
    pytest.param(ChatCompletionToolParam, CHAT_TOOL, ["function"], "name", id="chat tool"),
    pytest.param(ResponseInputItemParam, ADDITIONAL, ["tools", 0], "parameters", id="additional_tools"),
    pytest.param(mcp.types.Tool, MCP_TOOL, [], "inputSchema", id="mcp tool"),
]


def _renamed(part: dict[str, Any], key: str) -> None:
    part["Input-Schema"] = part.pop(key)


def _missing(part: dict[str, Any], key: str) -> None:
    del part[key]


def _extra(part: dict[str, Any], _key: str) -> None:
    part["annotations_of_ours"] = {"readOnlyHint": True}


@pytest.mark.parametrize(("kind", "rendering", "path", "key"), RENDERINGS)
def test_a_right_rendering_passes(kind: Any, rendering: dict[str, Any], path: list[Any], key: str) -> None:
    assert Judge(kind).problems(json.dumps(rendering).encode()) == []


@pytest.mark.parametrize("broken", [_renamed, _missing, _extra])
@pytest.mark.parametrize(("kind", "rendering", "path", "key"), RENDERINGS)
def test_a_broken_rendering_is_noticed_however_deep(
    kind: Any, rendering: dict[str, Any], path: list[Any], key: str, broken: Callable[[dict[str, Any], str], None]
) -> None:
    copy = json.loads(json.dumps(rendering))
    part = copy
    for step in path:
        part = part[step]
    broken(part, key)
    assert Judge(kind).problems(json.dumps(copy).encode()) != []


def test_the_judge_is_stricter_than_the_type_alone() -> None:
    """If this fails the SDK's types have become strict themselves, and the judge can go."""
    broken = json.loads(json.dumps(ADDITION))
    broken["content"][0]["tool"]["definition"]["Input-Schema"] = broken["content"][0]["tool"]["definition"].pop(
        "input_schema"
    )
    TypeAdapter(BetaMessageParam).validate_python(broken)
    assert Judge(BetaMessageParam).problems(json.dumps(broken).encode()) != []


def test_field_names_of_a_model_are_not_its_names_on_the_wire() -> None:
    by_field = {"name": "read_file", "input_schema": {"type": "object"}}
    assert mcp.types.Tool.model_validate(by_field).name == "read_file"
    assert Judge(mcp.types.Tool).problems(json.dumps(by_field).encode()) != []


def test_what_is_not_json_is_said_to_be() -> None:
    assert Judge(ChatCompletionToolParam).problems(b"{")[0].startswith("not JSON")

"""The checker of Anthropic's placement rules fails where a rule is broken, and only there."""

from __future__ import annotations

from typing import Any

import pytest

from toolcrib.testing.placement import INLINE_TOOLS, faults

USER = {"role": "user", "content": "go"}
CALL = {"role": "assistant", "content": [{"type": "tool_use", "id": "1", "name": "a", "input": {}}]}
RESULT = {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "1", "content": "done"}]}
ANSWER = {"role": "assistant", "content": [{"type": "text", "text": "done"}]}
TOOL = {"name": "a", "input_schema": {"type": "object"}}
DEFERRED = {**TOOL, "name": "later", "defer_loading": True}
MARK = {"cache_control": {"type": "ephemeral"}}


def added(name: str = "b") -> dict[str, Any]:
    tool = {"type": "tool_definition", "definition": {**TOOL, "name": name}}
    return {"role": "system", "content": [{"type": "tool_addition", "tool": tool}]}


def referred(name: str) -> dict[str, Any]:
    content = [{"type": "tool_reference", "tool_name": name}]
    return {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "1", "content": content}]}


def body(*messages: Any, tools: Any = (TOOL,), **more: Any) -> dict[str, Any]:
    return {"tools": list(tools), "messages": list(messages), **more}


@pytest.mark.parametrize(
    "request_body",
    [
        body(USER),
        body(USER, added()),
        body(USER, added(), CALL, RESULT, added("c"), added("d"), ANSWER, USER),
        body(USER, CALL, referred("later"), tools=[TOOL, DEFERRED]),
        body(USER, USER, ANSWER),
        body(USER, tools=[{**TOOL, **MARK}], system=[{"type": "text", "text": "s", **MARK}]),
    ],
)
def test_well_formed_requests_have_no_fault(request_body: dict[str, Any]) -> None:
    assert faults(request_body, [INLINE_TOOLS]) == []


@pytest.mark.parametrize(
    ("request_body", "fault"),
    [
        (body(added(), USER), "messages[0] is of role system"),
        (body(USER, added(), USER), "messages[1] is a system message before a user turn"),
        (body(USER, ANSWER, added()), "messages[2] is a system message that does not follow a user turn"),
        (body(USER, CALL, added(), RESULT), "messages[2] stands between calls and their results"),
        (body(USER, CALL), "messages[1] has calls without results"),
        (body(USER, CALL, USER), "messages[2] answers [], and the calls before it are ['1']"),
        (body(USER, RESULT), "messages[1] answers ['1'], and the calls before it are []"),
        (
            body(USER, CALL, {"role": "user", "content": [{"type": "text", "text": "t"}, *RESULT["content"]]}),
            "messages[2] has a tool result after other content",
        ),
        (body(USER, ANSWER, ANSWER), "messages[2] follows another assistant turn"),
        (body(USER, {"role": "assistant", "content": []}), "messages[1] is empty"),
        (body(USER, tools=[TOOL, TOOL]), "tools holds a name twice"),
        (body(USER, tools=[DEFERRED]), "all tools are deferred"),
        (body(USER, CALL, referred("nobody")), "messages[2] refers to nobody, which is not declared"),
        (
            body({"role": "user", "content": added()["content"]}),
            "messages[0] has a tool_addition outside a system message",
        ),
        (
            body(
                USER,
                {
                    "role": "system",
                    "content": [{"type": "tool_addition", "tool": {"type": "tool_reference", "name": "nobody"}}],
                },
            ),
            "messages[1] refers to nobody, which is not declared",
        ),
        (body(USER, tools=[TOOL, {**DEFERRED, **MARK}]), "later is deferred and cannot be a cache breakpoint"),
        (
            body(USER, tools=[{**TOOL, "name": f"t{i}", **MARK} for i in range(5)]),
            "5 cache breakpoints: at most 4",
        ),
    ],
)
def test_each_broken_rule_is_a_fault(request_body: dict[str, Any], fault: str) -> None:
    assert fault in "\n".join(faults(request_body, [INLINE_TOOLS]))


def test_definitions_need_their_beta() -> None:
    assert faults(body(USER, added())) == [f"messages[1] defines a tool without the beta {INLINE_TOOLS}"]

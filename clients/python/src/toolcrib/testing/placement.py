"""What Anthropic's Messages API demands of where tools and their definitions stand.

From its documentation of mid-conversation system messages, inline tool definitions, deferred tools and prompt caching.
A request that breaks one of these is refused with 400; the scripted provider does the same.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

INLINE_TOOLS = "inline-tools-2026-09-15"
MOST_BREAKPOINTS = 4

Message = Mapping[str, Any]


def faults(body: Mapping[str, Any], betas: Sequence[str] = ()) -> list[str]:
    """Returns in words what the API would refuse a request for; empty where it is well formed."""
    messages: Sequence[Message] = body.get("messages", ())
    tools: Sequence[Mapping[str, Any]] = body.get("tools", ())
    return [
        *_roles(messages),
        *_results(messages),
        *_blanks(messages),
        *_declarations(tools, messages, betas),
        *_breakpoints(body),
    ]


def blocks(message: Message) -> list[Mapping[str, Any]]:
    """The content blocks of a message; a string is one text block."""
    content = message.get("content") or ()
    return [{"type": "text", "text": content}] if isinstance(content, str) else list(content)


def _roles(messages: Sequence[Message]) -> Iterator[str]:
    """A system message follows a user turn, and stands last or before an assistant turn. Neighbours count as one."""
    roles = [m["role"] for m in messages]
    if roles and roles[0] != "user":
        yield f"messages[0] is of role {roles[0]}: the first message must be the user's"
    for i, role in enumerate(roles):
        if role == "assistant" and i and roles[i - 1] == "assistant":
            yield f"messages[{i}] follows another assistant turn"
        if role == "assistant" and not blocks(messages[i]):
            yield f"messages[{i}] is empty"
        if role != "system" or (i and roles[i - 1] == "system"):
            continue
        end = next((j for j in range(i, len(roles)) if roles[j] != "system"), len(roles))
        if i == 0 or roles[i - 1] != "user":
            yield f"messages[{i}] is a system message that does not follow a user turn"
        if end < len(roles) and roles[end] != "assistant":
            yield f"messages[{i}] is a system message before a {roles[end]} turn"


def _results(messages: Sequence[Message]) -> Iterator[str]:
    """Each call is answered once, in the user turn right after it, before anything else in that turn."""
    for i, message in enumerate(messages):
        called = [b["id"] for b in blocks(message) if b["type"] == "tool_use"]
        if called and i + 1 == len(messages):
            yield f"messages[{i}] has calls without results"
        elif called and messages[i + 1]["role"] != "user":
            yield f"messages[{i + 1}] stands between calls and their results"
        if message["role"] != "user":
            continue
        kinds = [b["type"] for b in blocks(message)]
        answered = [b["tool_use_id"] for b in blocks(message) if b["type"] == "tool_result"]
        asked = [b["id"] for b in blocks(messages[i - 1]) if b["type"] == "tool_use"] if i else []
        if sorted(answered) != sorted(asked):
            yield f"messages[{i}] answers {answered}, and the calls before it are {asked}"
        if "tool_result" in kinds[len(answered) :]:
            yield f"messages[{i}] has a tool result after other content"


def _blanks(messages: Sequence[Message]) -> Iterator[str]:
    """Texts say something, errors too, and thinking is not the last that the model says."""
    for i, message in enumerate(messages):
        for block in blocks(message):
            if block["type"] == "text" and not block["text"].strip():
                yield f"messages[{i}] has a blank text"
            if block["type"] == "tool_result" and block.get("is_error") and not block.get("content"):
                yield f"messages[{i}] has an error without content"
        last = [block["type"] for block in blocks(message)][-1:]
        if message["role"] == "assistant" and last in (["thinking"], ["redacted_thinking"]):
            yield f"messages[{i}] ends with thinking"


def _declarations(
    tools: Sequence[Mapping[str, Any]], messages: Sequence[Message], betas: Sequence[str]
) -> Iterator[str]:
    """What is referred to is declared; no name is declared twice; not all tools are deferred."""
    names = [t["name"] for t in tools if "name" in t]
    if len(names) != len(set(names)):
        yield "tools holds a name twice"
    if tools and all(t.get("defer_loading") for t in tools):
        yield "all tools are deferred"
    declared = set(names)
    for i, message in enumerate(messages):
        for block in blocks(message):
            if block["type"] in ("tool_addition", "tool_removal") and message["role"] != "system":
                yield f"messages[{i}] has a {block['type']} outside a system message"
            if block["type"] == "tool_addition":
                tool = block["tool"]
                if tool["type"] == "tool_definition":
                    if INLINE_TOOLS not in betas:
                        yield f"messages[{i}] defines a tool without the beta {INLINE_TOOLS}"
                    declared.add(tool["definition"]["name"])
                elif tool["name"] not in declared:
                    yield f"messages[{i}] refers to {tool['name']}, which is not declared"
            if block["type"] == "tool_result" and not isinstance(block.get("content"), str):
                for part in block.get("content") or ():
                    if part["type"] == "tool_reference" and part["tool_name"] not in declared:
                        yield f"messages[{i}] refers to {part['tool_name']}, which is not declared"


def _breakpoints(body: Mapping[str, Any]) -> Iterator[str]:
    """At most four cache breakpoints, none of them on a deferred definition."""
    system = body.get("system") or ()
    parts = [*body.get("tools", ()), *(() if isinstance(system, str) else system)]
    for message in body.get("messages", ()):
        parts += blocks(message)
    marked = [p for p in parts if p.get("cache_control")]
    if len(marked) > MOST_BREAKPOINTS:
        yield f"{len(marked)} cache breakpoints: at most {MOST_BREAKPOINTS}"
    for part in marked:
        if part.get("defer_loading"):
            yield f"{part['name']} is deferred and cannot be a cache breakpoint"

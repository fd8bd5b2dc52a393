"""The scripted provider under the real SDKs: no daemon."""

from __future__ import annotations

import json
from typing import Any

import anthropic
import openai
import pytest

from toolcrib.testing.arguments import smallest
from toolcrib.testing.provider import Made, Reply, ScriptedProvider
from toolcrib.testing.wire import Recorded, elements

SCHEMA = {"type": "object", "properties": {"n": {"type": "integer", "minimum": 3}}, "required": ["n"]}
TEXT = f"## forge__close\nCloses.\n## not a heading: it has spaces\narguments (JSON Schema): {json.dumps(SCHEMA)}\n"


def claude(provider: ScriptedProvider) -> anthropic.Anthropic:
    return anthropic.Anthropic(api_key="none", http_client=provider.http_client(), max_retries=0)


def gpt(provider: ScriptedProvider) -> openai.OpenAI:
    return openai.OpenAI(api_key="none", http_client=provider.http_client(), max_retries=0)


def anthropic_tool(name: str, **more: Any) -> Any:
    return {"name": name, "description": "d", "input_schema": SCHEMA, **more}


def test_a_tool_in_the_array_is_called_by_name_and_then_answered() -> None:
    provider = ScriptedProvider([{"query": "go", "calls": ["a"]}])
    client = claude(provider)
    messages: list[Any] = [{"role": "user", "content": "go"}]
    first = client.messages.create(model="m", max_tokens=9, messages=messages, tools=[anthropic_tool("a")])
    [call] = first.content
    assert call.type == "tool_use" and call.name == "a" and call.input == {"n": 3}
    assert first.stop_reason == "tool_use"
    messages += [
        {"role": "assistant", "content": first.content},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": call.id, "content": "done"}]},
    ]
    second = client.messages.create(model="m", max_tokens=9, messages=messages, tools=[anthropic_tool("a")])
    assert second.stop_reason == "end_turn" and second.content[0].type == "text"
    assert provider.check_prefix() == []
    assert second.usage.cache_read_input_tokens


def test_a_deferred_tool_is_asked_for_until_a_result_refers_to_it() -> None:
    provider = ScriptedProvider([{"query": "go", "calls": ["a"]}])
    client = claude(provider)
    tools = [anthropic_tool("request_tool"), anthropic_tool("a", defer_loading=True)]
    messages: list[Any] = [{"role": "user", "content": "go"}]
    first = client.beta.messages.create(model="m", max_tokens=9, messages=messages, tools=tools)
    [call] = first.content
    assert call.type == "tool_use" and call.name == "request_tool" and call.input == {"name": "a"}
    reference = [{"type": "tool_reference", "tool_name": "a"}]
    messages += [
        first.to_param(),
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": call.id, "content": reference}]},
    ]
    [call] = client.beta.messages.create(model="m", max_tokens=9, messages=messages, tools=tools).content
    assert call.type == "tool_use" and call.name == "a"


def test_a_tool_that_stays_away_is_asked_for_once() -> None:
    provider = ScriptedProvider([{"query": "go", "calls": ["a"]}])
    client = gpt(provider)
    messages: list[Any] = [{"role": "user", "content": "go"}]
    first = client.chat.completions.create(model="m", messages=messages)
    message = first.choices[0].message
    assert message.tool_calls and message.tool_calls[0].type == "function"
    assert message.tool_calls[0].function.name == "request_tool"
    messages += [message, {"role": "tool", "tool_call_id": message.tool_calls[0].id, "content": "no"}]
    second = client.chat.completions.create(model="m", messages=messages)
    assert second.choices[0].finish_reason == "stop"
    assert provider.missed == ["a"]


def test_a_definition_in_text_is_called_through_call_tool() -> None:
    provider = ScriptedProvider([{"query": "go", "calls": ["forge__close"]}])
    tools: list[Any] = [{"type": "function", "function": {"name": "call_tool", "parameters": SCHEMA}}]
    messages: list[Any] = [{"role": "user", "content": "go"}, {"role": "user", "content": TEXT}]
    reply = gpt(provider).chat.completions.create(model="m", messages=messages, tools=tools)
    [call] = reply.choices[0].message.tool_calls or []
    assert call.type == "function" and call.function.name == "call_tool"
    assert json.loads(call.function.arguments) == {"name": "forge__close", "arguments": {"n": 3}}


def test_responses_are_searched_with_the_providers_own_tool() -> None:
    provider = ScriptedProvider([{"query": "go", "calls": [["a", "b"]]}])
    client = gpt(provider)
    search: Any = {"type": "tool_search", "execution": "client", "description": "d", "parameters": SCHEMA}
    function: Any = {"type": "function", "name": "a", "description": "d", "parameters": SCHEMA, "strict": False}
    items: list[Any] = [{"type": "message", "role": "user", "content": [{"type": "input_text", "text": "go"}]}]
    items.append({"type": "additional_tools", "role": "developer", "tools": [function]})
    first = client.responses.create(model="m", input=items, tools=[search])
    call, ask = first.output
    assert call.type == "function_call" and call.name == "a"
    assert ask.type == "tool_search_call" and ask.execution == "client" and ask.arguments == {"name": "b"}
    items += [*first.output, {"type": "function_call_output", "call_id": call.call_id, "output": "done"}]
    found = [{**function, "name": "b"}]
    items.append({"type": "tool_search_output", "call_id": ask.call_id, "execution": "client", "tools": found})
    [second] = client.responses.create(model="m", input=items, tools=[search]).output
    assert second.type == "function_call" and second.name == "b"
    assert provider.check_prefix() == []


async def test_asynchronous_clients_are_answered_too() -> None:
    provider = ScriptedProvider([{"query": "go", "replies": [Reply("no", stop="refusal")]}])
    client = anthropic.AsyncAnthropic(api_key="none", http_client=provider.async_http_client())
    reply = await client.messages.create(model="m", max_tokens=9, messages=[{"role": "user", "content": "go"}])
    assert reply.stop_reason == "refusal"


def test_what_the_provider_would_refuse_is_refused() -> None:
    provider = ScriptedProvider([{"query": "go", "calls": []}])
    system: Any = [{"role": "system", "content": "first"}, {"role": "user", "content": "go"}]
    with pytest.raises(anthropic.BadRequestError, match="does not follow a user turn"):
        claude(provider).beta.messages.create(model="m", max_tokens=9, messages=system)
    with pytest.raises(openai.BadRequestError, match="no call before it waits for"):
        gpt(provider).chat.completions.create(
            model="m", messages=[{"role": "tool", "tool_call_id": "1", "content": "done"}]
        )
    with pytest.raises(openai.BadRequestError, match="no call before it waits for"):
        output: Any = [{"type": "function_call_output", "call_id": "1", "output": "done"}]
        gpt(provider).responses.create(model="m", input=output)


def test_a_question_that_is_not_in_the_script_is_refused() -> None:
    provider = ScriptedProvider([{"query": "go", "calls": []}])
    with pytest.raises(openai.BadRequestError, match="not what was asked"):
        gpt(provider).chat.completions.create(model="m", messages=[{"role": "user", "content": "stay"}])


def test_a_tool_added_to_the_array_breaks_the_prefix() -> None:
    provider = ScriptedProvider([{"query": "go"}, {"query": "go"}])
    client = claude(provider)
    for tools in ([anthropic_tool("a")], [anthropic_tool("a"), anthropic_tool("b")]):
        client.messages.create(
            model="m", max_tokens=9, system="s", messages=[{"role": "user", "content": "go"}], tools=tools
        )
    assert provider.check_prefix() == ["request 2 differs from request 1 at system[0]"]


def test_one_changed_byte_breaks_the_prefix() -> None:
    provider = ScriptedProvider([{"query": "go", "replies": [Reply(calls=[Made("x", "{")])]}])
    for text in ("earlier", "Earlier"):
        messages: Any = [{"role": "user", "content": text}, {"role": "user", "content": "go"}]
        gpt(provider).chat.completions.create(model="m", messages=messages)
    assert provider.check_prefix() == ["request 2 differs from request 1 at messages[0]"]


def test_elements_are_what_was_sent_byte_for_byte() -> None:
    body = '{ "messages" : [ {"b":1, "a" : [1,2]} ,{"c":"\\u00e9"}], "tools":[], "model":"m", "system":"s"}'
    assert [(str(e), e.sent) for e in elements(body)] == [
        ("system[0]", '"s"'),
        ("messages[0]", '{"b":1, "a" : [1,2]}'),
        ("messages[1]", '{"c":"\\u00e9"}'),
    ]
    with pytest.raises(ValueError, match="not a JSON object"):
        Recorded.of("/", (), b"[]")


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        ({"type": "object", "properties": {"a": {"type": "string"}, "b": {}}, "required": ["a"]}, {"a": "x"}),
        ({"$ref": "#/$defs/n", "$defs": {"n": {"type": "integer", "exclusiveMinimum": 4}}}, 5),
        ({"type": "array", "minItems": 2, "items": {"enum": ["p", "q"]}}, ["p", "p"]),
        ({"anyOf": [{"type": "null"}, {"type": "string"}]}, None),
        ({"type": ["null", "number"], "maximum": 0}, 0),
        ({"allOf": [{"type": "object"}, {"required": ["a"]}]}, {"a": "x"}),
        ({"type": "string", "minLength": 3}, "xxx"),
    ],
)
def test_smallest_arguments_fit(schema: dict[str, Any], expected: Any) -> None:
    assert smallest(schema) == expected

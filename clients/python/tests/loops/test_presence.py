"""What the daemon counts is what the model saw."""

from __future__ import annotations

from toolcrib.testing.arguments import smallest
from toolcrib.testing.provider import Made, Reply, View
from toolcrib.v1 import registry_pb2

from .conftest import Bench
from .talk import texts_of

QUERY = "What is the current stock price of a company?"


def seen(bench: Bench, view: View) -> list[str]:
    """The registered tools whose definitions the model sees."""
    return [name for name in (*view.native, *view.text) if name in bench.tools]


def demand(bench: Bench, view: View, name: str) -> Made:
    """A call with arguments that fit, whether the model sees the tool or not."""
    return view.call(name, smallest(bench.tools[name]["input_schema"]))


def test_three_demands_of_which_one_is_present_are_one_third(bench: Bench) -> None:
    def three(view: View) -> Reply:
        present = seen(bench, view)
        absent = [name for name in bench.tools if name not in present]
        return Reply(calls=[demand(bench, view, name) for name in (absent[0], present[0], absent[1])])

    talk, provider = bench.talk([{"query": QUERY, "replies": [three]}])
    talk.ask(QUERY)
    assert [call.presence for call in talk.ran] == ["absent", "issued", "absent"]
    assert all(call.kind == "tool" and call.tool for call in talk.ran)
    calls = bench.figures().calls
    assert (calls.resident, calls.issued, calls.recalled, calls.absent, calls.unknown) == (0, 1, 0, 2, 0)
    assert provider.check_prefix() == []


def test_a_tool_asked_for_beside_other_calls_comes_with_the_results(bench: Bench) -> None:
    wanted: list[str] = []

    def both(view: View) -> Reply:
        present = seen(bench, view)
        wanted.append(next(name for name in bench.tools if name not in present))
        ask = Made("tool_search" if view.has_tool_search else "request_tool", {"name": wanted[0]})
        return Reply(calls=[demand(bench, view, present[0]), ask, demand(bench, view, present[0])])

    def recalled(view: View) -> Reply:
        assert wanted[0] in seen(bench, view)
        return Reply(calls=[demand(bench, view, wanted[0])])

    talk, provider = bench.talk([{"query": QUERY, "replies": [both, recalled]}])
    talk.ask(QUERY)
    assert [call.presence for call in talk.ran] == ["issued", "issued", "recalled"]
    calls = bench.figures().calls
    assert (calls.issued, calls.recalled, calls.absent) == (2, 1, 0)
    assert provider.check_prefix() == []


def test_a_tool_that_the_model_asked_for_beside_its_own_call_was_absent(bench: Bench) -> None:
    """A recall does not make a sibling in the same reply present."""

    def both(view: View) -> Reply:
        absent = next(name for name in bench.tools if name not in seen(bench, view))
        ask = Made("tool_search" if view.has_tool_search else "request_tool", {"name": absent})
        return Reply(calls=[ask, demand(bench, view, absent)])

    talk, _ = bench.talk([{"query": QUERY, "replies": [both]}])
    talk.ask(QUERY)
    assert [call.presence for call in talk.ran] == ["absent"]
    assert bench.figures().calls.absent == 1


def test_a_quarantined_tool_is_never_run_and_the_model_is_told(bench: Bench) -> None:
    name = "yahoo-finance__get_current_stock_price"
    source, tool = name.split("__", 1)
    bench.registry.ChangeTool(
        registry_pb2.ChangeToolRequest(
            namespace=bench.namespace,
            tool={"source": source, "name": tool},
            action=registry_pb2.TOOL_ACTION_QUARANTINE,
            reason="it lies",
            request_id="quarantine",
        )
    )
    ask = {"name": name}

    def call(view: View) -> Reply:
        meta = "tool_search" if view.has_tool_search else "request_tool"
        return Reply(calls=[demand(bench, view, name), Made(meta, ask)])

    talk, provider = bench.talk([{"query": QUERY, "replies": [call]}])
    talk.ask(QUERY)
    assert talk.ran == []
    told = texts_of(provider.requests[-1].body)
    said = [text for text in told if f"{name} is out of order at the moment" in text]
    assert len(said) == 2
    assert bench.figures().calls.absent == 0

"""The history is the user's: what is cut from it is issued again when it is needed."""

from __future__ import annotations

from toolcrib.testing.provider import Reply, View

from .conftest import Bench
from .test_presence import QUERY, demand, seen


def test_what_a_compaction_cut_is_issued_again(bench: Bench) -> None:
    called: list[str] = []

    def call(view: View) -> Reply:
        called.append(seen(bench, view)[0])
        return Reply(calls=[demand(bench, view, called[0])])

    def again(view: View) -> Reply:
        assert called[0] in seen(bench, view)
        return Reply(calls=[demand(bench, view, called[0])])

    script = [{"query": QUERY, "replies": [call]}, {"query": "Thanks!", "replies": [again]}]
    talk, _ = bench.talk(script)
    talk.ask(QUERY)
    talk.agent.messages = []
    talk.ask("Thanks!")
    assert [call.presence for call in talk.ran] == ["issued", "issued"]
    calls = bench.figures().calls
    assert (calls.issued, calls.absent) == (2, 0)


def test_a_history_that_is_changed_at_its_beginning_is_counted_as_a_cache_break(bench: Bench) -> None:
    def call(view: View) -> Reply:
        return Reply(calls=[demand(bench, view, seen(bench, view)[0])])

    script = [{"query": QUERY, "replies": [call]}, {"query": "Thanks!", "replies": [call]}]
    talk, provider = bench.talk(script, lambda _: "a long web page " * 2_000)
    talk.ask(QUERY)
    # What is said first becomes other words: all that follows must be read anew.
    talk.agent.messages[0] = {**talk.agent.messages[0], "content": "What does a share cost?"}
    talk.ask("Thanks!")
    assert len(provider.check_prefix()) == 1
    breaks = bench.figures().cache_breaks
    assert breaks.tools + breaks.other + breaks.expired + breaks.unknown == 1

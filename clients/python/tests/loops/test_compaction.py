"""The history is the user's: what is cut from it is issued again when it is needed."""

from __future__ import annotations

from toolcrib.testing.provider import Reply, View

from .conftest import Bench
from .test_calls import first
from .test_presence import QUERY, demand, seen


def test_what_a_compaction_cut_is_issued_again(bench: Bench) -> None:
    called: list[str] = []

    def call(view: View) -> Reply:
        reply = first(bench)(view)
        called.append(seen(bench, view)[0])
        return reply

    def again(view: View) -> Reply:
        assert called[0] in seen(bench, view)
        return Reply(calls=[demand(bench, view, called[0])])

    script = [{"query": QUERY, "replies": [call]}, {"query": "Thanks!", "replies": [again]}]
    talk, _ = bench.talk(script)  # type: ignore[arg-type]
    talk.ask(QUERY)
    talk.agent.messages = []
    talk.ask("Thanks!")
    assert [call.presence for call in talk.ran] == ["issued", "issued"]
    calls = bench.figures().calls
    assert (calls.issued, calls.absent) == (2, 0)

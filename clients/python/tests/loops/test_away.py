"""An agent goes on while the daemon is away, and what happened then is counted when it is back."""

from __future__ import annotations

import pytest

from toolcrib.testing import Daemon
from toolcrib.testing.provider import Made, Reply, View

from .conftest import Bench
from .talk import WAYS, Way, texts_of
from .test_presence import QUERY, demand, seen


@pytest.mark.parametrize("way", [way for way in WAYS if not way.is_async or way.delivery == "append"], ids=str)
def test_a_conversation_outlives_the_daemon(way: Way) -> None:
    def known(view: View) -> Reply:
        return Reply(calls=[demand(bench, view, seen(bench, view)[0])])

    def known_and_unknown(view: View) -> Reply:
        absent = next(name for name in bench.tools if name not in seen(bench, view))
        ask = Made("tool_search" if view.has_tool_search else "request_tool", {"name": absent})
        return Reply(calls=[*known(view).calls, ask, demand(bench, view, absent)])

    with Daemon() as daemon:
        bench = Bench(daemon, way)
        script = [
            {"query": QUERY, "replies": [known]},
            {"query": "And now?", "replies": [known_and_unknown]},
            {"query": "And then?", "replies": [known]},
        ]
        talk, provider = bench.talk(script)
        talk.ask(QUERY)

        bench.settle()
        daemon.kill()
        talk.hurry()
        talk.ask("And now?")
        assert talk.agent.last_plan.stale
        # What it was given runs; what it was not given is answered, and so is the request for it.
        assert len(talk.ran) == 2 and talk.ran[1].stale
        assert sum("now" in text and "cannot" in text for text in texts_of(provider.requests[-1].body)) == 2

        daemon.restart()
        talk.ask("And then?")
        assert not talk.agent.last_plan.stale
        calls = bench.figures().calls
        bench.close()
    assert (calls.issued, calls.resident, calls.absent, calls.unknown) == (3, 0, 0, 0)
    assert provider.check_prefix() == []

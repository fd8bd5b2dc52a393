"""What a plan costs through the client, beside the same request through the bare stub.

    python bench/plan_step.py [--rounds 400]

Both speak to one daemon, in turns, about the same step: 30 turns of history, a few hundred tools. The stub is handed a
request that is made already and whose answer nobody reads; the client reads query and present definitions off the
messages, and makes the answer into what goes into the next model request. Needs the repository and a daemon
(`toolcrib.testing.find_binary`); a release build gives the figures that count.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import grpc

from toolcrib import Crib
from toolcrib.testing import Daemon, find_binary
from toolcrib.v1 import session_pb2 as pb
from toolcrib.v1 import session_pb2_grpc

DEMO = Path(__file__).resolve().parents[3] / "examples" / "demo"
TURNS = 30
WARM_UP = 20
QUERIES = [
    "create an issue about the failing build",
    "find the weather forecast for Berlin",
    "merge the pull request and delete its branch",
    "search the web for recent papers on retrieval",
    "convert the currency of this invoice",
]


def history(session: Any, turns: int) -> list[Any]:
    """A conversation as it is sent: the user's words, what was issued, the model's answers."""
    messages: list[Any] = []
    for i in range(turns):
        messages.append({"role": "user", "content": QUERIES[i % len(QUERIES)]})
        plan = session.plan(messages)
        messages += plan.messages
        messages.append({"role": "assistant", "content": f"That was number {i}; here is what came of it."})
        session.ended(plan)
    messages.append({"role": "user", "content": "now label the oldest open issue"})
    return messages


def timed(call: Callable[[], Any]) -> float:
    began = time.perf_counter()
    call()
    return time.perf_counter() - began


def compare(crib: Crib, stub: Any, format: str, delivery: str, rounds: int) -> str:
    session = crib.open_session(f"bench-{format}-{delivery}", format=format, delivery=delivery)
    messages = history(session, TURNS)
    core = session.core
    query = core.format.query_of(messages, core.given.texts)
    request = core._request(
        pb.PlanStepRequest,
        query=pb.Query(user=query.user, model=query.model),
        present=pb.Present(names=core.given.present_in(messages)),
    )
    bare: list[float] = []
    client: list[float] = []
    for i in range(rounds + WARM_UP):
        request.key = f"bare-{i}"
        # In turns, and each as often first as the other.
        sides = [(bare, lambda: stub.PlanStep(request)), (client, lambda: session.plan(messages))]
        for times, call in sides if i % 2 else reversed(sides):
            took = timed(call)
            if i >= WARM_UP:
                times.append(took)
    one, other = statistics.median(bare), statistics.median(client)
    return (
        f"{format:<17} {delivery:<9} {len(messages):>3} messages, {len(request.present.names):>2} present: "
        f"stub {one * 1e6:6.0f} µs, client {other * 1e6:6.0f} µs, ratio {other / one:.2f}"
    )


def main() -> None:
    options = argparse.ArgumentParser()
    options.add_argument("--rounds", type=int, default=400)
    rounds = options.parse_args().rounds
    with Daemon() as daemon, daemon.crib(timeout=5.0) as crib:
        n_tools = crib.import_catalog(DEMO / "livemcpbench" / "tools.jsonl").admitted
        n_tools += crib.import_catalog(DEMO / "github.json").admitted
        print(f"{find_binary()}, {n_tools} tools, medians of {rounds}")
        with grpc.insecure_channel(daemon.address) as channel:
            stub = session_pb2_grpc.SessionServiceStub(channel)
            for format, delivery in (
                ("anthropic", "append"),
                ("anthropic", "invoke"),
                ("openai_responses", "append"),
                ("openai_chat", "invoke"),
            ):
                print(compare(crib, stub, format, delivery, rounds))


if __name__ == "__main__":
    main()

"""Repetition, deadlines and errors, against a transport that answers as the test says."""

from __future__ import annotations

from typing import Any

import pytest

from toolcrib import Call, CribError
from toolcrib._session import SessionCore
from toolcrib._sync import run
from toolcrib._transport import Patience
from toolcrib.v1 import session_pb2 as pb


class Clock:
    """Time that only sleeping moves."""

    def __init__(self) -> None:
        self.now = 0.0
        self.slept: list[float] = []

    def __call__(self) -> float:
        return self.now


class Scripted:
    """A transport that gives answers, or raises errors, in the order in which they stand."""

    def __init__(self, clock: Clock, *answers: Any) -> None:
        self.clock = clock
        self.answers = list(answers)
        self.sent: list[Any] = []
        self.timeouts: list[float] = []
        self.services: Any = type("Services", (), {"session": self})()

    def __getattr__(self, method: str) -> str:
        return method

    async def unary(self, method: Any, request: Any, timeout: float) -> Any:
        copy = type(request)()
        copy.CopyFrom(request)
        self.sent.append((method, copy))
        self.timeouts.append(timeout)
        answer = self.answers.pop(0)
        if isinstance(answer, CribError):
            raise answer
        return answer

    async def sleep(self, seconds: float) -> None:
        self.clock.slept.append(seconds)
        self.clock.now += seconds


def _ask(*answers: Any, chance: float = 1.0, timeout: float = 0.25) -> tuple[Any, Scripted, Clock]:
    clock = Clock()
    transport = Scripted(clock, *answers)
    patience = Patience(clock=clock, chance=lambda: chance)
    return run(patience.ask(transport, "PlanStep", pb.PlanStepRequest(), timeout)), transport, clock  # type: ignore[arg-type]


def _away(retry_after: float | None = None, code: str = "UNAVAILABLE") -> CribError:
    return CribError(code, "gone", retry_after=retry_after)


def test_pauses_double_and_are_shares_of_the_longest() -> None:
    _, _, clock = _ask(_away(), _away(), _away(), "there")
    assert clock.slept == [0.01, 0.02, 0.04]
    _, _, clock = _ask(_away(), _away(), "there", chance=0.5)
    assert clock.slept == [0.005, 0.01]


def test_each_attempt_gets_what_is_left_of_the_time() -> None:
    _, transport, _ = _ask(_away(), _away(), "there")
    assert transport.timeouts == pytest.approx([0.25, 0.24, 0.22])


def test_what_the_daemon_says_about_when_to_come_back_is_kept_to() -> None:
    _, _, clock = _ask(_away(0.1, "RESOURCE_EXHAUSTED"), "there")
    assert clock.slept == [0.1]
    with pytest.raises(CribError):
        _ask(_away(0.3, "RESOURCE_EXHAUSTED"), "there")


@pytest.mark.parametrize("code", ["INVALID_ARGUMENT", "NOT_FOUND", "DEADLINE_EXCEEDED", "INTERNAL"])
def test_what_would_be_refused_again_is_not_sent_again(code: str) -> None:
    clock = Clock()
    transport = Scripted(clock, _away(code=code), "there")
    with pytest.raises(CribError):
        run(Patience(clock=clock).ask(transport, "PlanStep", pb.PlanStepRequest(), 0.25))  # type: ignore[arg-type]
    assert len(transport.sent) == 1


def test_a_coroutine_that_waits_is_not_run_as_if_it_did_not() -> None:
    import asyncio

    async def wait() -> None:
        await asyncio.sleep(0)

    with pytest.raises(RuntimeError, match="waited"):
        run(wait())


def _session(*answers: Any) -> tuple[SessionCore, Scripted]:
    clock = Clock()
    transport = Scripted(clock, *answers)
    opening = pb.OpenSessionRequest(namespace="n", session_id="s", format=pb.FORMAT_OPENAI_CHAT)
    session = SessionCore(transport, opening, 0.25, Patience(clock=clock, chance=lambda: 1.0))  # type: ignore[arg-type]
    session.delivery = "invoke"
    return session, transport


def _planned(step: str, *acks: Any) -> Any:
    return pb.PlanStepResponse(step_id=step, acks=[pb.OutcomeAck(result=ack) for ack in acks])


APPLIED, DUPLICATE, NOT_STORED = (
    pb.OUTCOME_RESULT_APPLIED,
    pb.OUTCOME_RESULT_DUPLICATE,
    pb.OUTCOME_RESULT_NOT_STORED,
)


def test_a_repeated_plan_bears_the_same_key() -> None:
    session, transport = _session(_away(), _planned("1.1"))
    run(session.plan([]))
    first, second = (request for _, request in transport.sent)
    assert first.key and first == second


def test_an_outcome_whose_answer_was_lost_is_told_again_and_one_that_was_not_stored_too() -> None:
    session, transport = _session(
        _planned("1.1"),
        _away(code="DEADLINE_EXCEEDED"),
        # The stale step is planned first, with what came before it.
        _planned("1.2", DUPLICATE),
        _planned("1.3", NOT_STORED),
        _planned("1.4", APPLIED),
        _planned("1.5"),
    )
    first = run(session.plan([]))
    session.report("a", first, name="x")
    stale = run(session.plan([]))
    assert stale.stale
    session.report("b", stale, name="x")
    for _ in range(3):
        assert not run(session.plan([])).stale
    told = [[(o.call_id, o.step_id) for o in request.outcomes] for _, request in transport.sent]
    assert told == [[], [("a", "1.1")], [("a", "1.1")], [("b", "1.2")], [("b", "1.2")], []]
    late = transport.sent[2][1]
    assert (late.key, late.max_tokens, late.query.user) == (stale.key, 1, "")


def test_what_is_kept_while_the_daemon_is_away_is_bounded_and_counted() -> None:
    session, _ = _session(*[_away(code="DEADLINE_EXCEEDED")] * 70)
    for i in range(70):
        stale = run(session.plan([]))
        session.report(str(i), stale, name="x")
    # 64 steps are kept, each with its outcome; the six before them are gone with theirs.
    assert len(session._reports) == 2 * 64 and session.dropped == 2 * 6


def test_a_refused_request_is_an_error_and_no_stale_plan() -> None:
    session, _ = _session(CribError("INVALID_ARGUMENT", "key: must be shorter", "INVALID_FIELD"))
    with pytest.raises(CribError, match="must be shorter"):
        run(session.plan([], key="k" * 300))


def test_nothing_is_issued_where_nothing_can_be_placed() -> None:
    session, transport = _session(_planned("1.1"))
    call = {"id": "1", "type": "function", "function": {"name": "x", "arguments": "{}"}}
    run(session.plan([{"role": "assistant", "tool_calls": [call]}]))
    assert transport.sent[0][1].max_tokens == 1


def test_long_texts_are_cut_at_a_whole_character() -> None:
    session, transport = _session(_planned("1.1"))
    run(session.plan([{"role": "user", "content": "ü" * 5_000}]))
    assert transport.sent[0][1].query.user == "ü" * 4_096


def test_arguments_are_sent_as_they_were_written() -> None:
    assert Call("1", "x", '{"a": 1 }').json() == b'{"a": 1 }'
    assert Call("1", "x", b"{}").json() == b"{}"
    assert Call("1", "x", {"a": "ü"}).json() == b'{"a": "\\u00fc"}'
    assert Call("1", "x").json() == b""

"""Repetition, deadlines and errors, against a transport that answers as the test says."""

from __future__ import annotations

from typing import Any

import grpc
import pytest
from google.protobuf import any_pb2, duration_pb2
from google.rpc import error_details_pb2, status_pb2

from toolcrib import Call, CribError
from toolcrib._errors import read
from toolcrib._session import SessionCore
from toolcrib._sync import run
from toolcrib._transport import Patience
from toolcrib.v1 import session_pb2 as pb
from toolcrib.values import Violation


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
    session.given.delivery = "invoke"
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


def _bad(*fields: str) -> CribError:
    return CribError(
        "INVALID_ARGUMENT", "bad", "INVALID_FIELD", [Violation(field, "must be another") for field in fields]
    )


def test_what_the_daemon_will_never_take_is_dropped_and_the_rest_told() -> None:
    session, transport = _session(
        _planned("1.1"),
        _bad("outcomes[1].call_id", "endings[0].step_id"),
        _planned("1.2", APPLIED),
        _planned("1.3"),
    )
    plan = run(session.plan([]))
    # Both bear one id: only the one that is named goes.
    session.report("a", plan, name="x")
    session.report("a", plan, name="y" * 300)
    session.ended(plan)
    assert not run(session.plan([])).stale
    assert session.dropped == 2
    run(session.plan([]))
    told = [([o.name for o in r.outcomes], len(r.endings)) for _, r in transport.sent]
    assert told == [([], 0), (["x", "y" * 300], 1), (["x"], 0), ([], 0)]


def test_a_step_that_can_never_be_planned_keeps_no_later_one_from_it() -> None:
    session, _ = _session(_away(code="DEADLINE_EXCEEDED"), _bad("key"), _planned("1.1"))
    stale = run(session.plan([], key="k" * 300))
    session.report("a", stale, name="x")
    assert run(session.plan([])).step_id == "1.1"
    assert (session.dropped, len(session._reports)) == (2, 0)


def test_an_ending_of_a_dropped_step_does_no_harm() -> None:
    """The daemon refuses an ending without a step, and would refuse every request that bears it."""
    session, _ = _session(_away(code="DEADLINE_EXCEEDED"), _bad("endings[0].step_id"), _planned("1.1"))
    stale = run(session.plan([]))
    session._reports._remove(lambda news: news.is_step)
    session.ended(stale)
    assert run(session.plan([])).step_id == "1.1" and session.dropped == 1


def test_a_daemon_that_cannot_store_still_plans() -> None:
    full = pb.ReportOutcomesResponse(acks=[pb.OutcomeAck(result=NOT_STORED)] * 256)
    session, transport = _session(_planned("1.1"), full, _planned("1.2"))
    plan = run(session.plan([]))
    for i in range(300):
        session.report(str(i), plan, name="x")
    assert not run(session.plan([])).stale
    assert len(session._reports) == 300 and session.dropped == 0
    assert [method for method, _ in transport.sent] == ["PlanStep", "ReportOutcomes", "PlanStep"]


def test_a_flush_that_is_not_stored_says_so() -> None:
    session, _ = _session(_planned("1.1"), pb.ReportOutcomesResponse(acks=[pb.OutcomeAck(result=NOT_STORED)]))
    session.report("a", run(session.plan([])), name="x")
    with pytest.raises(CribError, match="cannot store"):
        run(session.flush())
    assert len(session._reports) == 1


def test_a_step_without_its_turn_in_the_queue_is_dropped_first() -> None:
    """Too many steps cost the oldest step, and not all that was told before it."""
    session, _ = _session(_planned("1.1"), *[_away(code="DEADLINE_EXCEEDED")] * 65)
    plan = run(session.plan([]))
    for i in range(100):
        session.report(f"early-{i}", plan, name="x")
    for _ in range(65):
        run(session.plan([]))
    assert (session.dropped, len(session._reports)) == (1, 100 + 64)


def test_at_most_4096_are_kept() -> None:
    session, _ = _session(_planned("1.1"))
    plan = run(session.plan([]))
    for i in range(4_100):
        session.report(str(i), plan, name="x")
    assert (session.dropped, len(session._reports)) == (4, 4_096)
    assert session._reports.next().outcomes[0].what.call_id == "4"


def test_a_block_that_comes_as_a_stream_ends_where_the_block_does() -> None:
    """What forgotten steps issued comes behind it without a step's id, as the block's own pieces do."""
    pieces = [
        pb.Piece(place=pb.PLACE_TOOLS, content=b'{"name": "a"}'),
        pb.Piece(place=pb.PLACE_SYSTEM, content=b"text"),
        pb.Piece(place=pb.PLACE_MESSAGES, content=b'{"role": "user", "content": "later"}'),
    ]
    session, transport = _session(
        pb.OpenSessionResponse(session_id="s", delivery=pb.DELIVERY_INVOKE, block=pb.Block(digest="d", size_bytes=17))
    )

    async def read(method: Any, request: Any, timeout: float) -> list[Any]:
        return [pb.ReadSessionResponse(piece=piece) for piece in pieces]

    transport.read = read  # type: ignore[attr-defined]
    run(session.open())
    assert (session.block.tools, session.block.system) == ([{"name": "a"}], ["text"])


class Refusal(grpc.RpcError):
    """An error as grpc raises it."""

    def __init__(self, *details: Any) -> None:
        status = status_pb2.Status(details=[_packed(detail) for detail in details])
        self._trailing = [("grpc-status-details-bin", status.SerializeToString())]

    def code(self) -> Any:
        return grpc.StatusCode.RESOURCE_EXHAUSTED

    def details(self) -> str:
        return "too busy"

    def trailing_metadata(self) -> Any:
        return self._trailing


def _packed(detail: Any) -> any_pb2.Any:
    packed = any_pb2.Any()
    packed.Pack(detail)
    return packed


def test_all_that_the_daemon_says_of_an_error_is_read() -> None:
    field = error_details_pb2.BadRequest.FieldViolation(field="calls[0].call_id", description="must be shorter")
    error = read(
        Refusal(
            error_details_pb2.ErrorInfo(reason="TOO_BUSY"),
            error_details_pb2.BadRequest(field_violations=[field]),
            error_details_pb2.RetryInfo(retry_delay=duration_pb2.Duration(nanos=20_000_000)),
        )
    )
    assert (error.code, error.message, error.reason) == ("RESOURCE_EXHAUSTED", "too busy", "TOO_BUSY")
    assert (error.retry_after, error.is_passing, error.is_away) == (0.02, True, True)
    assert error.violations == [Violation("calls[0].call_id", "must be shorter")]


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
    run(session.plan([{"role": "user", "content": "a" + "ü" * 5_000 + "z"}]))
    # Half of it from the end, where a text often says what it is about.
    assert transport.sent[0][1].query.user == "a" + "ü" * 2_047 + "ü" * 2_047 + "z"


def test_arguments_are_sent_as_they_were_written() -> None:
    assert Call("1", "x", '{"a": 1 }').json() == b'{"a": 1 }'
    assert Call("1", "x", b"{}").json() == b"{}"
    assert Call("1", "x", {"a": "ü"}).json() == b'{"a": "\\u00fc"}'
    assert Call("1", "x").json() == b""

"""A daemon that crashes behind its answer, or hangs before it: what it did is counted once, heard of or not."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import Callable
from typing import Any

import pytest

from toolcrib import Call, CribError
from toolcrib.testing import Daemon

from .conftest import Driver, user
from .test_lost import CREATE, NAME, Lossy

#: Seconds that a step may take by default.
STEP = 0.25

Mortal = tuple[Daemon, Callable[..., Any]]


class Once(Lossy):
    """A transport that does something behind the first answer to one kind of request, and loses that answer."""

    def __init__(self, inner: Any, kind: str, then: Callable[[], None], code: str) -> None:
        super().__init__(inner, self._is_now, code)
        self._kind = kind
        self._then = then
        self._sent = ""

    async def unary(self, method: Any, request: Any, timeout: float) -> Any:
        self._sent = type(request).__name__
        return await super().unary(method, request, timeout)

    def _is_now(self) -> bool:
        is_now = not self.n_lost and self._sent == self._kind
        if is_now:
            self._then()
        return is_now


@pytest.mark.parametrize("code", ["UNAVAILABLE", "DEADLINE_EXCEEDED"], ids=["sent_again", "given_up"])
@pytest.mark.parametrize("is_on_disk", [False, True], ids=["lost_in_the_crash", "on_disk_before_it"])
@pytest.mark.parametrize("kind", ["PlanStepRequest", "ValidateCallsRequest", "ReportOutcomesRequest"])
def test_a_daemon_that_crashes_behind_its_answer_counts_nothing_twice(
    do: Driver, mortal: Mortal, kind: str, is_on_disk: bool, code: str
) -> None:
    daemon, connect = mortal
    crib = connect(timeout=30.0)
    session = do(crib.open_session(format="anthropic", delivery="append"))
    messages: list[Any] = [user("create an issue")]
    plan = do(session.plan(messages))
    messages += plan.messages
    do(session.validate(plan, [Call("1", NAME, CREATE)]))
    session.report("1", plan)
    # On disk from here: what was acknowledged less than 50 ms before a crash may be lost, and is not sent again.
    do(session.flush())

    def crash() -> None:
        if is_on_disk:
            # The log has one order: what is durable now takes along all that came before it.
            with daemon.crib() as other:
                other.open_session("other", format="openai_chat").flush()
        daemon.restart()

    session.core._transport = wire = Once(session.core._transport, kind, crash, code)
    # Carries the news of call 2 along, so that step, call and outcome are all at stake.
    session.report("2", plan, name=NAME)
    second = do(session.plan(messages))
    if kind == "ValidateCallsRequest":
        # Only the check is to be at stake: the step and the news with it were acknowledged already.
        do(session.flush())
    for checked in do(session.validate(second, [Call("3", NAME, CREATE)])):
        assert checked.run
        session.report("3", second)
    with contextlib.suppress(CribError):
        do(session.flush())
    assert wire.n_lost == 1
    do(session.flush())
    figures = do(crib.stats())
    assert (figures.calls, figures.steps) == (3, 2)
    # The definition stood in the messages of both steps.
    assert (figures.issued, session.dropped) == (3, 0)


def test_a_daemon_that_hangs_keeps_no_step_longer_than_it_may_and_counts_it_once(do: Driver, mortal: Mortal) -> None:
    daemon, connect = mortal
    session = do(connect().open_session(format="openai_chat", delivery="invoke"))
    messages: list[Any] = [user("create an issue")]
    first = do(session.plan(messages))
    messages += first.messages
    assert daemon.pid is not None
    # What is sent to it now is taken in, and worked off once it goes on, when nobody waits for it any more.
    os.kill(daemon.pid, signal.SIGSTOP)
    try:
        for i in range(3):
            began = time.monotonic()
            plan = do(session.plan(messages))
            assert plan.stale and time.monotonic() - began < 2 * STEP
            began = time.monotonic()
            (checked,) = do(session.validate(plan, [Call(str(i), NAME, CREATE)]))
            assert checked.run and checked.stale and time.monotonic() - began < 2 * STEP
            session.report(checked.call_id, plan)
    finally:
        os.kill(daemon.pid, signal.SIGCONT)
    do(session.flush())
    with daemon.crib() as crib:
        figures = crib.stats()
    assert (figures.steps, figures.calls, figures.issued, session.dropped) == (4, 3, 3, 0)

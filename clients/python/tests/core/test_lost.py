"""Replies of a real daemon that are lost on their way: nothing is counted twice, and nothing is left out."""

from __future__ import annotations

import random
from typing import Any

import pytest

from toolcrib import Call, CribError
from toolcrib._transport import Patience

from .conftest import Driver, user

CREATE = {"owner": "o", "repo": "r", "title": "t"}
NAME = "github__create_issue"


class Lossy:
    """A transport that lets the daemon answer, and then loses some of the answers."""

    def __init__(self, inner: Any, loses: Any, code: str) -> None:
        self._inner = inner
        self._loses = loses
        self._code = code
        self.services = inner.services
        self.n_lost = 0

    async def unary(self, method: Any, request: Any, timeout: float) -> Any:
        answer = await self._inner.unary(method, request, timeout)
        if self._loses():
            self.n_lost += 1
            raise CribError(self._code, "the answer was lost")
        return answer

    async def read(self, method: Any, request: Any, timeout: float) -> list[Any]:
        return list(await self._inner.read(method, request, timeout))

    async def sleep(self, seconds: float) -> None:
        """Needs no time."""


@pytest.mark.parametrize("code", ["UNAVAILABLE", "DEADLINE_EXCEEDED"])
@pytest.mark.parametrize("seed", range(3))
def test_every_call_is_counted_once_however_many_answers_are_lost(do: Driver, crib: Any, code: str, seed: int) -> None:
    chance = random.Random(seed)
    session = do(crib.open_session(format="openai_chat"))
    whole = session.core._transport
    session.core._patience = Patience(chance=chance.random)
    session.core._transport = lossy = Lossy(whole, lambda: chance.random() < 0.4, code)
    messages = [user("create an issue")]
    n_steps, n_calls = 12, 0
    for step in range(n_steps):
        plan = do(session.plan(messages))
        messages += plan.messages
        calls = [Call(f"{step}-{i}", NAME, CREATE) for i in range(chance.randrange(3))]
        for checked in do(session.validate(plan, calls)):
            # A name that was never seen, since no plan came through yet, is not run.
            if checked.run:
                session.report(checked.call_id, plan)
                n_calls += 1
    session.core._transport = whole
    do(session.flush())
    figures = do(crib.stats())
    assert lossy.n_lost > 0 and n_calls > 0, f"seed {seed}"
    assert (figures.calls, figures.steps, session.dropped) == (n_calls, n_steps, 0), f"seed {seed}"


def test_one_key_is_one_step_also_where_the_first_plan_was_stale(do: Driver, crib: Any) -> None:
    session = do(crib.open_session(format="openai_chat"))
    whole = session.core._transport

    async def away(method: Any, request: Any, timeout: float) -> Any:
        raise CribError("DEADLINE_EXCEEDED", "not heard")

    session.core._transport = nobody = Lossy(whole, lambda: True, "DEADLINE_EXCEEDED")
    nobody.unary = away  # type: ignore[method-assign]
    assert do(session.plan([user("create an issue")], key="k")).stale
    session.core._transport = whole
    plan = do(session.plan([user("create an issue")], key="k"))
    # Not taken for a step that is over: the same step, planned with its query.
    assert NAME in [offer.name for offer in plan.issued]
    do(session.flush())
    assert do(crib.stats()).steps == 1

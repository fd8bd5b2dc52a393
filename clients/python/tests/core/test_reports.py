"""Whatever is lost on the way, each outcome is counted once, in order, with the step that made its call."""

from __future__ import annotations

import random

import pytest

from toolcrib._reports import Reports, Step
from toolcrib.v1 import session_pb2 as pb


class Model:
    """A daemon that counts each call once, and stores nothing now and then."""

    def __init__(self, chance: random.Random) -> None:
        self._chance = chance
        self.counted: dict[str, str] = {}
        self.steps: dict[str, str] = {}

    def plan(self, key: str) -> str:
        return self.steps.setdefault(key, f"step-{key}")

    def take(self, outcomes: list[pb.Outcome]) -> list[pb.OutcomeAck]:
        acks = []
        for outcome in outcomes:
            if outcome.call_id in self.counted:
                result = pb.OUTCOME_RESULT_DUPLICATE
            elif self._chance.random() < 0.2:
                result = pb.OUTCOME_RESULT_NOT_STORED
            else:
                result = pb.OUTCOME_RESULT_APPLIED
                self.counted[outcome.call_id] = outcome.step_id
            acks.append(pb.OutcomeAck(call_id=outcome.call_id, result=result))
        return acks


def _exchange(reports: Reports, model: Model, chance: random.Random) -> None:
    """One request, which may be lost on its way there or back."""
    batch = reports.next()
    if chance.random() < 0.2:
        return
    acks = model.take([news.what for news in batch.outcomes])
    step_id = model.plan(batch.step.key) if batch.step else ""
    if chance.random() < 0.2:
        return
    reports.acknowledge(batch, pb.PlanStepResponse(step_id=step_id, acks=acks))


@pytest.mark.parametrize("seed", range(40))
def test_each_outcome_is_counted_once_with_its_step(seed: int) -> None:
    chance = random.Random(seed)
    reports, model = Reports(), Model(chance)
    step_of: dict[str, str] = {}
    for n in range(60):
        key = f"k{n}"
        step_id = ""
        if chance.random() < 0.3:
            reports.add_step(Step(key, []))
        else:
            step_id = model.plan(key)
        for _ in range(chance.randrange(3)):
            call_id = f"c{len(step_of)}"
            step_of[call_id] = f"step-{key}"
            reports.add(key, pb.Outcome(call_id=call_id, step_id=step_id))
        if chance.random() < 0.2:
            reports.add(key, pb.StepEnding(step_id=step_id))
        if chance.random() < 0.6:
            _exchange(reports, model, chance)
    for _ in range(10_000):
        if not len(reports):
            break
        _exchange(reports, model, chance)
    assert model.counted == step_of, f"seed {seed}"
    assert reports.dropped == 0


def test_outcomes_go_in_the_order_of_their_calls() -> None:
    reports = Reports()
    for i in range(5):
        reports.add("k", pb.Outcome(call_id=str(i)))
    batch = reports.next()
    stored, lost = pb.OUTCOME_RESULT_APPLIED, pb.OUTCOME_RESULT_NOT_STORED
    results = [stored, lost, stored, lost, stored]
    reports.acknowledge(batch, pb.PlanStepResponse(acks=[pb.OutcomeAck(result=result) for result in results]))
    assert [news.what.call_id for news in reports.next().outcomes] == ["1", "3"]

"""What a session still has to tell the daemon, in the order in which it happened.

Three kinds of news: how a call ended, how a step ended that made no call, and that a step was made while the daemon was
away. The last kind is why order matters. Such a step is planned when the daemon is back: with its own key and the
definitions that stood in its request, and without a query, so that nothing is issued. Only then is it known to the
daemon by an id that its calls can bear, and their presence and the tokens of the request are counted as they were.

News are taken off when the daemon has acknowledged them. What was sent and not acknowledged is sent again; the daemon
knows calls by their ids and steps by their keys, and counts nothing twice.
"""

from __future__ import annotations

import logging
import re
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ._errors import CribError
from .v1 import session_pb2 as pb

_OUTCOME = re.compile(r"^outcomes\[(\d+)\]")
_LOG = logging.getLogger("toolcrib")

#: Most news that are kept while the daemon is away.
NEWS_KEPT = 4_096
#: Most steps among them.
STEPS_KEPT = 64
#: Most outcomes that one request takes.
BATCH = 256


@dataclass(frozen=True, slots=True)
class Step:
    """A step that was made while the daemon was away."""

    key: str
    present: Sequence[str]


@dataclass(slots=True)
class Batch:
    """News that go with one request."""

    outcomes: list[Any]
    endings: list[Any]
    #: The step to be planned with it; None where the news go with a step of today.
    step: Step | None


class Reports:
    """The news of one session."""

    def __init__(self) -> None:
        # A news is an outcome or an ending with the key of its step, or a step.
        self._news: deque[tuple[str, Any]] = deque()
        self._step_ids: dict[str, str] = {}
        self._n_steps = 0
        #: How many news were dropped because the daemon was away for too long.
        self.dropped = 0

    def __len__(self) -> int:
        return len(self._news)

    def add(self, key: str, news: Any) -> None:
        """Takes in an outcome or the ending of a step that is known by `key`."""
        self._news.append((key, news))
        self._drop()

    def add_step(self, step: Step) -> None:
        """Takes in a step that the daemon did not plan."""
        self._n_steps += 1
        self._news.append((step.key, step))
        self._drop()

    def _drop(self) -> None:
        is_orphan = False
        while self._news and (len(self._news) > NEWS_KEPT or self._n_steps > STEPS_KEPT or is_orphan):
            _, news = self._news.popleft()
            self._n_steps -= isinstance(news, Step)
            self.dropped += 1
            _LOG.warning(
                "the daemon is away for too long: %d outcomes, endings and steps are lost by now", self.dropped
            )
            # What became of a step's calls says nothing without the step.
            is_orphan = (is_orphan or isinstance(news, Step)) and not self._begins_with_a_step()

    def _begins_with_a_step(self) -> bool:
        return bool(self._news) and isinstance(self._news[0][1], Step)

    def planned(self, key: str, step_id: str) -> None:
        """Learns the id of a step."""
        self._step_ids[key] = step_id
        # Late outcomes are those of the last steps.
        while len(self._step_ids) > 4 * STEPS_KEPT:
            self._step_ids.pop(next(iter(self._step_ids)))

    def step_id(self, key: str) -> str | None:
        """The id of a step, where the daemon knows it."""
        return self._step_ids.get(key)

    @property
    def has_steps(self) -> bool:
        """Whether steps wait to be planned."""
        return self._n_steps > 0

    def next(self) -> Batch:
        """The news up to the next step, as many as fit one request. They stay until they are acknowledged."""
        batch = Batch([], [], None)
        for key, news in self._news:
            if isinstance(news, Step):
                batch.step = news
                break
            if len(batch.outcomes) == BATCH or len(batch.endings) == BATCH:
                break
            # Copied, since the id may be known better the next time.
            told = type(news)()
            told.CopyFrom(news)
            told.step_id = self._step_ids.get(key, "")
            (batch.outcomes if isinstance(news, pb.Outcome) else batch.endings).append(told)
        return batch

    def acknowledge(self, batch: Batch, acks: Sequence[Any]) -> int:
        """Takes off what went with a request that was answered.

        What the daemon could not store is kept; returns how many those are.
        """
        again = []
        results = iter(acks)
        for _ in range(len(batch.outcomes) + len(batch.endings)):
            key, news = self._news.popleft()
            if isinstance(news, pb.Outcome) and next(results).result == pb.OUTCOME_RESULT_NOT_STORED:
                again.append((key, news))
        if batch.step:
            self._news.popleft()
            self._n_steps -= 1
        self._news.extendleft(reversed(again))
        return len(again)

    def give_up(self, batch: Batch, error: CribError) -> bool:
        """Drops the outcomes of a batch that the daemon will never take, from the batch too; returns whether any were.

        Otherwise one outcome that cannot be sent would keep all others from being told.
        """
        bad = {int(index) for violation in error.violations for index in _OUTCOME.findall(violation.field)}
        if not bad:
            return False
        refused = [batch.outcomes[index] for index in sorted(bad)]
        batch.outcomes = [outcome for index, outcome in enumerate(batch.outcomes) if index not in bad]
        ids = {outcome.call_id for outcome in refused}
        self._news = deque((k, n) for k, n in self._news if not (isinstance(n, pb.Outcome) and n.call_id in ids))
        self.dropped += len(refused)
        _LOG.warning("outcomes that cannot be counted are dropped: %s", error.message)
        return True

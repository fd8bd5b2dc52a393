"""What a session still has to tell the daemon, in the order in which it happened.

Three kinds of news: how a call ended, how a step ended that made no call, and that a step was made while the daemon was
away. The last kind is why order matters. Such a step is planned when the daemon is back: with its own key and the
definitions that stood in its request, and without a query, so that nothing is issued. Only then is it known to the
daemon by an id that its calls can bear, and their presence and the tokens of the request are counted as they were.

News are taken off when the daemon has acknowledged them. What was sent and not acknowledged is sent again; the daemon
knows calls by their ids and steps by their keys, and counts nothing twice.

What cannot be made good: a step that was planned, and lost by a crash within moments, before it was on the daemon's
disk. Nobody says so before the outcomes of its calls are counted, and those then have no presence, or that of a later
step to which the daemon gave the same id. `flush` waits for the disk.
"""

from __future__ import annotations

import logging
import re
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from ._errors import CribError
from .v1 import session_pb2 as pb

_FIELD = re.compile(r"^(outcomes|endings)\[(\d+)\]")
_LOG = logging.getLogger("toolcrib")

#: Most news that are kept while the daemon is away.
NEWS_KEPT = 4_096
#: Most steps among them.
STEPS_KEPT = 64
#: Most outcomes, and most endings, that one request takes.
BATCH = 256


@dataclass(frozen=True, slots=True)
class Step:
    """A step that was made while the daemon was away."""

    key: str
    present: Sequence[str]


@dataclass(slots=True, eq=False)
class _News:
    """An outcome, an ending or a step; two of them are never the same, whatever they say."""

    #: Of the step that it is about.
    key: str
    what: Any

    @property
    def is_step(self) -> bool:
        return isinstance(self.what, Step)


@dataclass(slots=True)
class Batch:
    """News that go with one request."""

    outcomes: list[_News] = field(default_factory=list)
    endings: list[_News] = field(default_factory=list)
    #: The step to be planned with them; None where they go with a step of today.
    late: _News | None = None

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to tell, as at most steps."""
        return not (self.outcomes or self.endings or self.late)

    @property
    def step(self) -> Step | None:
        """The step to be planned with them."""
        return self.late.what if self.late else None

    def write(self, request: Any) -> None:
        """Writes them into a request, in place of what it has."""
        del request.outcomes[:], request.endings[:]
        request.outcomes.extend(news.what for news in self.outcomes)
        request.endings.extend(news.what for news in self.endings)


class Reports:
    """The news of one session. Adding some while a request is under way is fine."""

    def __init__(self) -> None:
        self._news: deque[_News] = deque()
        self._n_steps = 0
        # Ids of steps that were planned late. Outcomes that are still to come are those of the last steps.
        self._late_ids: dict[str, str] = {}
        #: How many news were dropped: the daemon was away for too long, or would not take them.
        self.dropped = 0

    def __len__(self) -> int:
        return len(self._news)

    @property
    def has_steps(self) -> bool:
        """Whether steps wait to be planned."""
        return self._n_steps > 0

    def add(self, key: str, what: Any) -> None:
        """Takes in an outcome or an ending of the step with this key."""
        self._news.append(_News(key, what))
        self._bound()

    def add_step(self, step: Step) -> None:
        """Takes in a step that the daemon did not plan."""
        self._n_steps += 1
        self._news.append(_News(step.key, step))
        self._bound()

    def take_back(self, key: str) -> None:
        """Takes back a step that is about to be planned after all, where nothing was told of it yet."""
        told = [news for news in self._news if news.key == key]
        if [news.is_step for news in told] == [True]:
            self._remove(lambda news: news is told[0])

    def _bound(self) -> None:
        """Drops the oldest where there are too many."""
        while self._n_steps > STEPS_KEPT:
            self._drop(next(news for news in self._news if news.is_step))
        while len(self._news) > NEWS_KEPT:
            self._drop(self._news[0])

    def _drop(self, news: _News) -> None:
        # What became of a step's calls says nothing without the step.
        n_gone = self._remove(lambda other: other is news or (news.is_step and other.key == news.key))
        self.dropped += n_gone
        _LOG.warning("the daemon is away for too long: %d outcomes, endings and steps are lost by now", self.dropped)

    def _remove(self, is_gone: Callable[[_News], bool]) -> int:
        """Takes off all news that are; returns how many."""
        before = len(self._news)
        self._news = deque(news for news in self._news if not is_gone(news))
        self._n_steps = sum(news.is_step for news in self._news)
        return before - len(self._news)

    def next(self) -> Batch:
        """The news up to the next step, as many as fit one request. They stay until they are acknowledged."""
        batch = Batch()
        for news in self._news:
            if news.is_step:
                batch.late = news
                break
            if len(batch.outcomes) == BATCH or len(batch.endings) == BATCH:
                break
            # Empty for a step that the daemon did not know when it was made; it may know it by now.
            news.what.step_id = news.what.step_id or self.late_id(news.key)
            (batch.outcomes if isinstance(news.what, pb.Outcome) else batch.endings).append(news)
        return batch

    def planned(self, key: str, step_id: str) -> None:
        """Learns the id of a step that was made without one, or by an earlier process."""
        self._late_ids[key] = step_id
        while len(self._late_ids) > 4 * STEPS_KEPT:
            self._late_ids.pop(next(iter(self._late_ids)))

    def late_id(self, key: str) -> str:
        """The id of a step that was planned late; empty where it was not."""
        return self._late_ids.get(key, "")

    def acknowledge(self, batch: Batch, answer: Any) -> None:
        """Takes off what went with a request that was answered; what the daemon could not store is kept."""
        if batch.is_empty:
            return
        done = [*batch.endings]
        for news, ack in zip(batch.outcomes, answer.acks, strict=True):
            if ack.result != pb.OUTCOME_RESULT_NOT_STORED:
                done.append(news)
        if batch.late:
            done.append(batch.late)
            self.planned(batch.late.key, answer.step_id)
        ids = {id(news) for news in done}
        self._remove(lambda news: id(news) in ids)

    def give_up(self, batch: Batch, error: CribError) -> bool:
        """Drops those outcomes and endings of a batch that the daemon will never take, from the batch too.

        Otherwise one that cannot be counted would keep all others from being told. Returns whether there were any.
        """
        refused = {id(news) for news in _refused(batch, error)}
        batch.outcomes = [news for news in batch.outcomes if id(news) not in refused]
        batch.endings = [news for news in batch.endings if id(news) not in refused]
        return self._lose(lambda news: id(news) in refused, error)

    def give_up_step(self, step: Step, error: CribError) -> bool:
        """Drops a step that the daemon will never plan, and what became of it; returns whether it is one."""
        return error.code == "INVALID_ARGUMENT" and self._lose(lambda news: news.key == step.key, error)

    def _lose(self, is_gone: Callable[[_News], bool], error: CribError) -> bool:
        n_gone = self._remove(is_gone)
        self.dropped += n_gone
        if n_gone:
            _LOG.warning("the daemon will not take %d outcomes, endings and steps: %s", n_gone, error.message)
        return n_gone > 0


def _refused(batch: Batch, error: CribError) -> Iterator[_News]:
    """Those of a batch whose fields an error names."""
    named = {match.groups() for violation in error.violations if (match := _FIELD.match(violation.field))}
    for kind, index in sorted(named):
        yield (batch.outcomes if kind == "outcomes" else batch.endings)[int(index)]

"""Which session a model call belongs to.

A session is one message list of one agent. LangGraph names it by thread and checkpoint namespace, but the namespace of
a sub-agent changes from run to run even where its messages go on. So a context is known again by its messages: the last
reply that bears the mark of this thread and this agent says its session. Where there is none, it is new.
"""

from __future__ import annotations

import asyncio
import hashlib
import threading
import uuid
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from .._session import SessionCore
from ..values import Call, Checked
from ._marks import CallMark, StepMark, step_mark

#: Characters that the daemon takes as a session's id.
_ID_CHARS = 128


class Identity(NamedTuple):
    """Who a context is."""

    session: str
    thread: str
    agent: str


def identify(messages: Sequence[Any], runtime: Any, prefix: str) -> Identity:
    """Says whose the messages of a model call are."""
    info = runtime.execution_info if runtime else None
    namespace = info.checkpoint_ns.split("|")[:-1] if info else []
    thread = prefix + ((info and info.thread_id) or "")
    # Without the ids of tasks, which are new in each run.
    agent = "|".join(part.partition(":")[0] for part in namespace)
    marks = filter(None, map(step_mark, reversed(messages)))
    for mark in marks:
        if (mark.thread, mark.agent) == (thread, agent):
            return Identity(mark.session, thread, agent)
    if not (info and info.thread_id):
        # Nothing says that two runs go together, unless it is their messages.
        first = messages[0].id if messages else None
        return Identity(_short(f"{thread}{first or uuid.uuid4().hex}"), thread, agent)
    return Identity(_short("/".join([thread, *namespace])), thread, agent)


def _short(name: str) -> str:
    return name if len(name) <= _ID_CHARS else hashlib.sha256(name.encode()).hexdigest()


@dataclass(slots=True)
class Context:
    """A session, and what is known of the calls of its last reply."""

    session: SessionCore | None = None
    #: The calls that were judged, with the judgement.
    checked: dict[str, tuple[Call, Checked]] = field(default_factory=dict)
    #: The step of the last reply, as far as this process saw it.
    step: StepMark | None = None
    #: How its calls ended that the daemon was not told yet. A call that is repeated ends as it ended last.
    endings: dict[str, CallMark] = field(default_factory=dict)
    #: The step whose calls and ending were told last.
    told: str = ""
    #: One thread or one task at a time: LangGraph runs the calls of a reply in parallel.
    lock: threading.Lock = field(default_factory=threading.Lock)
    alock: asyncio.Lock = field(default_factory=asyncio.Lock)


class Contexts:
    """The contexts of one middleware, the least recently used given up where there are too many."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._lock = threading.Lock()
        self._known: OrderedDict[str, Context] = OrderedDict()

    def get(self, session: str) -> Context:
        """The context of a session, a new one where it is not known. One that was given up is opened again."""
        with self._lock:
            context = self._known.setdefault(session, Context())
            self._known.move_to_end(session)
            while len(self._known) > self._most:
                self._known.popitem(last=False)
            return context

    def all(self) -> list[Context]:
        """All that are known."""
        with self._lock:
            return list(self._known.values())

"""What is kept of a step, and where: in the messages themselves.

LangChain stores messages: a checkpointer writes them, a summary drops them, a caller sends them back. So what a step
needs to be remembered by stands in `response_metadata` of the message that came of it, under `toolcrib/1`:

- on the model's reply: its session and step, the pieces that were placed right before it, the ids of the calls that the
  daemon judged;
- on the result of a call: how it ended, and the pieces that follow the results of that reply.

Chat models do not send `response_metadata` to their provider, and nothing shows it as something that was said. Pieces
as messages of the state would be shown to the user, and would be the last user message for other middleware; and a
command of `wrap_model_call` could only put them after the reply. Here a piece lives exactly as long as the reply that
had it in front, and stands where it stood.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, TypeVar

from langchain_core.messages import AIMessage, AnyMessage, BaseMessage, HumanMessage, ToolMessage

from ..values import Dict, Ending, Offer, Plan, Tokens, ToolRef

#: With the version of what is written: marks of another one are not read.
KEY = "toolcrib/1"

M = TypeVar("M", bound=BaseMessage)

#: A tool that a session was given: its name there, and its source, name and version in the registry.
Given = tuple[str, str, str, int]


@dataclass(frozen=True, slots=True)
class StepMark:
    """What a reply of the model says of its step."""

    session: str
    #: Whose session: the thread, and which agent of the graph.
    thread: str
    agent: str
    #: With what the session was opened, for the case that it must be opened again before the calls have run.
    model: str
    own: list[str]
    #: The step.
    key: str
    step_id: str
    #: Pieces placed right before the reply, as the format has them, and the tools that they carry.
    before: list[Dict]
    issued: list[Given]
    #: Ids of the calls that the daemon judged.
    calls: list[str]

    @property
    def plan(self) -> Plan:
        """The step's plan, as far as its calls need it."""
        return _plan(self.step_id, self.key, self.before, self.issued)


@dataclass(frozen=True, slots=True)
class CallMark:
    """What the result of a call says of it."""

    #: How it ended; empty where it did not run and needs no outcome.
    ending: Ending | None = None
    message: str = ""
    #: Seconds.
    duration: float = 0.0
    #: Pieces to be placed after the results of the reply.
    after: list[Dict] = field(default_factory=list)
    #: The tools that the result and these pieces carry.
    issued: list[Given] = field(default_factory=list)


def given(offers: Sequence[Offer]) -> list[Given]:
    """Offers as they are kept."""
    return [(offer.name, offer.tool.source, offer.tool.name, offer.tool.version) for offer in offers if offer.tool]


def _plan(step_id: str, key: str, messages: list[Dict], issued: Sequence[Given]) -> Plan:
    offers = [Offer(name, ToolRef(source, tool, version), "issued", 0) for name, source, tool, version in issued]
    return Plan(step_id, key, "", messages, [], offers, Tokens(), stale=not step_id)


def plans(messages: Sequence[Any], session: str) -> Iterator[Plan]:
    """What the messages say that a session was given, as plans."""
    is_ours = False
    for message in messages:
        if isinstance(message, ToolMessage):
            if is_ours and (of := call_mark(message)) and of.issued:
                yield _plan("", "", [{"role": "tool", "content": message.content}, *of.after], of.issued)
        elif mark := step_mark(message):
            is_ours = mark.session == session
            if is_ours:
                yield mark.plan


def marked(message: M, mark: StepMark | CallMark) -> M:
    """A copy of the message that bears the mark."""
    return message.model_copy(update={"response_metadata": {**message.response_metadata, KEY: asdict(mark)}})


def step_mark(message: Any) -> StepMark | None:
    """The mark of a reply; None where it has none."""
    found = message.response_metadata.get(KEY) if isinstance(message, AIMessage) else None
    return StepMark(**found) if found else None


def call_mark(message: ToolMessage) -> CallMark | None:
    """The mark of a result; None where it has none."""
    found = message.response_metadata.get(KEY)
    return CallMark(**found) if found else None


def last_step(messages: Sequence[Any]) -> tuple[StepMark, AIMessage, list[ToolMessage]] | None:
    """The last marked reply, and the results that follow it."""
    results: list[ToolMessage] = []
    for message in reversed(messages):
        if isinstance(message, ToolMessage):
            results.insert(0, message)
        elif mark := step_mark(message):
            return mark, message, results
    return None


def step_of_call(messages: Sequence[Any], call_id: str) -> StepMark | None:
    """The step that made a call and had it judged; None where the call is none of ours."""
    for message in reversed(messages):
        if isinstance(message, AIMessage) and any(call["id"] == call_id for call in message.tool_calls):
            mark = step_mark(message)
            return mark if mark and call_id in mark.calls else None
    return None


def weave(messages: Sequence[AnyMessage], session: str) -> Iterator[AnyMessage | Dict]:
    """The messages with the session's pieces among them, each where it was when it was first sent.

    But system messages go behind what the user said since, where a run ended before the model had replied: Anthropic
    takes none that a user turn follows.
    """
    after: list[Dict] = []
    is_ours = False
    for message in messages:
        if isinstance(message, ToolMessage):
            yield message
            if is_ours and (of := call_mark(message)):
                after += of.after
            continue
        is_user = isinstance(message, HumanMessage)
        yield from (piece for piece in after if not (is_user and piece["role"] == "system"))
        after = [piece for piece in after if is_user and piece["role"] == "system"]
        if mark := step_mark(message):
            is_ours = mark.session == session
            if is_ours:
                yield from mark.before
        yield message
    yield from after

"""Sessions as runtimes hold them: `Session` for those that block, `AsyncSession` for those that await."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from types import TracebackType
from typing import Any

from ._session import PATIENT, SessionCore
from ._sync import run
from .values import Answer, Block, Call, Checked, Ending, Plan, StepEnd, Usage


class _Session:
    """What both have: what is known without asking the daemon."""

    def __init__(self, core: SessionCore) -> None:
        #: The session itself; the two kinds of callers share it.
        self.core = core

    @property
    def id(self) -> str:
        """The id under which the daemon knows it."""
        return self.core.id

    @property
    def format(self) -> str:
        """The provider's format: `anthropic`, `openai_chat` or `openai_responses`."""
        return self.core.format.name

    @property
    def delivery(self) -> str:
        """How definitions arrive that are not in the block: `append`, `reference`, `invoke` or `tools`."""
        return self.core.delivery

    @property
    def betas(self) -> Sequence[str]:
        """The provider's betas that requests must opt into, e.g. for the header `anthropic-beta`."""
        return self.core.betas

    @property
    def block(self) -> Block:
        """What stays in front of the model: tools for the array, text for the system prompt."""
        return self.core.block

    @property
    def own_names(self) -> frozenset[str]:
        """Names of the runtime's own tools."""
        return self.core.own_names

    @property
    def dropped(self) -> int:
        """How much was not told to the daemon because it was away for too long, or would not take it."""
        return self.core.dropped

    def report(
        self,
        call_id: str,
        plan: Plan,
        ending: Ending = "ok",
        message: str = "",
        *,
        name: str = "",
        duration: timedelta | None = None,
        retry_of: str = "",
        verdict: str | None = None,
        judge: str | None = None,
    ) -> None:
        """Says how a call ended; it travels with the next plan, and is counted once. See `SessionCore.report`."""
        self.core.report(
            call_id,
            plan,
            ending,
            message,
            name=name,
            duration=duration,
            retry_of=retry_of,
            verdict=verdict,
            judge=judge,
        )

    def recall(self, plan: Plan) -> None:
        """Learns of a step that an earlier process planned, from its plan. See `SessionCore.recall`."""
        self.core.recall(plan)

    def ended(self, plan: Plan, how: StepEnd = "answered") -> None:
        """Says how a step ended that made no call; it travels with the next plan."""
        self.core.ended(plan, how)


class Session(_Session):
    """One context of one agent. Use it from one thread at a time; `with` closes it."""

    def plan(
        self,
        messages: Sequence[Any],
        *,
        goal: str = "",
        key: str | None = None,
        max_tools: int = 0,
        max_tokens: int = 0,
        usage: Usage | None = None,
    ) -> Plan:
        """Says what goes into the next model request. See `SessionCore.plan`."""
        step = self.core.plan(messages, goal=goal, key=key, max_tools=max_tools, max_tokens=max_tokens, usage=usage)
        return run(step)

    def validate(self, plan: Plan, calls: Sequence[Call]) -> list[Checked]:
        """Says of each call of a reply who answers it, and whether it may run. See `SessionCore.validate`."""
        return run(self.core.validate(plan, calls))

    def request_tool(self, plan: Plan, call: Call, messages: Sequence[Any]) -> Answer:
        """Answers the model's own request for a tool. See `SessionCore.request_tool`."""
        return run(self.core.request_tool(plan, call, messages))

    def refresh(self, messages: Sequence[Any]) -> Block:
        """Takes the pending changes, which breaks the provider's prompt cache. See `SessionCore.refresh`."""
        return run(self.core.refresh(messages))

    def flush(self, timeout: float = PATIENT) -> None:
        """Tells the daemon all that it was not told yet. See `SessionCore.flush`."""
        run(self.core.flush(timeout))

    def close(self) -> None:
        """Tells the daemon what is left, and ends the session there. See `SessionCore.close`."""
        run(self.core.close())

    def __enter__(self) -> Session:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class AsyncSession(_Session):
    """One context of one agent, to be awaited. Use it from one task at a time; `async with` closes it."""

    async def plan(
        self,
        messages: Sequence[Any],
        *,
        goal: str = "",
        key: str | None = None,
        max_tools: int = 0,
        max_tokens: int = 0,
        usage: Usage | None = None,
    ) -> Plan:
        """Says what goes into the next model request. See `SessionCore.plan`."""
        return await self.core.plan(
            messages, goal=goal, key=key, max_tools=max_tools, max_tokens=max_tokens, usage=usage
        )

    async def validate(self, plan: Plan, calls: Sequence[Call]) -> list[Checked]:
        """Says of each call of a reply who answers it, and whether it may run. See `SessionCore.validate`."""
        return await self.core.validate(plan, calls)

    async def request_tool(self, plan: Plan, call: Call, messages: Sequence[Any]) -> Answer:
        """Answers the model's own request for a tool. See `SessionCore.request_tool`."""
        return await self.core.request_tool(plan, call, messages)

    async def refresh(self, messages: Sequence[Any]) -> Block:
        """Takes the pending changes, which breaks the provider's prompt cache. See `SessionCore.refresh`."""
        return await self.core.refresh(messages)

    async def flush(self, timeout: float = PATIENT) -> None:
        """Tells the daemon all that it was not told yet. See `SessionCore.flush`."""
        await self.core.flush(timeout)

    async def close(self) -> None:
        """Tells the daemon what is left, and ends the session there. See `SessionCore.close`."""
        await self.core.close()

    async def __aenter__(self) -> AsyncSession:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

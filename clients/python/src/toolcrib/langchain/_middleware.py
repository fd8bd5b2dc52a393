"""The middleware's hooks: where LangChain calls, and in which thread or task the daemon is asked."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from typing import Any, TypeVar

from langchain.agents.middleware import AgentMiddleware, AgentState, ModelRequest, ModelResponse, ToolCallRequest
from langchain_core.messages import ToolMessage
from langgraph.types import Command

from .._crib import STEP_TIMEOUT, AsyncCrib, Crib, Opening
from .._sync import run
from ._contexts import Context
from ._endings import Run
from ._steps import Dispatch, Settings, Steps, Tools, flush

T = TypeVar("T")

#: How definitions can reach a model through LangChain.
_DELIVERIES = (None, "invoke", "tools", "append")


class ToolcribMiddleware(AgentMiddleware[AgentState[Any], Any, Any]):
    """Lets toolcrib decide which of its registered tools the model sees, and runs those that it calls.

    The agent's own tools, given to `create_agent`, stay as they are. List this middleware last: it must see the
    messages as they are sent.
    """

    def __init__(
        self,
        crib: Crib | AsyncCrib,
        tools: Tools | Dispatch,
        *,
        delivery: str | None = None,
        context_window: int = 0,
        allow: Sequence[str] = (),
        deny: Sequence[str] = (),
        must_have: Sequence[str] = (),
        on_demand_budget: int = 0,
        prefix: str = "",
        contexts: int = 1_024,
        timeout: float = STEP_TIMEOUT,
    ) -> None:
        """
        Args:
            crib: The namespace. With a Crib the agent can be run either way; awaited, it asks the daemon from a thread.
                With an AsyncCrib it can only be awaited.
            tools: What runs the registered tools: LangChain tools by source, or a callable that takes a judged call
                (`Checked`) and returns what the model is to read, awaited where it is a coroutine.
            delivery: How definitions arrive that are not in the block: None and `invoke` as text in a user message,
                for every provider; `append` as Anthropic's own `tool_addition`; `tools` in the tools array, which
                breaks the prompt cache.
            context_window: In tokens; 0 takes the namespace's default.
            allow: Only these tools: `source/name` or `source/*`. Where it is left out, the sources in `tools`: what
                cannot be run here is not offered.
            deny: Without these.
            must_have: Always in the block.
            on_demand_budget: Most tokens of definitions outside the block; 0 takes the policy's share of the window.
            prefix: Goes before the thread's id; needed where two agents share threads and a namespace of the daemon.
            contexts: Most sessions that are held; what is beyond is taken up again from the daemon when needed.
            timeout: Seconds that telling the end of a run may take.

        Raises ValueError for another delivery.
        """
        super().__init__()
        if delivery not in _DELIVERIES:
            raise ValueError(f"delivery {delivery!r} is none of {', '.join(map(repr, _DELIVERIES))}")
        opening: Opening = {
            "delivery": delivery,
            "context_window": context_window,
            "allow": allow or ([] if callable(tools) else [f"{source}/*" for source in tools]),
            "deny": deny,
            "must_have": must_have,
            "on_demand_budget": on_demand_budget,
        }
        self.tools = ()
        self._is_async = isinstance(crib, AsyncCrib)
        self._steps = Steps(crib.core, tools, Settings(opening, prefix, timeout), contexts)

    # ----------------------------------------------------------------------------------------------------- hooks

    def wrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], ModelResponse[Any]]
    ) -> ModelResponse[Any]:
        """Plans the step, calls the model, and has the calls of its reply judged."""
        identity, context = self._steps.identify(request)
        step = self._ask(context, self._steps.plan(request, identity, context))
        response = handler(step.request)
        return self._ask(context, self._steps.settle(step, response))

    async def awrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], Awaitable[ModelResponse[Any]]]
    ) -> ModelResponse[Any]:
        """Plans the step, calls the model, and has the calls of its reply judged."""
        identity, context = self._steps.identify(request)
        step = await self._aask(context, self._steps.plan(request, identity, context))
        response = await handler(step.request)
        return await self._aask(context, self._steps.settle(step, response))

    def wrap_tool_call(
        self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], ToolMessage | Command[Any]]
    ) -> ToolMessage | Command[Any]:
        """Runs a call that may run, and answers one that may not."""
        owner = self._steps.owner(request)
        if not owner:
            return handler(request)
        mark, context = owner
        ruling = self._ask(context, self._steps.rule(request, mark, context))
        if ruling.answer or not ruling.checked:
            return ruling.answer or handler(ruling.request)
        with self._run(request, context) as running:
            if self._steps.dispatch:
                said = self._steps.dispatch(ruling.checked)
                if inspect.isawaitable(said):
                    raise TypeError("a dispatcher that is a coroutine function needs an agent that is awaited")
                running.result = running.answer(said)
            else:
                running.result = handler(ruling.request)
        return running.result  # type: ignore[no-any-return]

    async def awrap_tool_call(
        self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], Awaitable[ToolMessage | Command[Any]]]
    ) -> ToolMessage | Command[Any]:
        """Runs a call that may run, and answers one that may not."""
        owner = self._steps.owner(request)
        if not owner:
            return await handler(request)
        mark, context = owner
        ruling = await self._aask(context, self._steps.rule(request, mark, context))
        if ruling.answer or not ruling.checked:
            return ruling.answer or await handler(ruling.request)
        with self._run(request, context) as running:
            if self._steps.dispatch:
                said = self._steps.dispatch(ruling.checked)
                running.result = running.answer(await said if inspect.isawaitable(said) else said)
            else:
                running.result = await handler(ruling.request)
        return running.result  # type: ignore[no-any-return]

    def _run(self, request: ToolCallRequest, context: Context) -> Run:
        call = request.tool_call
        return Run(context, call["id"] or "", call["name"], answers=self._steps.dispatch is not None)

    # ---------------------------------------------------------------------------------------------------- driving

    def _ask(self, context: Context, work: Coroutine[Any, Any, T]) -> T:
        if self._is_async:
            work.close()
            raise TypeError("an AsyncCrib serves agents that are awaited; give the middleware a Crib")
        with context.lock:
            return run(work)

    async def _aask(self, context: Context, work: Coroutine[Any, Any, T]) -> T:
        if not self._is_async:
            return await asyncio.to_thread(self._ask, context, work)
        async with context.alock:
            return await work

    def close(self) -> None:
        """Tells the daemon what it was not told yet; sessions stay open. Raises CribError where it does not answer."""
        for context in self._steps.contexts.all():
            self._ask(context, flush(context))

    async def aclose(self) -> None:
        """Tells the daemon what it was not told yet; sessions stay open. Raises CribError where it does not answer."""
        for context in self._steps.contexts.all():
            await self._aask(context, flush(context))

"""The agent loop, once for every provider: plan, ask the model, check its calls, run them, say how they went.

What differs between providers is in their formats (how messages are read and written) and in `create` (how a request is
made). What differs between sync and async is who drives: everything here is a coroutine, and the synchronous agents
drive it over functions that never really wait.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Awaitable, Callable, Sequence
from datetime import timedelta
from typing import Any

from ._endings import ending_of
from ._session import SessionCore
from .formats.base import AgentFormat, Content, Dict, Stop
from .values import Call, Checked, Ending, Plan, StepEnd, Usage

Create = Callable[[list[Any], Plan], Awaitable[Any]]
Dispatch = Callable[[Checked], Awaitable[Content]]

_NOT_RUN = "This call was not run: the run was stopped before it."
_STOPPED = "The run was stopped during this call: whether it did its work is not known."
_REFUSED = "This call was not run: the reply that made it was refused."
_CUT = "This call was not run: the reply was cut off. Make it shorter."

# Calls of a reply that did not come to its end are not what the model meant.
_UNRUN = {Stop.CUT: _CUT, Stop.REFUSED: _REFUSED}
_STEP_ENDS: dict[Stop, StepEnd] = {Stop.DONE: "answered", Stop.REFUSED: "gave_up", Stop.CUT: "unknown"}


class StepLimitError(RuntimeError):
    """The model still called tools in the last request that `max_steps` allows.

    Those calls were run, and the history is whole: ask on, or leave it.
    """


class Loop:
    """One conversation: a session, its history, and the loop over both."""

    def __init__(
        self, session: SessionCore, format: AgentFormat, create: Create, dispatch: Dispatch, max_steps: int
    ) -> None:
        self._session = session
        self._format = format
        self._create = create
        self._dispatch = dispatch
        self._max_steps = max_steps
        self._usage: Usage | None = None
        self._asking = threading.Lock()
        self.messages: list[Any] = []
        self.plan: Plan | None = None
        self.response: Any = None

    async def ask(self, content: Content) -> str:
        """Takes in what the user says and goes on until the model answers. Raises RuntimeError while it does so."""
        if not self._asking.acquire(blocking=False):
            raise RuntimeError("this agent is answering already: a conversation takes one question at a time")
        try:
            return await self._ask(content)
        finally:
            self._asking.release()

    async def _ask(self, content: Content) -> str:
        self._format.say(self.messages, content)
        for _ in range(self._max_steps):
            # Told once, also where the request fails that it goes with.
            usage, self._usage = self._usage, None
            plan = await self._session.plan(self.messages, usage=usage)
            # Kept only with a reply behind them: a request that failed leaves nothing to take back.
            response = await self._create([*self.messages, *plan.messages], plan)
            self.plan, self.response, self._usage = plan, response, self._format.usage_of(response)
            reply, stop = self._format.reply_message(response), self._format.stop_of(response)
            if reply:
                self.messages += [*plan.messages, *reply]
            if calls := self._format.calls_of(response):
                await self._answer(plan, calls, _UNRUN.get(stop))
            if stop is Stop.REFUSED or not (calls or stop is Stop.PAUSED):
                self._session.ended(plan, _STEP_ENDS[stop])
                return self._format.text_of(response)
        raise StepLimitError(f"the model still called tools after {self._max_steps} requests")

    async def _answer(self, plan: Plan, calls: Sequence[Call], unrun: str | None) -> None:
        """Appends one result for each call, whatever happens: no provider takes a history with a call left open.

        `unrun` says why none of them is run; None where they are.
        """
        results = [self._format.refusal(call, unrun or _NOT_RUN) for call in calls]
        try:
            if not unrun:
                checked = await self._session.validate(plan, calls)
                for i, (call, check) in enumerate(zip(calls, checked, strict=True)):
                    if check.run:
                        results[i] = self._format.refusal(call, _STOPPED)
                    results[i] = await self._settle(plan, call, check)
        finally:
            self.messages += self._format.results_message([result for result, _ in results])
            self.messages += [message for _, after in results for message in after]

    async def _settle(self, plan: Plan, call: Call, checked: Checked) -> tuple[Dict, list[Dict]]:
        """The result of one call, and what goes after the results of the reply."""
        if checked.kind == "request":
            answer = await self._session.request_tool(plan, call, self.messages)
            return answer.result, answer.after
        if checked.run:
            return await self._run(plan, checked), []
        return checked.result, checked.after

    async def _run(self, plan: Plan, checked: Checked) -> Dict:
        """Runs a call and reports how it ended; what goes wrong is told to the model as the call's result."""
        began = time.monotonic()
        ending: Ending = "ok"
        said = ""
        try:
            content = await self._dispatch(checked)
        except Exception as error:
            ending, said = ending_of(error)
            content = said
        except BaseException:
            self._session.report(checked.call_id, plan, "not_run")
            raise
        if not isinstance(content, (str, list)):
            self._session.report(checked.call_id, plan, "unspecified")
            raise TypeError(f"dispatch must return text or a list of content, not {type(content).__name__}")
        took = timedelta(seconds=time.monotonic() - began)
        self._session.report(checked.call_id, plan, ending, said, duration=took)
        return self._format.tool_result(checked.call_id, content, is_error=ending != "ok")

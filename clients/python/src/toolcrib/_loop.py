"""The agent loop, once for every provider: plan, ask the model, check its calls, run them, say how they went.

What differs between providers is in their formats (how messages are read and written) and in `create` (how a request is
made). What differs between sync and async is who drives: everything here is a coroutine, and the synchronous agents
drive it over functions that never really wait.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Sequence
from datetime import timedelta
from typing import Any

from ._endings import ending_of
from ._session import SessionCore
from .formats.base import AgentFormat, Content, Dict, Stop
from .values import Call, Checked, Ending, Plan, StepEnd

Create = Callable[[list[Any], Plan], Awaitable[Any]]
Dispatch = Callable[[Checked], Awaitable[Content]]

_STEP_ENDS: dict[Stop, StepEnd] = {Stop.DONE: "answered", Stop.REFUSED: "gave_up", Stop.CUT: "unknown"}
_NOT_RUN = "This call was not run: the run was stopped before it."
_CUT = "This call was not run: the reply was cut off. Make it shorter."


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
        self._usage: Any = None
        self.messages: list[Any] = []
        self.plan: Plan | None = None
        self.response: Any = None

    async def ask(self, text: str) -> str:
        """Appends the user's text and goes on until the model answers."""
        self.messages.append(self._format.user_message(text))
        for _ in range(self._max_steps):
            plan = await self._session.plan(self.messages, usage=self._usage)
            # Kept only with a reply behind them: a request that failed leaves nothing to take back.
            response = await self._create([*self.messages, *plan.messages], plan)
            self.plan, self.response, self._usage = plan, response, self._format.usage_of(response)
            reply, stop = self._format.reply_message(response), self._format.stop_of(response)
            if reply:
                self.messages += [*plan.messages, *reply]
            if calls := self._format.calls_of(response):
                await self._answer(plan, calls, is_cut=stop is Stop.CUT)
            elif stop is not Stop.PAUSED:
                self._session.ended(plan, _STEP_ENDS[stop])
                return self._format.text_of(response)
        raise StepLimitError(f"the model still called tools after {self._max_steps} requests")

    async def _answer(self, plan: Plan, calls: Sequence[Call], is_cut: bool) -> None:
        """Appends one result for each call, whatever happens: no provider takes a history with a call left open."""
        results = [self._format.refusal(call, _CUT if is_cut else _NOT_RUN) for call in calls]
        try:
            if not is_cut:
                checked = await self._session.validate(plan, calls)
                for i, (call, check) in enumerate(zip(calls, checked, strict=True)):
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
        took = timedelta(seconds=time.monotonic() - began)
        self._session.report(checked.call_id, plan, ending, said, duration=took)
        return self._format.tool_result(checked.call_id, content, is_error=ending != "ok")

"""What the middleware does around the model and before a tool, for callers that block and for those that await."""

from __future__ import annotations

import hashlib
import json
import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any

from langchain.agents.middleware import ModelRequest, ModelResponse, ToolCallRequest
from langchain.agents.structured_output import AutoStrategy, ToolStrategy
from langchain_core.messages import AIMessage, AnyMessage, ToolCall, ToolMessage
from langchain_core.tools import BaseTool

from .._crib import CribCore, Opening
from .._errors import CribError
from .._given import CALL_TOOL
from .._session import SessionCore
from ..values import Call, Checked, Plan
from . import _wording
from ._catalog import registered_name
from ._contexts import Context, Contexts, Identity, identify
from ._endings import as_told
from ._marks import CallMark, StepMark, given, last_step, marked, plans, step_of_call, weave

#: Runs a call of a registered tool, and returns what the model is to read.
Dispatch = Callable[[Checked], Any]

#: Registered tools by their source in the registry.
Tools = Mapping[str, Sequence[BaseTool]]

_NOT_HERE = "{name} cannot be run by this agent. Go on with the tools that you have."
_LOG = logging.getLogger("toolcrib")


@dataclass(frozen=True, slots=True)
class Settings:
    """What stays the same in all sessions of a middleware."""

    opening: Opening
    prefix: str
    #: Seconds that the last news of a run may take to be told.
    timeout: float

    @property
    def format(self) -> str:
        """How the daemon renders: definitions that the provider's API takes up mid-conversation have its own format."""
        return "anthropic" if self.opening["delivery"] == "append" else "openai_chat"


@dataclass(frozen=True, slots=True)
class Step:
    """A model call that is under way."""

    context: Context
    session: SessionCore
    mark: StepMark
    plan: Plan
    request: ModelRequest[Any]


@dataclass(frozen=True, slots=True)
class Ruling:
    """What is to be done with a call."""

    #: The answer, where the call does not run.
    answer: ToolMessage | None
    #: What to run.
    request: ToolCallRequest
    #: The judgement; None where the call is not one of a registered tool.
    checked: Checked | None = None


class Steps:
    """The steps of all sessions of one middleware."""

    def __init__(self, crib: CribCore, tools: Tools | Dispatch, settings: Settings, most: int) -> None:
        self._crib = crib
        self._settings = settings
        self.contexts = Contexts(most)
        self.dispatch = tools if callable(tools) else None
        by_source = {} if callable(tools) else tools
        self._tools = {
            (source, registered_name(tool.name)): tool for source, listed in by_source.items() for tool in listed
        }

    # -------------------------------------------------------------------------------------------------- the model

    def identify(self, request: ModelRequest[Any]) -> tuple[Identity, Context]:
        """Whose model call it is."""
        identity = identify(request.messages, request.runtime, self._settings.prefix)
        return identity, self.contexts.get(identity.session)

    async def plan(self, request: ModelRequest[Any], identity: Identity, context: Context) -> Step:
        """Plans a model call: what came of the step before is told, and what is issued is placed."""
        if self._settings.format == "anthropic" and not (request.model.profile or {}).get("mid_conversation_tools"):
            raise ValueError(
                "the model's profile does not say mid_conversation_tools; take another delivery than append"
            )
        own = _names(request.tools) + _structured(request.response_format)
        model = str(getattr(request.model, "model_name", None) or getattr(request.model, "model", None) or "")
        session = await self._session(context, identity.session, model, own, request.messages)
        usage = None
        if told := self._tell(session, context, request.messages):
            usage = _wording.usage(told)
        woven = list(weave(request.messages, session.id))
        wire = _wording.wire(woven, session.format.name)
        # The same request is the same step, also where it is sent again by another process. Another run that begins
        # alike has messages of its own.
        ids = [message.id for message in request.messages]
        key = hashlib.sha256(json.dumps([wire, ids]).encode()).hexdigest()
        plan = await session.plan(wire, key=key, usage=usage)
        mark = StepMark(
            session=session.id,
            thread=identity.thread,
            agent=identity.agent,
            model=model,
            own=own,
            key=plan.key,
            step_id=plan.step_id,
            before=plan.messages,
            issued=given(plan.issued),
            calls=[],
        )
        planned = request.override(
            tools=[*request.tools, *plan.tools],
            messages=_wording.messages_of([*woven, *plan.messages]),
            system_message=_wording.system(request.system_message, session.block.system),
        )
        return Step(context, session, mark, plan, planned)

    async def _session(
        self, context: Context, name: str, model: str, own: Sequence[str], messages: Sequence[AnyMessage]
    ) -> SessionCore:
        """The context's session, opened or taken up where this process does not hold it."""
        if context.session is None:
            opening: Opening = {**self._settings.opening, "model": model, "own_tools": own}
            context.session = await self._open(name, opening)
            for plan in plans(messages, context.session.id):
                context.session.recall(plan)
        return context.session

    async def _open(self, name: str, opening: Opening) -> SessionCore:
        format = self._settings.format
        try:
            return await self._crib.open_session(name, format, opening)
        except CribError as error:
            if error.reason != "SESSION_DIFFERS":
                raise
        # The agent was changed while the thread went on: other tools of its own, another model. A session's block is
        # frozen, so this is another context. Whoever opens it in the same way finds it again.
        digest = hashlib.sha256(json.dumps(opening, sort_keys=True).encode()).hexdigest()[:16]
        return await self._crib.open_session(f"{name[:100]}~{digest}", format, opening)

    def _tell(self, session: SessionCore, context: Context, messages: Sequence[AnyMessage]) -> AIMessage | None:
        """Queues what came of the last step, as its messages say; returns its reply, once."""
        last = last_step(messages)
        if context.step and not (last and last[0].key == context.step.key):
            # The run ended before its messages were kept.
            report_endings(context, session)
        if not last or last[0].session != session.id or last[0].key == context.told:
            return None
        mark, reply, results = last
        answered = {message.tool_call_id: message for message in results}
        for call in reply.tool_calls:
            call_id = call["id"] or ""
            if call_id not in mark.calls:
                continue
            of = context.endings.get(call_id) or as_told(answered.get(call_id))
            if of.ending:
                duration = timedelta(seconds=of.duration) if of.duration else None
                session.report(call_id, mark.plan, of.ending, of.message, name=_inner_name(call), duration=duration)
        context.endings.clear()
        context.told = mark.key
        return reply

    async def settle(self, step: Step, response: ModelResponse[Any]) -> ModelResponse[Any]:
        """Has the calls of a reply judged, in one trip, and writes the step into the reply."""
        reply = next((message for message in response.result if isinstance(message, AIMessage)), None)
        if reply is None:
            return response
        session = step.session
        # What is answered already was a structured output; other tools may have come after the session was opened.
        others = {message.tool_call_id for message in response.result if isinstance(message, ToolMessage)}
        own = set(step.mark.own)
        calls = [call for call in _wording.calls(reply) if call.call_id not in others and call.name not in own]
        step.context.checked.clear()
        if calls:
            checked = await session.validate(step.plan, calls)
            step.context.checked = {call.call_id: (call, of) for call, of in zip(calls, checked, strict=True)}
        elif not (reply.tool_calls or reply.invalid_tool_calls):
            session.ended(step.plan, _wording.end(reply))
            step.context.told = step.plan.key
            if not step.plan.stale:
                await self._flush(session)
        mark = replace(step.mark, calls=[call.call_id for call in calls])
        step.context.step = mark
        result = [marked(reply, mark) if message is reply else message for message in response.result]
        return ModelResponse(result=result, structured_response=response.structured_response)

    async def _flush(self, session: SessionCore) -> None:
        """Tells the last news of a run. They keep until the next run where the daemon is not heard."""
        try:
            await session.flush(self._settings.timeout)
        except CribError as error:
            _LOG.info("the end of a step is told later: %s", error)

    # --------------------------------------------------------------------------------------------------- the tools

    def owner(self, request: ToolCallRequest) -> tuple[StepMark, Context] | None:
        """Whose call it is; None where the daemon was not asked about it."""
        mark = step_of_call(_messages(request), request.tool_call["id"] or "")
        return (mark, self.contexts.get(mark.session)) if mark else None

    async def rule(self, request: ToolCallRequest, mark: StepMark, context: Context) -> Ruling:
        """Says whether a call runs, and as what."""
        session = await self._session(context, mark.session, mark.model, mark.own, _messages(request))
        context.step = mark
        asked = request.tool_call
        call = Call(asked["id"] or "", asked["name"], asked["args"])
        known, checked = context.checked.get(call.call_id, (None, None))
        if checked is None or known != call:
            # The process was started anew in between, or somebody has edited the call.
            [checked] = await session.validate(mark.plan, [call])
        if checked.kind == "own":
            return Ruling(None, request)
        if checked.kind == "request":
            wire = _wording.wire(weave(_messages(request), session.id), session.format.name)
            answer = await session.request_tool(mark.plan, call, wire)
            is_found = answer.outcome in ("exact", "near", "retrieved", "already_present", "own")
            said = _wording.result(answer.result, call, "success" if is_found else "error")
            return Ruling(marked(said, CallMark(after=answer.after, issued=given(answer.issued))), request)
        if not checked.run:
            said = _wording.result(checked.result, call, "error")
            return Ruling(marked(said, CallMark(after=checked.after)), request)
        if self.dispatch:
            return Ruling(None, request, checked)
        tool = self._tools.get((checked.tool.source, checked.tool.name)) if checked.tool else None
        if tool is None:
            said = _wording.result({"content": _NOT_HERE.format(name=checked.name)}, call, "error")
            return Ruling(marked(said, CallMark("not_run", "not a tool of this agent")), request)
        inner: ToolCall = {**asked, "name": tool.name, "args": checked.arguments}
        return Ruling(None, request.override(tool=tool, tool_call=inner), checked)


async def flush(context: Context) -> None:
    """Tells what is left of a context: how the calls of a run ended that went no further, too."""
    if context.session is None:
        return
    report_endings(context, context.session)
    await context.session.flush()


def report_endings(context: Context, session: SessionCore) -> None:
    """Queues how the calls of the last reply ended, as far as this process ran them."""
    if context.step:
        for call_id, of in context.endings.items():
            session.report(call_id, context.step.plan, of.ending or "unspecified", of.message)
        context.endings.clear()


def _messages(request: ToolCallRequest) -> Sequence[AnyMessage]:
    state = request.state
    messages: Sequence[AnyMessage] = state["messages"] if isinstance(state, dict) else getattr(state, "messages", state)
    return messages


def _names(tools: Sequence[BaseTool | Mapping[str, Any]]) -> list[str]:
    """Names of an agent's own tools, those that the provider runs among them."""
    named = [(tool.get("function") or tool).get("name") if isinstance(tool, Mapping) else tool.name for tool in tools]
    return [str(name) for name in named if name]


def _inner_name(call: ToolCall) -> str:
    return str(call["args"].get("name", "")) if call["name"] == CALL_TOOL else call["name"]


def _structured(format: Any) -> list[str]:
    """Names of the tools by which an agent may have its answer given in a structure."""
    if isinstance(format, AutoStrategy):
        format = ToolStrategy(format.schema)
    return [spec.name for spec in format.schema_specs] if isinstance(format, ToolStrategy) else []

"""A session: all that a runtime does with toolcrib, once for blocking and for asynchronous callers.

The daemon decides; a session reads what it needs off the provider's messages, keeps the last block, and goes on without
the daemon where it must:

- `plan` then returns the block and nothing else, marked stale. What happens meanwhile is kept (see `_reports`).
- `validate` lets run what this session was given and was not refused since; what it does not know is answered, not run.
- `request_tool` says that the directory cannot be reached.

Not for use by several threads at once: a session is one context.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any

from . import _wire
from ._errors import CribError
from ._reports import BATCH, Batch, Reports, Step
from ._transport import Patience, Transport
from .formats import FORMATS
from .formats.base import plain
from .v1 import session_pb2 as pb
from .values import Answer, Block, Call, Checked, Dict, Ending, Offer, Plan, StepEnd, Tokens, ToolRef, Usage

REQUEST_TOOL = "request_tool"
CALL_TOOL = "call_tool"

#: Seconds for a request that no step waits for.
PATIENT = 10.0

#: Bytes of each text of a query that are sent; the daemon reads less.
_QUERY_BYTES = 8 << 10

_AWAY = "The tool directory cannot be reached now. Go on with the tools that you have, or ask again later."
_NOT_CHECKED = "{name} cannot be checked now, so the call was not run. Go on with the tools that you have."
_WITHHELD = "{name} could not be used when it was last checked ({reason}). The call was not run."
_NO_CALL = "call_tool needs the name of a tool and an object of arguments. The call was not run."


class SessionCore:
    """One context: one message list of one agent."""

    def __init__(self, transport: Transport, opening: Any, timeout: float, patience: Patience) -> None:
        """Is opened by `open`. `opening` is the OpenSessionRequest, `timeout` the seconds that a step may take."""
        self._transport = transport
        self._calls = transport.services.session
        self._opening = opening
        self._timeout = timeout
        self._patience = patience
        self.format = FORMATS[_wire.word(pb.Format, "FORMAT_", opening.format)]
        self.own_names = frozenset(own.name for own in opening.own_tools)
        self.delivery = ""
        self.betas: Sequence[str] = ()
        self.block = Block("", 0, (), (), (), Tokens())
        self._reports = Reports()
        # Names that the model was given, with what stands behind them, and those that were refused since.
        self._given: dict[str, ToolRef] = {}
        self._withheld: dict[str, str] = {}
        # What each call that may run was called. An outcome says it again: a daemon that crashed may have lost the check.
        self._called: dict[str, str] = {}
        # Texts that the daemon gave, with the definitions that they hold.
        self._texts: dict[str, tuple[str, ...]] = {}
        # Under TOOLS nothing in the messages shows what is present: the array does, and it is kept here.
        self._array: dict[str, Dict] = {}

    @property
    def id(self) -> str:
        """The id under which the daemon knows it."""
        return str(self._opening.session_id)

    @property
    def dropped(self) -> int:
        """How many outcomes, endings and steps were dropped because the daemon was away for too long."""
        return self._reports.dropped

    def _request(self, kind: Any, **fields: Any) -> Any:
        return kind(namespace=self._opening.namespace, session_id=self.id, **fields)

    # ------------------------------------------------------------------------------------------ opening and closing

    async def open(self, timeout: float = PATIENT) -> None:
        """Opens the session, or goes on with it where it is open already."""
        opened = await self._patience.ask(self._transport, self._calls.OpenSession, self._opening, timeout)
        self._opening.session_id = opened.session_id
        self.delivery = _wire.word(pb.Delivery, "DELIVERY_", opened.delivery)
        # An id is taken up with the delivery that it has.
        self._opening.delivery = opened.delivery
        self.betas = tuple(opened.betas)
        await self._take_block(opened.block, timeout)
        if opened.resumed and not self._given_before():
            await self._take_up(timeout)

    def _given_before(self) -> bool:
        return bool(self._texts or self._array)

    async def _take_block(self, block: Any, timeout: float) -> None:
        pieces = list(block.pieces)
        if not pieces and block.size_bytes:
            # Over 1 MiB it comes as a stream.
            request = self._request(pb.ReadSessionRequest)
            sent = await self._transport.read(self._calls.ReadSession, request, timeout)
            pieces = [message.piece for message in sent if not message.step_id]
        self.block = _wire.block(block, pieces, is_json=self.format.name == "anthropic")
        self._give(self.block.offers)

    async def _take_up(self, timeout: float) -> None:
        """Learns again what an open session was given: this runtime was started anew."""
        request = self._request(pb.ReadSessionRequest, issued_only=True)
        for message in await self._transport.read(self._calls.ReadSession, request, timeout):
            self._take_pieces([message.piece])

    def _give(self, offers: Sequence[Offer]) -> None:
        self._given |= {offer.name: offer.tool for offer in offers if offer.tool}
        for offer in offers:
            self._withheld.pop(offer.name, None)

    def _take_pieces(self, pieces: Sequence[Any]) -> None:
        """Remembers which of the daemon's texts hold which definitions, and what stands in the tools array."""
        as_text = self.delivery in ("invoke", "reference")
        for piece in pieces:
            if piece.place == _wire.TOOLS:
                self._array |= dict.fromkeys(piece.names, _wire.contents([piece], _wire.TOOLS)[0])
            elif piece.place in (_wire.MESSAGES, _wire.TOOL_RESULT):
                names = tuple(piece.names) if as_text else ()
                for content in _wire.contents([piece], piece.place):
                    self._texts |= dict.fromkeys(_wire.texts(content), names)

    async def refresh(self, messages: Sequence[Any]) -> Block:
        """Takes the pending changes: a new block, and so a break of the provider's prompt cache.

        What the messages still call or refer to stays declared, since providers refuse what refers to nothing. Raises
        CribError where the daemon does not answer; the block is then as it was.
        """
        used = {call for message in messages for call in _wire_names(message)} | set(self._present(messages))
        request = self._request(
            pb.RefreshSessionRequest,
            generation=self.block.generation,
            present=pb.Present(names=sorted(used & self._given.keys())),
        )
        answer = await self._patience.ask(self._transport, self._calls.RefreshSession, request, PATIENT)
        await self._take_block(answer.block, PATIENT)
        return self.block

    async def flush(self) -> None:
        """Tells the daemon all that it was not told yet, and waits until it is on disk, with the steps before it.

        Raises CribError where the daemon does not answer, or cannot store it; nothing is lost.
        """
        end = self._patience.clock() + PATIENT
        await self._catch_up(end)
        await self._report(end, durable=True)

    async def close(self) -> None:
        """Tells the daemon what is left, and ends the session there. Raises CribError where it does not answer."""
        await self.flush()
        request = self._request(pb.CloseSessionRequest)
        try:
            await self._patience.ask(self._transport, self._calls.CloseSession, request, PATIENT)
        except CribError as error:
            if not error.is_session_gone:
                raise

    # ------------------------------------------------------------------------------------------------------ one step

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
        """Says what goes into the next model request.

        Args:
            messages: The provider's own messages as they are about to be sent, dicts or the SDK's objects. What the
                step is about and which definitions are present is read off them.
            goal: The standing task, where the messages do not say it: a sub-agent's brief, the current plan item.
            key: The caller's key for this step, at most 256 characters; the same key is the same step. One is made
                where it is left out.
            max_tools: Lowers the most definitions that are issued; 0 leaves it.
            max_tokens: Lowers the tokens that this step may issue; 0 leaves it.
            usage: What the provider billed for the request before.

        A daemon that is not heard within the session's timeout is no error: the plan is then stale. Raises CribError
        where the daemon refuses the request itself.
        """
        key = key or uuid.uuid4().hex
        if not self.format.is_user_turn_last(messages):
            # There is no place for a definition now: as good as no room.
            max_tokens = 1
        query = self.format.query_of(messages, self._texts)
        present = self._present(messages)
        request = self._request(
            pb.PlanStepRequest,
            key=key,
            query=pb.Query(user=_cut(query.user), model=_cut(query.model), goal=_cut(goal)),
            present=pb.Present(names=present),
            max_tools=max_tools,
            max_tokens=max_tokens,
        )
        if usage:
            request.usage.input_tokens = usage.input_tokens
            request.usage.cached_tokens = usage.cached_tokens
            request.usage.miss_reason = usage.miss_reason
        digest = self.block.digest
        try:
            answer = await self._plan(request)
        except CribError as error:
            if not error.is_away:
                raise
            self._reports.add_step(Step(key, present))
            return self._stale(key, str(error))
        issued = _wire.offers(answer)
        self._give(issued)
        self._take_pieces(answer.pieces)
        return Plan(
            step_id=answer.step_id,
            key=key,
            result=_wire.word(pb.PlanResult, "PLAN_RESULT_", answer.result),
            messages=_wire.contents(answer.pieces, _wire.MESSAGES),
            tools=self._tools(),
            issued=issued,
            tokens=_wire.tokens(answer.tokens),
            block_changed=self.block.digest != digest,
            breaks_cache=answer.breaks_cache,
            pending=answer.pending,
            excluded=_wire.excluded(answer),
        )

    async def _plan(self, request: Any) -> Any:
        end = self._patience.clock() + self._timeout
        try:
            return await self._plan_within(request, end)
        except CribError as error:
            if not error.is_session_gone:
                raise
        # It was idle for too long, or the daemon has another store. The same id and arguments are the same session.
        await self.open(self._left(end))
        return await self._plan_within(request, end)

    async def _plan_within(self, request: Any, end: float) -> Any:
        await self._catch_up(end)
        batch = self._reports.next()
        answer = await self._send(request, batch, end)
        self._reports.planned(request.key, answer.step_id)
        return answer

    async def _send(self, request: Any, batch: Batch, end: float) -> Any:
        """Plans a step, and tells the news with it."""
        del request.outcomes[:], request.endings[:]
        request.outcomes.extend(batch.outcomes)
        request.endings.extend(batch.endings)
        try:
            answer = await self._patience.ask(self._transport, self._calls.PlanStep, request, self._left(end))
        except CribError as error:
            if not self._reports.give_up(batch, error):
                raise
            return await self._send(request, batch, end)
        self._reports.acknowledge(batch, answer.acks)
        return answer

    async def _catch_up(self, end: float) -> None:
        """Plans the steps that were made while the daemon was away, and tells what does not fit the next request."""
        while self._reports.has_steps or len(self._reports) > BATCH:
            batch = self._reports.next()
            if not batch.step:
                await self._report(end)
                continue
            step = batch.step
            present = pb.Present(names=step.present)
            # Without a query, and without room for what is owed, nothing is issued.
            request = self._request(pb.PlanStepRequest, key=step.key, present=present, max_tokens=1)
            answer = await self._send(request, batch, end)
            self._reports.planned(step.key, answer.step_id)

    async def _report(self, end: float, durable: bool = False) -> None:
        batch = self._reports.next()
        request = self._request(
            pb.ReportOutcomesRequest, outcomes=batch.outcomes, endings=batch.endings, durable=durable
        )
        try:
            answer = await self._patience.ask(self._transport, self._calls.ReportOutcomes, request, self._left(end))
        except CribError as error:
            if not self._reports.give_up(batch, error):
                raise
            return await self._report(end, durable)
        if self._reports.acknowledge(batch, answer.acks):
            raise CribError("UNAVAILABLE", "the daemon could not store all outcomes; they are kept to be sent again")

    def _left(self, end: float) -> float:
        return max(end - self._patience.clock(), 0.001)

    def _stale(self, key: str, reason: str) -> Plan:
        return Plan(
            step_id="",
            key=key,
            result="stale",
            messages=[],
            tools=self._tools(),
            issued=(),
            tokens=self.block.tokens,
            stale=True,
            reason=reason,
        )

    def _tools(self) -> list[Dict]:
        return [*self.block.tools, *self._array.values()]

    def _present(self, messages: Sequence[Any]) -> list[str]:
        if self.delivery == "tools":
            return list(self._array)
        return self.format.present_in(messages, self._texts)

    async def request_tool(self, plan: Plan, call: Call, messages: Sequence[Any]) -> Answer:
        """Answers the model's own request for a tool: a call that `validate` found to be of kind `request`.

        A daemon that is not heard within the session's timeout is no error: the model is then told so.
        """
        request = self._request(
            pb.RequestToolRequest,
            step_id=self._reports.step_id(plan.key) or "",
            call_id=call.call_id,
            arguments=call.json(),
            present=pb.Present(names=self._present(messages)),
        )
        try:
            answer = await self._patience.ask(self._transport, self._calls.RequestTool, request, self._timeout)
        except CribError as error:
            if not error.is_away and not error.is_session_gone:
                raise
            result, after = self.format.refusal(call, _AWAY)
            return Answer(result, after, "stale")
        issued = _wire.offers(answer)
        self._give(issued)
        self._take_pieces(answer.pieces)
        return Answer(
            result=_wire.contents(answer.pieces, _wire.TOOL_RESULT)[0],
            after=_wire.contents(answer.pieces, _wire.MESSAGES),
            outcome=_wire.word(pb.RequestResult, "REQUEST_RESULT_", answer.result),
            issued=issued,
            nearest=tuple(answer.nearest),
        )

    async def validate(self, plan: Plan, calls: Sequence[Call]) -> list[Checked]:
        """Says of each call of a reply who answers it, and whether it may run; in the order of the calls.

        A daemon that is not heard within the session's timeout is no error: what this session was given may run then,
        and is marked stale; what was refused since, and what is not known, is answered and not run.
        """
        checked: list[Checked] = []
        for start in range(0, len(calls), BATCH):
            checked += await self._validate(plan, calls[start : start + BATCH])
        return checked

    async def _validate(self, plan: Plan, calls: Sequence[Call]) -> list[Checked]:
        try:
            end = self._patience.clock() + self._timeout
            if plan.stale:
                await self._catch_up(end)
            request = self._request(
                pb.ValidateCallsRequest,
                step_id=self._reports.step_id(plan.key) or "",
                calls=[pb.Call(call_id=call.call_id, name=call.name, arguments=call.json()) for call in calls],
            )
            answer = await self._patience.ask(self._transport, self._calls.ValidateCalls, request, self._left(end))
        except CribError as error:
            if not error.is_away and not error.is_session_gone:
                raise
            return [self._check_alone(call) for call in calls]
        return [self._checked(call, of) for call, of in zip(calls, answer.calls, strict=True)]

    def _checked(self, call: Call, of: Any) -> Checked:
        issued = _wire.offers(of)
        self._give(issued)
        self._take_pieces(of.pieces)
        inner = _wire.arguments(call.json()) if call.name == CALL_TOOL else {}
        name = str(inner.get("name") or call.name)
        verdict = _wire.word(pb.Verdict, "VERDICT_", of.verdict)
        reason = _wire.word(pb.Reason, "REASON_", of.reason)
        if verdict == "unavailable":
            self._withheld[name] = reason
        elif of.run and of.kind == pb.CALL_KIND_TOOL:
            self._given[name] = _wire.ref(of.tool)
            self._withheld.pop(name, None)
            self._called[call.call_id] = name
        result = _wire.contents(of.pieces, _wire.TOOL_RESULT)
        return Checked(
            call_id=call.call_id,
            name=name,
            kind={pb.CALL_KIND_REQUEST: "request", pb.CALL_KIND_OWN: "own"}.get(of.kind, "tool"),  # type: ignore[arg-type]
            run=of.run or of.kind == pb.CALL_KIND_REQUEST,
            arguments=_wire.arguments(of.arguments or call.json()),
            tool=_wire.ref(of.tool) if of.HasField("tool") else None,
            presence=_wire.word(pb.Presence, "PRESENCE_", of.presence),
            verdict=verdict or "unjudged",
            reason=reason,
            violations=_wire.violations(of),
            result=result[0] if result else {},
            after=_wire.contents(of.pieces, _wire.MESSAGES),
            nearest=tuple(of.nearest),
            current_version=of.stale.current_version,
        )

    def _check_alone(self, call: Call) -> Checked:
        """Checks a call without the daemon, by what it said before."""
        arguments = _wire.arguments(call.json())
        if call.name in self.own_names:
            return Checked(call.call_id, call.name, "own", True, arguments, stale=True)
        if call.name == REQUEST_TOOL:
            return Checked(call.call_id, call.name, "request", True, arguments, stale=True)
        name = call.name
        if name == CALL_TOOL:
            inner = arguments.get("arguments", {})
            name, arguments = str(arguments.get("name", "")), _wire.arguments(_as_json(inner))
            if not name:
                return self._refuse_alone(call, name, _NO_CALL)
        if name in self._withheld:
            return self._refuse_alone(call, name, _WITHHELD.format(name=name, reason=self._withheld[name]))
        if name not in self._given:
            return self._refuse_alone(call, name, _NOT_CHECKED.format(name=name))
        self._called[call.call_id] = name
        return Checked(call.call_id, name, "tool", True, arguments, self._given[name], stale=True)

    def _refuse_alone(self, call: Call, name: str, text: str) -> Checked:
        result, after = self.format.refusal(call, text)
        reason = self._withheld.get(name, "")
        return Checked(call.call_id, name, "tool", False, reason=reason, result=result, after=after, stale=True)

    # ------------------------------------------------------------------------------------------------ what became of it

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
        """Says how a call ended. It travels with the next plan, or with `flush`, and is counted once.

        Args:
            call_id: The call, as it was given to `validate`.
            plan: The plan of the step that made it.
            ending: How it ended. `ok`, or what went wrong: `bad_arguments`, `not_found` and `refused` are the caller's,
                `auth`, `timeout`, `transport` and `server_error` the tool's. `not_run` for what was never dispatched,
                `unspecified` where it is not known.
            message: Short text of the failure.
            name: The name as called; needed where `validate` did not see the call.
            duration: How long it took.
            retry_of: The id of the call that this one repeats.
            verdict: A judgement on the selection, `right` or `wrong_tool`; needs `judge`.
            judge: Who made it: `label`, `person` or `model`.

        A call that was refused needs no outcome.
        """
        outcome = pb.Outcome(
            call_id=call_id,
            name=name or self._called.pop(call_id, ""),
            ending=_wire.number(pb.Ending, "ENDING_", ending),
            message=message[:2_000],
            retry_of=retry_of,
        )
        if duration is not None:
            outcome.duration.FromTimedelta(duration)
        if verdict:
            outcome.verdict = _wire.number(pb.Verdict, "VERDICT_", verdict)
            outcome.judge = _wire.number(pb.Judge, "JUDGE_", judge or "")
        self._reports.add(plan.key, outcome)

    def ended(self, plan: Plan, how: StepEnd = "answered") -> None:
        """Says how a step ended that made no call. It travels with the next plan, or with `flush`."""
        self._reports.add(plan.key, pb.StepEnding(reason=_wire.number(pb.StepEnd, "STEP_END_", how)))


def _as_json(value: Any) -> bytes:
    return Call("", "", value).json() if isinstance(value, (str, dict)) else b""


def _cut(text: str) -> str:
    """Cuts a text to what is sent of it, at a whole character."""
    if len(text) <= _QUERY_BYTES // 4:
        return text
    return text.encode(errors="replace")[:_QUERY_BYTES].decode(errors="ignore")


def _wire_names(message: Any) -> set[str]:
    """Names in a message, of whatever: of calls, references and definitions, also inside arguments kept as text."""
    names: set[str] = set()
    todo: list[Any] = [plain(message)]
    while todo:
        value = todo.pop()
        if isinstance(value, Mapping):
            names |= {inner for key, inner in value.items() if key in ("name", "tool_name") and isinstance(inner, str)}
            for key, inner in value.items():
                is_text = key == "arguments" and isinstance(inner, str)
                todo.append(_wire.arguments(inner.encode()) if is_text else inner)
        elif isinstance(value, list):
            todo += value
    return names

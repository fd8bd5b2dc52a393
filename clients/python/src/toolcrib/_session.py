"""A session: all that a runtime does with toolcrib, once for blocking and for asynchronous callers.

The daemon decides; a session reads what it needs off the provider's messages, keeps the last block, and goes on without
the daemon where it must:

- `plan` then returns the block and nothing else, marked stale. What happens meanwhile is kept (see `_reports`).
- `validate` lets run what this session was given and was not refused since; what it does not know is answered, not run.
- `request_tool` says that the directory cannot be reached.

Not for use by several threads at once: a session is one context.
"""

from __future__ import annotations

import secrets
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from datetime import timedelta
from typing import Any, TypeVar

from . import _wire
from ._errors import CribError
from ._given import CALL_TOOL, Given
from ._reports import BATCH, Batch, Reports, Step
from ._transport import Patience, Transport
from .formats import FORMATS
from .formats.base import plain
from .v1 import session_pb2 as pb
from .values import Answer, Block, Call, Checked, Dict, Ending, Plan, StepEnd, Tokens, Usage

T = TypeVar("T")

#: Seconds for a request that no step waits for.
PATIENT = 10.0

#: Bytes of each text of a query that are sent, half of them from its end; the daemon reads less.
_QUERY_BYTES = 8 << 10

_AWAY = "The tool directory cannot be reached now. Go on with the tools that you have, or ask again later."


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
        self.betas: Sequence[str] = ()
        self.block = Block("", 0, (), (), (), Tokens())
        self.given = Given(self.format, self.own_names)
        self._reports = Reports()
        # Whether the block is another than the caller knows.
        self._block_changed = False
        # Names of calls that may run. An outcome says them again: a daemon that crashed may have lost the check.
        self._called: dict[str, str] = {}

    @property
    def id(self) -> str:
        """The id under which the daemon knows it."""
        return str(self._opening.session_id)

    @property
    def delivery(self) -> str:
        """How definitions arrive that are not in the block."""
        return self.given.delivery

    @property
    def dropped(self) -> int:
        """How many outcomes, endings and steps were dropped: the daemon was away for too long, or refused them."""
        return self._reports.dropped

    # ------------------------------------------------------------------------------------------ opening and closing

    async def open(self, timeout: float = PATIENT) -> None:
        """Opens the session, or goes on with it where it is open already."""
        end = self._end(timeout)
        opened = await self._ask(self._calls.OpenSession, self._opening, end)
        self._opening.session_id = opened.session_id
        # An id is taken up with the delivery that it has.
        self._opening.delivery = opened.delivery
        self.given.delivery = _wire.word(pb.Delivery, "DELIVERY_", opened.delivery)
        self.betas = tuple(opened.betas)
        await self._take_block(opened.block, end)
        if (opened.resumed or self._opening.fork_of) and self.given.is_empty:
            await self._take_up(end)

    async def _take_block(self, block: Any, end: float) -> None:
        pieces = block.pieces
        if not pieces and block.size_bytes:
            # Over 1 MiB it comes as a stream, and before all else.
            sent = await self._read(self.id, end)
            pieces = list(_first([message.piece for message in sent], block.size_bytes))
        self.block = _wire.block(block, pieces, is_json=self.format.name == "anthropic")
        self.given.take_block(self.block.offers)

    async def _take_up(self, end: float) -> None:
        """Learns again what an open session was given: this runtime was started anew, or copies another's context."""
        if self._opening.fork_of:
            # Only the original knows which of its definitions came together in one text.
            try:
                await self._take_up_from(self._opening.fork_of, end)
            except CribError as error:
                if not error.is_session_gone:
                    raise
        await self._take_up_from(self.id, end)

    async def _take_up_from(self, session_id: str, end: float) -> None:
        sent = await self._read(session_id, end, issued_only=True)
        self.given.take_pieces(_wire.placed(message.piece for message in sent))
        request = pb.GetSessionRequest(namespace=self._opening.namespace, session_id=session_id)
        self.given.take_up(_wire.offers(await self._ask(self._calls.GetSession, request, end), "present"))

    async def _in_session(self, work: Callable[[float], Awaitable[T]], timeout: float) -> T:
        """Does what needs an open session, until `timeout` seconds are over; opens it again where it is gone."""
        end = self._end(timeout)
        try:
            return await work(end)
        except CribError as error:
            if not error.is_session_gone:
                raise
        # It was idle for too long, or the daemon has another store. The same id and arguments are the same session.
        digest = self.block.digest
        try:
            await self.open(self._left(end))
        except CribError as error:
            if not (self._opening.fork_of and error.is_session_gone):
                raise
            # What it was copied from is gone too.
            self._opening.fork_of = ""
            await self.open(self._left(end))
        finally:
            self._block_changed |= self.block.digest != digest
        return await work(end)

    async def refresh(self, messages: Sequence[Any]) -> Block:
        """Takes the pending changes: a new block, and so a break of the provider's prompt cache.

        What the messages still call or refer to stays declared, since providers refuse what refers to nothing. Raises
        CribError where the daemon does not answer; the block is then as it was.
        """
        used = {name for message in messages for name in _names_in(message)}
        names = self.given.named_in(used.union(self.given.present_in(messages)))

        async def refresh(end: float) -> None:
            request = self._request(
                pb.RefreshSessionRequest, generation=self.block.generation, present=pb.Present(names=names)
            )
            answer = await self._ask(self._calls.RefreshSession, request, end)
            await self._take_block(answer.block, end)

        await self._in_session(refresh, PATIENT)
        return self.block

    async def flush(self, timeout: float = PATIENT) -> None:
        """Tells the daemon all that it was not told yet, and waits until it is on disk, with the steps before it.

        Raises CribError where the daemon does not answer within `timeout` seconds, or cannot store it; nothing is lost.
        """

        async def flush(end: float) -> None:
            is_stored = await self._catch_up(end) and await self._report(self._reports.next(), end, durable=True)
            if not is_stored:
                raise CribError("UNAVAILABLE", "the daemon cannot store all outcomes now; they are kept")

        await self._in_session(flush, timeout)

    def recall(self, plan: Plan) -> None:
        """Learns of a step that an earlier process of this runtime planned: its id, and what its messages hold.

        For runtimes that keep both with their messages: the daemon itself forgets a session that is idle for too long.
        """
        if plan.step_id:
            self._reports.planned(plan.key, plan.step_id)
        self.given.take_up(plan.issued, plan.messages)

    async def close(self) -> None:
        """Tells the daemon what is left, and ends the session there. Raises CribError where it does not answer."""
        await self.flush()
        try:
            await self._ask(self._calls.CloseSession, self._request(pb.CloseSessionRequest), self._end(PATIENT))
        except CribError as error:
            if not error.is_session_gone:
                raise

    # --------------------------------------------------------------------------------------------------- asking

    def _request(self, kind: Any, **fields: Any) -> Any:
        return kind(namespace=self._opening.namespace, session_id=self.id, **fields)

    def _end(self, timeout: float) -> float:
        return self._patience.clock() + timeout

    def _left(self, end: float) -> float:
        return max(end - self._patience.clock(), 0.001)

    async def _ask(self, method: Any, request: Any, end: float) -> Any:
        return await self._patience.ask(self._transport, method, request, self._left(end))

    async def _read(self, session_id: str, end: float, issued_only: bool = False) -> list[Any]:
        request = pb.ReadSessionRequest(
            namespace=self._opening.namespace, session_id=session_id, issued_only=issued_only
        )
        return await self._transport.read(self._calls.ReadSession, request, self._left(end))

    async def _tell(self, method: Any, request: Any, batch: Batch, end: float) -> Any:
        """Sends a request with news."""
        while True:
            batch.write(request)
            try:
                answer = await self._ask(method, request, end)
            except CribError as error:
                if not self._reports.give_up(batch, error):
                    raise
            else:
                self._reports.acknowledge(batch, answer)
                return answer

    async def _catch_up(self, end: float) -> bool:
        """Plans the steps that were made while the daemon was away, and tells what does not fit the next request.

        Returns whether it came to an end: a daemon that cannot store now is told the rest later.
        """
        while self._reports.has_steps or len(self._reports) > BATCH:
            batch = self._reports.next()
            if batch.step:
                await self._plan_late(batch.step, batch, end)
            elif not await self._report(batch, end):
                return False
        return True

    async def _plan_late(self, step: Step, batch: Batch, end: float) -> None:
        # Without a query, and without room for what is owed, nothing is issued.
        present = pb.Present(names=step.present)
        request = self._request(pb.PlanStepRequest, key=step.key, present=present, max_tokens=1)
        try:
            await self._tell(self._calls.PlanStep, request, batch, end)
        except CribError as error:
            if not self._reports.give_up_step(step, error):
                raise

    async def _report(self, batch: Batch, end: float, durable: bool = False) -> bool:
        """Tells news by themselves; returns whether all are stored."""
        request = self._request(pb.ReportOutcomesRequest, durable=durable)
        answer = await self._tell(self._calls.ReportOutcomes, request, batch, end)
        return all(ack.result != pb.OUTCOME_RESULT_NOT_STORED for ack in answer.acks)

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
        key = key or secrets.token_hex(16)
        self._reports.take_back(key)
        if self.delivery != "tools" and not self.format.is_user_turn_last(messages):
            # There is no place for a definition now: as good as no room.
            max_tokens = 1
        query = self.format.query_of(messages, self.given.texts)
        present = self.given.present_in(messages)
        request = self._request(
            pb.PlanStepRequest,
            key=key,
            query=pb.Query(user=_cut(query.user), model=_cut(query.model), goal=_cut(goal)),
            present=pb.Present(names=present),
            max_tools=max_tools,
            max_tokens=max_tokens,
            usage=_usage(usage),
        )

        async def plan(end: float) -> Any:
            is_told = await self._catch_up(end)
            batch = self._reports.next() if is_told else Batch()
            return await self._tell(self._calls.PlanStep, request, batch, end)

        try:
            answer = await self._in_session(plan, self._timeout)
        except CribError as error:
            if not error.is_away:
                raise
            self._reports.add_step(Step(key, present))
            return self._stale(key, str(error))
        issued, pieces, excluded = _wire.offers(answer), _wire.placed(answer.pieces), _wire.excluded(answer)
        self.given.take(issued, pieces)
        self.given.exclude(excluded)
        return Plan(
            step_id=answer.step_id,
            key=key,
            result=_wire.word(pb.PlanResult, "PLAN_RESULT_", answer.result),
            messages=_wire.contents(pieces, _wire.MESSAGES),
            tools=self._tools(),
            issued=issued,
            tokens=_wire.tokens(answer.tokens),
            block_digest=answer.block_digest,
            block_changed=self._tell_of_block(),
            breaks_cache=answer.breaks_cache,
            pending=answer.pending,
            excluded=excluded,
        )

    def _stale(self, key: str, reason: str) -> Plan:
        return Plan(
            step_id="",
            key=key,
            result="stale",
            messages=[],
            tools=self._tools(),
            issued=(),
            tokens=self.block.tokens,
            block_digest=self.block.digest,
            stale=True,
            reason=reason,
            block_changed=self._tell_of_block(),
        )

    def _tools(self) -> list[Dict]:
        return [*self.block.tools, *self.given.array.values()]

    def _tell_of_block(self) -> bool:
        changed, self._block_changed = self._block_changed, False
        return changed

    async def _step_id(self, plan: Plan, end: float) -> str:
        """The id of a step, which a stale one gets by being planned late; empty where it has none."""
        if plan.stale and not self._reports.late_id(plan.key):
            await self._catch_up(end)
        return plan.step_id or self._reports.late_id(plan.key)

    async def request_tool(self, plan: Plan, call: Call, messages: Sequence[Any]) -> Answer:
        """Answers the model's own request for a tool: a call that `validate` found to be of kind `request`.

        A daemon that is not heard within the session's timeout is no error: the model is then told so.
        """
        present = pb.Present(names=self.given.present_in(messages))

        async def ask(end: float) -> Any:
            step_id = await self._step_id(plan, end)
            fields = {"step_id": step_id, "call_id": call.call_id, "arguments": call.json(), "present": present}
            return await self._ask(self._calls.RequestTool, self._request(pb.RequestToolRequest, **fields), end)

        try:
            answer = await self._in_session(ask, self._timeout)
        except CribError as error:
            if not error.is_away:
                raise
            result, after = self.format.refusal(call, _AWAY)
            return Answer(result, after, "stale")
        issued, pieces = _wire.offers(answer), _wire.placed(answer.pieces)
        self.given.take(issued, pieces)
        self.given.exclude(_wire.excluded(answer))
        return Answer(
            result=_wire.contents(pieces, _wire.TOOL_RESULT)[0],
            after=_wire.contents(pieces, _wire.MESSAGES),
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
        for call in checked:
            if call.run and call.kind == "tool":
                self._called[call.call_id] = call.name
        return checked

    async def _validate(self, plan: Plan, calls: Sequence[Call]) -> list[Checked]:
        async def ask(end: float) -> Any:
            step_id = await self._step_id(plan, end)
            request = self._request(pb.ValidateCallsRequest, step_id=step_id, calls=map(self._sent, calls))
            return await self._ask(self._calls.ValidateCalls, request, end)

        try:
            answer = await self._in_session(ask, self._timeout)
        except CribError as error:
            if not error.is_away:
                raise
            return [self.given.check(call) for call in calls]
        return [self._checked(call, of) for call, of in zip(calls, answer.calls, strict=True)]

    def _sent(self, call: Call) -> Any:
        # What the runtime's own tools are called with is nobody's business.
        arguments = b"" if call.name in self.own_names else call.json()
        return pb.Call(call_id=call.call_id, name=call.name, arguments=arguments)

    def _checked(self, call: Call, of: Any) -> Checked:
        issued, pieces = _wire.offers(of), _wire.placed(of.pieces)
        self.given.take(issued, pieces)
        arguments = _wire.arguments(of.arguments or call.json())
        if of.kind == pb.CALL_KIND_OWN and arguments is None:
            return self.given.refuse_arguments(call, stale=False)
        inner = _wire.arguments(call.json()) if call.name == CALL_TOOL else None
        name = str((inner or {}).get("name") or call.name)
        verdict = _wire.word(pb.Verdict, "VERDICT_", of.verdict)
        reason = _wire.word(pb.Reason, "REASON_", of.reason)
        tool = _wire.ref(of.tool) if of.HasField("tool") else None
        if verdict in ("unavailable", "unknown_tool"):
            self.given.withhold(name, reason)
        elif of.run and tool:
            self.given.allow(name, tool)
        result = _wire.contents(pieces, _wire.TOOL_RESULT)
        return Checked(
            call_id=call.call_id,
            name=name,
            kind={pb.CALL_KIND_REQUEST: "request", pb.CALL_KIND_OWN: "own"}.get(of.kind, "tool"),  # type: ignore[arg-type]
            run=of.run or of.kind == pb.CALL_KIND_REQUEST,
            arguments=arguments or {},
            tool=tool,
            presence=_wire.word(pb.Presence, "PRESENCE_", of.presence),
            verdict=verdict or "unjudged",
            reason=reason,
            violations=_wire.violations(of),
            result=result[0] if result else {},
            after=_wire.contents(pieces, _wire.MESSAGES),
            nearest=tuple(of.nearest),
            current_version=of.stale.current_version,
        )

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
            step_id=plan.step_id,
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
        ending = pb.StepEnding(step_id=plan.step_id, reason=_wire.number(pb.StepEnd, "STEP_END_", how))
        self._reports.add(plan.key, ending)


def _usage(usage: Usage | None) -> pb.Usage | None:
    if usage is None:
        return None
    return pb.Usage(input_tokens=usage.input_tokens, cached_tokens=usage.cached_tokens, miss_reason=usage.miss_reason)


def _first(pieces: Sequence[Any], size_bytes: int) -> Iterator[Any]:
    """The pieces at the front that have that size together."""
    left = size_bytes
    for piece in pieces:
        if left <= 0:
            return
        left -= len(piece.content)
        yield piece


def _cut(text: str) -> str:
    """Cuts a text to what is sent of it, its head and its tail, at whole characters."""
    if len(text) <= _QUERY_BYTES // 4:
        return text
    data = text.encode(errors="replace")
    if len(data) <= _QUERY_BYTES:
        return data.decode()
    half = _QUERY_BYTES // 2
    return data[:half].decode(errors="ignore") + data[-half:].decode(errors="ignore")


def _names_in(message: Any) -> set[str]:
    """Names in a message, of whatever: of calls, references and definitions, also inside arguments kept as text."""
    names: set[str] = set()
    todo: list[Any] = [plain(message)]
    while todo:
        value = todo.pop()
        if isinstance(value, Mapping):
            for key, inner in value.items():
                if key in ("name", "tool_name") and isinstance(inner, str):
                    names.add(inner)
                elif key == "arguments" and isinstance(inner, str):
                    todo.append(_wire.arguments(inner.encode()))
                else:
                    todo.append(inner)
        elif isinstance(value, list):
            todo += value
    return names

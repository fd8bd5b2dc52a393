"""Every tool of every catalog, in every format and delivery, held against the providers' own types.

A request that a provider refuses stops an agent altogether, and one bad piece is enough. So everything that the daemon
can put into a request is made here, and judged by the types of the installed SDKs (`sdk_types`) and by the rules that
the types do not say (`renderings`).
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator, Sequence
from typing import Any

import grpc
import pytest
from catalogs import IN_REPOSITORY, SHARED, Catalog, Namespace, policy, register, shared
from renderings import META, NAME, RENDERINGS, Rendering, definitions, references

from toolcrib.testing import Daemon
from toolcrib.v1 import common_pb2, registry_pb2, registry_pb2_grpc, session_pb2_grpc
from toolcrib.v1 import session_pb2 as pb

# Everything in one block: no real window is that large, and no real policy that generous.
_ALL = {"session.pass_through_share": "1.0"}
_WINDOW = 10_000_000
_QUERIES = 25

_ids = itertools.count()


@pytest.fixture(scope="module")
def channel() -> Iterator[grpc.Channel]:
    with Daemon() as daemon, grpc.insecure_channel(daemon.address) as channel:
        yield channel


@pytest.fixture(scope="module", params=[*IN_REPOSITORY, *shared()], ids=lambda catalog: catalog.name)
def namespace(request: pytest.FixtureRequest, channel: grpc.Channel) -> Namespace:
    catalog: Catalog = request.param
    return register(channel, catalog)


@pytest.fixture(params=RENDERINGS, ids=lambda rendering: rendering.name)
def rendering(request: pytest.FixtureRequest) -> Rendering:
    chosen: Rendering = request.param
    return chosen


class Seat:
    """An open session."""

    def __init__(self, namespace: Namespace, rendering: Rendering, *, mark_cache: bool = False) -> None:
        self.namespace, self.rendering = namespace, rendering
        self.stub = session_pb2_grpc.SessionServiceStub(namespace.channel)
        self.id = f"s{next(_ids)}"
        opened = self.stub.OpenSession(
            pb.OpenSessionRequest(
                namespace=namespace.name,
                session_id=self.id,
                format=rendering.format,
                delivery=rendering.delivery,
                model="some-model",
                context_window=_WINDOW,
                own_tools=[pb.OwnTool(name="own_tool", tokens=50)],
                on_demand_budget=1_000_000,
                mark_cache=mark_cache,
            )
        )
        assert opened.delivery == rendering.delivery
        assert tuple(opened.betas) == rendering.betas
        self.block = opened.block
        self.pieces: Sequence[pb.Piece] = list(opened.block.pieces) or [
            read.piece
            for read in self.stub.ReadSession(pb.ReadSessionRequest(namespace=namespace.name, session_id=self.id))
        ]
        #: What the tools array makes callable, now or once it is referred to.
        self.declared = {name for piece in self.pieces for name in _named(piece)}

    def plan(self, query: str) -> pb.PlanStepResponse:
        request = pb.PlanStepRequest(
            namespace=self.namespace.name,
            session_id=self.id,
            key=f"k{next(_ids)}",
            query=pb.Query(user=query),
            present=pb.Present(),
        )
        plan: pb.PlanStepResponse = self.stub.PlanStep(request)
        return plan

    def request(self, call_id: str, **ask: Any) -> pb.RequestToolResponse:
        request = pb.RequestToolRequest(
            namespace=self.namespace.name, session_id=self.id, call_id=call_id, present=pb.Present(), **ask
        )
        answer: pb.RequestToolResponse = self.stub.RequestTool(request)
        return answer

    def validate(self, *calls: pb.Call) -> Sequence[pb.CheckedCall]:
        request = pb.ValidateCallsRequest(namespace=self.namespace.name, session_id=self.id, calls=calls)
        checked: Sequence[pb.CheckedCall] = self.stub.ValidateCalls(request).calls
        return checked

    def assert_piece(self, piece: pb.Piece) -> None:
        """The piece is of the SDK's type, names what it makes callable, and nothing else."""
        assert self.rendering.problems(piece) == [], piece.content.decode()
        if piece.place == pb.PLACE_SYSTEM:
            assert not piece.names
            return
        value = json.loads(piece.content)
        native = {definition["name"] for definition in definitions(value)} | set(references(value))
        assert set(references(value)) <= self.declared, "refers to a tool that the block does not declare"
        names = set(piece.names) - META
        if piece.deferred:
            assert not names
        elif native - META:
            assert names == native - META
        else:
            text = "\n".join(_strings(value))
            assert names <= {name for name in names if name in text}, "a name that the text does not have"
            assert not names or "call_tool" in self.declared, "text whose tools nothing can call"

    def assert_answer(self, call_id: str, pieces: Sequence[pb.Piece]) -> None:
        """Exactly one piece answers the call, first, and names it."""
        assert [piece.place == pb.PLACE_TOOL_RESULT for piece in pieces] == [True] + [False] * (len(pieces) - 1)
        for piece in pieces:
            self.assert_piece(piece)
        if self.rendering.call_id:
            assert json.loads(pieces[0].content)[self.rendering.call_id] == call_id


def _named(piece: pb.Piece) -> Iterator[str]:
    if piece.place == pb.PLACE_TOOLS:
        yield from (definition["name"] for definition in definitions(json.loads(piece.content)))


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, list | dict):
        for part in value.values() if isinstance(value, dict) else value:
            yield from _strings(part)


def _holds(piece: pb.Piece, schema: bytes) -> bool:
    """Whether a schema stands in a piece byte for byte, as JSON or as text."""
    return schema in piece.content or any(schema.decode() in text for text in _strings(json.loads(piece.content)))


def test_every_tool_as_a_resident(namespace: Namespace, rendering: Rendering) -> None:
    with policy(namespace, _ALL):
        seat = Seat(namespace, rendering)
    assert seat.block.pass_through
    assert {offer.name for offer in seat.block.offers} - META == seat.declared - META
    by_name = {name: piece for piece in seat.pieces for name in _named(piece)}
    for piece in seat.pieces:
        seat.assert_piece(piece)
    for tool in namespace.tools.values():
        refusal = rendering.refuses(json.loads(tool.schema))
        if tool.alias in by_name:
            assert NAME.fullmatch(tool.alias)
            # What a provider refuses at the root is told in the description; everything else is as registered.
            assert _holds(by_name[tool.alias], tool.schema) or refusal
        else:
            assert refusal, f"{tool.alias} is left out, and nothing is wrong with it"
            assert seat.request("c", name=tool.alias).reason == pb.REASON_NOT_RENDERABLE


def test_every_tool_when_the_model_asks_for_it(namespace: Namespace, rendering: Rendering) -> None:
    # Were it all resident there would be nothing to ask for.
    with policy(namespace, {"session.pass_through_share": "0.0", "session.pass_through_tools": "0"}):
        seat = Seat(namespace, rendering)
    assert not seat.block.pass_through
    for piece in seat.pieces:
        seat.assert_piece(piece)
    for number, tool in enumerate(namespace.tools.values()):
        answer = seat.request(f"call-{number}", name=tool.alias)
        seat.assert_answer(f"call-{number}", answer.pieces)
        if answer.reason == pb.REASON_NOT_RENDERABLE:
            assert rendering.refuses(json.loads(tool.schema))
            continue
        assert answer.result in (pb.REQUEST_RESULT_EXACT, pb.REQUEST_RESULT_ALREADY_PRESENT), tool.alias
        if answer.result == pb.REQUEST_RESULT_EXACT:
            assert [offer.name for offer in answer.issued] == [tool.alias]
            referred = any(list(references(json.loads(piece.content))) == [tool.alias] for piece in answer.pieces)
            held = any(_holds(piece, tool.schema) for piece in answer.pieces)
            assert referred or held or rendering.refuses(json.loads(tool.schema))


def test_what_a_step_issues(namespace: Namespace, rendering: Rendering) -> None:
    with policy(namespace, {"session.pass_through_share": "0.0", "session.pass_through_tools": "0"}):
        seat = Seat(namespace, rendering)
    issued = 0
    step = max(1, len(namespace.tools) // _QUERIES)
    for tool in itertools.islice(namespace.tools.values(), 0, None, step):
        plan = seat.plan(tool.name.replace("_", " "))
        for piece in plan.pieces:
            seat.assert_piece(piece)
            assert piece.place in (pb.PLACE_MESSAGES, pb.PLACE_TOOLS)
        names = {name for piece in plan.pieces for name in piece.names}
        assert names == {offer.name for offer in plan.issued}
        assert plan.breaks_cache == (rendering.delivery == pb.DELIVERY_TOOLS and bool(plan.pieces))
        issued += len(names)
    assert issued


def test_every_kind_of_answer_that_is_no_definition(namespace: Namespace, rendering: Rendering) -> None:
    with policy(namespace, {"session.pass_through_share": "0.0", "session.pass_through_tools": "0"}):
        seat = Seat(namespace, rendering)
    seat.assert_answer("a", seat.request("a", name="no_such_tool").pieces)
    seat.assert_answer("b", seat.request("b", need="zzz qqq xxx").pieces)
    seat.assert_answer("c", seat.request("c", name="own_tool").pieces)
    seat.assert_answer("d", seat.request("d", arguments=b"{}").pieces)
    seat.assert_answer("e", seat.request("e", arguments=b"not JSON").pieces)

    picked = next(iter(namespace.tools.values()))
    calls = [
        pb.Call(call_id="unknown", name="no_such_tool", arguments=b"{}"),
        pb.Call(call_id="invalid", name=picked.alias, arguments=b'["no object"]'),
        pb.Call(call_id="broken", name=picked.alias, arguments=b"{"),
        pb.Call(call_id="inner", name="call_tool", arguments=b'{"name":"no_such_tool","arguments":{}}'),
        pb.Call(call_id="empty", name="call_tool", arguments=b"{}"),
    ]
    for call, checked in zip(calls, seat.validate(*calls), strict=True):
        assert not checked.run
        seat.assert_answer(call.call_id, checked.pieces)

    registry = registry_pb2_grpc.RegistryServiceStub(namespace.channel)
    ref = common_pb2.ToolRef(source=picked.source, name=picked.name)

    def move(action: registry_pb2.ToolAction) -> None:
        change = registry_pb2.ChangeToolRequest(namespace=namespace.name, tool=ref, action=action, reason="test")
        registry.ChangeTool(change)

    move(registry_pb2.TOOL_ACTION_QUARANTINE)
    try:
        out = seat.request("f", name=picked.alias)
        assert out.result == pb.REQUEST_RESULT_UNAVAILABLE
        seat.assert_answer("f", out.pieces)
        (checked,) = seat.validate(pb.Call(call_id="out", name=picked.alias, arguments=b"{}"))
        assert checked.verdict == pb.VERDICT_UNAVAILABLE
        seat.assert_answer("out", checked.pieces)
    finally:
        move(registry_pb2.TOOL_ACTION_REPAIR)


def test_the_cache_marker_is_the_only_difference_it_makes(namespace: Namespace, rendering: Rendering) -> None:
    plain, marked = Seat(namespace, rendering), Seat(namespace, rendering, mark_cache=True)
    assert plain.block.cache_after == marked.block.cache_after
    assert len(plain.pieces) == len(marked.pieces)
    for index, (without, with_marker) in enumerate(zip(plain.pieces, marked.pieces, strict=True)):
        marked.assert_piece(with_marker)
        assert b"cache_control" not in without.content
        if rendering.format == pb.FORMAT_ANTHROPIC and index == marked.block.cache_after:
            assert not with_marker.deferred
            value = json.loads(with_marker.content)
            assert value.pop("cache_control") == {"type": "ephemeral"}
            assert value == json.loads(without.content)
        else:
            assert with_marker.content == without.content


@pytest.mark.skipif(bool(shared()), reason="the shared catalogs are there")
def test_the_shared_catalogs_are_missing() -> None:
    """Says loudly that less was checked than could be; it is skipped where nothing is missing."""
    pytest.skip(f"SKIPPED: no catalogs in {SHARED}; only those in the repository were rendered")

"""A namespace of a daemon: where sessions are opened, catalogs imported and figures read."""

from __future__ import annotations

import json
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, TypedDict

from . import _wire
from ._errors import CribError
from ._session import PATIENT, SessionCore
from ._sync import run
from ._transport import AsyncTransport, BlockingTransport, Patience, Transport, parts
from .formats import FORMATS
from .session import AsyncSession, Session
from .v1 import registry_pb2, stats_pb2
from .v1 import session_pb2 as pb
from .values import Figures, OwnTool, ToolRef, Violation

if TYPE_CHECKING:
    from typing_extensions import Unpack

#: Where `toolcrib serve` listens.
ADDRESS = "127.0.0.1:7117"

#: Seconds that a step may wait for the daemon before the agent goes on without it.
STEP_TIMEOUT = 0.25

#: A catalog: a file, its bytes, or tools as MCP, OpenAI or Anthropic have them.
Catalog = str | PathLike[str] | bytes | Sequence[Mapping[str, Any]]


class Opening(TypedDict, total=False):
    """How a session is opened; all of it can be left out."""

    #: The model, as named to the provider. It decides the delivery where that is left out.
    model: str
    #: `append`, `reference`, `invoke` or `tools`; docs/deliveries.md says what each does.
    delivery: str | None
    #: Context window in tokens, at least 1,000; the namespace's default where it is left out.
    context_window: int
    #: Names of the runtime's own tools: they are left alone, and no other tool gets their name.
    own_tools: Sequence[OwnTool | str]
    #: Only these tools: `source/name` or `source/*`.
    allow: Sequence[str]
    #: Without these, taken out after `allow`.
    deny: Sequence[str]
    #: Always in the block: `source/name`.
    must_have: Sequence[str]
    #: Write a cache breakpoint into the block (Anthropic).
    mark_cache: bool
    #: Most tokens of definitions outside the block; the policy's share of the window where it is left out.
    on_demand_budget: int
    #: A session whose context this one copies, and whose block it gets.
    fork_of: str
    #: The session that started this one, for lineage only.
    parent: str
    #: The traffic is made up: nothing of it is judged.
    played: bool


@dataclass(frozen=True, slots=True)
class Refused:
    """A tool that the daemon's gate did not let in."""

    tool: ToolRef
    violations: Sequence[Violation]


@dataclass(frozen=True, slots=True)
class Imported:
    """What came of an import."""

    #: Tools that are in now: new, changed or unchanged.
    admitted: int
    #: Of these, those that were in already as they are.
    unchanged: int
    #: Tools that are not in, with what is wrong; at most 1,000 are named.
    refused: Sequence[Refused]
    #: Tools that their source no longer lists.
    withdrawn: int


class CribCore:
    """A namespace of a daemon."""

    def __init__(self, transport: Transport, namespace: str, timeout: float, patience: Patience) -> None:
        self.namespace = namespace
        self._transport = transport
        self._timeout = timeout
        self._patience = patience

    async def _ask(self, method: Any, request: Any) -> Any:
        return await self._patience.ask(self._transport, method, request, PATIENT)

    async def wait_for_ready(self, timeout: float) -> None:
        await self._transport.wait_for_ready(timeout)

    async def close(self) -> None:
        await self._transport.close()

    async def open_session(
        self, session_id: str, format: str, opening: Opening, timeout: float = PATIENT
    ) -> SessionCore:
        if unknown := opening.keys() - Opening.__optional_keys__:
            raise TypeError(f"open_session has no {', '.join(sorted(unknown))}")
        if format not in FORMATS:
            raise ValueError(f"format {format!r} is none of {', '.join(FORMATS)}")
        own = [OwnTool(tool) if isinstance(tool, str) else tool for tool in opening.get("own_tools", ())]
        delivery = _wire.number(pb.Delivery, "DELIVERY_", opening.get("delivery") or "unspecified")
        request = pb.OpenSessionRequest(
            namespace=self.namespace,
            session_id=session_id or uuid.uuid4().hex,
            format=_wire.number(pb.Format, "FORMAT_", format),
            delivery=delivery,
            model=opening.get("model", ""),
            context_window=opening.get("context_window", 0),
            pool=pb.Pool(
                allow=opening.get("allow", ()), deny=opening.get("deny", ()), must_have=opening.get("must_have", ())
            ),
            own_tools=[pb.OwnTool(name=tool.name, tokens=tool.tokens) for tool in own],
            on_demand_budget=opening.get("on_demand_budget", 0),
            fork_of=opening.get("fork_of", ""),
            parent_session_id=opening.get("parent", ""),
            mark_cache=opening.get("mark_cache", False),
            played=opening.get("played", False),
        )
        session = SessionCore(self._transport, request, self._timeout, self._patience)
        await session.open(timeout)
        return session

    async def import_catalog(self, catalog: Catalog, source: str, dry_run: bool) -> Imported:
        name, data = _bytes_of(catalog)
        target = registry_pb2.ImportTarget(
            namespace=self.namespace, source=source, file_name=name, request_id=uuid.uuid4().hex, dry_run=dry_run
        )
        request = list(parts(target, data, registry_pb2.ImportToolsRequest))
        answer = await self._ask(self._transport.services.registry.ImportTools, request)
        refused = [
            Refused(_wire.ref(admission.tool), _wire.violations(admission))
            for admission in answer.admissions
            if admission.result == registry_pb2.ADMISSION_RESULT_REFUSED
        ]
        counts = answer.counts
        admitted = counts.admitted + counts.flagged + counts.unchanged
        return Imported(admitted, counts.unchanged, refused, answer.withdrawn)

    async def stats(self) -> Figures:
        request = stats_pb2.GetStatsRequest(namespace=self.namespace)
        answer = await self._ask(self._transport.services.stats.GetStats, request)
        if not answer.figures:
            raise CribError("NOT_FOUND", f"there is no namespace {self.namespace}", "UNKNOWN_NAMESPACE")
        of = answer.figures[0]
        calls, judged, tokens = of.calls, of.selections, of.tokens
        wrong = judged.wrong_tool + judged.unknown_tool + judged.unavailable + judged.invalid_arguments
        return Figures(
            steps=of.steps,
            resident=calls.resident,
            issued=calls.issued,
            recalled=calls.recalled,
            absent=calls.absent,
            unknown=calls.unknown,
            right=judged.right,
            wrong=wrong,
            unjudged=judged.unjudged,
            placed_tokens=tokens.directory + tokens.resident + tokens.issued + tokens.meta,
            window_tokens=tokens.window,
            everything_tokens=tokens.everything,
            active_tools=of.tools.active + of.tools.probation,
        )


def _bytes_of(catalog: Catalog) -> tuple[str, bytes]:
    if isinstance(catalog, (str, PathLike)):
        path = Path(catalog)
        return str(path), path.read_bytes()
    return "", catalog if isinstance(catalog, bytes) else json.dumps({"tools": list(catalog)}).encode()


class Crib:
    """A namespace of a daemon, for callers that block. `with` ends the connection; it may be shared by threads."""

    def __init__(
        self,
        address: str = ADDRESS,
        *,
        namespace: str = "default",
        timeout: float = STEP_TIMEOUT,
        patience: Patience | None = None,
    ) -> None:
        """
        Args:
            address: `host:port` of the daemon. Nothing is sent until something is asked.
            namespace: Whose tools.
            timeout: Seconds that `plan`, `validate` and `request_tool` may take before they go on without the daemon.
            patience: How requests are repeated.
        """
        self.core = CribCore(BlockingTransport(address), namespace, timeout, patience or Patience())

    @property
    def namespace(self) -> str:
        """Whose tools."""
        return self.core.namespace

    def wait_for_ready(self, timeout: float = PATIENT) -> None:
        """Waits until the daemon can be reached. Raises CribError where that takes more than `timeout` seconds."""
        run(self.core.wait_for_ready(timeout))

    def open_session(
        self, session_id: str = "", *, format: str, timeout: float = PATIENT, **opening: Unpack[Opening]
    ) -> Session:
        """Opens a session, or goes on with the open one of that id and the same arguments.

        Args:
            session_id: The conversation's id, 1 to 128 characters; one is made where it is left out.
            format: `anthropic`, `openai_responses` or `openai_chat`.
            timeout: Seconds that it may take.
            opening: Everything that can be left out; see `Opening`.

        Raises CribError where the daemon does not answer in time or refuses, ValueError for words that are none of
        these, and TypeError for an option that there is not.
        """
        return Session(run(self.core.open_session(session_id, format, opening, timeout)))

    def import_catalog(self, catalog: Catalog, source: str = "", *, dry_run: bool = False) -> Imported:
        """Registers a catalog: an answer to MCP's `tools/list`, an OpenAI or Anthropic tools array, or JSON lines.

        Args:
            catalog: A file's path, its bytes, or the tools as dicts.
            source: The server or package that they come from; needed for dicts and bytes. The list must be the whole of
                that source: what is not in it any more is withdrawn.
            dry_run: Say what would happen, and do nothing.
        """
        return run(self.core.import_catalog(catalog, source, dry_run))

    def stats(self) -> Figures:
        """What the namespace's traffic came to."""
        return run(self.core.stats())

    def close(self) -> None:
        """Ends the connection. Sessions stay open at the daemon."""
        run(self.core.close())

    def __enter__(self) -> Crib:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class AsyncCrib:
    """A namespace of a daemon, for callers that await. To be made inside the event loop; `async with` ends it."""

    def __init__(
        self,
        address: str = ADDRESS,
        *,
        namespace: str = "default",
        timeout: float = STEP_TIMEOUT,
        patience: Patience | None = None,
    ) -> None:
        """Takes what Crib takes."""
        self.core = CribCore(AsyncTransport(address), namespace, timeout, patience or Patience())

    @property
    def namespace(self) -> str:
        """Whose tools."""
        return self.core.namespace

    async def wait_for_ready(self, timeout: float = PATIENT) -> None:
        """Waits until the daemon can be reached. Raises CribError where that takes more than `timeout` seconds."""
        await self.core.wait_for_ready(timeout)

    async def open_session(
        self, session_id: str = "", *, format: str, timeout: float = PATIENT, **opening: Unpack[Opening]
    ) -> AsyncSession:
        """Opens a session, or goes on with the open one. Takes what Crib.open_session takes."""
        return AsyncSession(await self.core.open_session(session_id, format, opening, timeout))

    async def import_catalog(self, catalog: Catalog, source: str = "", *, dry_run: bool = False) -> Imported:
        """Registers the tools of a catalog. Takes what Crib.import_catalog takes."""
        return await self.core.import_catalog(catalog, source, dry_run)

    async def stats(self) -> Figures:
        """What the namespace's traffic came to."""
        return await self.core.stats()

    async def close(self) -> None:
        """Ends the connection. Sessions stay open at the daemon."""
        await self.core.close()

    async def __aenter__(self) -> AsyncCrib:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()


#: Shorter, for scripts.
connect = Crib
aconnect = AsyncCrib

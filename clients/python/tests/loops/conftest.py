"""A real daemon for all of these tests, a namespace for each."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Any

import grpc
import pytest

import toolcrib
from toolcrib.testing import Daemon
from toolcrib.testing.provider import ScriptedProvider
from toolcrib.v1 import registry_pb2_grpc, session_pb2, session_pb2_grpc, stats_pb2, stats_pb2_grpc

from . import recorded
from .talk import WAYS, Talk, Way

_NAMESPACES = itertools.count()


class Bench:
    """A namespace with real tools in it, and its conversations."""

    def __init__(self, daemon: Daemon, way: Way, n_tools: int = 60) -> None:
        self.way = way
        self.namespace = f"loops-{next(_NAMESPACES)}"
        self._daemon = daemon
        self._talks: list[Talk] = []
        self._channel = grpc.insecure_channel(daemon.address)
        self.registry = registry_pb2_grpc.RegistryServiceStub(self._channel)
        self.tools = recorded.tools(n_tools)
        with toolcrib.connect(daemon.address, namespace=self.namespace) as crib:
            crib.import_catalog(recorded.catalog(n_tools))

    def talk(
        self, turns: list[dict[str, Any]], run: Callable[..., Any] | None = None, **more: Any
    ) -> tuple[Talk, ScriptedProvider]:
        """Opens a conversation that goes by a script."""
        provider = ScriptedProvider(turns)
        self._talks.append(Talk(self._daemon, self.namespace, self.way, provider, run, **more))
        return self._talks[-1], provider

    def settle(self) -> None:
        """Waits until all that the daemon has acknowledged is on its disk: outcomes are acknowledged before that."""
        request = session_pb2.ReportOutcomesRequest(namespace=self.namespace, session_id="talk", durable=True)
        session_pb2_grpc.SessionServiceStub(self._channel).ReportOutcomes(request)

    def figures(self) -> Any:
        """What the daemon counted, once all that is queued has been sent."""
        while self._talks:
            self._talks.pop().close()
        request = stats_pb2.GetStatsRequest(namespace=self.namespace)
        return stats_pb2_grpc.StatsServiceStub(self._channel).GetStats(request, wait_for_ready=True).figures[0]

    def history(self) -> Any:
        """What the daemon remembers of the conversation, once all that is queued has been sent."""
        self.figures()
        request = session_pb2.GetSessionRequest(namespace=self.namespace, session_id="talk", ended=True)
        return session_pb2_grpc.SessionServiceStub(self._channel).GetSession(request).history

    def close(self) -> None:
        while self._talks:
            self._talks.pop().close()
        self._channel.close()


@pytest.fixture(scope="session")
def daemon(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Daemon]:
    config = tmp_path_factory.mktemp("daemon") / "crib.toml"
    config.write_text("[limits]\nnamespaces = 1000\n")
    with Daemon(arguments=["--config", str(config)]) as started:
        yield started


@pytest.fixture(params=WAYS, ids=str)
def bench(daemon: Daemon, request: pytest.FixtureRequest) -> Iterator[Bench]:
    """The same test for every provider, delivery and driver."""
    made = Bench(daemon, request.param)
    yield made
    made.close()

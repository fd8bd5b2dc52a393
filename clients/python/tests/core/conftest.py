"""One daemon for all tests that do not end it; each test has a namespace of its own in it."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from toolcrib import AsyncCrib, Crib
from toolcrib.testing import Daemon

ROOT = Path(__file__).resolve().parents[4]
GITHUB = ROOT / "examples" / "demo" / "github.json"

_names = itertools.count()


class Driver:
    """Blocking and asynchronous clients by one face: what either returns is waited for."""

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self._loop = asyncio.new_event_loop()
        self._cribs: list[Any] = []

    def __call__(self, result: Any) -> Any:
        """Waits for what an asynchronous client returned; a blocking one's result is there already."""
        return self._loop.run_until_complete(result) if asyncio.iscoroutine(result) else result

    def connect(self, address: str, **options: Any) -> Any:
        """A connection that is ended after the test."""

        async def inside() -> AsyncCrib:
            return AsyncCrib(address, **options)

        crib = Crib(address, **options) if self.kind == "sync" else self(inside())
        self._cribs.append(crib)
        return crib

    def close(self) -> None:
        for crib in self._cribs:
            self(crib.close())
        self._loop.close()


@pytest.fixture(params=["sync", "async"])
def do(request: pytest.FixtureRequest) -> Iterator[Driver]:
    driver = Driver(request.param)
    yield driver
    driver.close()


@pytest.fixture(scope="session")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Daemon]:
    config = tmp_path_factory.mktemp("daemon") / "crib.toml"
    config.write_text("[limits]\nnamespaces = 1000\n")
    with Daemon(arguments=["--config", str(config)]) as daemon:
        yield daemon


@pytest.fixture
def crib(do: Driver, shared: Daemon) -> Any:
    """A namespace with GitHub's 117 tools, in a daemon that stays."""
    shared.namespace = f"n{next(_names)}"
    crib = do.connect(shared.address, namespace=shared.namespace, timeout=5.0)
    do(crib.import_catalog(GITHUB))
    return crib


@pytest.fixture
def mortal(do: Driver) -> Iterator[tuple[Daemon, Callable[..., Any]]]:
    """A daemon of the test's own, with GitHub's tools, and what connects to it."""
    with Daemon() as daemon:
        do(do.connect(daemon.address, timeout=5.0).import_catalog(GITHUB))
        yield daemon, lambda **options: do.connect(daemon.address, **options)


def user(text: str) -> dict[str, Any]:
    return {"role": "user", "content": text}

"""How requests reach the daemon: two transports with one face, and the patience that both have.

What is sent over a blocking transport is answered before `unary` returns, so that nothing in a coroutine over it ever
waits (see `_sync`).
"""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, Protocol

import grpc
import grpc.aio

from ._errors import CribError, read
from .v1 import registry_pb2_grpc, session_pb2_grpc, stats_pb2_grpc

#: A daemon that was restarted is found at once: by itself grpc would wait up to two minutes.
CHANNEL_OPTIONS = [
    ("grpc.initial_reconnect_backoff_ms", 50),
    ("grpc.min_reconnect_backoff_ms", 50),
    ("grpc.max_reconnect_backoff_ms", 100),
    # A block of up to 1 MiB, and definitions beside it.
    ("grpc.max_receive_message_length", 16 << 20),
]


class Services:
    """The stubs of a channel."""

    def __init__(self, channel: Any) -> None:
        self.session: Any = _untyped(session_pb2_grpc.SessionServiceStub)(channel)
        self.registry: Any = _untyped(registry_pb2_grpc.RegistryServiceStub)(channel)
        self.stats: Any = _untyped(stats_pb2_grpc.StatsServiceStub)(channel)


def _untyped(stub: Any) -> Any:
    """A generated stub: the generator writes no types for them."""
    return stub


class Transport(Protocol):
    """What the client needs of a connection. Methods are those of `services`; times are seconds."""

    services: Services

    async def unary(self, method: Any, request: Any, timeout: float) -> Any:
        """Sends a request, or a list of them as a stream, and returns the answer. Waits for the connection as long as
        `timeout` allows."""
        ...

    async def read(self, method: Any, request: Any, timeout: float) -> list[Any]:
        """Sends a request and returns all that is streamed back."""
        ...

    async def sleep(self, seconds: float) -> None:
        """Waits."""
        ...

    async def wait_for_ready(self, timeout: float) -> None:
        """Waits until there is a connection."""
        ...

    async def close(self) -> None:
        """Ends the connection."""
        ...


class BlockingTransport:
    """A transport for callers that block."""

    def __init__(self, address: str) -> None:
        self._channel: Any = grpc.insecure_channel(address, options=CHANNEL_OPTIONS)
        self.services = Services(self._channel)

    async def unary(self, method: Any, request: Any, timeout: float) -> Any:
        try:
            return method(_sendable(request), timeout=timeout, wait_for_ready=True)
        except grpc.RpcError as error:
            raise read(error) from error

    async def read(self, method: Any, request: Any, timeout: float) -> list[Any]:
        try:
            return list(method(request, timeout=timeout, wait_for_ready=True))
        except grpc.RpcError as error:
            raise read(error) from error

    async def sleep(self, seconds: float) -> None:
        time.sleep(seconds)

    async def wait_for_ready(self, timeout: float) -> None:
        try:
            grpc.channel_ready_future(self._channel).result(timeout)
        except grpc.FutureTimeoutError:
            raise _not_there(timeout) from None

    async def close(self) -> None:
        self._channel.close()


class AsyncTransport:
    """A transport for callers that await."""

    def __init__(self, address: str) -> None:
        self._channel: Any = grpc.aio.insecure_channel(address, options=CHANNEL_OPTIONS)
        self.services = Services(self._channel)

    async def unary(self, method: Any, request: Any, timeout: float) -> Any:
        try:
            return await method(_sendable(request), timeout=timeout, wait_for_ready=True)
        except grpc.RpcError as error:
            raise read(error) from error

    async def read(self, method: Any, request: Any, timeout: float) -> list[Any]:
        try:
            return [message async for message in method(request, timeout=timeout, wait_for_ready=True)]
        except grpc.RpcError as error:
            raise read(error) from error

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)

    async def wait_for_ready(self, timeout: float) -> None:
        try:
            await asyncio.wait_for(self._channel.channel_ready(), timeout)
        except asyncio.TimeoutError:
            raise _not_there(timeout) from None

    async def close(self) -> None:
        await self._channel.close()


def _sendable(request: Any) -> Any:
    """A request as grpc takes it; a list can be sent again, an iterator cannot."""
    return iter(request) if isinstance(request, list) else request


def _not_there(timeout: float) -> CribError:
    return CribError("UNAVAILABLE", f"no daemon answered within {timeout:g} s; is `toolcrib serve` running there?")


@dataclass(frozen=True, slots=True)
class Patience:
    """How long and how often a request is tried. Clock and chance are given, so that tests can turn them."""

    #: Longest pause before the first repetition; it doubles with each one.
    first: float = 0.01
    #: Longest pause of all.
    most: float = 0.5
    #: Seconds that pass, from anywhere.
    clock: Callable[[], float] = field(default=time.monotonic)
    #: A number from 0 to 1: each pause is that share of the longest, so that clients do not come back all at once.
    chance: Callable[[], float] = field(default=random.random)

    async def ask(self, transport: Transport, method: Any, request: Any, timeout: float) -> Any:
        """Sends a request until it is answered, refused, or `timeout` seconds are over.

        Only for what may be sent twice: it is sent again where the daemon was not reached, or was too busy.
        """
        end = self.clock() + timeout
        longest = self.first
        while True:
            try:
                return await transport.unary(method, request, max(end - self.clock(), 0.001))
            except CribError as error:
                pause = max(self.chance() * longest, error.retry_after or 0)
                if not error.is_passing or self.clock() + pause >= end:
                    raise
                await transport.sleep(pause)
                longest = min(2 * longest, self.most)


def parts(target: Any, data: bytes, make: Callable[..., Any], size: int = 512 << 10) -> Iterable[Any]:
    """Cuts a file into the requests that carry it."""
    yield make(target=target)
    for start in range(0, len(data), size):
        yield make(chunk=data[start : start + size])

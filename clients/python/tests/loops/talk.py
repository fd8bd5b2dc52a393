"""One way to hold a conversation, whatever the provider, the delivery, and whether it is awaited."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import anthropic
import openai

import toolcrib
from toolcrib._crib import STEP_TIMEOUT
from toolcrib.anthropic import Agent, AsyncAgent
from toolcrib.openai import AsyncChatAgent, AsyncResponsesAgent, ChatAgent, ResponsesAgent
from toolcrib.testing import Daemon
from toolcrib.testing.provider import ScriptedProvider
from toolcrib.values import Checked

AGENTS: dict[str, tuple[Any, Any]] = {
    "anthropic": (Agent, AsyncAgent),
    "openai_responses": (ResponsesAgent, AsyncResponsesAgent),
    "openai_chat": (ChatAgent, AsyncChatAgent),
}
SDKS: dict[str, tuple[Any, Any]] = {
    "anthropic": (anthropic.Anthropic, anthropic.AsyncAnthropic),
    "openai_responses": (openai.OpenAI, openai.AsyncOpenAI),
    "openai_chat": (openai.OpenAI, openai.AsyncOpenAI),
}


@dataclass(frozen=True)
class Way:
    """A provider's API, a delivery, and who drives."""

    format: str
    delivery: str
    is_async: bool

    def __str__(self) -> str:
        return f"{self.format}-{self.delivery}-{'async' if self.is_async else 'sync'}"


WAYS = [
    Way(format, delivery, is_async)
    for format, delivery in (
        ("anthropic", "append"),
        ("anthropic", "reference"),
        ("anthropic", "invoke"),
        ("openai_responses", "append"),
        ("openai_responses", "invoke"),
        ("openai_chat", "invoke"),
    )
    for is_async in (False, True)
]

Run = Callable[[Checked], Any]

# Seconds that a step may take: a busy machine must not make it stale.
_TIMEOUT = 5.0


class Talk:
    """An agent of the real SDK in a conversation of the real daemon, under a scripted provider."""

    def __init__(
        self,
        daemon: Daemon,
        namespace: str,
        way: Way,
        provider: ScriptedProvider,
        run: Run | None = None,
        own_tools: Sequence[Mapping[str, Any]] = (),
        context_window: int = 64_000,
        on_demand_budget: int = 0,
        allow: Sequence[str] = (),
        **settings: Any,
    ) -> None:
        #: Every call that reached the dispatcher.
        self.ran: list[Checked] = []
        self._run = run or (lambda call: f"{call.name} did its work")
        self._loop = asyncio.new_event_loop() if way.is_async else None
        sdk, agent = SDKS[way.format][way.is_async], AGENTS[way.format][way.is_async]
        http = provider.async_http_client() if way.is_async else provider.http_client()
        self._crib: Any = self._wait(self._connect(daemon.address, namespace))
        self.session: Any = self._wait(
            self._crib.open_session(
                "talk",
                format=way.format,
                model="scripted",
                delivery=way.delivery,
                context_window=context_window,
                on_demand_budget=on_demand_budget,
                allow=allow,
                own_tools=[name for tool in own_tools if (name := name_of(tool))],
            )
        )
        self.client: Any = sdk(api_key="none", http_client=http, max_retries=0)
        self.agent = agent(
            self.session,
            self.client,
            model="scripted",
            dispatch=self._adispatch if way.is_async else self._dispatch,
            own_tools=own_tools,
            **settings,
        )

    def ask(self, content: Any) -> str:
        answer: str = self._wait(self.agent.ask(content))
        return answer

    def hurry(self) -> None:
        """Lets steps take no longer than they do by default: what is away is not waited for."""
        self.session.core._timeout = STEP_TIMEOUT

    def close(self) -> None:
        """Sends what is queued and lets go."""
        self._wait(self.session.close())
        self._wait(self._crib.close())
        if self._loop:
            self._loop.close()

    def _connect(self, address: str, namespace: str) -> Any:
        if not self._loop:
            return toolcrib.connect(address, namespace=namespace, timeout=_TIMEOUT)

        # A channel belongs to the event loop that it is made in.
        async def connect() -> toolcrib.AsyncCrib:
            return toolcrib.aconnect(address, namespace=namespace, timeout=_TIMEOUT)

        return connect()

    def _wait(self, value: Any) -> Any:
        return self._loop.run_until_complete(value) if self._loop else value

    def _dispatch(self, call: Checked) -> Any:
        self.ran.append(call)
        return self._run(call)

    async def _adispatch(self, call: Checked) -> Any:
        await asyncio.sleep(0)
        return self._dispatch(call)


def name_of(tool: Mapping[str, Any]) -> str:
    """Empty for what the provider runs without one."""
    return str(tool.get("name") or tool.get("function", {}).get("name") or "")


def function(format: str, name: str, schema: Mapping[str, Any]) -> dict[str, Any]:
    """A tool's definition as a format has it."""
    if format == "anthropic":
        return {"name": name, "description": "", "input_schema": schema}
    function = {"name": name, "description": "", "parameters": schema}
    if format == "openai_chat":
        return {"type": "function", "function": function}
    return {"type": "function", "strict": False, **function}


def texts_of(value: Any) -> list[str]:
    """Every text in a request."""
    if isinstance(value, str):
        return [value]
    if isinstance(value, Mapping):
        value = value.values()
    return [text for item in value for text in texts_of(item)] if hasattr(value, "__iter__") else []

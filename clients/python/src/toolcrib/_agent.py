"""What agents of all providers have in common: their settings, and the face of the loop, sync and async."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Generic, ParamSpec, TypeVar

from ._loop import Loop
from ._session import SessionCore
from ._sync import run
from .formats.base import AgentFormat, Content, Dict
from .session import AsyncSession, Session
from .values import Checked, Plan

Client = TypeVar("Client")
P = ParamSpec("P")
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Settings:
    """What stays the same in every request of an agent."""

    model: str
    system: str
    max_tokens: int | None
    own_tools: Sequence[Mapping[str, Any]]
    request: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Api:
    """A provider's API, as the agents need it."""

    #: How its messages are read and written.
    format: AgentFormat
    #: The arguments of a request, in an order that a prompt cache likes: what does not change stands first.
    arguments: Callable[[Settings, SessionCore, Plan, list[Any]], Dict]
    #: The method of the SDK's client that makes it.
    create: Callable[[Any], Callable[..., Any]]
    #: Arguments of a request that an agent says itself, or has no loop for.
    said: frozenset[str]
    #: Types of tools whose calls only the runtime can answer, by items that an agent does not write.
    unanswered: frozenset[str] = frozenset()


class _Agent:
    api: ClassVar[Api]

    def __init__(
        self,
        session: SessionCore,
        settings: Settings,
        create: Callable[..., Awaitable[Any]],
        dispatch: Callable[[Checked], Awaitable[Content]],
        max_steps: int,
    ) -> None:
        if session.format.name != self.api.format.name:
            raise ValueError(f"this agent needs a session of format {self.api.format.name}, not {session.format.name}")
        if said := sorted(self.api.said & settings.request.keys()):
            raise ValueError(f"request must not hold {', '.join(said)}")
        if unanswered := sorted(self.api.unanswered & {str(tool.get("type")) for tool in settings.own_tools}):
            raise ValueError(f"this agent cannot answer calls of tools of type {', '.join(unanswered)}")
        # Calls of tools that the session does not know would be refused. What the provider runs may have no name.
        named = {tool.get("name") or tool.get("function", {}).get("name") for tool in settings.own_tools}
        if unknown := sorted(named - session.own_names - {None}):
            raise ValueError(f"own_tools of open_session must name {', '.join(unknown)} too")

        async def send(messages: list[Any], plan: Plan) -> Any:
            return await create(**self.api.arguments(settings, session, plan, messages))

        self._loop = Loop(session, self.api.format, send, dispatch, max_steps)

    @property
    def messages(self) -> list[Any]:
        """The history, as the provider has it: yours to read, cut and extend between two questions.

        What toolcrib appended stands in it. Cut it as you like: the next step issues again what is then missing.
        """
        return self._loop.messages

    @messages.setter
    def messages(self, messages: list[Any]) -> None:
        self._loop.messages = messages

    @property
    def last_plan(self) -> Plan | None:
        """The plan of the last request that was answered."""
        return self._loop.plan

    @property
    def last_response(self) -> Any:
        """The SDK's object of the last reply; it says why the model stopped."""
        return self._loop.response


class SyncAgent(_Agent, Generic[Client]):
    """An agent that blocks."""

    def __init__(
        self,
        session: Session,
        client: Client,
        *,
        model: str,
        dispatch: Callable[[Checked], Content],
        system: str = "",
        max_tokens: int | None = None,
        own_tools: Sequence[Mapping[str, Any]] = (),
        max_steps: int = 32,
        request: Mapping[str, Any] | None = None,
    ) -> None:
        """
        Args:
            session: Opened in the format of this agent.
            client: The SDK's client; what it raises passes through.
            model: The model, as named to the provider.
            dispatch: Runs a call and returns what the model is to read: text, or a list of content as the provider has
                it. `Checked.kind` tells a registered tool (`tool`) from one of `own_tools` (`own`).
            system: The system prompt. toolcrib's directory stands after it.
            max_tokens: Most tokens of one reply. None leaves it to the provider, or takes 4,096 where it must be said.
            own_tools: Definitions of the runtime's own tools, as the provider has them. The session must know their
                names; they stand in front of all others and never change.
            max_steps: Most model requests for one `ask`.
            request: Further arguments of each request, e.g. `{"temperature": 0}`; not those that the agent makes
                itself, and no `stream`, since replies are read whole.

        Raises ValueError where these do not go together, with each other or with the session.
        """
        settings = Settings(model, system, max_tokens, own_tools, request or {})
        super().__init__(session.core, settings, _waiting(self.api.create(client)), _waiting(dispatch), max_steps)

    def ask(self, content: Content) -> str:
        """Says something to the model and returns its answer, after all the calls that it takes.

        `content` is text, or a list of content as the provider has it: with images, documents and the like.

        Raises StepLimitError where the model still calls tools after `max_steps` requests, RuntimeError where this
        agent is asked already, TypeError where `dispatch` returns neither text nor a list, and what the provider's SDK
        raises. The history stays whole in all cases.
        """
        return run(self._loop.ask(content))


class AsyncAgent(_Agent, Generic[Client]):
    """An agent to be awaited."""

    def __init__(
        self,
        session: AsyncSession,
        client: Client,
        *,
        model: str,
        dispatch: Callable[[Checked], Awaitable[Content]],
        system: str = "",
        max_tokens: int | None = None,
        own_tools: Sequence[Mapping[str, Any]] = (),
        max_steps: int = 32,
        request: Mapping[str, Any] | None = None,
    ) -> None:
        """Takes what SyncAgent takes; `dispatch` is a coroutine function, and calls of one reply run one by one."""
        settings = Settings(model, system, max_tokens, own_tools, request or {})
        super().__init__(session.core, settings, self.api.create(client), dispatch, max_steps)

    async def ask(self, content: Content) -> str:
        """Says something to the model and returns its answer, after all the calls that it takes.

        Takes and raises what `SyncAgent.ask` does. The history stays whole where it is cancelled, too.
        """
        return await self._loop.ask(content)


def _waiting(function: Callable[P, T]) -> Callable[P, Awaitable[T]]:
    """A function as a coroutine that never waits, as the synchronous agents drive the loop."""

    async def call(*args: P.args, **kwargs: P.kwargs) -> T:
        return function(*args, **kwargs)

    return call

"""A provider that plays a script under the provider's real SDK, so that what is recorded is what goes over the wire.

    provider = ScriptedProvider([{"query": "create an issue", "calls": ["github__create_issue"]}])
    client = anthropic.Anthropic(api_key="none", http_client=provider.http_client())

The scripted model knows nothing but the request: it calls a tool by its name where the definition is in the request,
through `call_tool` where it stands in the messages as text, and asks for it first where it is not there. Requests that
the provider's API would refuse, for a call without a result or a system message in the wrong place, are refused here
too. One provider answers all three APIs: Anthropic Messages, OpenAI Responses, OpenAI Chat Completions.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypedDict

import httpx2

from .arguments import smallest
from .dialects.anthropic import Anthropic
from .dialects.base import REQUEST_TOOL, Dialect, Made, Reply, View
from .dialects.openai_chat import OpenaiChat
from .dialects.openai_responses import OpenaiResponses
from .wire import Recorded

__all__ = ["Made", "Recorded", "Reply", "ScriptedProvider", "Turn", "View"]

_DIALECTS: tuple[Dialect, ...] = (Anthropic(), OpenaiResponses(), OpenaiChat())
# Near enough for any tokenizer, and the same at each request.
_BYTES_PER_TOKEN = 4


class _Query(TypedDict):
    query: str


class Turn(_Query, total=False):
    """What happens after one text of the user."""

    #: Names of the tools that the model wants, one reply each; a list of names is one reply with parallel calls.
    calls: Sequence[str | Sequence[str]]
    #: Replies as given, or made from what the model sees then; they come before those for `calls`. After the last of
    #: both the model answers with a text.
    replies: Sequence[Reply | Callable[[View], Reply]]


class ScriptedProvider:
    """Plays turns, one after the other, and records every request."""

    def __init__(self, turns: Sequence[Turn] | Sequence[Mapping[str, Any]]) -> None:
        """Takes what the user will say, in order, and what the model then does; plain dicts will do."""
        self._turns: deque[Mapping[str, Any]] = deque(turns)
        self._replies: deque[Reply | Callable[[View], Reply]] = deque()
        self._wanted: deque[list[str]] = deque()
        self._asked: set[str] = set()
        self._is_answered = True
        self._query = ""
        #: All requests, refused ones too.
        self.requests: list[Recorded] = []
        #: Tools that the model wanted, asked for, and was not given.
        self.missed: list[str] = []

    def http_client(self) -> httpx2.Client:
        """An HTTP client for the SDK's synchronous client."""
        return httpx2.Client(transport=httpx2.MockTransport(self._handle))

    def async_http_client(self) -> httpx2.AsyncClient:
        """An HTTP client for the SDK's asynchronous client."""
        return httpx2.AsyncClient(transport=httpx2.MockTransport(self._handle))

    def check_prefix(self) -> list[str]:
        """Says where a request is not a prefix of the next one, element by element and byte for byte.

        Tools, system prompt and messages are compared in the order in which providers cache them, so that a tool added
        to the array is a break as well. Empty where the prefix held all along.
        """
        breaks = []
        for i, (before, after) in enumerate(zip(self.requests, self.requests[1:], strict=False), 1):
            kept = after.kept(before)
            if kept < len(before.elements):
                breaks.append(f"request {i + 1} differs from request {i} at {before.elements[kept]}")
        return breaks

    def _handle(self, request: httpx2.Request) -> httpx2.Response:
        dialect = next((d for d in _DIALECTS if request.url.path.endswith(d.path)), None)
        if dialect is None:
            return httpx2.Response(404, json={"error": {"message": f"no such path: {request.url.path}"}})
        betas = [b.strip() for b in request.headers.get("anthropic-beta", "").split(",") if b.strip()]
        recorded = Recorded.of(request.url.path, betas, request.content)
        self.requests.append(recorded)
        faults = dialect.faults(recorded)
        if request.headers.get("anthropic-beta") == "":
            faults.append("the header anthropic-beta is empty")
        if recorded.body.get("stream"):
            faults.append("streams are not played")
        view = dialect.view(recorded.body)
        reply = None if faults else self._reply(view)
        if reply is None:
            faults = faults or [f"the script's turn is not what was asked: {view.said[-1:]}"]
            return httpx2.Response(400, json=dialect.refuse("; ".join(faults)))
        number = len(self.requests)
        return httpx2.Response(200, json=dialect.answer(reply, recorded.body["model"], number, self._tokens(recorded)))

    def _tokens(self, request: Recorded) -> tuple[int, int]:
        """Input tokens, all and cached, as of a provider that keeps the request before in its cache."""
        kept = request.kept(self.requests[-2]) if len(self.requests) > 1 else 0
        sizes = [len(element.sent) for element in request.elements]
        return sum(sizes) // _BYTES_PER_TOKEN, sum(sizes[:kept]) // _BYTES_PER_TOKEN

    def _reply(self, view: View) -> Reply | None:
        """What the model says next; None where the request does not belong to the script."""
        if self._is_answered and not self._begin():
            return None
        if self._query not in view.said:
            return None
        reply = self._replies.popleft() if self._replies else self._demand(view)
        if not isinstance(reply, Reply):
            reply = reply(view)
        self._is_answered = not reply.calls and not self._replies and not self._wanted
        return reply

    def _begin(self) -> bool:
        """Begins the next turn, where there is one."""
        if not self._turns:
            return False
        turn = self._turns.popleft()
        self._is_answered = False
        self._query = turn["query"]
        self._replies = deque(turn.get("replies", ()))
        self._wanted = deque([c] if isinstance(c, str) else list(c) for c in turn.get("calls", ()))
        self._asked.clear()
        return True

    def _demand(self, view: View) -> Reply:
        """The next reply that wants tools; an answer where nothing more is wanted."""
        while self._wanted:
            calls: list[Made] = []
            still_wanted: list[str] = []
            for name in self._wanted.popleft():
                schema = view.schema(name)
                if schema is not None:
                    calls.append(view.call(name, smallest(schema)))
                elif name in self._asked:
                    self.missed.append(name)
                else:
                    self._asked.add(name)
                    still_wanted.append(name)
                    calls.append(Made("tool_search" if view.has_tool_search else REQUEST_TOOL, {"name": name}))
            if still_wanted:
                self._wanted.appendleft(still_wanted)
            if calls:
                return Reply(calls=calls)
        return Reply(text=f"That is all there is to say about: {self._query}")

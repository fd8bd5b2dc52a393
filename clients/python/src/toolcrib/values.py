"""What goes into a session and what comes out of it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

Dict = dict[str, Any]

#: How a call ended. `auth`, `timeout`, `transport` and `server_error` count against the tool: three in a row put it in
#: quarantine.
Ending = Literal[
    "ok",
    "bad_arguments",
    "not_found",
    "refused",
    "auth",
    "timeout",
    "transport",
    "server_error",
    "not_run",
    "unspecified",
]

#: How a step ended that made no call.
StepEnd = Literal["answered", "gave_up", "asked_user", "unknown"]


@dataclass(frozen=True, slots=True)
class ToolRef:
    """One version of a tool in the registry."""

    source: str
    name: str
    #: From 1; 0 where it is not said.
    version: int = 0

    def __str__(self) -> str:
        return f"{self.source}/{self.name}"


@dataclass(frozen=True, slots=True)
class OwnTool:
    """A tool of the runtime's own: never rendered, ranked or judged. Its name is kept free."""

    name: str
    #: Cost of its definition, for display only.
    tokens: int = 0


@dataclass(frozen=True, slots=True)
class Offer:
    """A tool that the model can call by name, and what stands behind it."""

    name: str
    #: None for the daemon's own meta tools.
    tool: ToolRef | None
    #: `resident`, `issued`, `recalled`, `called_absent`, `reissued` or `meta`.
    origin: str
    #: Cost of its definition.
    tokens: int
    #: Retrieval score, comparable within one answer only.
    score: float = 0.0


@dataclass(frozen=True, slots=True)
class Tokens:
    """Tokens of tool text in one model request, by part."""

    directory: int = 0
    resident: int = 0
    issued: int = 0
    meta: int = 0
    #: What every definition of the pool would cost.
    everything: int = 0
    #: The context window that shares are taken of.
    window: int = 0
    tokenizer: str = ""

    @property
    def total(self) -> int:
        """Tokens of tool text in the request."""
        return self.directory + self.resident + self.issued + self.meta


@dataclass(frozen=True, slots=True)
class Excluded:
    """A tool that was named, or would fit, and is left out."""

    name: str
    #: E.g. `quarantined`, `not_in_pool`, `unknown`.
    reason: str
    #: In words.
    detail: str


@dataclass(frozen=True, slots=True)
class Block:
    """The frozen part of a session's context. Its bytes stay as they are until the session is refreshed."""

    digest: str
    #: 1, and one more at each refresh.
    generation: int
    #: Elements of the tools array, in order.
    tools: Sequence[Dict]
    #: What goes behind the runtime's own system prompt: texts, or text blocks for Anthropic.
    system: Sequence[Any]
    #: The tools that can be called from it.
    offers: Sequence[Offer]
    tokens: Tokens
    #: Whether every tool is in it, so that nothing is left to issue.
    pass_through: bool = False


@dataclass(frozen=True, slots=True)
class Usage:
    """What the provider billed for a request, in tokens."""

    #: All of the input, cached tokens included.
    input_tokens: int
    cached_tokens: int = 0
    #: The provider's own word for a cache miss, e.g. `tools_changed`.
    miss_reason: str = ""


@dataclass(frozen=True, slots=True)
class Call:
    """A tool call as the model wrote it."""

    #: The provider's id, unique in the session; the runtime makes one where the provider gives none.
    call_id: str
    name: str
    #: As written: JSON as text or bytes, or what it stands for.
    arguments: str | bytes | Mapping[str, Any] | None = None

    def json(self) -> bytes:
        """The arguments as JSON; nothing at all for a call without."""
        if self.arguments is None:
            return b""
        if isinstance(self.arguments, str):
            return self.arguments.encode()
        return self.arguments if isinstance(self.arguments, bytes) else json.dumps(dict(self.arguments)).encode()


@dataclass(frozen=True, slots=True)
class Plan:
    """What to put into one model request."""

    #: Goes with every call of the reply; empty for a stale plan.
    step_id: str
    #: The key by which the step can be planned again.
    key: str
    #: `issued`, `present_suffices`, `nothing_found`, `no_query`, `degraded`; `stale` where the daemon was not heard.
    result: str
    #: To be appended to the messages now, and kept there unchanged.
    messages: list[Dict]
    #: The tools array of this request. It is the block's, but under TOOLS, where it grows.
    tools: list[Dict]
    #: What the messages, or the tools array, carry that was not there before.
    issued: Sequence[Offer]
    tokens: Tokens
    #: The digest of the session's block as the daemon has it, so that a wrong one is noticed.
    block_digest: str = ""
    #: Whether this is the last block and nothing else, because the daemon was not heard in time.
    stale: bool = False
    #: Why it is stale; empty where it is not.
    reason: str = ""
    #: Whether the session's block is another than at the step before: the daemon had to open the session anew.
    block_changed: bool = False
    #: Whether placing this breaks the provider's prompt cache, as under TOOLS.
    breaks_cache: bool = False
    #: Whether a refresh might change the block.
    pending: bool = False
    #: Where nothing was found: what would have fitted, and why it is out.
    excluded: Sequence[Excluded] = ()


@dataclass(frozen=True, slots=True)
class Violation:
    """One thing that does not fit."""

    #: A JSON pointer into the arguments, or the path of a request's field.
    field: str
    description: str
    #: What would be accepted.
    accepted: str = ""


@dataclass(frozen=True, slots=True)
class Checked:
    """Who answers a call, and whether it may run."""

    call_id: str
    #: The name as the model called it; that of the inner tool where it went through `call_tool`.
    name: str
    #: `tool`: a registered one, or a name that stands for nothing. `request`: answer it with `Session.request_tool`.
    #: `own`: the runtime's own.
    kind: Literal["tool", "request", "own"]
    #: Whether to go ahead. If not, the model is given `result`.
    run: bool
    #: The arguments to run it with.
    arguments: Dict = field(default_factory=dict)
    #: The tool to run; None for the others.
    tool: ToolRef | None = None
    #: `resident`, `issued`, `recalled`, `absent`, `unknown`; empty where it cannot be said now.
    presence: str = ""
    #: `unjudged` where nothing is wrong; else `unknown_tool`, `unavailable` or `invalid_arguments`.
    verdict: str = "unjudged"
    #: Why the tool may not be used, e.g. `quarantined`; empty where it may.
    reason: str = ""
    violations: Sequence[Violation] = ()
    #: Where it is not to run: the whole of what answers the call, as the format has it.
    result: Dict = field(default_factory=dict)
    #: What must be appended after the message that holds the results of the reply.
    after: list[Dict] = field(default_factory=list)
    #: Nearest names, where there is no such tool.
    nearest: Sequence[str] = ()
    #: Whether the daemon was not heard, so that the arguments were not checked.
    stale: bool = False
    #: The version that is served by now, where it is another than the one that the session was shown; else 0.
    current_version: int = 0


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer to a model that asked for a tool."""

    #: The whole of what answers the call, as the format has it.
    result: Dict
    #: What must be appended after the message that holds the results of the reply.
    after: list[Dict]
    #: `exact`, `near`, `retrieved`, `already_present`, `own`, `unavailable`, `retired`, `not_found`; `stale` where the
    #: daemon was not heard.
    outcome: str
    issued: Sequence[Offer] = ()
    #: Nearest names that this session can use.
    nearest: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class Figures:
    """What a namespace's traffic came to, since its log began. Rates are None until there is something to divide."""

    steps: int
    #: Counted calls by presence.
    resident: int
    issued: int
    recalled: int
    absent: int
    unknown: int
    #: Selections by verdict.
    right: int
    wrong: int
    unjudged: int
    #: Tokens summed over steps.
    placed_tokens: int
    window_tokens: int
    everything_tokens: int
    #: Tools that may be issued now.
    active_tools: int

    @property
    def calls(self) -> int:
        """Counted calls."""
        return self.resident + self.issued + self.recalled + self.absent + self.unknown

    @property
    def presence_rate(self) -> float | None:
        """Share of calls whose definition was in front of the model without being asked for."""
        return _ratio(self.resident + self.issued, self.calls - self.unknown)

    @property
    def coverage(self) -> float | None:
        """The same, with what came because the model asked."""
        return _ratio(self.resident + self.issued + self.recalled, self.calls - self.unknown)

    @property
    def injection_share(self) -> float | None:
        """Share of the context window that was tool text."""
        return _ratio(self.placed_tokens, self.window_tokens)

    @property
    def saving(self) -> float | None:
        """Share of the tokens that sending every definition would have cost, and that were not sent."""
        spent = _ratio(self.placed_tokens, self.everything_tokens)
        return None if spent is None else 1 - spent

    @property
    def mis_selection_rate(self) -> float | None:
        """Share of judged selections that were wrong."""
        return _ratio(self.wrong, self.wrong + self.right)


def _ratio(part: int, whole: int) -> float | None:
    return part / whole if whole else None

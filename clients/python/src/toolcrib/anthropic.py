"""An agent loop over the raw Anthropic SDK.

session = crib.open_session("conversation-1", format="anthropic", model="claude-opus-5")
agent = Agent(session, anthropic.Anthropic(), model="claude-opus-5", dispatch=run)
print(agent.ask("close the stale issues"))
"""

from __future__ import annotations

from typing import Any

import anthropic

from . import _agent
from ._session import SessionCore
from .formats.anthropic import Anthropic as Format
from .formats.base import Dict
from .values import Plan

__all__ = ["Agent", "AsyncAgent"]

# The API has no default.
_MAX_TOKENS = 4096


def _arguments(settings: _agent.Settings, session: SessionCore, plan: Plan, messages: list[Any]) -> Dict:
    more = dict(settings.request)
    prompt: list[Any] = [{"type": "text", "text": settings.system}] if settings.system else []
    betas = dict.fromkeys([*session.betas, *more.pop("betas", ())])
    arguments = {
        "model": settings.model,
        "max_tokens": settings.max_tokens or _MAX_TOKENS,
        "tools": [*settings.own_tools, *plan.tools],
        "system": [*prompt, *session.block.system],
        "messages": messages,
        **more,
    }
    # An empty list would become an empty header.
    return {**arguments, "betas": list(betas)} if betas else arguments


_API = _agent.Api(
    Format(),
    _arguments,
    lambda client: client.beta.messages.create,
    said=frozenset({"model", "max_tokens", "tools", "system", "messages", "stream"}),
)


class Agent(_agent.SyncAgent[anthropic.Anthropic]):
    """Asks a model of Anthropic, and runs what it calls, until it answers. The session's format is `anthropic`."""

    api = _API


class AsyncAgent(_agent.AsyncAgent[anthropic.AsyncAnthropic]):
    """`Agent` for the SDK's asynchronous client."""

    api = _API

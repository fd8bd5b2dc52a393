"""Agent loops over the raw OpenAI SDK: `ResponsesAgent` for the Responses API, `ChatAgent` for Chat Completions.

session = crib.open_session("conversation-1", format="openai_responses", model="gpt-6")
agent = ResponsesAgent(session, openai.OpenAI(), model="gpt-6", dispatch=run)
print(agent.ask("close the stale issues"))
"""

from __future__ import annotations

from typing import Any

import openai

from . import _agent
from ._session import SessionCore
from .formats.base import Dict
from .formats.openai_chat import OpenaiChat
from .formats.openai_responses import OpenaiResponses
from .values import Plan

__all__ = ["AsyncChatAgent", "AsyncResponsesAgent", "ChatAgent", "ResponsesAgent"]


def _responses(settings: _agent.Settings, session: SessionCore, plan: Plan, messages: list[Any]) -> Dict:
    """The history is sent whole: nothing is kept at the provider that `messages` does not show."""
    return {
        "model": settings.model,
        **_tools(settings, plan),
        "instructions": _prompt(settings, session),
        "input": messages,
        **_limit("max_output_tokens", settings),
        **settings.request,
    }


def _chat(settings: _agent.Settings, session: SessionCore, plan: Plan, messages: list[Any]) -> Dict:
    """The system prompt is the first message, and no part of the history."""
    prompt = _prompt(settings, session)
    return {
        "model": settings.model,
        **_tools(settings, plan),
        "messages": [*([{"role": "system", "content": prompt}] if prompt else []), *messages],
        **_limit("max_completion_tokens", settings),
        **settings.request,
    }


def _tools(settings: _agent.Settings, plan: Plan) -> Dict:
    """The tools array; the API refuses an empty one."""
    tools = [*settings.own_tools, *plan.tools]
    return {"tools": tools} if tools else {}


def _prompt(settings: _agent.Settings, session: SessionCore) -> str:
    return "\n\n".join(text for text in (settings.system, *session.block.system) if text)


def _limit(name: str, settings: _agent.Settings) -> Dict:
    return {} if settings.max_tokens is None else {name: settings.max_tokens}


_RESPONSES = _agent.Api(
    OpenaiResponses(),
    _responses,
    lambda client: client.responses.create,
    said=frozenset(
        {"model", "tools", "instructions", "input", "max_output_tokens", "stream", "background"}
        # These put messages in front of the model that the history does not show.
        | {"previous_response_id", "conversation"}
    ),
    unanswered=frozenset({"custom", "computer", "computer_use_preview", "local_shell", "shell", "apply_patch"}),
)
_CHAT = _agent.Api(
    OpenaiChat(),
    _chat,
    lambda client: client.chat.completions.create,
    # Of several choices only one could go on.
    said=frozenset({"model", "tools", "messages", "max_completion_tokens", "stream", "n", "functions"}),
    unanswered=frozenset({"custom"}),
)


class ResponsesAgent(_agent.SyncAgent[openai.OpenAI]):
    """Asks a model through the Responses API until it answers. The session's format is `openai_responses`."""

    api = _RESPONSES


class AsyncResponsesAgent(_agent.AsyncAgent[openai.AsyncOpenAI]):
    """`ResponsesAgent` for the SDK's asynchronous client."""

    api = _RESPONSES


class ChatAgent(_agent.SyncAgent[openai.OpenAI]):
    """Asks a model through Chat Completions, OpenAI's or a server that speaks like it, until it answers.

    The session's format is `openai_chat`.
    """

    api = _CHAT


class AsyncChatAgent(_agent.AsyncAgent[openai.AsyncOpenAI]):
    """`ChatAgent` for the SDK's asynchronous client."""

    api = _CHAT

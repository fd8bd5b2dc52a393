"""Client for toolcrib: which tool definitions an LLM agent sees, decided at every step.

    crib = toolcrib.connect("127.0.0.1:7117")
    session = crib.open_session("conversation-1", format="anthropic", model="claude-opus-5")
    plan = session.plan(messages)                       # before each model request
    for checked in session.validate(plan, calls): ...   # after each reply, before anything runs
    session.report(call_id, plan, "ok")                 # travels with the next plan

`toolcrib.anthropic` and `toolcrib.openai` hold agent loops over the raw SDKs, `toolcrib.langchain` a middleware,
`toolcrib.testing` a daemon for tests.
"""

from __future__ import annotations

from ._crib import AsyncCrib, Crib, Imported, Opening, Refused, aconnect, connect
from ._errors import CribError
from .session import AsyncSession, Session
from .values import (
    Answer,
    Block,
    Call,
    Checked,
    Ending,
    Excluded,
    Figures,
    Offer,
    OwnTool,
    Plan,
    StepEnd,
    Tokens,
    ToolRef,
    Usage,
    Violation,
)

__all__ = [
    "Answer",
    "AsyncCrib",
    "AsyncSession",
    "Block",
    "Call",
    "Checked",
    "Crib",
    "CribError",
    "Ending",
    "Excluded",
    "Figures",
    "Imported",
    "Offer",
    "Opening",
    "OwnTool",
    "Plan",
    "Refused",
    "Session",
    "StepEnd",
    "Tokens",
    "ToolRef",
    "Usage",
    "Violation",
    "aconnect",
    "connect",
]

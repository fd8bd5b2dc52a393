"""The formats by name."""

from __future__ import annotations

from .anthropic import Anthropic
from .base import AgentFormat
from .openai_chat import OpenaiChat
from .openai_responses import OpenaiResponses

#: Every format that a session can be opened in.
FORMATS: dict[str, AgentFormat] = {format.name: format for format in (Anthropic(), OpenaiChat(), OpenaiResponses())}

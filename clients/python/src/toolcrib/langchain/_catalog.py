"""LangChain tools as a catalog."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence

from langchain_core.tools import BaseTool
from langchain_core.utils.function_calling import convert_to_openai_tool

from .._crib import AsyncCrib, Crib, Imported


def import_tools(crib: Crib, tools: Mapping[str, Sequence[BaseTool]]) -> dict[str, Imported]:
    """Registers tools with the daemon, and says for each source what came of it.

    Args:
        crib: The namespace.
        tools: By source: the server or package that they come from. Each list must be the whole of its source, since
            what is not in it any more is withdrawn.

    What LangChain injects into a tool is no argument of it. Raises CribError where the daemon does not answer.
    """
    return {source: crib.import_catalog(_schemas(listed), source) for source, listed in tools.items()}


async def aimport_tools(crib: AsyncCrib, tools: Mapping[str, Sequence[BaseTool]]) -> dict[str, Imported]:
    """Registers tools with the daemon. Takes what import_tools takes."""
    return {source: await crib.import_catalog(_schemas(listed), source) for source, listed in tools.items()}


def registered_name(name: str) -> str:
    """The name under which the daemon files a tool: its own where that fits, else what an import makes of it.

    A judged call says only the latter, so the daemon's rule (`mapped_name`) is here once more.
    """
    if re.fullmatch(r"[A-Za-z0-9_.-]{1,128}", name):
        return name
    tail = "_" + hashlib.sha256(name.encode()).hexdigest()[:8]
    return re.sub(r"[^A-Za-z0-9_.-]", "_", name)[: 128 - len(tail)] + tail


def _schemas(tools: Sequence[BaseTool]) -> list[dict[str, object]]:
    return [convert_to_openai_tool(tool) for tool in tools]

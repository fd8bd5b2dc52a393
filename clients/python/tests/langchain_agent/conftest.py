"""A daemon with tools of which none is resident, and LangChain tools that remember how they were run."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from langchain_core.tools import BaseTool, StructuredTool

from toolcrib import Crib
from toolcrib.langchain import import_tools
from toolcrib.testing import Daemon

TOPICS = ["chess", "music", "invoice", "weather", "calendar", "flight", "hotel", "ticket", "payroll", "repository"]
TOPICS += ["database", "printer", "recipe", "garden", "camera", "heating", "taxes", "stocks", "poetry", "physics"]


class Shelf:
    """The tools of one source."""

    def __init__(self) -> None:
        #: The runs, as (tool, argument).
        self.runs: list[tuple[str, str]] = []
        #: What a tool raises instead of answering.
        self.raises: dict[str, BaseException] = {}
        self.tools: list[BaseTool] = [self._tool(topic) for topic in TOPICS]

    def _tool(self, topic: str) -> BaseTool:
        name = f"{topic}_lookup"

        def lookup(key: str) -> str:
            self.runs.append((name, key))
            if name in self.raises:
                raise self.raises[name]
            return f"{topic} of {key}"

        async def alookup(key: str) -> str:
            return lookup(key)

        words = f"Looks up {topic} records by {topic} key in the {topic} system, and returns them."
        return StructuredTool.from_function(lookup, alookup, name=name, description=words)

    @property
    def by_source(self) -> dict[str, list[BaseTool]]:
        return {"acme": self.tools}


@pytest.fixture
def shelf() -> Shelf:
    return Shelf()


def set_up(daemon: Daemon, shelf: Shelf) -> None:
    """Registers the tools, and has the daemon issue one a step."""
    policy = ("session.pass_through_tools=0", "session.pass_through_share=0", "hot_pool.slots=1", "plan.top_m=1")
    daemon.run("policy", "set", *policy)
    with daemon.crib() as crib:
        imported = import_tools(crib, shelf.by_source)
    assert imported["acme"].admitted == len(TOPICS)


@pytest.fixture
def daemon(shelf: Shelf) -> Iterator[Daemon]:
    with Daemon() as daemon:
        set_up(daemon, shelf)
        yield daemon


@pytest.fixture
def crib(daemon: Daemon) -> Iterator[Crib]:
    with daemon.crib(timeout=2.0) as crib:
        yield crib

"""Real tools and what a real agent did with them, from the demo's data."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

_DATA = Path(__file__).parents[4] / "examples/demo/livemcpbench"


@cache
def tools(count: int) -> dict[str, dict[str, Any]]:
    """The first tools that the gate lets in (it refuses those without a description), by name."""
    lines = map(json.loads, (_DATA / "tools.jsonl").read_text().splitlines())
    admitted = [tool for tool in lines if tool["description"]]
    return {tool["name"]: tool for tool in admitted[:count]}


def catalog(count: int) -> bytes:
    """The same as a catalog of JSON lines."""
    return "\n".join(json.dumps(tool) for tool in tools(count).values()).encode()


def turns(count: int, n_tools: int) -> list[dict[str, Any]]:
    """What the agent asked for in its own words, and which of those tools it then called, call by call."""
    found: list[tuple[str, list[str]]] = []
    for line in map(json.loads, (_DATA / "trace.jsonl").read_text().splitlines()):
        if line["query"]:
            found.append((line["query"], []))
        if line["tool"] in tools(n_tools):
            found[-1][1].append(line["tool"])
    return [{"query": query, "calls": calls} for query, calls in found if calls][:count]

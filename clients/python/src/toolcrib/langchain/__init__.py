"""toolcrib for LangChain agents: a middleware for `langchain.agents.create_agent`.

    from toolcrib.langchain import ToolcribMiddleware, import_tools

    import_tools(crib, {"github": github_tools})
    middleware = ToolcribMiddleware(crib, tools={"github": github_tools})
    agent = create_agent(model, tools=[own_tool], middleware=[middleware])
    agent.invoke({"messages": [("user", "…")]}, {"configurable": {"thread_id": "t1"}})

docs/langchain.md says what happens at each hook.
"""

from __future__ import annotations

from .._endings import ToolFailed
from ._catalog import aimport_tools, import_tools
from ._middleware import ToolcribMiddleware

__all__ = ["ToolFailed", "ToolcribMiddleware", "aimport_tools", "import_tools"]

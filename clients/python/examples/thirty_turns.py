"""Thirty turns over 300 real tools, a scripted model under the real SDK: `thirty_turns.py append|reference|invoke`."""

import json
import sys
from pathlib import Path

import anthropic

from toolcrib.anthropic import Agent
from toolcrib.testing import Daemon
from toolcrib.testing.provider import ScriptedProvider

demo = Path(__file__).parents[3] / "examples/demo/livemcpbench"
tools = [tool for tool in map(json.loads, (demo / "tools.jsonl").open()) if tool["description"]][:300]
wanted = [call for call in map(json.loads, (demo / "trace.jsonl").open()) if call["tool"] in {t["name"] for t in tools}]
turns = [{"query": call["query"], "calls": [call["tool"]]} for call in wanted if call["query"]][:30]
provider = ScriptedProvider(turns)
client = anthropic.Anthropic(api_key="none", http_client=provider.http_client())
with Daemon() as daemon, daemon.crib() as crib:
    crib.import_catalog("\n".join(map(json.dumps, tools)).encode())
    with crib.open_session("30", format="anthropic", delivery=sys.argv[1], on_demand_budget=60_000) as session:
        agent = Agent(session, client, model="scripted", dispatch=lambda call: f"{call.tool} did its work")
        digests = {agent.ask(turn["query"]) and agent.last_plan.block_digest[:12] for turn in turns}
    print(f"presence {crib.stats().presence_rate:.1%}, saving {crib.stats().saving:.1%}, block {', '.join(digests)}")
print(f"{len(turns)} turns, {len(provider.requests)} requests, each begins the next: {not provider.check_prefix()}")

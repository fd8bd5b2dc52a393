"""One step of an agent, end to end, with nothing of toolcrib's but its protocol. README.md says how to run it."""

import json
import sys

import grpc
from toolcrib.v1 import session_pb2 as pb, session_pb2_grpc, stats_pb2, stats_pb2_grpc

channel = grpc.insecure_channel(sys.argv[1] if len(sys.argv) > 1 else "127.0.0.1:7117")
crib = session_pb2_grpc.SessionServiceStub(channel)
stats = stats_pb2_grpc.StatsServiceStub(channel)
here = {"namespace": "default", "session_id": "example"}

# Once for each conversation: what stays in front of the model, unchanged, until the session ends.
block = crib.OpenSession(pb.OpenSessionRequest(**here, format=pb.FORMAT_OPENAI_CHAT, context_window=128_000)).block
system = [piece.content.decode() for piece in block.pieces if piece.place == pb.PLACE_SYSTEM]
tools = [json.loads(piece.content) for piece in block.pieces if piece.place == pb.PLACE_TOOLS]
print(f"block    {block.digest[:12]}: {len(tools)} tools in the array, {block.tokens.directory} tokens of directory")

# Before each model request: which definitions this step needs. They go to the end of the messages, as they are.
said = "please create an issue about the failing nightly build"
plan = crib.PlanStep(pb.PlanStepRequest(**here, key="1", query=pb.Query(user=said)))
messages = [{"role": "user", "content": said}] + [json.loads(piece.content) for piece in plan.pieces]
print(f"plan     {pb.PlanResult.Name(plan.result)}: {', '.join(offer.name for offer in plan.issued)}")


def call_tool(call_id, name, **arguments):
    """A call as a model writes it where definitions come as text: through the meta tool call_tool."""
    return pb.Call(call_id=call_id, name="call_tool", arguments=json.dumps({"name": name, "arguments": arguments}).encode())


# Here the model would answer system, tools and messages. This one calls a tool that it was shown, and one that it was not.
calls = [
    call_tool("call-1", "github__create_issue", owner="octo", repo="demo", title="The nightly build fails"),
    call_tool("call-2", "github__list_gists", username="octo"),
]

# After the reply and before anything runs: which tool each call means, and whether it may run.
outcomes = []
for call in crib.ValidateCalls(pb.ValidateCallsRequest(**here, step_id=plan.step_id, calls=calls)).calls:
    presence = pb.Presence.Name(call.presence)
    print(f"check    {call.call_id}: {call.tool.source}/{call.tool.name}, run={call.run}, {presence}")
    if call.run:  # Here the runtime would send call.arguments to that server.
        outcomes.append(pb.Outcome(call_id=call.call_id, step_id=plan.step_id, ending=pb.ENDING_OK))

# What became of it. The next PlanStep could carry the same, which saves this trip.
acks = crib.ReportOutcomes(pb.ReportOutcomesRequest(**here, outcomes=outcomes, durable=True)).acks
print(f"report   {', '.join(f'{ack.call_id} {pb.OutcomeResult.Name(ack.result)}' for ack in acks)}")
crib.CloseSession(pb.CloseSessionRequest(**here))

seen = stats.GetStats(stats_pb2.GetStatsRequest(namespace="default")).figures[0].calls
known = seen.resident + seen.issued + seen.recalled + seen.absent
print(f"presence {seen.resident + seen.issued} of {known} calls found their tool's definition in the context")

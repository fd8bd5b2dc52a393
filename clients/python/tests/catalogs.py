"""Catalogs of real MCP servers, registered in a real daemon."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import grpc

from toolcrib.v1 import common_pb2, policy_pb2, policy_pb2_grpc, registry_pb2, registry_pb2_grpc

REPOSITORY = Path(__file__).resolve().parents[3]
SHARED = Path(os.environ.get("TOOLCRIB_SHARED", REPOSITORY.parent / "shared")) / "data" / "mcp"

_CHUNK_BYTES = 256 << 10

# What servers are free to write and what at least one provider refuses, beside what is only unusual.
_HARD_SCHEMAS: dict[str, object] = {
    "one_of_at_root": {"type": "object", "properties": {"a": {}, "b": {}}, "oneOf": [{"required": ["a"]}]},
    "any_of_and_no_type": {"properties": {"a": {}}, "anyOf": [{"required": ["a"]}, {"required": []}]},
    "not_at_root": {"type": "object", "properties": {"a": {}}, "not": {"required": ["a", "b"]}},
    "const_at_root": {"type": "object", "properties": {"a": {}}, "const": {"a": 1}},
    "enum_at_root": {"type": "object", "properties": {"a": {}}, "enum": [{"a": 1}, {"a": 2}]},
    "brackets": {"type": "object", "properties": {"filter[id]": {"type": "string"}, "x/y": {"type": "string"}}},
    "long_property": {"type": "object", "properties": {"p" * 65: {"type": "string"}}},
    "unicode": {"type": "object", "properties": {"größe": {"type": "string", "description": '\u2028 \u0007 "\\ é'}}},
    "look_alike": {
        "type": "object",
        "properties": {"name": {"type": "string"}, "parameters": {"type": "object"}, "input_schema": {}},
    },
    "references": {
        "type": "object",
        "properties": {"node": {"$ref": "#/$defs/node"}},
        "$defs": {"node": {"type": "object", "properties": {"next": {"anyOf": [{"$ref": "#/$defs/node"}]}}}},
    },
    "nothing": {"type": "object"},
    "open": {"type": "object", "additionalProperties": True},
    "a_name_that_is_longer_than_any_provider_takes_and_then_some_more_of_it": {"type": "object"},
    "dots.and spaces/and:colons": {"type": "object"},
}


@dataclass(frozen=True, slots=True)
class Catalog:
    """A file to import."""

    name: str
    path: Path | None  # None: the hard cases, made here

    def read(self) -> bytes:
        """The file's bytes."""
        if self.path is not None:
            return self.path.read_bytes()
        tools = [
            {"name": name, "description": f"Does what {name} says, and nothing else.", "inputSchema": schema}
            for name, schema in _HARD_SCHEMAS.items()
        ]
        return json.dumps({"tools": tools}).encode()


IN_REPOSITORY = (
    Catalog("hard", None),
    Catalog("demo-github", REPOSITORY / "examples/demo/github.json"),
    Catalog("demo-livemcpbench", REPOSITORY / "examples/demo/livemcpbench/tools.jsonl"),
)


def shared() -> tuple[Catalog, ...]:
    """Catalogs beside the repository; empty where there are none."""
    files = sorted(SHARED.glob("*.json"))
    toucan = SHARED / "catalog_toucan/tools.jsonl"
    found = [Catalog(file.stem, file) for file in files]
    return (*found, Catalog("toucan", toucan)) if toucan.exists() else tuple(found)


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool as the daemon serves it."""

    alias: str  # the name that models see
    source: str
    name: str
    schema: bytes  # what is injected


@dataclass(frozen=True, slots=True)
class Namespace:
    """A catalog in a daemon."""

    name: str
    channel: grpc.Channel
    tools: Mapping[str, Tool]  # by alias
    refused: int  # by the gate


def register(channel: grpc.Channel, catalog: Catalog) -> Namespace:
    """Imports a catalog into a namespace of its name."""
    registry = registry_pb2_grpc.RegistryServiceStub(channel)
    content = catalog.read()

    def parts() -> Iterator[registry_pb2.ImportToolsRequest]:
        target = registry_pb2.ImportTarget(namespace=catalog.name, file_name=f"{catalog.name}.json")
        yield registry_pb2.ImportToolsRequest(target=target)
        for start in range(0, len(content), _CHUNK_BYTES):
            yield registry_pb2.ImportToolsRequest(chunk=content[start : start + _CHUNK_BYTES])

    imported = registry.ImportTools(parts())
    tools: dict[str, Tool] = {}
    token = ""
    while True:
        page = registry.ListTools(
            registry_pb2.ListToolsRequest(namespace=catalog.name, page_size=1000, page_token=token)
        )
        for record in page.tools:
            ref = common_pb2.ToolRef(source=record.tool.source, name=record.tool.name)
            entry = registry.GetTool(registry_pb2.GetToolRequest(namespace=catalog.name, tool=ref))
            tools[record.alias] = Tool(record.alias, ref.source, ref.name, entry.slim_schema)
        token = page.next_page_token
        if not token:
            return Namespace(catalog.name, channel, tools, imported.counts.refused)


@contextmanager
def policy(namespace: Namespace, values: Mapping[str, str]) -> Iterator[None]:
    """Sets values of a namespace's policy, and takes them back."""
    stub = policy_pb2_grpc.PolicyServiceStub(namespace.channel)
    stub.SetPolicy(policy_pb2.SetPolicyRequest(namespace=namespace.name, values=values))
    try:
        yield
    finally:
        back = dict.fromkeys(values, "")
        stub.SetPolicy(policy_pb2.SetPolicyRequest(namespace=namespace.name, values=back))

"""The smallest arguments that fit a JSON Schema, for a model that has nothing to say."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_DEEPEST = 16


def smallest(schema: Mapping[str, Any]) -> Any:
    """Returns a small value that fits the schema: what is required and no more.

    Knows references within the schema, constants, choices, defaults, bounds and required members. Patterns, formats and
    conditions are not looked at, so that not every schema is met.
    """
    return _smallest(schema, schema, 0)


def _smallest(schema: Any, root: Mapping[str, Any], depth: int) -> Any:
    if not isinstance(schema, Mapping) or depth > _DEEPEST:
        return {}
    if "$ref" in schema:
        return _smallest(_target(str(schema["$ref"]), root), root, depth + 1)
    for word in ("const", "default"):
        if word in schema:
            return schema[word]
    for word in ("enum", "examples"):
        if schema.get(word):
            return schema[word][0]
    for word in ("anyOf", "oneOf"):
        if schema.get(word):
            return _smallest({**schema[word][0]}, root, depth + 1)
    if schema.get("allOf"):
        merged: dict[str, Any] = {}
        for part in schema["allOf"]:
            merged |= part
        return _smallest(merged, root, depth + 1)
    return _of_type(schema, root, depth)


def _of_type(schema: Mapping[str, Any], root: Mapping[str, Any], depth: int) -> Any:
    kind = schema.get("type", "object" if "properties" in schema else "string")
    if isinstance(kind, list):
        kind = next((k for k in kind if k != "null"), "null")
    if kind == "object":
        known = schema.get("properties", {})
        required = schema.get("required", ())
        return {name: _smallest(known.get(name, {"type": "string"}), root, depth + 1) for name in required}
    if kind == "array":
        return [_smallest(schema.get("items", {"type": "string"}), root, depth + 1)] * int(schema.get("minItems", 0))
    if kind in ("integer", "number"):
        return _number(schema)
    if kind == "boolean":
        return False
    return None if kind == "null" else "x" * max(int(schema.get("minLength", 1)), 1)


def _number(schema: Mapping[str, Any]) -> Any:
    low, high = schema.get("minimum"), schema.get("maximum")
    if low is None and "exclusiveMinimum" in schema:
        low = schema["exclusiveMinimum"] + 1
    if low is not None:
        return low
    return 1 if high is None else min(1, high)


def _target(reference: str, root: Mapping[str, Any]) -> Any:
    """What a reference within the schema points to; an empty schema where it points elsewhere."""
    found: Any = root
    for word in reference.removeprefix("#/").split("/"):
        if not isinstance(found, Mapping):
            return {}
        found = found.get(word.replace("~1", "/").replace("~0", "~"), {})
    return found

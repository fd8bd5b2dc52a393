"""A provider's SDK types as judges of a rendering, stricter than the SDK itself.

The SDKs describe requests with TypedDicts, and a plain check against one lets two mistakes pass: a key that the type
does not have is ignored, and whatever stands in an `Iterable` is looked at only when somebody iterates. So every
TypedDict is made anew here with the same keys, but closed, and every `Iterable` becomes a list. MCP's types are
pydantic models that accept field names beside the names on the wire; of those, what comes out again must be what went
in.
"""

from __future__ import annotations

import collections.abc
import json
import os
import types
import typing
from typing import Any, Union

import typing_extensions
from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError

_LISTS = (collections.abc.Iterable, collections.abc.Sequence, list)

# Types that are made while running are no types to a checker.
_union: Any = Union
_list: Any = list
_dict: Any = dict
_typed_dict: Any = typing_extensions.TypedDict


class Judge:
    """Says what of a value an SDK's type would not have."""

    def __init__(self, *allowed: Any) -> None:
        """Takes the types of which the value must be one."""
        made: dict[Any, Any] = {}
        self._adapter: TypeAdapter[Any] = TypeAdapter(_union[tuple(_closed(kind, made) for kind in allowed)])
        # Strictly, only an instance is a model. For TypedDicts that is wanted: the SDKs list their (open) reply models
        # beside them.
        self._strict = not all(isinstance(kind, type) and issubclass(kind, BaseModel) for kind in allowed)

    def problems(self, content: bytes) -> list[str]:
        """What is wrong with a JSON document; empty if nothing is."""
        try:
            value = json.loads(content)
        except ValueError as error:
            return [f"not JSON: {error}"]
        try:
            taken = self._adapter.validate_python(value, strict=self._strict)
        except ValidationError as error:
            return _told(error)
        if isinstance(taken, BaseModel):
            again = taken.model_dump(mode="json", by_alias=True, exclude_unset=True)
            return [] if again == value else [f"comes out as {json.dumps(again)}"]
        return []


def _told(error: ValidationError) -> list[str]:
    """The complaints of the alternative that fitted furthest; the others say only that they are something else."""
    found = error.errors(include_url=False)
    furthest = max(len(one["loc"]) for one in found)
    # Parts of a location with a bracket are names of unions, longer than what they say.
    return [
        f"{'.'.join(str(part) for part in one['loc'] if '[' not in str(part))}: {one['msg']}"
        for one in found
        if len(one["loc"]) == furthest
    ]


def _closed(kind: Any, made: dict[Any, Any]) -> Any:
    """The same type, with closed TypedDicts and lists for iterables, all the way down."""
    if typing_extensions.is_typeddict(kind):
        if kind not in made:
            made[kind] = _closed_dict(kind, made)
        return made[kind]
    origin: Any = typing.get_origin(kind)
    arguments = typing.get_args(kind)
    if origin is None:
        # A protocol of a list of strings, made so that a lone string is no list.
        return list[Any] if getattr(kind, "__name__", "") == "SequenceNotStr" else kind
    if origin is typing.Literal or origin is typing_extensions.Literal:
        return kind
    if origin in (typing_extensions.Required, typing_extensions.NotRequired, typing_extensions.Annotated):
        return _closed(arguments[0], made)
    if origin in (Union, types.UnionType):
        return _union[tuple(_closed(argument, made) for argument in arguments)]
    if origin in _LISTS or getattr(origin, "__name__", "") == "SequenceNotStr":
        return _list[_closed(arguments[0], made)]
    if origin in (typing.IO, os.PathLike):
        return bytes  # an upload; no JSON value is one
    if origin in (dict, collections.abc.Mapping):
        return _dict[arguments[0], _closed(arguments[1], made)]
    raise TypeError(f"no rule for {kind}: the SDK has a kind of type that it had not")


def _closed_dict(kind: Any, made: dict[Any, Any]) -> Any:
    keys: dict[str, Any] = {}
    for key, hint in typing_extensions.get_type_hints(kind, include_extras=True).items():
        # The class does not know of a `Required` that it was given as text, which the SDKs do.
        said: Any = typing.get_origin(hint)
        required = said is typing_extensions.Required or (
            key in kind.__required_keys__ and said is not typing_extensions.NotRequired
        )
        wrapper: Any = typing_extensions.Required if required else typing_extensions.NotRequired
        keys[key] = wrapper[_closed(hint, made)]
    closed = _typed_dict(kind.__name__, keys)
    closed.__pydantic_config__ = ConfigDict(extra="forbid")
    return closed

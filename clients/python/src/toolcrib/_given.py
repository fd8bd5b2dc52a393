"""What a session was given so far: enough to read its messages, and to go on while the daemon is away."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from . import _wire
from .formats.base import Format
from .values import Call, Checked, Dict, Excluded, Offer, ToolRef

REQUEST_TOOL = "request_tool"
CALL_TOOL = "call_tool"

#: Reasons for which a tool may not be used, by whoever calls it. The others say why it is not in front of the model.
_UNUSABLE = ("quarantined", "held", "pending", "withdrawn", "retired")

_NOT_CHECKED = "{name} cannot be checked now, so the call was not run. Go on with the tools that you have."
_WITHHELD = "{name} could not be used when it was last checked ({reason}). The call was not run."
_NO_CALL = "call_tool needs the name of a tool and an object of arguments. The call was not run."
_NO_OBJECT = "The arguments of {name} are no JSON object. The call was not run; call it again with an object."


class Given:
    """Tools, texts and refusals that one session had from the daemon."""

    def __init__(self, format: Format, own_names: frozenset[str]) -> None:
        self._format = format
        self._own_names = own_names
        # Names that the model was given, with what stands behind them, and those that were refused since.
        self._tools: dict[str, ToolRef] = {}
        self._withheld: dict[str, str] = {}
        #: Texts that the daemon gave, with the definitions that they hold.
        self.texts: dict[str, Sequence[str]] = {}
        #: Under TOOLS nothing in the messages shows what is present: the array does, and what grows of it is kept here.
        self.array: dict[str, Dict] = {}
        #: How definitions arrive; the daemon says so when the session is opened.
        self.delivery = ""

    @property
    def is_empty(self) -> bool:
        """Whether nothing was given outside the block."""
        return not (self.texts or self.array)

    def take_block(self, offers: Iterable[Offer]) -> None:
        """Takes in what can be called from a new block.

        Lifts no refusal: what the history calls stays declared, whatever its state.
        """
        for offer in offers:
            self._learn(offer)
            # The provider refuses an array with two tools of one name.
            self.array.pop(offer.name, None)

    def take(self, offers: Iterable[Offer], pieces: Iterable[_wire.Placed]) -> None:
        """Takes in what was issued, with the pieces that carry it."""
        for offer in offers:
            self._learn(offer)
            self._withheld.pop(offer.name, None)
        self.take_pieces(pieces)

    def take_pieces(self, pieces: Iterable[_wire.Placed]) -> None:
        """Remembers which texts hold which definitions, and what stands in the tools array."""
        for piece in pieces:
            if piece.place == _wire.TOOLS:
                self.array |= dict.fromkeys(piece.names, piece.content)
            else:
                self._take_texts(piece.content, piece.names)

    def take_up(self, offers: Iterable[Offer], messages: Iterable[Dict] = ()) -> None:
        """Takes in what an earlier process was given, with the messages that hold all of it."""
        offers = list(offers)
        for offer in offers:
            self._learn(offer)
        for message in messages:
            self._take_texts(message, [offer.name for offer in offers])

    def _take_texts(self, content: Dict, names: Sequence[str]) -> None:
        as_text = self.delivery in ("invoke", "reference")
        self.texts |= dict.fromkeys(_wire.texts(content), names if as_text else ())

    def _learn(self, offer: Offer) -> None:
        if offer.tool:
            self._tools[offer.name] = offer.tool

    def withhold(self, name: str, reason: str) -> None:
        """Takes in that a tool may not be used now."""
        self._withheld[name] = reason

    def exclude(self, excluded: Iterable[Excluded]) -> None:
        """Takes in which of the tools that were left out may not be used now."""
        self._withheld |= {left.name: left.reason for left in excluded if left.reason in _UNUSABLE}

    def allow(self, name: str, tool: ToolRef) -> None:
        """Takes in that a call was found fit to run."""
        self._tools[name] = tool
        self._withheld.pop(name, None)

    def present_in(self, messages: Sequence[object]) -> list[str]:
        """Names of the on-demand definitions that stand in a request with these messages."""
        if self.delivery == "tools":
            return list(self.array)
        return self._format.present_in(messages, self.texts)

    def named_in(self, names: Iterable[str]) -> list[str]:
        """Those of the names that stand for tools of this session, sorted."""
        return sorted(self._tools.keys() & set(names))

    # ------------------------------------------------------------------------------------------- without the daemon

    def check(self, call: Call) -> Checked:
        """Checks a call without the daemon, by what it said before."""
        name, arguments = call.name, _wire.arguments(call.json())
        if name == REQUEST_TOOL:
            return Checked(call.call_id, name, "request", True, arguments or {}, stale=True)
        if name in self._own_names:
            if arguments is None:
                return self.refuse_arguments(call)
            return Checked(call.call_id, name, "own", True, arguments, stale=True)
        if name == CALL_TOOL:
            name, arguments = _unwrap(arguments or {})
            if not name:
                return self._refuse(call, name, _NO_CALL)
        if reason := self._withheld.get(name):
            return self._refuse(call, name, _WITHHELD.format(name=name, reason=reason), reason=reason)
        if name not in self._tools:
            return self._refuse(call, name, _NOT_CHECKED.format(name=name))
        if arguments is None:
            return self._refuse(call, name, _NO_OBJECT.format(name=name), verdict="invalid_arguments")
        return Checked(call.call_id, name, "tool", True, arguments, self._tools[name], stale=True)

    def refuse_arguments(self, call: Call, *, stale: bool = True) -> Checked:
        """Refuses a call of the runtime's own tool whose arguments cannot be read, rather than run it without."""
        result, after = self._format.refusal(call, _NO_OBJECT.format(name=call.name))
        return Checked(
            call.call_id, call.name, "own", False, verdict="invalid_arguments", result=result, after=after, stale=stale
        )

    def _refuse(self, call: Call, name: str, text: str, *, reason: str = "", verdict: str = "unjudged") -> Checked:
        result, after = self._format.refusal(call, text)
        return Checked(
            call.call_id, name, "tool", False, verdict=verdict, reason=reason, result=result, after=after, stale=True
        )


def _unwrap(arguments: Dict) -> tuple[str, Dict | None]:
    """Name and arguments of the call inside a `call_tool`; the arguments may be an object or a text that holds one."""
    name, inner = arguments.get("name"), arguments.get("arguments", {})
    if isinstance(inner, str):
        inner = _wire.arguments(inner.encode())
    return (name if isinstance(name, str) else ""), (inner if isinstance(inner, dict) else None)

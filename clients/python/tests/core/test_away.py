"""What a session does while the daemon is away, and what is counted once it is back."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from toolcrib import Call, CribError
from toolcrib.testing import Daemon

from .conftest import Driver, user

CREATE = {"owner": "o", "repo": "r", "title": "t"}
STEP = 0.25

Mortal = tuple[Daemon, Callable[..., Any]]


def _figures(daemon: Daemon) -> Any:
    with daemon.crib() as crib:
        return crib.stats()


@pytest.mark.parametrize(("format", "delivery"), [("openai_chat", "invoke"), ("anthropic", "append")])
def test_an_agent_goes_on_without_the_daemon_and_everything_is_counted_once(
    do: Driver, mortal: Mortal, format: str, delivery: str
) -> None:
    daemon, connect = mortal
    session = do(connect().open_session(format=format, delivery=delivery))
    messages: list[Any] = [user("create an issue")]
    plan = do(session.plan(messages))
    messages += plan.messages
    # On disk, since what is acknowledged from memory may be lost with a crash.
    do(session.flush())
    assert do(session.validate(plan, [Call("1", "github__create_issue", CREATE)]))[0].run
    session.report("1", plan)

    daemon.kill()
    n_stale = 3
    for i in range(n_stale):
        began = time.monotonic()
        stale = do(session.plan([*messages, user(f"and another, {i}")]))
        assert stale.stale and "DEADLINE_EXCEEDED" in stale.reason
        assert (stale.tools, stale.messages, stale.result) == (plan.tools, [], "stale")
        assert time.monotonic() - began < 4 * STEP
        known, unknown = do(
            session.validate(
                stale, [Call(f"s{i}", "github__create_issue", CREATE), Call(f"u{i}", "github__list_gists", {})]
            )
        )
        assert (known.run, known.stale, str(known.tool)) == (True, True, "github/create_issue")
        assert (unknown.run, unknown.stale) == (False, True) and "cannot be checked" in str(unknown.result)
        answer = do(session.request_tool(stale, Call(f"r{i}", "request_tool", {"need": "gists"}), messages))
        assert answer.outcome == "stale" and "cannot be reached" in str(answer.result)
        session.report(f"s{i}", stale, "ok" if i else "timeout")

    daemon.restart()
    back = do(session.plan([*messages, user("thanks")]))
    assert not back.stale and not back.block_changed
    session.ended(back)
    do(session.close())
    figures = _figures(daemon)
    # One call before, one in each stale step: the definition stood in the messages of all of them.
    assert (figures.calls, figures.issued, figures.absent) == (1 + n_stale, 1 + n_stale, 0)
    assert figures.steps == 1 + n_stale + 1
    # Only the last step made no call; the stale ones did, and are not taken for silent ones.
    ended = json.loads(daemon.run("stats", "--json"))["figures"][0]["plans_without_call"]
    assert (ended["answered"], ended["unknown"]) == (1, 0)


def test_a_tool_that_was_withheld_stays_so_while_nobody_can_be_asked(do: Driver, mortal: Mortal) -> None:
    daemon, connect = mortal
    session = do(connect().open_session(format="openai_chat"))
    plan = do(session.plan([user("create an issue")]))
    daemon.run("tool", "quarantine", "github/create_issue", "--reason", "its token is gone")
    (told,) = do(session.validate(plan, [Call("1", "github__create_issue", CREATE)]))
    assert not told.run
    daemon.kill()
    stale = do(session.plan([user("try again")]))
    (alone,) = do(session.validate(stale, [Call("2", "github__create_issue", CREATE)]))
    assert (alone.run, alone.reason) == (False, "quarantined")
    told = "github__create_issue could not be used when it was last checked (quarantined). The call was not run."
    assert alone.result == {"role": "tool", "tool_call_id": "2", "content": told}


def test_call_tool_and_own_tools_are_told_apart_without_the_daemon(do: Driver, mortal: Mortal) -> None:
    daemon, connect = mortal
    session = do(connect().open_session(format="openai_chat", own_tools=["bash"]))
    do(session.plan([user("create an issue")]))
    daemon.kill()
    stale = do(session.plan([user("go on")]))
    calls = [
        Call("1", "bash", '{"command": "ls"}'),
        Call("2", "call_tool", '{"name": "github__create_issue", "arguments": {"title": "t"}}'),
        Call("3", "call_tool", '{"name": "github__create_issue", "arguments": "{\\"title\\": \\"t\\"}"}'),
        Call("4", "call_tool", "{}"),
        Call("5", "request_tool", "{}"),
    ]
    own, as_object, as_text, empty, request = do(session.validate(stale, calls))
    assert (own.kind, own.run, own.arguments) == ("own", True, {"command": "ls"})
    assert as_object.arguments == as_text.arguments == {"title": "t"}
    assert as_object.name == as_text.name == "github__create_issue"
    assert not empty.run and request.kind == "request"


def test_a_daemon_with_another_store_gives_another_block_and_it_is_said(do: Driver, mortal: Mortal) -> None:
    daemon, connect = mortal
    session = do(connect().open_session("one", format="openai_chat"))
    do(session.plan([user("create an issue")]))
    daemon.kill()
    for path in daemon._folder.glob("crib.db*"):
        path.unlink()
    daemon.restart()
    with daemon.crib() as crib:
        crib.import_catalog([{"name": "a", "description": "Do a thing.", "inputSchema": {"type": "object"}}], "s")
    plan = do(session.plan([user("go on")]))
    assert plan.block_changed and not plan.stale
    assert [offer.name for offer in session.block.offers] == ["s__a"]


def test_nobody_there_is_said_with_what_to_do(do: Driver) -> None:
    crib = do.connect("127.0.0.1:1")
    with pytest.raises(CribError, match="is `toolcrib serve` running there"):
        do(crib.wait_for_ready(0.05))


def test_a_daemon_that_does_not_start_says_why_and_leaves_nothing_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with pytest.raises(RuntimeError, match="unexpected argument"):
        Daemon(arguments=["--no-such-thing"])
    assert not list(tmp_path.iterdir())

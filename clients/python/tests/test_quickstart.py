"""Runs the Python of docs/quickstart-python.md as a reader would, in order, and compares what it prints.

Nothing in a block is replaced but the daemon's address. The SDKs find the scripted provider where they find a real one,
by the addresses and keys in the environment. Shell blocks are not run.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from io import StringIO
from pathlib import Path
from typing import Any

import pytest

from toolcrib.testing import Daemon
from toolcrib.testing.provider import ScriptedProvider, Turn

REPOSITORY = Path(__file__).resolve().parents[3]
PAGE = REPOSITORY / "docs" / "quickstart-python.md"
ADDRESS = "127.0.0.1:7117"

ISSUE = "Create an issue about the login test that fails."
TURNS: list[Turn] = [
    {"query": ISSUE, "calls": ["github__create_issue"]},
    {"query": ISSUE, "calls": ["github__create_issue"]},
    {"query": ISSUE, "calls": ["github__create_issue"]},
    {"query": "Take a note, then list all notes.", "calls": [["notes__take_note"], "notes__list_notes"]},
    {"query": "Which pull requests are open?", "calls": ["github__list_pull_requests"]},
]


def blocks() -> list[tuple[str, str, int]]:
    """Each Python block of the page, with what it is said to print and the lines before it."""
    page = PAGE.read_text()
    pattern = r"(?ms)^```python\n(.*?)^```\n(?:\n^```text\n(.*?)^```\n)?"
    return [(found[1], found[2] or "", page.count("\n", 0, found.start(1))) for found in re.finditer(pattern, page)]


@contextmanager
def served(provider: ScriptedProvider) -> Iterator[str]:
    """Puts a scripted provider behind an address."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            kept = {key: value for key, value in self.headers.items() if key.startswith(("content-type", "anthropic-"))}
            with provider.http_client() as client:
                answer = client.post(f"http://provider{self.path}", content=body, headers=kept)
            self.send_response(answer.status_code)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(answer.content)))
            self.end_headers()
            self.wfile.write(answer.content)

        def log_message(self, format: str, *args: Any) -> None:
            """Says nothing: the requests are recorded."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def test_the_page_does_what_it_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    provider = ScriptedProvider(TURNS)
    (tmp_path / "examples").symlink_to(REPOSITORY / "examples")
    monkeypatch.chdir(tmp_path)
    page = blocks()
    names: dict[str, Any] = {"__name__": "quickstart"}
    with Daemon() as daemon, served(provider) as address:
        for sdk, path in (("ANTHROPIC", ""), ("OPENAI", "/v1")):
            monkeypatch.setenv(f"{sdk}_BASE_URL", address + path)
            monkeypatch.setenv(f"{sdk}_API_KEY", "none")
        for code, printed, line in page:
            if named := re.match(r"# file: (\S+)\n", code):
                (tmp_path / named[1]).write_text(code)
                continue
            # Line by line as on the page, so that an error points at it.
            here = "\n" * line + code.replace(ADDRESS, daemon.address)
            out = StringIO()
            with redirect_stdout(out):
                exec(compile(here, str(PAGE), "exec"), names)
            assert out.getvalue() == printed, code
        tests = [value for name, value in names.items() if name.startswith("test_")]
        for test in tests:
            test()
        names["crib"].close()
    assert tests, "the page has no test to show"
    assert len(page) > len(TURNS)
    assert provider.missed == []
    assert len(provider.requests) > len(TURNS), "nobody asked the provider"

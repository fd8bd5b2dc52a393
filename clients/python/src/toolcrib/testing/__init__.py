"""For tests of your own: a real daemon with a throw-away store.

    with Daemon() as daemon, daemon.crib() as crib:
        crib.import_catalog("tools.json")
        ...

`ScriptedProvider`, in `toolcrib.testing.provider`, plays a model under the provider's own SDK.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

from .._crib import STEP_TIMEOUT, AsyncCrib, Crib

__all__ = ["Daemon", "find_binary"]

# The daemon says where it serves once it does.
_SERVING = re.compile(r"serving addr=(\S+)")
_METRICS = re.compile(r"metrics=(\S+)")
_COLOUR = re.compile(r"\x1b\[[0-9;]*m")

#: Seconds that a daemon may take to start or to stop.
_PATIENCE = 30.0


def find_binary() -> Path:
    """The daemon's program: `$TOOLCRIB_BIN`, else `toolcrib` on the path, else what was built last in this repository.

    Raises FileNotFoundError where there is none.
    """
    if named := os.environ.get("TOOLCRIB_BIN"):
        return Path(named).resolve(strict=True)
    if found := shutil.which("toolcrib"):
        return Path(found)
    target = Path(__file__).resolve().parents[5] / "target"
    built = [path for kind in ("release", "debug") if (path := target / kind / "toolcrib").exists()]
    if built:
        return max(built, key=lambda path: path.stat().st_mtime)
    raise FileNotFoundError("no toolcrib: set TOOLCRIB_BIN, put it on the path, or run `cargo build` in the repository")


class Daemon:
    """A daemon on a port of its own. `with` stops it and deletes its store."""

    def __init__(
        self, *, namespace: str = "default", arguments: Sequence[str] = (), binary: Path | None = None
    ) -> None:
        """Starts it; `arguments` go behind `toolcrib serve`.

        Raises RuntimeError, with the daemon's log, where it does not start.
        """
        self.namespace = namespace
        self._binary = binary or find_binary()
        self._arguments = list(arguments)
        self._folder = Path(tempfile.mkdtemp(prefix="toolcrib-"))
        self._log = self._folder / "log"
        self.address = "127.0.0.1:0"
        self.metrics_url = ""
        self._process: subprocess.Popen[bytes] | None = None
        try:
            self._start()
        except BaseException:
            self.close()
            raise

    def _start(self) -> None:
        at = self._log.stat().st_size if self._log.exists() else 0
        # The program must not take up what the caller's shell says of another daemon.
        env = {key: value for key, value in os.environ.items() if not key.startswith("TOOLCRIB_")}
        command: list[Any] = [self._binary, "serve", "--listen", self.address, "--metrics", "127.0.0.1:0"]
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(
                [*command, "--db", self._folder / "crib.db", *self._arguments],
                stdout=log,
                stderr=log,
                env=env,
                cwd=self._folder,
            )
        end = time.monotonic() + _PATIENCE
        while True:
            said = _COLOUR.sub("", self._log.read_bytes()[at:].decode(errors="replace"))
            serving, metrics_at = _SERVING.search(said), _METRICS.search(said)
            if serving and metrics_at:
                self.address, self.metrics_url = serving[1], f"http://{metrics_at[1]}/metrics"
                return
            if self._process.poll() is not None or time.monotonic() > end:
                self.kill()
                raise RuntimeError(f"toolcrib serve did not start:\n{said}")
            time.sleep(0.005)

    @property
    def pid(self) -> int | None:
        """Its process; None while it is down."""
        return self._process.pid if self._process else None

    def crib(self, *, timeout: float = STEP_TIMEOUT) -> Crib:
        """A connection to it."""
        return Crib(self.address, namespace=self.namespace, timeout=timeout)

    def acrib(self, *, timeout: float = STEP_TIMEOUT) -> AsyncCrib:
        """A connection to it, to be awaited; to be made inside the event loop."""
        return AsyncCrib(self.address, namespace=self.namespace, timeout=timeout)

    def run(self, *command: str) -> str:
        """Runs a `toolcrib` command against it and returns what it printed. Raises CalledProcessError where it fails.

        daemon.run("tool", "quarantine", "github/create_issue", "--reason", "its token is gone")
        """
        env: Mapping[str, str] = os.environ | {
            "TOOLCRIB_ADDR": f"http://{self.address}",
            "TOOLCRIB_NAMESPACE": self.namespace,
        }
        done = subprocess.run([self._binary, *command], env=env, check=True, capture_output=True, text=True)
        return done.stdout

    def kill(self) -> None:
        """Ends it as a crash would. Changes that it has acknowledged are on disk, and traffic that is 50 ms old."""
        if self._process:
            self._process.kill()
            self._process.wait()
            self._process = None

    def restart(self) -> None:
        """Starts it again on the same store and port."""
        self.kill()
        self._start()

    def close(self) -> None:
        """Stops it and deletes its store."""
        if self._process:
            self._process.terminate()
            try:
                self._process.wait(_PATIENCE)
            except subprocess.TimeoutExpired:
                self.kill()
            self._process = None
        shutil.rmtree(self._folder, ignore_errors=True)

    def __enter__(self) -> Daemon:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

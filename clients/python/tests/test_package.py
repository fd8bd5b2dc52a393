"""What people get: the package as it is installed, and the script that the README shows."""

from __future__ import annotations

import re
import subprocess
import sys
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

import pytest

from toolcrib.testing import find_binary

CLIENT = Path(__file__).resolve().parents[1]
README = (CLIENT.parents[1] / "README.md").read_text()
SCRIPT = CLIENT / "examples" / "thirty_turns.py"


def test_the_readme_shows_the_script_as_it_is() -> None:
    script = SCRIPT.read_text()
    assert f"```python\n{script}```\n" in README
    assert len(script.splitlines()) <= 25


def test_the_script_prints_what_the_readme_says(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOOLCRIB_BIN", str(find_binary()))
    done = subprocess.run([sys.executable, SCRIPT, "append"], check=True, capture_output=True, text=True)
    assert f"```text\n{done.stdout}```\n" in README


def test_the_package_has_its_licence_and_its_types_and_no_tests() -> None:
    try:
        files = {str(file) for file in distribution("toolcrib").files or ()}
    except PackageNotFoundError:
        pytest.skip("toolcrib is not installed here, only on the path")
    assert "toolcrib/py.typed" in files
    assert any(re.fullmatch(r"toolcrib-.*\.dist-info/licenses/LICENSE", file) for file in files)
    assert {file.split("/")[0].partition("-")[0] for file in files} == {"toolcrib"}


def test_the_licence_is_the_repositorys() -> None:
    assert (CLIENT / "LICENSE").read_bytes() == (CLIENT.parents[1] / "LICENSE").read_bytes()

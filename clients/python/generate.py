"""Makes the stubs in src/toolcrib/v1 from proto/, or checks that they are what proto/ makes.

    python generate.py            writes them
    python generate.py --check    fails where they are not current

The generator is old on purpose: what it writes runs with every grpcio and protobuf since, while newer generators demand
a runtime as new as themselves. It gets an environment of its own, made at the first run.
"""

from __future__ import annotations

import filecmp
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
STUBS = HERE / "src" / "toolcrib" / "v1"
ENVIRONMENT = ROOT / "target" / "ci" / "stub-generator"
# setuptools 81 dropped the module by which this grpcio-tools finds its own files.
PACKAGES = ["grpcio-tools==1.62.3", "setuptools<81"]


def generator() -> Path:
    """The Python that has the generator."""
    python = ENVIRONMENT / "bin" / "python"
    is_there = (
        python.exists() and not subprocess.run([python, "-c", "import grpc_tools"], capture_output=True).returncode
    )
    if not is_there:
        venv.create(ENVIRONMENT, with_pip=True, clear=True)
        subprocess.run([python, "-m", "pip", "install", "--quiet", *PACKAGES], check=True)
    return python


def generate(out: Path) -> None:
    """Writes the stubs of all services and messages below `out`."""
    sources = sorted(str(path.relative_to(ROOT / "proto")) for path in (ROOT / "proto").rglob("*.proto"))
    outputs = [f"--{kind}_out={out}" for kind in ("python", "pyi", "grpc_python")]
    subprocess.run([generator(), "-m", "grpc_tools.protoc", "-I", ROOT / "proto", *outputs, *sources], check=True)


def main() -> int:
    with tempfile.TemporaryDirectory() as folder:
        generate(Path(folder))
        made = Path(folder) / "toolcrib" / "v1"
        names = sorted(path.name for path in made.iterdir())
        if "--check" not in sys.argv[1:]:
            STUBS.mkdir(parents=True, exist_ok=True)
            for path in STUBS.glob("*_pb2*"):
                path.unlink()
            for name in names:
                (STUBS / name).write_bytes((made / name).read_bytes())
            (STUBS / "__init__.py").write_text('"""The generated protocol; see proto/ for what it means."""\n')
            return 0
        _, changed, missing = filecmp.cmpfiles(made, STUBS, names, shallow=False)
        left = [path.name for path in STUBS.glob("*_pb2*") if path.name not in names]
        if changed or missing or left:
            names = ", ".join(changed + missing + left)
            print(f"not current: {names}; run clients/python/generate.py", file=sys.stderr)
            return 1
    return 0


if __name__ == "__main__":
    raise SystemExit(main())

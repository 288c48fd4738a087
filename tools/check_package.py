"""Build the wheel and the sdist, and use each of them as a stranger would: `python tools/check_package.py`."""

from __future__ import annotations

import os
import subprocess
import tempfile
import venv
from pathlib import Path

ROOT = Path(__file__).parents[1]
_CHECK = "from memsync import origin; assert (origin.templates() / 'config.yaml').is_file(), origin.templates()"


def run(*words: str | Path, cwd: Path) -> None:
    """Run a program and show what it prints; a failure ends everything."""
    print("$", *words, flush=True)  # noqa: T201 - a script for people and CI logs
    subprocess.run(words, cwd=cwd, check=True)


def make_venv(path: Path) -> Path:
    """Make a virtual environment with pip, and return the directory of its programs."""
    venv.create(path, with_pip=True)
    return path / ("Scripts" if os.name == "nt" else "bin")


def main() -> None:
    """Leave what was built in `dist/`."""
    with tempfile.TemporaryDirectory() as name:
        place = Path(name).resolve()
        builder = make_venv(place / "build") / "python"
        run(builder, "-m", "pip", "install", "--quiet", "build", cwd=place)
        run(builder, "-m", "build", "--outdir", place / "dist", ROOT, cwd=place)
        (ROOT / "dist").mkdir(exist_ok=True)
        for built in sorted((place / "dist").iterdir()):
            programs = make_venv(place / f"use{built.suffix}")
            run(programs / "python", "-m", "pip", "install", "--quiet", built, cwd=place)
            run(programs / "memsync", "--version", cwd=place)
            run(programs / "memsync", "demo", cwd=place)
            run(programs / "python", "-P", "-c", _CHECK, cwd=place)
            built.replace(ROOT / "dist" / built.name)


if __name__ == "__main__":
    main()

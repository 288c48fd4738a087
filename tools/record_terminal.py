"""Record the picture of the README from the real program: session one learns, session two knows. `make docs` runs it."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from html import escape
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final, NamedTuple

IMAGES: Final = Path(__file__).parents[1] / "docs" / "images"
_FACT: Final = "CI needs Node 20: the build breaks on 22"
_MESSAGE: Final = "Remember why CI is on Node 20"
_PROMPT: Final = "update the CI workflow to the newest node"
_ID: Final = re.compile(r"mm-[a-z2-7]{6,26}\b")

_ROW: Final = 22  # pixels
_LETTER: Final = 8.43  # pixels of a letter of 14 pixels in a fixed-width font
_MARGIN: Final = 20

THEMES: Final = {
    "light": {"back": "#ffffff", "edge": "#d0d7de", "note": "#6e7781", "typed": "#0550ae", "said": "#1f2328", "given": "#116329"},
    "dark": {"back": "#0d1117", "edge": "#30363d", "note": "#8b949e", "typed": "#79c0ff", "said": "#e6edf3", "given": "#7ee787"},
}  # fmt: skip


class Line(NamedTuple):
    """A line of the picture, and what it is: a note, typed, said by the program, or given to the agent."""

    kind: str
    text: str


def record() -> list[Line]:
    """Return the lines, run in a repository of their own."""
    with TemporaryDirectory() as folder:
        run = _Runner(Path(folder))
        run("git", "init", "-q")
        stored = run.memsync("remember", _FACT)
        run("git", "add", "-A")
        run("git", "-c", "user.name=you", "-c", "user.email=you@example.org", "commit", "-qm", _MESSAGE)
        asked = json.dumps({"session_id": "two", "hook_event_name": "UserPromptSubmit", "prompt": _PROMPT})
        answer = run.memsync("hook", "prompt", "--client", "claude", said=asked)
    given = json.loads(answer)["hookSpecificOutput"]["additionalContext"]
    memory = next(line for line in given.splitlines() if line.startswith("- "))
    return [
        Line("note", "# session one: you or your agent find it out; it is a line in your repository"),
        Line("typed", f'$ memsync remember "{_FACT}"'),
        Line("said", _steady(stored.strip())),
        Line("typed", f"$ git add -A && git commit -qm '{_MESSAGE}'"),
        Line("note", ""),
        Line("note", "# session two: a colleague asks an agent"),
        Line("typed", f"> {_PROMPT}"),
        Line("note", "  what memsync's hook gives it before it answers:"),
        Line("given", f"  {_steady(memory)}"),
    ]


def _steady(text: str) -> str:
    return _ID.sub("mm-4kq7d2", text)


class _Runner:
    def __init__(self, folder: Path) -> None:
        self._repository = folder / "repo"
        self._repository.mkdir()
        known = {"HOME": str(folder), "MEMSYNC_HOME": str(folder / ".gobby"), "NO_COLOR": "1", "COLUMNS": "110"}
        kept = {name: os.environ[name] for name in ("PATH", "SYSTEMROOT", "PYTHONPATH") if name in os.environ}
        self._env = {**kept, **known, "GIT_CONFIG_NOSYSTEM": "1"}

    def __call__(self, *words: str, said: str = "") -> str:
        done = subprocess.run(
            words, cwd=self._repository, env=self._env, input=said, capture_output=True, encoding="utf-8", check=True
        )
        return done.stdout

    def memsync(self, *words: str, said: str = "") -> str:
        return self(sys.executable, "-m", "memsync", *words, said=said)


def _count_blanks(text: str) -> int:
    return len(text) - len(text.lstrip())


def draw(lines: list[Line], theme: str) -> str:
    """Return *lines* as an SVG of *theme*."""
    colours = THEMES[theme]
    width = round(max(len(line.text) for line in lines) * _LETTER + 2 * _MARGIN)
    height = len(lines) * _ROW + 2 * _MARGIN
    rows = [
        f'<text x="{_MARGIN + _LETTER * _count_blanks(line.text):.0f}" y="{_MARGIN + number * _ROW + 15}" fill="{colours[line.kind]}" '
        f'textLength="{_LETTER * len(line.text.strip()):.0f}">{escape(line.text.strip())}</text>'
        for number, line in enumerate(lines)
        if line.text
    ]
    said = escape("; ".join(line.text.strip() for line in lines if line.text), quote=True)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" role="img" aria-label="{said}">\n'
        f'<rect x=".5" y=".5" width="{width - 1}" height="{height - 1}" rx="8" fill="{colours["back"]}" stroke="{colours["edge"]}"/>\n'
        '<g font-family="ui-monospace, SFMono-Regular, Menlo, Consolas, monospace" font-size="14" xml:space="preserve">\n'
        + "\n".join(rows)
        + "\n</g>\n</svg>\n"
    )


if __name__ == "__main__":
    recorded = record()
    for name in THEMES:
        (IMAGES / f"terminal-{name}.svg").write_text(draw(recorded, name), encoding="utf-8")

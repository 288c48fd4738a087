"""Rules that people wrote for the agents in their editors: Cursor, Windsurf, Copilot. What a rule is for becomes its anchors."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

from memsync.memories.imports import Candidate
from memsync.skills.front import load_front
from memsync.transfer.candidates import read_statements

_MOST: Final = 20  # anchors of one rule
_BRACES: Final = re.compile(r"\{([^{}]*)\}")
_PLAIN: Final = re.compile(r"[\w./*?@+-]+")


class Editor(NamedTuple):
    """Where an editor's rules are in a repository, and which key of their front matter says what files they are for."""

    files: tuple[str, ...]
    key: str


EDITORS: Final[Mapping[str, Editor]] = {
    "cursor": Editor((".cursor/rules/**/*.mdc", ".cursorrules"), "globs"),
    "windsurf": Editor((".windsurf/rules/**/*.md", ".devin/rules/**/*.md", ".windsurfrules"), "globs"),
    "copilot": Editor((".github/copilot-instructions.md", ".github/instructions/**/*.instructions.md"), "applyTo"),
}


def find_editor(path: Path) -> str | None:
    """Return whose rule *path* is by its name and folder; None if it is nobody's."""
    folders = path.parts[:-1]
    if path.suffix == ".mdc" or path.name == ".cursorrules":
        return "cursor"
    if path.name in (".windsurfrules", "global_rules.md") or {".windsurf", ".devin"} & set(folders):
        return "windsurf"
    if path.name == "copilot-instructions.md" or path.name.endswith(".instructions.md"):
        return "copilot"
    return None


def list_rules(source: str, root: Path) -> list[Path]:
    """Return the rules of an editor in the repository at *root*."""
    return sorted(path for pattern in EDITORS[source].files for path in root.glob(pattern) if path.is_file())


def read_rules(source: str, text: str, name: str) -> Iterator[Candidate]:
    """Yield the statements of a rule that last, anchored to the files that it is for, unless it is for all of them."""
    about = load_front(text)[0]
    is_for_all = about.get("alwaysApply") in (True, "true") or about.get("trigger") == "always_on"
    yield from read_statements(text, name, () if is_for_all else list_anchors(about.get(EDITORS[source].key)))


def list_anchors(globs: Any) -> list[str]:
    """Return what *globs* name, a list or a text with commas, as anchors; nothing where one of them is every file."""
    parts = globs if isinstance(globs, list) else _split(str(globs or ""))
    found = [one for part in parts for one in _expand(str(part).strip().strip("\"'").removeprefix("./"))]
    if any(one in ("*", "**", "**/*", "**/*.*") for one in found):
        return []
    return [one for one in dict.fromkeys(found) if _PLAIN.fullmatch(one) and not one.startswith(("/", "../"))][:_MOST]


def _split(globs: str) -> list[str]:
    """Split at the commas that are not within braces."""
    return re.split(r",(?![^{]*\})", globs)


def _expand(glob: str) -> list[str]:
    """Return *glob* once for each choice of its braces."""
    done, todo = list[str](), [glob]
    while todo and len(done) + len(todo) <= _MOST:
        one = todo.pop(0)
        if found := _BRACES.search(one):
            todo += [one[: found.start()] + choice.strip() + one[found.end() :] for choice in found[1].split(",")]
        else:
            done.append(one)
    return done

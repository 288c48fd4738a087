"""Notes in Markdown: of a vault of Obsidian, of a Letta agent, and rules that people wrote for the agents in their editors."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from memsync.format.scopes import is_marked
from memsync.memories.anchors import spell_path
from memsync.memories.imports import Candidate
from memsync.skills.file import load_front
from memsync.transfer.readers import TAG, add_subject, clean_words, read_statements

if TYPE_CHECKING:
    from memsync.learn.statements import Statement

_TASK: Final = re.compile(r"^\s*[-*+]\s+\[.\]\s.*$|.*<%.*%>.*", re.MULTILINE)
_EMBED: Final = re.compile(r"!\[\[[^\]\n]*\]\]")
_LINK: Final = re.compile(r"\[\[(?:[^\]|\n]*\|)?([^\]|#\n]+)(?:#[^\]|\n]*)?\]\]")
_BLOCK_ID: Final = re.compile(r"[ \t]\^[\w-]+[ \t]*$", re.MULTILINE)
_COMMENT: Final = re.compile(r"%%.*?%%", re.DOTALL)
_HIGHLIGHT: Final = re.compile(r"==(?=\S)(.+?)(?<=\S)==")
# A name that says nothing of what the note is about: a date, or none.
_NAMELESS: Final = re.compile(
    r"(?:\d{4}-?\d{2}(?:-?\d{2})?|\d{4}-w\d{2}|untitled|index|readme|notes?)(?: \d+)?", re.IGNORECASE
)


def is_vault(path: Path) -> bool:
    """Tell whether *path* is in a vault, or is one."""
    return any((folder / ".obsidian").is_dir() for folder in (path, *path.resolve().parents))


def read_obsidian(text: str, name: str) -> Iterator[Candidate]:
    """Yield the statements of a note that last, each with the note's title and its tags."""
    about, title = load_front(text)[0], Path(name).stem
    shared = [*_list_words(about.get("tags")), *_list_words(about.get("tag"))]
    for one in read_statements(_drop_markup(text), name):
        if one.memory is None:
            yield one
            continue
        said = " ".join(TAG.sub("", one.memory.content).split())
        content = said if _NAMELESS.fullmatch(title) else add_subject(title, said)
        yield Candidate(
            one.where,
            one.memory._replace(content=content, tags=clean_words([*TAG.findall(one.memory.content), *shared])),
        )


def _drop_markup(text: str) -> str:
    """Return *text* with every line where it was, and without what only Obsidian shows."""
    text = _COMMENT.sub(lambda found: "\n" * found[0].count("\n"), text)
    for pattern, instead in ((_TASK, ""), (_EMBED, ""), (_LINK, r"\1"), (_BLOCK_ID, ""), (_HIGHLIGHT, r"\1")):
        text = pattern.sub(instead, text)
    return text


def _list_words(value: Any) -> list[str]:
    words = value if isinstance(value, list) else re.split(r"[,\s]+", value) if isinstance(value, str) else []
    return [str(word).strip().removeprefix("#") for word in words]


# the memory folder of a Letta agent (MemFS): Markdown under `~/.letta/agents/ID/memory`, one file a block
# What is no knowledge of a project, by the name of the file or of a folder above it.
_LEFT: Final = {
    "persona": "says who the agent is, not what it knows",
    "memory_filesystem": "is a list of the other files",
    "skills": "is a skill: copy its folder into .claude/skills",
}


def explain_left(name: PurePath) -> str:
    """Return why the block *name*, below the agent's folder, is no knowledge of a project; "" if it is."""
    return next((_LEFT[part] for part in name.with_suffix("").parts if part in _LEFT), "")


def read_letta(text: str, name: str) -> Iterator[Candidate]:
    """Yield the statements of a block that last, tagged with the folder that the block is in."""
    parts = Path(name).parts
    inside = parts[len(parts) - parts[::-1].index("memory") :] if "memory" in parts else parts[-1:]
    if why := explain_left(PurePath(*inside)):
        yield Candidate(name, None, why)
        return
    folders = [part for part in inside[:-1] if part not in ("system", "user")]
    yield from read_statements(text, name, tags=[part.lower() for part in folders[-1:]])


# rules for Cursor, Windsurf and Copilot: what a rule is for becomes its anchors
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
    parts = globs if isinstance(globs, list) else re.split(r",(?![^{]*\})", str(globs or ""))  # no comma within braces
    found = [one for part in parts for one in _expand(spell_path(str(part).strip().strip("\"'")))]
    if any(one in ("*", "**", "**/*", "**/*.*") for one in found):
        return []
    return [one for one in dict.fromkeys(found) if _PLAIN.fullmatch(one) and not one.startswith(("/", "../"))][:_MOST]


def _expand(glob: str) -> list[str]:
    done, todo = list[str](), [glob]
    while todo and len(done) + len(todo) <= _MOST:
        one = todo.pop(0)
        if found := _BRACES.search(one):
            todo += [one[: found.start()] + choice.strip() + one[found.end() :] for choice in found[1].split(",")]
        else:
            done.append(one)
    return done


# instruction files of a repository, also those of its folders: each statement is for the folder that its file is in
_NAMES: Final = frozenset({"AGENTS.md", "CLAUDE.md", "GEMINI.md"})
_NOT_OURS: Final = frozenset({"node_modules", "vendor", "third_party", "site-packages", "dist", "build", "target"})
_PIECE: Final = 400  # characters of a part of a long statement
_SENTENCE: Final = re.compile(r"(?<!e\.g\.)(?<!i\.e\.)(?<!\bvs\.)(?<=[.!?;])\s+(?=[A-Z`])")
_WORD: Final = re.compile(r"[^\W_]{3,}")
_SUBJECT: Final = 6  # words of a heading that may be one
# Headings that say of what kind the statements are, not what they are about.
_KINDS: Final = frozenset(
    """and conventions convention guidelines guideline rules rule notes note important overview general introduction summary
    instructions tips usage related behavior behaviors structure purpose scope contracts invariants pitfalls best practices practice always never the other misc miscellaneous details key points about for
    agents claude gemini readme memory memories facts preferences patterns context contexts project this repository code""".split()
)


def list_nested(root: Path) -> Iterator[Path]:
    """Yield the instruction files in the folders below *root*, but not in what others wrote or in another repository."""
    for folder, names, files in os.walk(root):
        names[:] = sorted(
            name
            for name in names
            if not (name.startswith(".") or name in _NOT_OURS or os.path.lexists(os.path.join(folder, name, ".git")))
        )
        if Path(folder) != root:
            yield from (Path(folder, name) for name in sorted(_NAMES.intersection(files)))


def read_instructions(text: str, name: str, folder: str = "") -> Iterator[Candidate]:
    """Yield each statement of *text*, anchored to *folder*: of a long one its sentences, with the heading where that is what they are about."""
    return read_statements(text, name, [f"{folder}/"] if folder else (), shape=_shape)


def _shape(one: Statement) -> Iterator[Statement]:
    if is_marked(one.text):
        yield one
        return
    for piece in _split(one.text):
        yield one._replace(text=add_subject(one.heading, piece) if _is_subject(one.heading, piece) else piece)


def _split(text: str) -> Iterator[str]:
    piece = ""
    for sentence in _SENTENCE.split(text):
        if piece and len(piece) + len(sentence) >= _PIECE:
            yield piece
            piece = ""
        piece = f"{piece} {sentence}".strip()
    yield piece


def _is_subject(heading: str, text: str) -> bool:
    """Tell whether *heading* names something that *text* leaves out."""
    words = {word.lower() for word in _WORD.findall(heading)} - _KINDS
    said = {word.lower() for word in _WORD.findall(text)}
    return bool(words) and len(heading.split()) <= _SUBJECT and words.isdisjoint(said)

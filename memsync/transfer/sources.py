"""Memories of other tools, read from where each of them keeps its own. A file that nobody names is recognized by its content."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Final, Literal, cast, get_args

from memsync.errors import ImportFailed, Remedy, UsageError
from memsync.format import jsonl
from memsync.format.scopes import KEY
from memsync.memories.imports import Candidate
from memsync.skills.file import load_front
from memsync.store import files
from memsync.system import limits
from memsync.system.texts import read_utf8
from memsync.transfer import exports, notes, okf, readers
from memsync.transfer.readers import ORIGIN, TAG, add_subject, get_list, make_candidate, read_statements

Source = Literal[
    "claude-memory", "claude-md", "cursor", "windsurf", "copilot", "claude-mem", "letta", "gobby", "mcp-memory", "beads",
    "serena", "cline", "vscode", "basic-memory", "obsidian", "mem0", "openmemory", "chatgpt", "okf", "jsonl", "json",
    "markdown",
]  # fmt: skip
SOURCES: Final[tuple[Source, ...]] = get_args(Source)

_WHOLE: Final = 2_000  # characters of a note that is one memory; a longer one is taken statement by statement
_MOST: Final = 5_000  # files of one folder
_SAMPLE: Final = 65_536
_INDEX_ROW: Final = re.compile(r"\[[^\]]*\]\(([^)#?]+\.md)\)")
_OBSERVATION: Final = re.compile(
    r"^\s*[-*]\s+(?!\[(?:mm-\w+|[0-9a-f]{6,}[0-9a-f-]*)\])\[([^\[\]()]{2,60})\](?![(\[])(?! \([^()]+, importance )\s+(\S.*)$"
)
_CONTEXT: Final = re.compile(r"\s+\([^()]*\)\s*$")
_ENDINGS: Final = {
    "jsonl": ("*.jsonl", "*.ndjson"), "gobby": ("*.jsonl",), "beads": ("*.jsonl",),
    "json": ("*.json",), "mem0": ("*.json",), "mcp-memory": ("*.json", "*.jsonl"), "cursor": ("*.mdc",),
    "claude-mem": (exports.FILE,),
    "openmemory": ("memories.json",), "chatgpt": ("memory.json", "memories.json", "conversations*.json"),
}  # fmt: skip
# Where the tools with a folder of their own, `.gobby` and the like, keep their memories in it.
_STORES: Final[Mapping[Source, str]] = {
    "gobby": "memories.jsonl", "beads": "issues.jsonl", "serena": "memories", "claude-mem": exports.FILE
}  # fmt: skip
# The folders, one in the other, by which the Markdown in them is known.
_FOLDERS: Final[Mapping[Source, tuple[str, ...]]] = {
    "serena": (".serena", "memories"), "letta": (".letta",), "cline": ("memory-bank",), "vscode": ("memory-tool", "memories"),
}  # fmt: skip
_FRONT: Final = re.compile(r"\A---\n(.*?)\n---\n", re.DOTALL)
# What Claude Code files its own notes under, and what we call that.
_CLAUDE_TYPES: Final = {"user": "preference", "feedback": "preference", "project": "context", "reference": "fact"}
_CATEGORIES: Final = {
    "preference": "preference", "pattern": "pattern", "convention": "pattern", "technique": "pattern",
    "method": "pattern", "rule": "pattern", "context": "context", "decision": "context",
}  # fmt: skip


def read(
    path: Path,
    source: Source | None = None,
    mapping: Mapping[str, str] | None = None,
    *,
    tree: Path | None = None,
    project: str | None = None,
) -> Iterator[Candidate]:
    """Yield what *path* holds: a file, or a folder of that tool's files; each memory says where it came from.

    *mapping* is for JSON of unknown make. *project* is the name that a store of many projects knows this one by; that of
    the folder *tree* without it.

    Raises:
        OutsideTree: it is in *tree*, a repository, and a link leads out of that.
        ImportFailed: it is missing, cannot be read, or is of no known kind.
        UsageError: there is more than one kind of memory in the folder, or *mapping* does not fit.
    """
    if not path.exists():
        raise ImportFailed(f"{path}: no such file or folder")
    above = path if path.is_dir() else path.parent
    if path.is_dir():
        source, path = _find_in_folder(path, source)
    found = _list_files(path, source) if path.is_dir() else [path]
    inside = [(files.resolve_named(file, tree), str(file)) for file in found]
    if source is None and path.is_dir() and okf.is_bundle(path):
        source = "okf"
    if source is None and notes.is_vault(path) and all(name.endswith(".md") for _, name in inside):
        source = "obsidian"
    named = project or (tree or Path.cwd()).name
    root = tree.resolve() if tree else above.resolve()
    return (one for file, name in inside for one in _read_file(file, name, source, mapping, above, named, root))


def _read_file(
    file: Path,
    name: str,
    source: Source | None,
    mapping: Mapping[str, str] | None,
    above: Path,
    project: str,
    root: Path,
) -> Iterator[Candidate]:
    with file.open("rb") as opened:
        is_database = opened.read(len(exports.MAGIC)) == exports.MAGIC
    if is_database or source == "claude-mem":
        return _note_origin(exports.read_database(file, project), "claude-mem", f"{above}{os.sep}")
    data = files.read(file)[0]
    parts = exports.unpack(data, name) if data.startswith(exports.ZIP) else [(data, name)]
    is_inside = file.is_relative_to(root) and not data.startswith(exports.ZIP)
    place = file.relative_to(root).as_posix() if is_inside else ""
    return (one for part, member in parts for one in read_bytes(part, member, source, mapping, above, place))


def _note_origin(found: Iterator[Candidate], source: str, start: str, instead: str = "") -> Iterator[Candidate]:
    """Yield *found*, each memory with a note of whose it was and where it stood, *instead* of the *start*: no path of this machine."""
    for one in found:
        where = f"{instead}{one.where.removeprefix(start)}" if one.where.startswith(start) else one.where
        extra = {ORIGIN: f"{source}: {where}"}
        yield Candidate(one.where, one.memory._replace(extra={**one.memory.extra, **extra})) if one.memory else one


def read_bytes(
    data: bytes,
    name: str,
    source: Source | None = None,
    mapping: Mapping[str, str] | None = None,
    above: Path | None = None,
    place: str = "",
) -> Iterator[Candidate]:
    """Yield what *data* holds; *name* is where it came from, a file below the folder *above*, and *place* its path in the repository.

    Raises:
        ImportFailed, UsageError
    """
    if data.startswith(exports.ZIP):
        return (one for part, member in exports.unpack(data, name) for one in read_bytes(part, member, source, mapping))
    if why := _explain_binary(data, name, source):
        raise ImportFailed(f"{name}: {why}")
    source = source or (None if mapping else detect(data, name))
    reader = _READERS.get(source or "")
    if reader is None:
        plain = "jsonl" if source == "gobby" else source
        return readers.read_bytes(data, name, plain, mapping)  # type: ignore[arg-type]
    if mapping:
        raise UsageError(Remedy("--map"), f" is for JSON and JSONL; {source} is read by its own keys")
    text = read_utf8(data, name, ImportFailed).replace("\r\n", "\n")
    if source == "okf":
        return okf.read_concept(text, name, Path(name).relative_to(above or Path(name).parent).as_posix())
    if source == "claude-md" and place:
        found = notes.read_instructions(text, name, place.rpartition("/")[0])
        return _note_origin(found, source, name, place)
    found = reader(text, name)
    return _note_origin(found, str(source), f"{above or Path(name).parent}{os.sep}")


def _explain_binary(data: bytes, name: str, source: Source | None) -> str:
    """Return why *data* is not the text that it should be; "" if it may be."""
    if jsonl.is_utf16(data):
        return "is UTF-16; save it as UTF-8"
    if data.startswith(exports.MAGIC):
        return "is a database; name the file itself"
    if source == "claude-mem":
        return f"is not the database of claude-mem, {exports.FILE}"
    if name.endswith(".pb"):
        return "Windsurf encrypts its memories; have Cascade write them into a Markdown file, and import that"
    return ""


def detect(data: bytes, name: str) -> Source | None:
    """Return whose file this is; None if its keys are of no known tool."""
    from memsync.learn.worth import INSTRUCTIONS

    text = data[:_SAMPLE].decode("utf-8-sig", "replace").replace("\r\n", "\n")
    path = Path(name)
    if editor := notes.find_editor(path):
        return cast(Source, editor)
    if path.suffix.lower() in (".md", ".markdown") or path.name.startswith("."):
        if path.name != "MEMORY.md" and any(path.name == Path(known).name for known in INSTRUCTIONS):
            return "claude-md"
        return _detect_markdown(path, text)
    if text.lstrip()[:1] not in ("{", "["):
        return None
    return _detect_json(text)


def _detect_markdown(path: Path, text: str) -> Source | None:
    above = path.parts[:-1]
    for source, folders in _FOLDERS.items():
        if folders in (above[number : number + len(folders)] for number in range(len(above))):
            return source
    about = load_front(text)[0]
    if path.name == "MEMORY.md" or path.parent.name == "memory" or _find_claude_type(about) in _CLAUDE_TYPES:
        return "claude-memory"
    if okf.is_concept(about):
        return "okf"
    if "permalink" in about or any(_parse_observation(row) for row in text.split("\n")):
        return "basic-memory"
    return None


def _detect_json(text: str) -> Source | None:
    first = limits.read_object(text.lstrip().split("\n", 1)[0])
    if first.get("_type") in ("memory", "issue", "schema") or {"title", "issue_type"} <= first.keys():
        return "beads"
    is_entity = first.get("type") == "entity" and "observations" in first
    if is_entity or (first.get("type") == "relation" and "relationType" in first):
        return "mcp-memory"
    if re.match(r'\s*\{\s*"(?:entities|relations)"\s*:\s*\[', text):
        return "mcp-memory"
    if re.match(r'\s*\[\s*\{\s*"[^{]*"mapping"\s*:', text) or re.match(r'\s*\[\s*\{[^{}]*"enabled"\s*:', text):
        return "chatgpt"
    return cast(Source | None, exports.detect(text, first))


def _find_in_folder(path: Path, source: Source | None) -> tuple[Source | None, Path]:
    places = [(kind, path / f".{kind}" / file) for kind, file in _STORES.items()]
    places += [(kind, path / file) for kind, file in _STORES.items() if path.resolve().name == f".{kind}"]
    root = path.resolve()
    inside = [(kind, place) for kind, place in places if place.exists() and place.resolve().is_relative_to(root)]
    found = [(kind, place) for kind, place in inside if source in (None, kind)]
    if len(found) > 1:
        kinds = ", ".join(kind for kind, _ in found)
        raise UsageError(f"{path} has memories of {kinds}; choose one with ", Remedy("--from"))
    return found[0] if found else (source, path)


def _list_files(path: Path, source: Source | None) -> list[Path]:
    """Return the files of a folder that may hold memories, in order; no link that leads out of it is followed."""
    if source and source in notes.EDITORS and (listed := notes.list_rules(source, path)):
        found = [file for file in listed if file.resolve().is_relative_to(path.resolve())]
    elif source == "claude-md":
        from memsync.learn.worth import instruction_files

        listed = [*(file for file in instruction_files(path) if file.name != "MEMORY.md"), *notes.list_nested(path)]
        found = list(
            {file.resolve(): file for file in listed if file.resolve().is_relative_to(path.resolve())}.values()
        )
    else:
        root = path.resolve()
        endings = _ENDINGS.get(source or "", ("*.md",))
        known = sorted(file for ending in endings for file in path.rglob(ending) if file.is_file())
        shown = [file for file in known if not any(part.startswith(".") for part in file.relative_to(path).parts)]
        found = [file for file in shown if file.resolve().is_relative_to(root)]
    if not found:
        raise ImportFailed(
            f"{path}: no file in it holds memories that can be read; name one, or use ", Remedy("--from")
        )
    if len(found) > _MOST:
        raise ImportFailed(f"{path}: has {len(found):,} files, more than {_MOST:,}; name a folder inside of it")
    return found


def _read_claude_memory(text: str, name: str) -> Iterator[Candidate]:
    """Read a note of Claude Code's auto memory; MEMORY.md is the index of the others, and older ones hold notes too."""
    if Path(name).name == "MEMORY.md":
        rows = (("" if _INDEX_ROW.search(row) else row) for row in text.split("\n"))
        yield from read_statements("\n".join(rows), name)
        return
    about = load_front(text)[0]
    kind = _find_claude_type(about)
    body = _FRONT.sub("", text).strip()
    if kind not in _CLAUDE_TYPES or len(body) > _WHOLE:
        found = read_statements(text, name)
        yield from map(_keep_private, found) if kind == "user" else found
        return
    start = text[: text.find(body)].count("\n") + 1 if body else 1
    content = re.sub(r"\n{2,}", "\n", body.replace("**", "")) or about.get("description")
    one = make_candidate(f"{name}:{start}", content, _CLAUDE_TYPES[kind])
    yield _keep_private(one) if kind == "user" else one


def _keep_private(one: Candidate) -> Candidate:
    """Return *one* as what is about its user, and not for others on the project."""
    return replace(one, memory=one.memory and one.memory._replace(extra={**one.memory.extra, KEY: "private"}))


def is_on_user(text: str) -> bool:
    """Tell whether a note of Claude Code says that it is about its user."""
    return _find_claude_type(load_front(text)[0]) == "user"


def _find_claude_type(about: Mapping[str, Any]) -> str:
    inner = about.get("metadata")
    return str(about.get("type") or (inner.get("type") if isinstance(inner, dict) else ""))


def _read_mcp_memory(text: str, name: str) -> Iterator[Candidate]:
    """Read the graph of the MCP reference server: an observation is a memory, and so is a relation."""
    tree = limits.read_object(text, limits.LARGEST_IMPORT)
    if "entities" in tree or "relations" in tree:
        entries = enumerate([*get_list(tree, "entities"), *get_list(tree, "relations")], 1)
        rows = [(f"{name}[{number}]", one) for number, one in entries]
    else:
        lines = enumerate(text.split("\n"), 1)
        rows = [
            (f"{name}:{number}", limits.read_object(row, limits.LARGEST_IMPORT)) for number, row in lines if row.strip()
        ]
    for where, one in rows:
        if isinstance(one, dict) and isinstance(one.get("name"), str) and "observations" in one:
            yield from (_make_observation(where, one, said) for said in get_list(one, "observations"))
        elif isinstance(one, dict) and {"from", "to", "relationType"} <= one.keys():
            verb = str(one["relationType"]).replace("_", " ")
            yield make_candidate(where, f"{one['from']} {verb} {one['to']}", tags=["relation"])
        else:
            yield Candidate(where, None, "neither an entity nor a relation")


def _make_observation(where: str, entity: Mapping[str, Any], said: object) -> Candidate:
    name = entity["name"].replace("_", " ")
    if not isinstance(said, str) or not said.strip():
        return Candidate(where, None, "an observation without text")
    return make_candidate(where, add_subject(name, said), tags=[str(entity.get("entityType") or "")])


def _read_beads(text: str, name: str) -> Iterator[Candidate]:
    """Read what `bd remember` kept, and issues that are decisions; other issues are work, and no memories."""
    issues = 0
    for number, row in enumerate(text.split("\n"), 1):
        one, where = limits.read_object(row, limits.LARGEST_IMPORT), f"{name}:{number}"
        if one.get("_type") == "memory":
            yield make_candidate(where, one.get("value"), tags=["beads"])
        elif one.get("issue_type") == "decision" and one.get("status") != "tombstone":
            content = ": ".join(str(one[key]) for key in ("title", "description") if one.get(key))
            yield make_candidate(where, content, "context", ["decision", *get_list(one, "labels")])
        elif "title" in one:
            issues += 1
        elif row.strip() and one.get("_type") != "schema":
            yield Candidate(where, None, "neither a memory nor an issue of beads")
    if issues:
        yield Candidate(name, None, f"issues are work to do, not memories ({issues} of them)")


def _read_basic_memory(text: str, name: str) -> Iterator[Candidate]:
    """Read the observations of a note; its relations and its prose stay where they are."""
    about = load_front(text)[0]
    title = str(about.get("title") or Path(name).stem.replace("-", " "))
    shared = about.get("tags")
    shared = shared.split(",") if isinstance(shared, str) else shared if isinstance(shared, list) else []
    for number, row in readers.skip_fences(text.split("\n")):
        if found := _parse_observation(row):
            category, said = found
            tags = [*TAG.findall(said), category, *map(str, shared)]
            content = add_subject(title, " ".join(TAG.sub("", said).split()))
            yield make_candidate(f"{name}:{number}", content, _CATEGORIES.get(category, "fact"), tags)


def _parse_observation(row: str) -> tuple[str, str] | None:
    """Return the category of an observation and what it says, without the note in brackets at its end."""
    found = _OBSERVATION.match(row)
    return (found[1].strip().lower(), _CONTEXT.sub("", found[2])) if found else None


_READERS: Final[Mapping[str, Callable[[str, str], Iterator[Candidate]]]] = {
    "claude-memory": _read_claude_memory,
    "claude-md": notes.read_instructions,
    "serena": read_statements,
    "cline": read_statements,
    "vscode": read_statements,
    "mcp-memory": _read_mcp_memory,
    "beads": _read_beads,
    "basic-memory": _read_basic_memory,
    "mem0": exports.read_mem0,
    "openmemory": exports.read_openmemory,
    "chatgpt": exports.read_chatgpt,
    "letta": notes.read_letta,
    "okf": lambda text, name: okf.read_concept(text, name, Path(name).name),
    "obsidian": notes.read_obsidian,
    **{editor: partial(notes.read_rules, editor) for editor in notes.EDITORS},
}

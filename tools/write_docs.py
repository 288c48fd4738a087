"""Write what is generated: the help of groups, docs/cli.md, the settings as a template and as a page, the workflows as JSON. Tests hold them equal."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import click
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS, MODERN_PROTOCOL_VERSIONS

from memsync import origin, records
from memsync.cli.app import cli
from memsync.mcp import early
from memsync.mcp.early import SHOWS_CARDS
from memsync.store import places, settings, workflow

ROOT = Path(__file__).parents[1]
HELP = ROOT / "memsync" / "cli" / "help"
REFERENCE = ROOT / "docs" / "cli.md"
SETTINGS = origin.templates() / "config.yaml"
SCHEMA = ROOT / "docs" / "format.schema.json"
SETTINGS_PAGE = ROOT / "docs" / "settings.md"
WORKFLOWS = origin.templates() / places.WORKFLOWS

_LISTS = ("tools/list", "prompts/list", "resources/list", "resources/templates/list")

_HEAD = """# Command line

Written by `make docs` from `--help`; a test fails when it is not up to date.
"""
_SETTINGS_HEAD = """# Every setting of memsync with its default; keep the lines that you change.
# ~/.gobby/config.yaml holds for all your projects, .gobby/config.yaml for everybody who works on a repository
# (of which only some settings are taken: docs/security.md). `memsync config --list --origin` shows what is in force, and why.
# Written by `make docs`.
"""
_PAGE_HEAD = """# Every setting

`memsync config KEY VALUE` sets one for the project, with `--global` for all your projects; `memsync config --list --origin` shows what is
in force, and why. [`templates/config.yaml`](../templates/config.yaml) is a file to copy. A repository may say
[only some of these](security.md#what-a-repository-may-say). Written by `make docs`.

| setting | default | what it does |
|---|---|---|
"""


def group_helps() -> dict[str, str]:
    """Return the help of each group as click prints it on 80 columns, by its path: the files that `HELP` holds."""
    return {f"{path}.txt": f"{text}\n" for path, text, is_group in _walk("memsync", cli) if is_group}


def reference() -> str:
    """Return docs/cli.md: the help of every command."""
    blocks = [f"## {path}\n\n```text\n{text}\n```" for path, text, _ in _walk("memsync", cli)]
    return "\n\n".join([_HEAD.rstrip(), *blocks]) + "\n"


def _walk(path: str, command: click.Command, parent: click.Context | None = None) -> Iterator[tuple[str, str, bool]]:
    """Yield each command below *path* and *command* itself: its path, its help, whether it is a group."""
    ctx = _context(path.rpartition(" ")[2], command, parent)
    yield path, command.get_help(ctx), isinstance(command, click.Group)
    if isinstance(command, click.Group):
        for name in command.list_commands(ctx):
            child = command.get_command(ctx, name)
            assert child is not None
            yield from _walk(f"{path} {name}", child, ctx)


def settings_text() -> str:
    """Return templates/config.yaml: every setting with what it does, what it may be and its default."""
    return _SETTINGS_HEAD + "\n".join(_rows("", list(settings.KEYS))) + "\n"


def _rows(above: str, keys: Iterable[str]) -> Iterator[str]:
    """Yield the rows of *keys*, which all begin with *above*, one group after the other."""
    indent = "  " * above.count(".")
    for name in dict.fromkeys(key.removeprefix(above).partition(".")[0] for key in keys):
        key = f"{above}{name}"
        if key in settings.KEYS:
            yield f"{indent}# {settings.describe(key)}{_bounds(settings.range_of(key))}"
            yield f"{indent}{name}: {_spell(settings.get(settings.Settings(), key))}"
        else:
            yield f"{indent or chr(10)}{name}:"
            yield from _rows(f"{key}.", [other for other in keys if other.startswith(f"{key}.")])


def _bounds(span: str) -> str:
    return f" ({span})" if span else ""


def _spell(value: Any) -> str:
    return value if isinstance(value, str) and value else json.dumps(value)


def settings_page() -> str:
    """Return docs/settings.md: every setting with its default and what it does."""
    rows = ""
    for key in settings.KEYS:
        what = re.sub(r"docs/(\w+)\.md", r"[\1](\1.md)", settings.describe(key)) + _bounds(settings.range_of(key))
        rows += f"| `{key}` | `{_spell(settings.get(settings.Settings(), key))}` | {what} |\n"
    return _PAGE_HEAD + rows


_SHAPES: dict[str, dict[str, Any]] = {
    "text": {"type": "string", "maxLength": records.MAX_CONTENT},
    "label": {"type": "string", "maxLength": records.MAX_WORD},
    "id": {"type": "string", "minLength": 1, "maxLength": records.MAX_WORD},
    "number": {"type": "number", "minimum": 0, "maximum": 1},
    "time": {"type": "string", "format": "date-time"},
}


def schema() -> str:
    """Return docs/format.schema.json: what a line may say, by the table of the fields."""
    words = {"type": "string", "minLength": 1, "maxLength": records.MAX_WORD}
    lists = {"type": "array", "items": words, "maxItems": records.MAX_WORDS}
    # Of another program, and kept as an unknown key.
    foreign = {"anyOf": [lists, {"not": {"type": "array", "items": {"type": "string"}}}]}
    fields: dict[str, Any] = {
        key: foreign if one.is_foreign else _SHAPES.get(one.kind, lists) for one in records.FIELDS for key in one.keys
    }
    fields["deleted_at"] = {"enum": [None, "", False]}
    found = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "A line of a memory file: a record, or a removal",
        "anyOf": [
            {"type": "object", "required": ["id", "content"], "properties": dict(sorted(fields.items()))},
            {
                "type": "object",
                "required": ["id", "deleted_at"],
                "properties": {"id": _SHAPES["id"], "deleted_at": _SHAPES["time"], "content": False},
            },
        ],
    }
    return json.dumps(found, indent=2) + "\n"


def compiled_workflows() -> str:
    """Return what `workflow.COMPILED` holds: the workflows of the templates, parsed."""
    problems: list[str] = []
    found = {path.stem: workflow.parse(path.read_bytes(), path, problems) for path in sorted(WORKFLOWS.glob("*.yaml"))}
    assert not problems, problems
    return json.dumps(found, indent=1, sort_keys=True) + "\n"


def first_answers(start: Path, memsync: Sequence[str] = (sys.executable, "-m", "memsync")) -> str:
    """Return what `early.ANSWERS` holds: what the SDK answers in *start* before anything is done, in both kinds of protocol."""
    words = [*memsync, "-C", str(start), "mcp", "--tools", "all"]  # `-C` keeps the first answers out of it
    versions, (stateless,) = list(HANDSHAKE_PROTOCOL_VERSIONS), MODERN_PROTOCOL_VERSIONS
    able = {"extensions": SHOWS_CARDS}  # so that all tools are listed
    about = {"capabilities": able, "clientInfo": {"name": "docs", "version": "1"}}
    hello = {**about, "protocolVersion": versions[-1]}
    initialize, *lists = _ask_server(words, [("initialize", hello), *((method, {}) for method in _LISTS)])
    meta = {
        "_meta": {
            "io.modelcontextprotocol/protocolVersion": stateless,
            "io.modelcontextprotocol/clientInfo": about["clientInfo"],
            "io.modelcontextprotocol/clientCapabilities": able,
        }
    }
    methods = ("server/discover", *_LISTS)
    more = dict(zip(methods, _ask_server(words, [(method, meta) for method in methods]), strict=True))
    known = dict(zip(_LISTS, lists, strict=True))
    del initialize["protocolVersion"]
    found = {
        "versions": versions,
        "initialize": initialize,
        "lists": known,
        "stateless version": stateless,
        "stateless": {
            method: {key: part for key, part in result.items() if known.get(method, {}).get(key) != part}
            for method, result in more.items()
        },
    }
    return json.dumps(found, indent=1, ensure_ascii=False, sort_keys=True) + "\n"


def _ask_server(words: Sequence[str], messages: Sequence[tuple[str, Any]]) -> list[dict[str, Any]]:
    """Return the results of *messages*, from the server that *words* start."""
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as server:
        assert server.stdin
        assert server.stdout
        results = []
        for number, (method, params) in enumerate(messages):
            said = {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
            server.stdin.write(json.dumps(said).encode() + b"\n")
            server.stdin.flush()
            results.append(json.loads(server.stdout.readline())["result"])
            if method == "initialize":
                server.stdin.write(b'{"jsonrpc":"2.0","method":"notifications/initialized"}\n')
        server.stdin.close()
    return results


def _context(name: str, command: click.Command, parent: click.Context | None = None) -> click.Context:
    return click.Context(command, parent, info_name=name, terminal_width=80, **command.context_settings)


if __name__ == "__main__":
    for name, text in group_helps().items():
        (HELP / name).write_text(text, encoding="utf-8")
    REFERENCE.write_text(reference(), encoding="utf-8")
    SETTINGS.write_text(settings_text(), encoding="utf-8")
    SETTINGS_PAGE.write_text(settings_page(), encoding="utf-8")
    SCHEMA.write_text(schema(), encoding="utf-8")
    workflow.COMPILED.write_text(compiled_workflows(), encoding="utf-8")
    with TemporaryDirectory() as start:
        Path(early.ANSWERS).write_text(first_answers(Path(start)), encoding="utf-8")

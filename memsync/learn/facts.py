"""What the files of a project say of it: a table of single facts, and what takes more than a line to find.

Each statement is in the file it names.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from typing import Any, Final, NamedTuple

from memsync.learn.rules import read_rows
from memsync.store.tree import Tree


class Fact(NamedTuple):
    """One statement. `key` names what it is about, so that the next scan knows it again; `where` is `file:line`."""

    key: str
    content: str
    where: str
    memory_type: str = "fact"
    importance: float = 0.6
    tags: tuple[str, ...] = ()


class Row(NamedTuple):
    """One line of facts.tsv, which says what its columns mean."""

    key: str
    files: str
    wanted: str
    sentence: str
    tags: str
    importance: str = "0.6"
    memory_type: str = "fact"

    def read(self, tree: Tree) -> Iterator[Fact]:
        """Yield the fact that the first of the files says, if any does."""
        words = self.files.split()
        if any((word[1:] in tree.names) != (word[0] == "+") for word in words if word[0] in "+-"):
            return
        for word in words:
            for path in tree.matching(word[1:]) if word[0] == "*" else [word]:
                if path in tree.names and (found := _look_up(tree, path, self.wanted)):
                    content = self.sentence.format(found[0], path=path)
                    tags = tuple(self.tags.split())
                    yield Fact(self.key, content, f"{path}:{found[1]}", self.memory_type, float(self.importance), tags)
                    return


def single(tree: Tree) -> Iterator[Fact]:
    """Read what the table knows of."""
    return chain.from_iterable(Row(*row).read(tree) for row in read_rows("facts.tsv"))


def _look_up(tree: Tree, path: str, wanted: str) -> tuple[str, int] | None:
    """Return what *path* says of what is *wanted* in the notation of the table, and the number of its line."""
    if wanted == "-":
        return "", 1
    text = tree.text(path)
    if wanted[0] == "/":
        found = re.search(wanted[1:-1], text, re.MULTILINE)
        return (found[found.re.groups], text.count("\n", 0, found.start(found.re.groups)) + 1) if found else None
    keys = wanted.rstrip("[]{}!").split(".")
    value = value_at(tree.data(path), *keys)
    if not value or not isinstance(value, {"]": list, "}": dict, "!": bool}.get(wanted[-1], str)):
        return None
    name = re.escape(keys[-1])
    line = re.search(rf'"{name}"' if path.endswith(".json") else rf"\b{name}\s*[]:=]", text)
    said = value if isinstance(value, str) else list_names(map(str, value)) if isinstance(value, list | dict) else ""
    return said, text.count("\n", 0, line.start()) + 1 if line else 1


def locate(tree: Tree, path: str, *needles: str) -> str:
    """Return `file:line` of the first line with one of *needles*."""
    for number, line in enumerate(tree.text(path).split("\n"), 1):
        if any(needle in line for needle in needles):
            return f"{path}:{number}"
    return f"{path}:1"


def value_at(value: Any, *path: str) -> Any:
    """Return the value at *path* in nested mappings; None if there is none."""
    for key in path:
        value = value.get(key) if isinstance(value, dict) else None
    return value


def list_names(names: Iterable[str], most: int = 8) -> str:
    """Return *names* as a list in a sentence."""
    names = list(dict.fromkeys(names))
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(f"`{name}`" for name in names[:most]) + more


_TARGET: Final = re.compile(r"^([A-Za-z][\w-]*)\s*:(?!=)[^#\n]*(?:##\s*(.+))?$", re.MULTILINE)
_RECIPE: Final = re.compile(r"^@?([A-Za-z][\w-]*)(?:\s+[^:=\n]*)?:(?!=)", re.MULTILINE)
_GOALS: Final = "test check lint format fmt build run dev install setup deploy release bench docs".split()
_LICENCES: Final = (
    ("Apache License", "Apache-2.0"),
    ("GNU AFFERO GENERAL PUBLIC LICENSE", "AGPL-3.0"),
    ("GNU LESSER GENERAL PUBLIC LICENSE", "LGPL"),
    ("GNU GENERAL PUBLIC LICENSE", "GPL"),
    ("Mozilla Public License", "MPL-2.0"),
    ("MIT License", "MIT"),
    ("Permission is hereby granted, free of charge", "MIT"),
    ("Redistribution and use in source and binary forms", "BSD"),
    ("This is free and unencumbered software", "Unlicense"),
)


def targets(tree: Tree) -> Iterator[Fact]:
    """Read Makefile and justfile."""
    if path := _find_first(tree, "Makefile", "makefile", "GNUmakefile"):
        about = {name: comment.strip() for name, comment in _TARGET.findall(tree.text(path))}
        yield from _describe_targets(tree, path, "make", about)
    if path := _find_first(tree, "justfile", "Justfile", ".justfile"):
        yield from _describe_targets(tree, path, "just", dict.fromkeys(_RECIPE.findall(tree.text(path)), ""))


def _find_first(tree: Tree, *names: str) -> str:
    return next((name for name in names if name in tree.names), "")


def _describe_targets(tree: Tree, path: str, program: str, about: Mapping[str, str]) -> Iterator[Fact]:
    """Read the targets of *path*, which are *about* what their comments say."""
    known = [name for name in _GOALS if name in about][:4]
    for name in known:
        recipe = _find_recipe(tree.text(path), name)
        does = f": {about[name]}" if about[name] else f" runs `{recipe}`" if recipe else f" is a target of the {path}"
        importance = 0.8 if name in ("test", "check") else 0.6
        where = locate(tree, path, f"{name}:", f"{name} :")
        yield Fact(f"{program}.{name}", f"`{program} {name}`{does}.", where, importance=importance, tags=("commands",))
    rest = [name for name in about if name not in known and not name.startswith("_")]
    if rest:
        content = f"Other `{program}` targets: {list_names(rest)}."
        yield Fact(f"{program}.targets", content, f"{path}:1", importance=0.4, tags=("commands",))


def _find_recipe(text: str, name: str) -> str:
    """Return the one command of a target; empty if there are several, or it depends on variables."""
    found = re.search(rf"^@?{re.escape(name)}\b[^\n]*:[^\n]*\n((?:[ \t]+[^\n]+\n?)+)", text, re.MULTILINE)
    rows = [row.strip().lstrip("@-") for row in found[1].splitlines()] if found else []
    is_plain = len(rows) == 1 and not set("$`") & set(rows[0]) and not rows[0].endswith("\\")
    return rows[0] if is_plain else ""


# Of each language: the key of the fact, its tag, and which manager writes which file.
_LOCKS: Final = {
    "Python": ("python.packages", "python", "uv.lock uv poetry.lock Poetry Pipfile.lock Pipenv pdm.lock PDM pixi.lock pixi"),
    "JavaScript": (
        "js.packages", "node", "package-lock.json npm pnpm-lock.yaml pnpm yarn.lock Yarn bun.lockb Bun bun.lock Bun"
    ),
}  # fmt: skip


def locks(tree: Tree) -> Iterator[Fact]:
    """Look which one package manager wrote the lock files."""
    for language, (key, tag, words) in _LOCKS.items():
        managers = dict(zip(words.split()[::2], words.split()[1::2], strict=True))
        found = [name for name in managers if name in tree.names]
        if len({managers[name] for name in found}) == 1 and (tag != "node" or tree.data("package.json")):
            content = f"{language} dependencies are managed with {managers[found[0]]} ({found[0]} is committed)."
            yield Fact(key, content, f"{found[0]}:1", importance=0.7, tags=(tag, "dependencies"))


def tools(tree: Tree) -> Iterator[Fact]:
    """Read which tools pyproject.toml sets up."""
    path = "pyproject.toml"
    known = ("pytest", "ruff", "mypy", "black", "pyright", "tox", "coverage")
    if found := [name for name in known if value_at(tree.data(path), "tool", name)]:
        where = locate(tree, path, *(f"[tool.{name}" for name in found))
        yield Fact("python.tools", f"Configured in {path}: {', '.join(found)}.", where, tags=("python", "tooling"))


def npm_scripts(tree: Tree) -> Iterator[Fact]:
    """Read the scripts of package.json that people run most."""
    path = "package.json"
    goals = ("test", "lint", "build", "dev", "start", "typecheck", "format")
    scripts = [(name, value_at(tree.data(path), "scripts", name)) for name in goals]
    for name, script in [(name, script) for name, script in scripts if isinstance(script, str)][:5]:
        if "no test specified" not in script:
            tag, importance = ("tests", 0.7) if name == "test" else (name, 0.6)
            content = f"The npm script `{name}` runs `{script}`."
            where = locate(tree, path, f'"{name}":')
            yield Fact(f"js.script.{name}", content, where, importance=importance, tags=(tag,))


def dotnet_targets(tree: Tree) -> Iterator[Fact]:
    """Read the frameworks of .NET projects."""
    targets: dict[str, str] = {}
    for path in tree.matching(".csproj", ".fsproj", "Directory.Build.props", depth=4)[:50]:
        for target in re.findall(r"<TargetFrameworks?>([^<$]+)<", tree.text(path)):
            targets.setdefault(target.strip(), locate(tree, path, "<TargetFramework"))
    if targets:
        where = next(iter(targets.values()))
        yield Fact("dotnet.target", f"Projects target {list_names(targets)}.", where, tags=("dotnet",))


_MATRIX: Final = {
    "python-version": "Python", "node-version": "Node.js", "go-version": "Go", "ruby-version": "Ruby", "java-version": "Java"
}  # fmt: skip


def github(tree: Tree) -> Iterator[Fact]:
    """Read the workflows of GitHub Actions, and the first matrix of versions in them."""
    paths = [path for path in tree.files if re.fullmatch(r"\.github/workflows/[^/]+\.ya?ml", path)]
    if paths:
        names = (path.rpartition("/")[2] for path in paths)
        yield Fact("ci.github", f"CI runs on GitHub Actions: {list_names(names)}.", f"{paths[0]}:1", tags=("ci",))
    for path in paths[:20]:
        for key, versions in _read_matrix(tree.data(path).get("jobs")):
            content = f"CI tests {_MATRIX[key]} {', '.join(versions)} ({path})."
            yield Fact(f"ci.matrix.{key}", content, locate(tree, path, key), importance=0.5, tags=("ci",))
            return


def _read_matrix(jobs: Any) -> Iterator[tuple[str, list[str]]]:
    for job in jobs.values() if isinstance(jobs, dict) else ():
        for key in _MATRIX:
            values = value_at(job, "strategy", "matrix", key)
            if isinstance(values, list) and values and all(isinstance(v, str) for v in values):
                yield key, values


def tool_versions(tree: Tree) -> Iterator[Fact]:
    """Read .tool-versions."""
    path = ".tool-versions"
    rows = [row.split() for row in tree.text(path).splitlines() if row.strip() and not row.startswith("#")]
    if rows:
        said = ", ".join(" ".join(row[:2]) for row in rows if len(row) > 1)
        yield Fact("pinned.tools", f"Tool versions are pinned in {path}: {said}.", f"{path}:1", tags=("versions",))


def commit_hooks(tree: Tree) -> Iterator[Fact]:
    """Read the hooks of pre-commit."""
    path = ".pre-commit-config.yaml"
    repos = tree.data(path).get("repos")
    each = [value_at(repo, "hooks") for repo in repos] if isinstance(repos, list) else []
    if found := [str(value_at(hook, "id")) for hooks in each if isinstance(hooks, list) for hook in hooks]:
        yield Fact("hooks", f"pre-commit runs {list_names(found)}.", locate(tree, path, "id:"), tags=("lint", "git"))


def style(tree: Tree) -> Iterator[Fact]:
    """Read .editorconfig."""
    path = ".editorconfig"
    section, said = "", {}
    for row in tree.text(path).splitlines():
        if row.strip().startswith("["):
            section = row.strip().strip("[]")
        elif section == "*" and "=" in row and not row.strip().startswith(("#", ";")):
            key, _, value = row.partition("=")
            said[key.strip().lower()] = value.strip().lower()
    style, size = said.get("indent_style"), said.get("indent_size", "")
    if style == "tab" or (style == "space" and size.isdigit()):
        key, width = ("indent_style", "tabs") if style == "tab" else ("indent_size", f"{size} spaces")
        where = locate(tree, path, key)
        yield Fact("style.indent", f"Indent with {width} ({path}).", where, "preference", 0.5, ("style",))


def layout(tree: Tree) -> Iterator[Fact]:
    """Look at where the files are."""
    folders = Counter(path.partition("/")[0] for path in tree.files if "/" in path and not path.startswith("."))
    if len(folders) > 1:
        named = ", ".join(f"`{name}/`" for name, _ in sorted(folders.most_common(10)))
        yield Fact("layout", f"Top-level folders: {named}.", ".", "context", 0.5, ("layout",))


def identity(tree: Tree) -> Iterator[Fact]:
    """Read README and licence."""
    path = _find_first(tree, "README.md", "README.rst", "README.txt", "README")
    if path and (found := _find_first_paragraph(tree.text(path))):
        number, text = found
        yield Fact("readme", f"From {path}: {text}", f"{path}:{number}", "context", 0.7, ("overview",))
    for path in tree.matching("LICENSE", "LICENSE.md", "LICENSE.txt", "COPYING", "LICENCE"):
        name = next((name for mark, name in _LICENCES if mark in tree.text(path)[:2_000]), "")
        if name:
            yield Fact("licence", f"The licence is {name} ({path}).", f"{path}:1", importance=0.4, tags=("licence",))
            break


# A line that begins like a sentence: not a badge, nor what a link leads to.
_PROSE: Final = re.compile(r"(?!\[!|\[[^\]]*\]:)[A-Za-z*_`\"“\[]")


def _find_first_paragraph(text: str) -> tuple[int, str] | None:
    """Return the first prose of a README and its line: no headings, badges, HTML, quotes, lists or code."""
    block: list[str] = []
    in_code = False
    for number, row in enumerate([*text.split("\n"), ""], 1):
        in_code ^= row.lstrip().startswith("```")
        if not in_code and _PROSE.match(row):
            block.append(row.strip())
        elif block:
            said = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", " ".join(block)).replace("**", "")
            said = f"{said.rpartition('. ')[0]}." if said.endswith(":") and ". " in said else said
            if len(said) >= 30 and not re.fullmatch(r"[=-]{3,}", row.strip()):
                whole, end, _ = said[:300].rpartition(". ")
                return number - len(block), said if len(said) <= 300 else whole + end.strip()
            block = []
    return None


READERS: Final = (
    identity, targets, single, locks, tools, npm_scripts, dotnet_targets, github, tool_versions, commit_hooks, layout, style
)  # fmt: skip

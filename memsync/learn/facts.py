"""What READMEs, make targets, CI and the layout say of a project. Each statement is in the file it names."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final, NamedTuple

from memsync.learn.tree import Tree
from memsync.store import yamltext
from memsync.system import limits


class Fact(NamedTuple):
    """One statement. `key` names what it is about, so that the next scan knows it again; `where` is `file:line`."""

    key: str
    content: str
    where: str
    memory_type: str = "fact"
    importance: float = 0.6
    tags: tuple[str, ...] = ()


def at(tree: Tree, path: str, *needles: str) -> str:
    """Return `file:line` of the first line with one of *needles*."""
    for number, line in enumerate(tree.text(path).split("\n"), 1):
        if any(needle in line for needle in needles):
            return f"{path}:{number}"
    return f"{path}:1"


def toml(tree: Tree, path: str) -> dict[str, Any]:
    """Return the tables of a TOML file; empty if there is none."""
    try:
        return limits.read_toml(tree.text(path))
    except ValueError:
        return {}


def json_of(tree: Tree, path: str) -> dict[str, Any]:
    """Return the object of a JSON file, whole-line comments allowed; empty if there is none."""
    text = re.sub(r"^[ \t]*//.*$", "", tree.text(path), flags=re.MULTILINE)
    try:
        found = limits.read_json(text, limits.LARGEST_SETTINGS)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def yaml_of(tree: Tree, path: str) -> dict[str, Any]:
    """Return the mapping of a YAML file; empty if there is none."""
    try:
        found = yamltext.read(tree.text(path))
    except yamltext.NotYaml:
        return {}
    return found if isinstance(found, dict) else {}


def value_at(value: Any, *path: str) -> Any:
    """Return the value at *path* in nested mappings; None if there is none."""
    for key in path:
        value = value.get(key) if isinstance(value, dict) else None
    return value


def listed(names: Iterable[str], most: int = 8) -> str:
    """Return *names* as a list in a sentence."""
    names = list(dict.fromkeys(names))
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(f"`{name}`" for name in names[:most]) + more


# what is the same everywhere

_TARGET: Final = re.compile(r"^([A-Za-z][\w-]*)\s*:(?!=)[^#\n]*(?:##\s*(.+))?$", re.MULTILINE)
_RECIPE: Final = re.compile(r"^@?([A-Za-z][\w-]*)(?:\s+[^:=\n]*)?:(?!=)", re.MULTILINE)
_GOALS: Final = (
    "test",
    "check",
    "lint",
    "format",
    "fmt",
    "build",
    "run",
    "dev",
    "install",
    "setup",
    "deploy",
    "release",
    "bench",
    "docs",
)
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
    for path in ("Makefile", "makefile", "GNUmakefile"):
        if path in tree.names:
            said = {name: about.strip() for name, about in _TARGET.findall(tree.text(path))}
            yield from _targets(tree, path, "make", said)
            break
    for path in ("justfile", "Justfile", ".justfile"):
        if path in tree.names:
            yield from _targets(tree, path, "just", dict.fromkeys(_RECIPE.findall(tree.text(path)), ""))
            break


def _targets(tree: Tree, path: str, program: str, said: Mapping[str, str]) -> Iterator[Fact]:
    known = [name for name in _GOALS if name in said][:4]
    for name in known:
        does = _recipe(tree.text(path), name)
        about = said[name] or (f"runs `{does}`" if does else f"is a target of the {path}")
        content = f"`{program} {name}`{':' if said[name] else ''} {about}."
        importance = 0.8 if name in ("test", "check") else 0.6
        where = at(tree, path, f"{name}:", f"{name} :")
        yield Fact(f"{program}.{name}", content, where, importance=importance, tags=("commands",))
    rest = [name for name in said if name not in known and not name.startswith("_")]
    if rest:
        content = f"Other `{program}` targets: {listed(rest)}."
        yield Fact(f"{program}.targets", content, f"{path}:1", importance=0.4, tags=("commands",))


def _recipe(text: str, name: str) -> str:
    """Return the one command of a target; empty if there are several, or it depends on variables."""
    found = re.search(rf"^@?{re.escape(name)}\b[^\n]*:[^\n]*\n((?:[ \t]+[^\n]+\n?)+)", text, re.MULTILINE)
    rows = [row.strip().lstrip("@-") for row in found[1].splitlines()] if found else []
    return (
        rows[0] if len(rows) == 1 and "$" not in rows[0] and "`" not in rows[0] and not rows[0].endswith("\\") else ""
    )


def workflows(tree: Tree) -> Iterator[Fact]:
    """Read CI set-ups."""
    paths = [path for path in tree.files if re.fullmatch(r"\.github/workflows/[^/]+\.ya?ml", path)]
    if paths:
        names = (path.rpartition("/")[2] for path in paths)
        yield Fact("ci.github", f"CI runs on GitHub Actions: {listed(names)}.", f"{paths[0]}:1", tags=("ci",))
    for path in paths[:20]:
        for version in _versions(yaml_of(tree, path)):
            yield Fact(
                f"ci.matrix.{version[0]}",
                f"CI tests {version[1]} ({path}).",
                at(tree, path, version[0]),
                importance=0.5,
                tags=("ci",),
            )
            return
    for path, name in (
        (".gitlab-ci.yml", "GitLab CI"),
        (".circleci/config.yml", "CircleCI"),
        ("Jenkinsfile", "Jenkins"),
        ("azure-pipelines.yml", "Azure Pipelines"),
    ):
        if path in tree.names:
            yield Fact(f"ci.{path}", f"CI runs on {name} ({path}).", f"{path}:1", tags=("ci",))


def _versions(workflow: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    names = {
        "python-version": "Python",
        "node-version": "Node.js",
        "go-version": "Go",
        "ruby-version": "Ruby",
        "java-version": "Java",
    }
    jobs = workflow.get("jobs")
    for job in jobs.values() if isinstance(jobs, dict) else ():
        matrix = value_at(job, "strategy", "matrix")
        for key, name in names.items():
            values = value_at(matrix, key)
            if isinstance(values, list) and values and all(isinstance(v, str) for v in values):
                yield key, f"{name} {', '.join(values)}"


def pinned(tree: Tree) -> Iterator[Fact]:
    """Read the files that pin versions, and the hooks of pre-commit."""
    for path, name in (
        (".nvmrc", "Node.js"),
        (".node-version", "Node.js"),
        (".python-version", "Python"),
        (".ruby-version", "Ruby"),
        (".java-version", "Java"),
    ):
        text = tree.text(path).strip()
        if text and "\n" not in text:
            yield Fact(
                f"pinned.{name}", f"The {name} version is pinned to {text} ({path}).", f"{path}:1", tags=("versions",)
            )
    rows = [row.split() for row in tree.text(".tool-versions").splitlines() if row.strip() and not row.startswith("#")]
    if rows:
        said = ", ".join(" ".join(row[:2]) for row in rows if len(row) > 1)
        yield Fact(
            "pinned.tools",
            f"Tool versions are pinned in .tool-versions: {said}.",
            ".tool-versions:1",
            tags=("versions",),
        )
    path = ".pre-commit-config.yaml"
    repos = yaml_of(tree, path).get("repos")
    hooks = (
        [str(value_at(hook, "id")) for repo in repos or () for hook in value_at(repo, "hooks") or ()]
        if isinstance(repos, list)
        else []
    )
    if hooks:
        yield Fact("hooks", f"pre-commit runs {listed(hooks)}.", at(tree, path, "id:"), tags=("lint", "git"))


def style(tree: Tree) -> Iterator[Fact]:
    """Read .editorconfig."""
    section, said = "", {}
    for row in tree.text(".editorconfig").splitlines():
        if row.strip().startswith("["):
            section = row.strip().strip("[]")
        elif section == "*" and "=" in row and not row.strip().startswith(("#", ";")):
            key, _, value = row.partition("=")
            said[key.strip().lower()] = value.strip().lower()
    if said.get("indent_style") == "tab":
        yield Fact(
            "style.indent",
            "Indent with tabs (.editorconfig).",
            at(tree, ".editorconfig", "indent_style"),
            "preference",
            0.5,
            ("style",),
        )
    elif said.get("indent_style") == "space" and said.get("indent_size", "").isdigit():
        content = f"Indent with {said['indent_size']} spaces (.editorconfig)."
        yield Fact("style.indent", content, at(tree, ".editorconfig", "indent_size"), "preference", 0.5, ("style",))


def layout(tree: Tree) -> Iterator[Fact]:
    """Look at where the files are."""
    folders = Counter(path.partition("/")[0] for path in tree.files if "/" in path and not path.startswith("."))
    if len(folders) > 1:
        named = ", ".join(f"`{name}/`" for name, _ in sorted(folders.most_common(10)))
        yield Fact("layout", f"Top-level folders: {named}.", ".", "context", 0.5, ("layout",))
    services = _compose(tree)
    if services:
        path, names = services
        content = f"{path} defines the services {listed(names)}."
        yield Fact("services", content, at(tree, path, "services:"), "context", tags=("docker",))
    for path in (".env.example", ".env.sample", ".env.template"):
        if path in tree.names:
            yield Fact(
                "env",
                f"{path} lists the environment variables that the project reads.",
                f"{path}:1",
                importance=0.5,
                tags=("env",),
            )
            break


def _compose(tree: Tree) -> tuple[str, list[str]] | None:
    for path in ("compose.yaml", "compose.yml", "docker-compose.yml", "docker-compose.yaml"):
        services = yaml_of(tree, path).get("services")
        if isinstance(services, dict) and services:
            return path, [str(name) for name in services]
    return None


def identity(tree: Tree) -> Iterator[Fact]:
    """Read README and licence."""
    path = next((path for path in ("README.md", "README.rst", "README.txt", "README") if path in tree.names), "")
    if path and (found := _first_paragraph(tree.text(path))):
        number, text = found
        yield Fact("readme", f"From {path}: {text}", f"{path}:{number}", "context", 0.7, ("overview",))
    for path in tree.matching("LICENSE", "LICENSE.md", "LICENSE.txt", "COPYING", "LICENCE"):
        name = next((name for mark, name in _LICENCES if mark in tree.text(path)[:2_000]), "")
        if name:
            yield Fact("licence", f"The licence is {name} ({path}).", f"{path}:1", importance=0.4, tags=("licence",))
            break


def _first_paragraph(text: str) -> tuple[int, str] | None:
    """Return the first prose of a README and its line: no headings, badges, HTML, quotes, lists or code."""
    block: list[str] = []
    in_code = False
    for number, row in enumerate([*text.split("\n"), ""], 1):
        in_code ^= row.lstrip().startswith("```")
        is_prose = (
            re.match(r"[A-Za-z*_`\"“\[]", row)
            and not re.match(r"\[!|!\[|\[!\[|\[[^\]]*\]:|[=-]{3,}", row)
            and not in_code
        )
        if is_prose:
            block.append(row.strip())
        elif block:
            said = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", " ".join(block)).replace("**", "")
            is_title = re.fullmatch(r"[=-]{3,}", row.strip()) is not None
            said = f"{said.rpartition('. ')[0]}." if said.endswith(":") and ". " in said else said
            if len(said) >= 30 and not is_title:
                return number - len(block), said if len(said) <= 300 else said[:300].rpartition(". ")[0] + "." * (
                    ". " in said[:300]
                )
            block = []
    return None

"""What the files of a project say of it: a table of single facts, and what takes more than a line to find.

Each statement is in the file it names.
"""

from __future__ import annotations

import re
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
    anchors: tuple[str, ...] = ()


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
_TOX: Final = re.compile(r"^\[testenv:([\w-]+)\]", re.MULTILINE)
_NOX: Final = re.compile(r"^@nox\.session[^\n]*\ndef (\w+)", re.MULTILINE)
_SCRIPTS: Final = ("scripts", "script", "bin", "mise-tasks", ".mise/tasks")
_GOALS: Final = (
    "test check lint format fmt build run dev start typecheck install setup bootstrap deploy release bench docs".split()
)
_FIRST: Final = ("test", "check", "lint", "build", "install", "setup")  # what a newcomer runs
_MOST_GOALS: Final = 5  # of one file
_SHORT: Final = 100  # characters of a command that is told


class _Command(NamedTuple):
    """A way to do something: the line to run, what it does if that is known, and where it is written."""

    key: str
    line: str
    goal: str
    does: str
    path: str
    needles: tuple[str, ...]


def commands(tree: Tree) -> Iterator[Fact]:
    """Read how to test, lint, build and run: targets, tasks, sessions and scripts, and whether CI does the same."""
    ci = "\n".join(tree.text(path) for path in _list_workflows(tree))
    for one in chain(_read_targets(tree), _read_tables(tree), _read_scripts(tree)):
        is_first = one.goal in _FIRST
        is_named = re.search(rf"(?<![\w/-]){re.escape(one.line)}(?![\w-])", ci) is not None
        runs = is_named and one.line != "tox"  # which is also installed
        importance = 0.7 + 0.1 * (one.goal in ("test", "check")) if is_first else 0.6
        where = locate(tree, one.path, *one.needles)
        content = f"`{one.line}`{one.does}{', as CI does' if runs else ''}."
        yield Fact(
            one.key,
            content,
            where,
            importance=round(importance + 0.05 * runs, 2),
            tags=("commands",),
            anchors=(f"$ {one.line}",),
        )


def _choose_goals(names: Iterable[str]) -> list[str]:
    there = set(names)
    return [name for name in _GOALS if name in there][:_MOST_GOALS]


def _read_targets(tree: Tree) -> Iterator[_Command]:
    """Read Makefile and justfile."""
    if path := _find_first(tree, "Makefile", "makefile", "GNUmakefile"):
        about = {name: comment.strip() for name, comment in _TARGET.findall(tree.text(path))}
        yield from _describe_targets(tree, path, "make", about)
    if path := _find_first(tree, "justfile", "Justfile", ".justfile"):
        yield from _describe_targets(tree, path, "just", dict.fromkeys(_RECIPE.findall(tree.text(path)), ""))


def _find_first(tree: Tree, *names: str) -> str:
    return next((name for name in names if name in tree.names), "")


def _describe_targets(tree: Tree, path: str, program: str, about: Mapping[str, str]) -> Iterator[_Command]:
    """Read the targets of *path*, which are *about* what their comments say."""
    for name in _choose_goals(about):
        recipe = _find_recipe(tree.text(path), name)
        does = f": {about[name]}" if about[name] else f" runs `{recipe}`" if recipe else f" is a target of the {path}"
        yield _Command(f"{program}.{name}", f"{program} {name}", name, does, path, (f"{name}:", f"{name} :"))


def _read_tables(tree: Tree) -> Iterator[_Command]:
    """Read the scripts of package.json, the tasks of mise, the environments of tox and the sessions of nox."""
    lock_of = (("pnpm", "pnpm-lock.yaml"), ("yarn", "yarn.lock"), ("bun", "bun.lock"), ("bun", "bun.lockb"))
    manager = next((name for name, lock in lock_of if lock in tree.names), "npm")
    yield from _read_runs(tree, "package.json", "scripts", "js.script", f"{manager} run")
    yield from _read_runs(tree, _find_first(tree, "mise.toml", ".mise.toml"), "tasks", "mise", "mise run")
    yield from _read_runs(tree, _find_first(tree, "Taskfile.yml", "Taskfile.yaml"), "tasks", "task", "task")
    if re.search(r"^\[testenv\](?:\n(?!\[).*)*?\bpytest\b", tree.text("tox.ini"), re.MULTILINE):
        yield _Command("tox", "tox", "test", " runs the tests", "tox.ini", ("[testenv]",))
    for name in _choose_goals(_TOX.findall(tree.text("tox.ini"))):
        does = " is an environment of tox.ini"
        yield _Command(f"tox.{name}", f"tox -e {name}", name, does, "tox.ini", (f"testenv:{name}",))
    sessions = {name.removesuffix("s"): name for name in _NOX.findall(tree.text("noxfile.py"))}
    for goal in _choose_goals(sessions):
        name, does = sessions[goal], " is a session of noxfile.py"
        yield _Command(f"nox.{goal}", f"nox -s {name}", goal, does, "noxfile.py", (f"def {name}",))


def _read_runs(tree: Tree, path: str, table: str, key: str, runner: str) -> Iterator[_Command]:
    """Read a *table* of names and the commands that they run."""
    found = value_at(tree.data(path), table) if path else None
    runs: dict[str, Any] = found if isinstance(found, dict) else {}
    for name in _choose_goals(runs):
        run = _find_run(runs[name])
        if isinstance(run, str) and "no test specified" not in run:
            run = run.replace("{{.CLI_ARGS}}", "").strip()
            is_plain = 0 < len(run) <= _SHORT and not set("\n`") & set(run)
            does = f" runs `{run}`" if is_plain else f" is in {path}"
            needles = (f'"{name}":', f"tasks.{name}", f"{name} =", f"  {name}:")
            yield _Command(f"{key}.{name}", f"{runner} {name}", name, does, path, needles)


def _find_run(told: Any) -> Any:
    """Return the command of a script or task: as it stands, or the one of a table; "" where there are several."""
    if not isinstance(told, dict):
        return told
    runs = told.get("run") or told.get("cmd") or told.get("cmds")
    return runs if isinstance(runs, str) else runs[0] if isinstance(runs, list) and len(runs) == 1 else ""


def _read_scripts(tree: Tree) -> Iterator[_Command]:
    """Read the scripts that are named after what they are for."""
    for folder in _SCRIPTS:
        named = {
            path.rpartition("/")[2].partition(".")[0]: path for path in tree.files if path.rpartition("/")[0] == folder
        }
        for name in _choose_goals(named):
            path = named[name]
            line = f"mise run {name}" if "mise" in folder else path
            said = next(
                (row.lstrip("# ").strip() for row in tree.text(path).splitlines()[1:4] if re.match(r"# \w", row)), ""
            )
            does = f": {said.rstrip('.')}" if 10 <= len(said) <= 100 else f" is the script to {name}"
            yield _Command(f"script.{name}", line, name, does, path, ())


def _list_workflows(tree: Tree) -> list[str]:
    return [path for path in tree.files if re.fullmatch(r"\.github/workflows/[^/]+\.ya?ml|\.gitlab-ci\.yml", path)][:20]


def ports(tree: Tree) -> Iterator[Fact]:
    """Read on which ports the services of a compose file are reached."""
    path = _find_first(tree, "compose.yaml", "compose.yml", "docker-compose.yml", "docker-compose.yaml")
    services = value_at(tree.data(path), "services") if path else None
    for name, service in services.items() if isinstance(services, dict) else ():
        given = value_at(service, "ports")
        shown = (
            [str(value_at(one, "published") or "") if isinstance(one, dict) else str(one) for one in given or ()]
            if isinstance(given, list)
            else []
        )
        outer = [found[1] for one in shown if (found := re.fullmatch(r"(?:\d+\.[\d.]+:)?(\d+)(?::\d+)?(?:/\w+)?", one))]
        if outer:
            content = f"`{name}` is reached on port {' and '.join(outer[:3])} ({path})."
            yield Fact(
                f"port.{name}",
                content,
                locate(tree, path, f"{outer[0]}"),
                importance=0.7,
                tags=("ports",),
                anchors=(path,),
            )


def generated(tree: Tree) -> Iterator[Fact]:
    """Read which files git is told are generated."""
    for row in tree.text(".gitattributes").splitlines():
        pattern, *said = row.split() or [""]
        if pattern and not pattern.startswith("#") and {"linguist-generated", "linguist-generated=true"} & set(said):
            content = f"`{pattern}` is generated: change what it is made from."
            where = locate(tree, ".gitattributes", pattern)
            yield Fact(
                f"generated.{pattern}",
                content,
                where,
                importance=0.7,
                tags=("generated",),
                anchors=(pattern.lstrip("/"),),
            )


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


def dotnet_targets(tree: Tree) -> Iterator[Fact]:
    """Read the frameworks of .NET projects."""
    targets: dict[str, str] = {}
    for path in tree.matching(".csproj", ".fsproj", "Directory.Build.props", depth=4)[:50]:
        for target in re.findall(r"<TargetFrameworks?>([^<$]+)<", tree.text(path)):
            targets.setdefault(target.strip(), locate(tree, path, "<TargetFramework"))
    if targets:
        where = next(iter(targets.values()))
        yield Fact("dotnet.target", f"Projects target {list_names(targets)}.", where, tags=("dotnet",))


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


def identity(tree: Tree) -> Iterator[Fact]:
    """Read what the README says first."""
    path = _find_first(tree, "README.md", "README.rst", "README.txt", "README")
    if path and (found := _find_first_paragraph(tree.text(path))):
        number, text = found
        yield Fact("readme", f"From {path}: {text}", f"{path}:{number}", "context", 0.7, ("overview",))


# A line that begins like a sentence: not a badge, nor what a link leads to.
_PROSE: Final = re.compile(r"(?!https?://\S+\s*$|\[!|\[[^\]]*\]:)[A-Za-z*_`\"“\[]")


def _find_first_paragraph(text: str) -> tuple[int, str] | None:
    """Return the first prose of a README and its line: no headings, badges, HTML, quotes, lists or code."""
    block: list[str] = []
    in_code = False
    for number, row in enumerate([*text.split("\n"), ""], 1):
        in_code ^= row.lstrip().startswith("```")
        if not in_code and _PROSE.match(row):
            block.append(row.strip())
        elif block:
            said = re.sub(r"\[([^\]]*)\](?:\([^)]*\)|\[[^\]]*\])", r"\1", " ".join(block)).replace("**", "")
            said = re.sub(r"`([^`<]+?)(?: <[^`]*>)?`_", r"\1", said)
            said = f"{said.rpartition('. ')[0]}." if said.endswith(":") and ". " in said else said
            if len(said) >= 30 and said.count(" | ") < 2 and not re.fullmatch(r"[=-]{3,}", row.strip()):
                whole, end, _ = said[:300].rpartition(". ")
                return number - len(block), said if len(said) <= 300 else whole + end.strip()
            block = []
    return None


READERS: Final = (
    identity, commands, single, ports, generated, locks, dotnet_targets, tool_versions, commit_hooks
)  # fmt: skip

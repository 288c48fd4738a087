"""The commands that a repository's own files define, and what of a command line they do not have. Nothing is ever run."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import chain
from typing import Any, Final, NamedTuple

from memsync.store.tree import Tree

_TARGET: Final = re.compile(r"^([\w./%${}() -]{1,200}?)\s*::?(?!=)", re.MULTILINE)
_PHONY: Final = re.compile(r"^\.PHONY\s*:((?:.*\\\n)*.*)", re.MULTILINE)
_MADE: Final = re.compile(r"\$\(eval|^[^\t#\n=]{0,200}[%$][^=\n]{0,200}:(?!=)", re.MULTILINE)
_RECIPE: Final = re.compile(r"^@?([A-Za-z_][\w-]*)(?:[ \t][^\n]*)?:(?!=)", re.MULTILINE)
_ALIAS: Final = re.compile(r"^alias\s+([\w-]+)\s*:=", re.MULTILINE)
_COMPOSE: Final = frozenset("up run exec logs build restart start stop pull rm kill".split())
_VALUED: Final = frozenset(  # options that take the next word
    "-C -f -F --filter -w --workspace --prefix --cwd --dir --file -p --project-name --profile --env-file -e --env -u --user -n --tail --since".split()
)
_WORD: Final = re.compile(r"[\w][\w.:/@-]*")


def positional(words: Sequence[str]) -> list[str]:
    """Return the words that are no options, nor the values of some."""
    found: list[str] = []
    skip = False
    for word in words:
        if word == "--":
            break
        if not skip and not word.startswith("-"):
            found.append(word)
        skip = word in _VALUED
    return found


class Known(NamedTuple):
    """What there is of one kind, and in which files that stands."""

    names: frozenset[str]
    files: Sequence[str]


Asked = tuple[str, Known | None, Sequence[str]]  # the kind of what is run, what there is of it, and what is asked for


class Lack(NamedTuple):
    """A name that is not defined, in words, and the files in which it would be."""

    name: str
    what: str
    files: Sequence[str]


class Commands:
    """What the files of *tree* define for the runners that we know."""

    def __init__(self, tree: Tree) -> None:
        self._tree = tree

    def _list(self, pattern: str) -> list[str]:
        """Return the paths of the tree whose last parts match *pattern*."""
        named = re.compile(rf"(?:^|.*/)(?:{pattern})$")
        return [path for path in self._tree.files if named.match(path)]

    def _tables(self, paths: Iterable[str], *keys: str) -> list[dict[str, Any]]:
        """Return the mappings that the files *paths* have at *keys*."""
        found: list[Any] = [self._tree.data(path) for path in paths]
        for key in keys:
            found = [one.get(key) for one in found if isinstance(one, dict)]
        return [one for one in found if isinstance(one, dict)]

    @cached_property
    def scripts(self) -> Known | None:
        """The scripts of every package.json; None without one."""
        paths = self._list(r"package\.json")
        return Known(frozenset(chain(*self._tables(paths, "scripts"))), paths) if paths else None

    @cached_property
    def targets(self) -> Known | None:
        """The targets of every Makefile; None without one, and where a file makes targets by its own rules."""
        paths = self._list(r"(?i:(?:gnu)?makefile)|.*\.mk")
        text = "\n".join(map(self._tree.text, paths))
        if not text or _MADE.search(text):
            return None
        rows = (*_TARGET.findall(text), *_PHONY.findall(text))
        return Known(frozenset(word for row in rows for word in row.split()), paths)

    @cached_property
    def recipes(self) -> Known | None:
        """The recipes of every justfile; None without one, or where one brings in others."""
        paths = self._list(r"(?i:\.?justfile)|.*\.just")
        text = "\n".join(map(self._tree.text, paths))
        is_whole = text and not re.search(r"^(?:mod|import)\b", text, re.MULTILINE)
        return Known(frozenset((*_RECIPE.findall(text), *_ALIAS.findall(text))), paths) if is_whole else None

    @cached_property
    def tasks(self) -> Known | None:
        """The tasks of mise: tables in its files, and files in the folders of tasks; None without any."""
        paths = self._list(r"\.?(?:config/)?mise(?:/config)?(?:\.\w+)?\.toml")
        tables = self._tables(paths, "tasks")
        files = re.findall(r"^(?:.*/)?\.?mise(?:-|/)tasks/([^.\n]+)", "\n".join(self._tree.files), re.MULTILINE)
        aliases = (one.get("alias") for table in tables for one in table.values() if isinstance(one, dict))
        spelled = (name.replace("/", ":").removesuffix(":_default") for name in files)
        flat = (str(name) for one in aliases for name in (one if isinstance(one, list) else [one]))
        found = frozenset((*chain(*tables), *flat, *spelled))
        return Known(found, paths) if tables or files else None

    @cached_property
    def jobs(self) -> Known | None:
        """The tasks of every Taskfile; None without one, or where one brings in others."""
        paths = self._list(r"(?i:taskfile(?:\.dist)?\.ya?ml)")
        tables = self._tables(paths, "tasks")
        is_whole = (
            tables and len(tables) == len(paths) and not any(self._tree.data(path).get("includes") for path in paths)
        )
        aliases = (
            name
            for table in tables
            for one in table.values()
            if isinstance(one, dict)
            for name in one.get("aliases") or ()
        )
        return Known(frozenset((*chain(*tables), *map(str, aliases))), paths) if is_whole else None

    @cached_property
    def services(self) -> Known | None:
        """The services of every file of docker compose; None without one that can be read."""
        paths = self._list(r"(?:docker-)?compose[^/]*\.ya?ml")
        tables = self._tables(paths, "services")
        return Known(frozenset(chain(*tables)), paths) if tables and len(tables) == len(paths) else None

    @cached_property
    def programs(self) -> frozenset[str]:
        """The programs that this repository makes: what its packages install, and the folders of Go's cmd."""
        projects, packages = self._list(r"pyproject\.toml"), self._list(r"package\.json")
        tables = [*self._tables(projects, "project", "scripts"), *self._tables(projects, "tool", "poetry", "scripts")]
        named = (path.split("/")[-2] for path in self._list(r"cmd/[\w-]+/main\.go"))
        return frozenset((*chain(*tables), *chain(*self._tables(packages, "bin")), *named))

    def find_lack(self, words: Sequence[str]) -> Lack | None:
        """Return what of the command *words* the repository does not have; None where all is there or nobody can tell."""
        reader = self._READERS.get(words[0])
        if reader is None:
            return None
        kind, known, asked = reader(self, words, positional(words[1:]))
        if known is None:
            return None
        lacking = (name for name in asked if _WORD.fullmatch(name) and name not in known.names)
        return next((Lack(name, f"no {kind} {name}", known.files) for name in lacking), None)

    def _ask_make(self, words: Sequence[str], rest: Sequence[str]) -> Asked:
        is_plain = not {"-C", "-f", "--directory", "--file"} & set(words)
        named = [word for word in rest if "=" not in word and "/" not in word]
        return "target", self.targets if is_plain else None, named

    def _ask_npm(self, words: Sequence[str], rest: Sequence[str]) -> Asked:
        is_run = rest[:1] in (["run"], ["run-script"])
        named = rest[1:2] if is_run else rest[:1] if words[0] in ("pnpm", "yarn") else []
        # npm and pnpm run scripts alone; what the others run may as well be a program of a dependency, which has no colon
        is_script = is_run and words[0] in ("npm", "pnpm")
        return "script", self.scripts, [one for one in named if is_script or (":" in one and "@" not in one)]

    def _ask_just(self, _: Sequence[str], rest: Sequence[str]) -> Asked:
        return "recipe", self.recipes, rest[:1]

    def _ask_task(self, _: Sequence[str], rest: Sequence[str]) -> Asked:
        return "task", self.jobs, [one for one in rest if "=" not in one]

    def _ask_mise(self, _: Sequence[str], rest: Sequence[str]) -> Asked:
        named = rest[1:2] if rest[:1] in (["run"], ["r"]) else []
        return "task", self.tasks, [one for one in named if not one.startswith("//")]

    def _ask_compose(self, words: Sequence[str], rest: Sequence[str]) -> Asked:
        rest = rest[1:] if words[0] == "docker" and rest[:1] == ["compose"] else rest if words[0] != "docker" else []
        if rest[:1] and rest[0] in _COMPOSE:
            return "service", self.services, rest[1:2] if rest[0] in ("run", "exec") else rest[1:]
        return "service", None, []

    _READERS: Final[Mapping[str, Callable[[Commands, Sequence[str], Sequence[str]], Asked]]] = {
        **dict.fromkeys(("make", "gmake"), _ask_make),
        **dict.fromkeys(("npm", "pnpm", "yarn", "bun"), _ask_npm),
        "just": _ask_just,
        "mise": _ask_mise,
        "task": _ask_task,
        **dict.fromkeys(("docker", "docker-compose"), _ask_compose),
    }


_READING: Final = frozenset("python python3 node bash sh zsh deno tsx ts-node ruby php source pytest bun".split())
_RUNNING: Final = frozenset(("uv", "poetry", "pdm", "hatch", "pipenv"))


def find_paths(words: Sequence[str]) -> Iterator[str]:
    """Yield the files that a command line says are there: a script that is run, or tests."""
    rest = list(words)
    if rest[0] in _RUNNING and "run" in rest[1:2]:
        rest = rest[2:]
        while rest and rest[0].startswith("-"):
            rest = (
                rest[2:]
                if rest[0] in ("--with", "--extra", "--group", "--directory", "--package", "--project", "-p")
                else rest[1:]
            )
    if rest and rest[0] in ("deno", "bun", "go") and rest[1:2] and rest[1] in ("run", "test", "build", "vet"):
        yield from (
            word.removesuffix("/...") for word in rest[2:] if word.startswith("./") and word not in ("./...", "./")
        )
    elif rest and (rest[0].startswith("./") or (rest[0].endswith((".py", ".sh")) and "/" in rest[0])):
        yield rest[0]
    elif rest and rest[0] in _READING and "-c" not in rest and "-e" not in rest and "-m" not in rest[:2]:
        named = [word for word in rest[1:] if not word.startswith("-") and "=" not in word]
        wanted = [one.partition("::")[0] for one in (named if rest[0] == "pytest" else named[:1])]
        yield from (one for one in wanted if "/" in one or one.endswith((".py", ".sh", ".js", ".ts", ".mjs")))
    elif words[:3] == ["python", "-m", "pytest"]:
        yield from find_paths(["pytest", *words[3:]])


def find_flags(words: Sequence[str]) -> Iterator[str]:
    """Yield the long options of a command line, without their values."""
    for word in words:
        if word == "--":
            return
        if match := re.fullmatch(r"--([a-z][\w-]+)(?:=.*)?", word):
            yield match[1]

"""The commands that a repository's own files define, and what of a command line they do not have. Nothing is ever run."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import chain, pairwise
from typing import Any, Final, NamedTuple

from memsync.store.tree import Tree

_COMPOSE: Final = frozenset("up run exec logs build restart start stop pull rm kill".split())
_VALUED: Final = frozenset(  # options that take the next word
    "-C -f -F --filter -w --workspace --prefix --cwd --dir --file -p --project-name --profile --env-file -e --env -u --user -n --tail --since".split()
)
_WORD: Final = re.compile(
    r"(?!(?i:your|my|some|foo|bar)(?:[-_]|$))(?!(?:[\w-]*[-_])?(?i:name)$)[@\w][\w.:/@-]*"
)  # and no stand-in, such as `my-app`, `container_name`
_REDIRECTION: Final = re.compile(r"[&\d]?[<>]")


def positional(words: Sequence[str]) -> list[str]:
    """Return the words that are no options, nor the values of some, before those that go to the program itself or say where it writes."""
    found: list[str] = []
    skip = False
    for word in words:
        if word == "--" or _REDIRECTION.match(word):
            break
        if not skip and not word.startswith("-"):
            found.append(word)
        skip = word in _VALUED
    return found


class Lack(NamedTuple):
    """A name that is not defined, in words, the files in which it would be, and whether it may still be somebody else's program."""

    name: str
    what: str
    files: Sequence[str]
    is_open: bool = False


class Source(NamedTuple):
    """Where the names of one kind are defined: in which files, below which dotted keys or by which pattern, and by which paths."""

    files: str
    keys: str = ""
    pattern: str = ""
    paths: str = ""
    alias: str = ""  # the key of an entry with its other names
    unless: str = ""  # a text that has this gets names from elsewhere, or makes them
    is_open: bool = False  # what is asked for may also be a program of a dependency


_SOURCES: Final[Mapping[str, Source]] = {
    "script": Source(r"package\.json", "scripts"),
    "script or program": Source(r"package\.json", "scripts", is_open=True),
    "package": Source(r"package\.json", pattern=r"^ {1,4}\"name\":\s*\"([^\"\n]+)\""),
    "target": Source(
        r"(?i:(?:gnu)?makefile)|.*\.mk",
        pattern=r"^(?:\.PHONY\s*:((?:.*\\\n)*.*)|([\w./%${}() -]{1,200}?)\s*::?(?!=))",
        unless=r"\$\(eval|^[^\t#\n=]{0,200}[%$][^=\n]{0,200}:(?!=)",
    ),
    "recipe": Source(
        r"(?i:\.?justfile)|.*\.just",
        pattern=r"^(?:@?([A-Za-z_][\w-]*)(?:[ \t][^\n]*)?:(?!=)|alias\s+([\w-]+)\s*:=)",
        unless=r"^(?:mod|import)\b",
    ),
    "mise task": Source(
        r"\.?(?:config/)?mise(?:/config)?(?:\.\w+)?\.toml", "tasks", paths=r"(?:^|.*/)\.?mise(?:-|/)tasks/([^.\n]+)", alias="alias"
    ),
    "task": Source(r"(?i:taskfile(?:\.dist)?\.ya?ml)", "tasks", alias="aliases", unless=r"^includes:"),
    "deno task": Source(r"deno\.jsonc?|package\.json", "tasks scripts"),
    "service": Source(  # read by lines: a parser takes longer than all else
        r"(?:docker-)?compose[^/]*\.ya?ml", pattern=r"^ {1,4}[\"']?([\w.-]+)[\"']?:", unless=r"^(?:include:|services:[ \t]*[{&*])"
    ),
    "session": Source(r"noxfile\.py", pattern=r"^def (\w+)|name\s*=\s*[\"']([\w-]+)"),
    "tox environment": Source(r"tox\.ini", pattern=r"^\[testenv:([^\]\n]+)\]|^env_?list\s*=((?:.*\n[ \t]+)*.*)", unless=r"[{}]"),
    "poe task": Source(r"pyproject\.toml|poe_tasks\.toml", "tool.poe.tasks", unless=r"^include\b"),
    "pdm script": Source(r"pyproject\.toml", "tool.pdm.scripts", is_open=True),
    "hatch environment": Source(r"pyproject\.toml|hatch\.toml", pattern=r"^\[(?:tool\.hatch\.)?envs\.([\w-]+)[\].]"),
    "program": Source(r"pyproject\.toml", "project.scripts tool.poetry.scripts", is_open=True),
    "composer script": Source(r"composer\.json", "scripts"),
    "crate": Source(r"Cargo\.toml", pattern=r"^name\s*=\s*\"([^\"\n]+)\"", paths=r"(?:^|.*/)(?:src/bin|examples|benches|tests)/([\w-]+)(?:\.rs|/main\.rs)"),
    "cargo alias": Source(r"\.cargo/config(?:\.toml)?", "alias", is_open=True),
}  # fmt: skip


class Commands:
    """What the files of *tree* define for the runners that we know."""

    def __init__(self, tree: Tree) -> None:
        self._tree = tree
        self._known: dict[str, tuple[frozenset[str], list[str]] | None] = {}

    def _list(self, pattern: str) -> list[str]:
        """Return the paths of the tree whose last parts match *pattern*."""
        named = re.compile(rf"(?:^|.*/)(?:{pattern})$")
        return [path for path in self._tree.files if named.match(path)]

    def _tables(self, paths: Iterable[str], keys: str) -> list[dict[str, Any]]:
        """Return the mappings that the files *paths* have at each of *keys*, dotted."""
        tables = []
        for path in paths:
            for dotted in keys.split():
                found: Any = self._tree.data(path)
                for key in dotted.split("."):
                    found = found.get(key) if isinstance(found, dict) else None
                tables += [found] if isinstance(found, dict) else []
        return tables

    def find(self, kind: str) -> tuple[frozenset[str], list[str]] | None:
        """Return the names that there are of *kind*, and in which files these stand; None where nobody can tell."""
        if kind not in self._known:
            self._known[kind] = self._read(_SOURCES[kind])
        return self._known[kind]

    def _read(self, source: Source) -> tuple[frozenset[str], list[str]] | None:
        paths = self._list(source.files)
        text = "\n".join(map(self._tree.text, paths))
        listed = re.findall(source.paths, "\n".join(self._tree.files), re.MULTILINE) if source.paths else []
        if not (text.strip() or listed) or (source.unless and re.search(source.unless, text, re.MULTILINE)):
            return None
        found = {name.replace("/", ":").removesuffix(":_default") for name in listed}
        if source.keys:
            tables = self._tables(paths, source.keys)
            entries = [one.get(source.alias) for table in tables for one in table.values() if isinstance(one, dict)]
            found.update(map(str, chain(*tables, *(one if isinstance(one, list) else [one] for one in entries if one))))
            if (not tables and not listed and source.files != r"package\.json") or not all(map(self._tree.data, paths)):
                return None  # no table of the kind, or a file that cannot be read
        for row in re.findall(source.pattern, text, re.MULTILINE) if source.pattern else ():
            found.update("".join(row).replace(",", " ").replace("\\", " ").split())
        if source.pattern and not found:
            return None
        found |= {name.rpartition("/")[2] for name in found if name[0] == "@"}  # pnpm finds a package without its scope
        return frozenset(found), paths

    @cached_property
    def programs(self) -> frozenset[str]:
        """The programs that this repository makes: what its packages install, and the folders of Go's cmd."""
        projects, packages = self._list(r"pyproject\.toml"), self._list(r"package\.json")
        tables = self._tables(projects, _SOURCES["program"].keys)
        named = (path.split("/")[-2] for path in self._list(r"cmd/[\w-]+/main\.go"))
        return frozenset((*chain(*tables), *chain(*self._tables(packages, "bin")), *named))

    def find_lack(self, words: Sequence[str]) -> Lack | None:
        """Return what of the command *words* the repository does not have; None where all is there or nobody can tell."""
        for kind, name in _ask(words):
            known = self.find(kind)
            if known and _WORD.fullmatch(name) and name not in known[0]:
                return Lack(name, f"no {kind} {name}", known[1], _SOURCES[kind].is_open)
        return None

    def find_manager(self, folder: str) -> tuple[str, str]:
        """Return the lock file in *folder* for packages of JavaScript, and the program whose it is; "" if there is none, or are several."""
        there = [(file, name) for file, name in _LOCKS.items() if posixpath.join(folder, file) in self._tree.names]
        return there[0] if len(there) == 1 else ("", "")


_LOCKS: Final = {  # and whose they are
    "package-lock.json": "npm", "pnpm-lock.yaml": "pnpm", "yarn.lock": "yarn", "bun.lock": "bun", "bun.lockb": "bun",
}  # fmt: skip
LOCK_OF: Final = {name: file for file, name in _LOCKS.items()}
_OPTIONS: Final = {  # what the value of an option names
    "cargo": dict.fromkeys(("-p", "--package", "--bin", "--example", "--bench"), "crate"),
    "pnpm": {"--filter": "package", "-F": "package"},
    "npm": {"-w": "package", "--workspace": "package"},
    "nox": dict.fromkeys(("-s", "--session", "-e"), "session"),
    "tox": {"-e": "tox environment"},
}


def _ask(words: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield what the command *words* says is there: of which kind, and its name."""
    rest = positional(words[1:])
    run, named = rest[:1], rest[1:2]
    yield from _ask_options(words)
    if reader := _READERS.get(words[0]):
        yield from reader(words, rest)
    elif words[0] in _RUNNERS:
        kind, verbs = _RUNNERS[words[0]]
        yield from (
            (kind, one) for one in (named if run and run[0] in verbs else [] if verbs else run) if one[:2] != "//"
        )
    if words[0] in _RUNNING and run == ["run"] and named:
        if named[0] in ("poe", "nox", "tox"):
            yield from _ask(words[words.index(named[0]) :])
        elif words[0] != "hatch":
            yield "program", named[0]
        elif ":" in named[0]:
            yield "hatch environment", named[0].partition(":")[0]


def _ask_options(words: Sequence[str]) -> Iterator[tuple[str, str]]:
    for option, value in pairwise(words):
        kind = _OPTIONS.get(words[0], {}).get(option, "")
        if kind and not (kind == "tox environment" and re.match(r"py\d*|ALL", value)):
            yield from ((kind, one) for one in value.split(",") if "*" not in one and one[0] not in "./!{")


def _ask_make(words: Sequence[str], rest: Sequence[str]) -> Iterator[tuple[str, str]]:
    if not {"-C", "-f", "--directory", "--file"} & set(words):
        yield from (("target", word) for word in rest if "=" not in word and "/" not in word)


_OF_PNPM: Final = frozenset(  # and of yarn: what they do themselves
    "add install update up upgrade remove link import exec dlx create init publish pack audit list why info config version".split()
)


def _ask_npm(words: Sequence[str], rest: Sequence[str]) -> Iterator[tuple[str, str]]:
    is_run = rest[:1] in (["run"], ["run-script"])
    asked = rest[1:2] if is_run else rest[:1] if words[0] in ("pnpm", "yarn") else []
    # npm and pnpm run scripts alone; what the others run may as well be a program of a dependency, which has no colon
    is_script = is_run and words[0] in ("npm", "pnpm")
    for one in asked:
        if is_script or (":" in one and "@" not in one):
            yield "script", one
        elif one not in _OF_PNPM:
            yield "script or program", one


def _ask_compose(words: Sequence[str], rest: Sequence[str]) -> Iterator[tuple[str, str]]:
    parts = rest if words[0] != "docker" else rest[1:] if rest[:1] == ["compose"] else []
    if parts[:1] and parts[0] in _COMPOSE:
        yield from (("service", one) for one in (parts[1:2] if parts[0] in ("run", "exec") else parts[1:]))


_READERS: Final[Mapping[str, Callable[[Sequence[str], Sequence[str]], Iterator[tuple[str, str]]]]] = {
    **dict.fromkeys(("make", "gmake"), _ask_make),
    **dict.fromkeys(("npm", "pnpm", "yarn", "bun"), _ask_npm),
    **dict.fromkeys(("docker", "docker-compose"), _ask_compose),
}
_RUNNERS: Final[Mapping[str, tuple[str, Sequence[str]]]] = {  # the kind of what is run, behind which words
    "just": ("recipe", ()),
    "task": ("task", ()),
    "poe": ("poe task", ()),
    "cargo": ("cargo alias", ()),
    "mise": ("mise task", ("run", "r")),
    "deno": ("deno task", ("task",)),
    "composer": ("composer script", ("run", "run-script")),
    "pdm": ("pdm script", ("run",)),
}


_READING: Final = frozenset("python python3 node bash sh zsh deno tsx ts-node ruby php source pytest bun".split())
_WITH: Final = frozenset("--with --extra --group --directory --package --project -p".split())
_RUNNING: Final = frozenset(("uv", "poetry", "pdm", "hatch", "pipenv"))


def find_paths(words: Sequence[str]) -> Iterator[str]:
    """Yield the files that a command line says are there: a script that is run, or tests."""
    rest = list(words)
    if rest[0] in _RUNNING and "run" in rest[1:2]:
        rest = rest[2:]
        while rest and rest[0].startswith("-"):
            rest = rest[2:] if rest[0] in _WITH else rest[1:]
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

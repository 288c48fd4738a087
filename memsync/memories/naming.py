"""Which files, symbols and commands of the repository a text names, as anchors: only what is there, which git is asked while others work."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Collection, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final, Self

from memsync.index.tokens import word_parts
from memsync.memories import commands
from memsync.memories.anchors import find_block, is_inside, parse, pin_anchor, read_rows
from memsync.memories.wrong_names import Wrong, find_wrong
from memsync.records import Memory, clean_triggers
from memsync.store.checkout import QUIET, clean_env
from memsync.store.places import find_git
from memsync.system import programs
from memsync.system.texts import Memo

if TYPE_CHECKING:
    from subprocess import Popen

_PATH: Final = re.compile(
    r"(?<![\w/.:@~$-])((?:[\w.@-]+/)+[\w.@-]*\w|\.?[\w-]+(?:\.[\w-]+)*\.[A-Za-z]\w{0,8}|\.[a-z][\w-]{2,}|(?!Make)[A-Z][a-z]+file)(?![\w/])(?:#([\w.:]+\w))?"
)
_FOLDER: Final = re.compile(r"(?<![\w/.:@~$*-])((?:[\w.@-]*\w/)+)(?![\w*])")
_JOINED: Final = re.compile(r"[a-z0-9][A-Z]|[a-z]\.[a-z]|[#]|::")
_QUOTED: Final = re.compile(r"`([^`\n]{2,120})`")
_SYMBOL: Final = re.compile(r"(?<![\w./#:-])(?:((?:[A-Za-z_]\w*(?:\.|::|\#))*[A-Za-z_]\w*)(\(\))?)(?![\w/]|\.\w)")
_SPLIT: Final = re.compile(r"\.|::|#")
_PIECES: Final = 5
_SOUGHT: Final = 3  # symbols of a text that are looked for in the whole work tree
_FILES: Final = 40  # in which one of them may be defined
_PATIENCE: Final = 0.5  # seconds that git may take for them
_TOO_LARGE: Final[set[Path]] = set()  # work trees for which that was not enough, so that this process asks no more
_MOST_EDITED: Final = 100  # files that differ from the last commit up to which they are one session's work
# Parts of the names of files that many have, so that they name none alone.
_COMMON: Final = frozenset(
    "index main test tests spec util utils type types config app setup common helper helpers init base core page layout route routes"
    " readme package changelog claude agents".split()
)
# What ends the name of a file, a host or an abbreviation rather than that of a symbol.
_ENDINGS: Final = frozenset(
    "py pyi pyc js jsx mjs cjs ts tsx md mdx rst txt json jsonl toml yaml yml ini cfg conf lock sh bash zsh ps1 bat rs go c h cc cpp hpp"
    " java kt rb php cs swift sql db sqlite html htm css scss vue svelte xml svg png jpg gif pdf csv tsv log zip gz tar whl exe dll so"
    " com org net io dev ai app local e g".split()
)
# Programs whose second word says what they do; others are commands where this machine has them, or the repository.
_KNOWN: Final = frozenset(
    "git npm pnpm yarn bun npx node deno pip pipx uv poetry pdm hatch tox nox pytest make cmake just task cargo rustup go mvn gradle"
    " gradlew sbt bazel dotnet msbuild docker docker-compose podman kubectl helm terraform tofu pulumi ansible ansible-playbook vagrant"
    " aws gcloud az gh glab heroku flyctl vercel netlify rails rake bundle gem composer artisan php mix flutter dart swift xcodebuild"
    " pod fastlane conda mamba jupyter dbt airflow alembic flask django-admin celery psql mysql sqlite3 redis-cli twine rsync scp ssh"
    " systemctl journalctl brew apt apt-get dnf apk nix vite webpack eslint prettier tsc jest vitest cypress playwright ruff mypy black"
    " pre-commit sbatch srun spark-submit".split()
)
_PLAIN: Final = frozenset("git npm pnpm yarn docker kubectl terraform helm cargo rails composer pip alembic".split())
_PROSE: Final = re.compile(rf"(?<![\w/.`$-])((?:{'|'.join(sorted(_PLAIN))}) [a-z][a-z:-]{{2,}})(?![\w/.(])")
_BROAD: Final = frozenset("src/ lib/ app/ docs/ doc/ test/ tests/ web/ pkg/ packages/ internal/ cmd/ bin/".split())
_ORDINARY: Final = frozenset(
    "is and or in on for the with to of from as at has was can will does not do are uses images".split()
)
# Words that a shell has, or that say nothing by themselves.
_VAGUE: Final = frozenset(
    "cd ls cat echo test time sleep export env sh bash zsh python python3 node git npm make docker if for while set true"
    " false null none return let import from select use type read write find sort grep sed awk head tail which who date kill"
    " yes no on off in not and or".split()
)


class Named:
    """What of the repository at *root* a text names; nothing where there is none.

    What git must look for it begins to look for at once; `finish` waits for that. *is_agents*: it is of a session at work
    here, so that a text that names nothing may be about a file that was edited, whose name its words have.
    """

    def __init__(self, content: str, root: Path | None, *, is_agents: bool = False) -> None:
        self.root = root
        self._content = content
        self._found: dict[str, None] = {}
        self._sought: list[str] = []
        self._search: Search | None = None
        self._edited: Search | None = None
        self.wrong = _find_wrong(content, root)
        if root is not None:
            self._look(content, root)
            if is_agents and not self._found and root not in _TOO_LARGE and find_git(root):
                self._edited = Search.for_edited(root, without=".gobby", patience=_PATIENCE)

    def _look(self, content: str, root: Path) -> None:
        paths = dict(_find_paths(content, root))
        outer = {
            path for path in paths if path.endswith("/") and any(one.startswith(path) for one in paths if one != path)
        }
        paths = {path: given for path, given in paths.items() if path not in _BROAD and path not in outer}
        for path, given in paths.items():
            symbols = list(_find_symbols(content, path, given, root, paths))
            self._found |= dict.fromkeys([f"{path}#{symbol}" for symbol in symbols[:2]] or [path])
        if len(self._found) < _PIECES:
            taken = {path.partition("#")[2] for path in self._found}
            self._sought = _list_sought(content, {*taken, *paths})
            self._search = _begin_search(self._sought, root)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """End the searches, if nobody has waited for them."""
        for search in filter(None, (self._search, self._edited)):
            search.close()

    @property
    def is_sought(self) -> bool:
        """Whether git looks for some of it."""
        return self._search is not None

    def finish(self) -> tuple[str, ...]:
        """Return what is named as anchors, at most five: symbols for their file."""
        if self.root is None:
            return ()
        paths = self._search.wait() if self._search else []
        if paths is None:
            _TOO_LARGE.add(self.root)
        defined = _find_defined(self._sought, (paths or [])[: _FILES * len(self._sought)], self.root)
        found = self._found | dict.fromkeys(defined)
        wrong = [f"$ {' '.join(words)}" for words in self.wrong.commands]
        files = {path.partition("#")[0] for path in found}
        told = wrong or list(
            _find_commands(self._content, self.root)
        )  # beside a wrong command it is what to run instead
        others = (
            one
            for one in told
            if one.split()[1] not in files and not any(each.startswith(f"{one} --") for each in told)
        )
        named = tuple(dict.fromkeys((*wrong, *found, *others)))[:_PIECES]
        edited = self._edited.wait() if self._edited and not named else ()
        return named or tuple(path for path in _find_edited(self._content, edited or ()) if _is_there(path, self.root))


def _find_edited(content: str, rows: Sequence[str]) -> list[str]:
    """Return the one or two files among the *rows* of git's status whose whole names are words of *content*."""
    said = {word.removesuffix("s") for word in re.findall(r"[^\W\d_]+|\d+", content.lower())}
    found = []
    for path in (row[3:] for row in rows if row[:2].strip() != "D") if len(rows) <= _MOST_EDITED else ():
        parts = word_parts(path.rpartition("/")[2].lstrip(".").partition(".")[0])
        own = [part for part in parts if len(part) > 3 and part not in _COMMON]
        if own and said.issuperset(part.removesuffix("s") for part in parts):
            found.append(path)
    return found if len(found) < 3 else []


def _find_wrong(content: str, root: Path | None) -> Wrong:
    return find_wrong(content, lambda words: _is_command(words, root), lambda path: _is_there(path, root))


def change_triggers(old: Memory, content: str, root: Path | None) -> tuple[str, ...]:
    """Return the triggers of *old* once it says *content*: without those of what it said, with those of what it says now."""
    said = clean_triggers(_find_wrong(old.content, root).triggers)
    new = clean_triggers(_find_wrong(content, root).triggers)
    return tuple(dict.fromkeys((*(one for one in old.triggers if one not in said), *new)))


def name_all(memory: Memory, named: Named) -> Memory:
    """Return the new *memory* with the anchors and triggers of what its text has *named* beside those that somebody gave, its symbols pinned."""
    pins = memory.anchors
    known = {parse(text).path or text for text in pins}
    found = [parse(text) for text in named.finish()]
    new = [one for one in found if (one.path or str(one)) not in known]
    pinned = [pin_anchor(one, named.root) if one.symbol and named.root else one for one in new]
    triggers = dict.fromkeys((*memory.triggers, *clean_triggers(named.wrong.triggers)))
    return memory._replace(anchors=tuple(dict.fromkeys((*pins, *map(str, pinned)))), triggers=tuple(triggers))


def _find_paths(content: str, root: Path) -> Iterator[tuple[str, str]]:
    for match in _PATH.finditer(content):
        path = match[1].removeprefix("./")
        if _may_be_there(path, root) and _is_there(path, root):
            is_folder = (root / path).is_dir()
            yield (f"{path}/" if is_folder else path), match[2] or ""
    for match in _FOLDER.finditer(content) if "/" in content else ():
        path = match[1].removeprefix("./")
        if path and _may_be_there(path, root) and is_inside(path, root) and (root / path).is_dir():
            yield path, ""


def _is_there(path: str, root: Path | None) -> bool:
    return bool(root and path and is_inside(path, root) and (root / path).exists())


def _may_be_there(path: str, root: Path) -> bool:
    """Tell whether at least the first part of *path* is at *root*: what most texts name is elsewhere, and told by one look."""
    return os.path.lexists(os.path.join(root, path.partition("/")[0]))


def _find_symbols(content: str, path: str, given: str, root: Path, paths: dict[str, str]) -> Iterator[str]:
    """Yield the symbols of the file at *path* that *content* names; in prose only words that look like code."""
    rows = None if path.endswith("/") else read_rows(root / path)
    if rows is None:
        return
    if given and find_block(rows, given):
        yield given
        return
    beside = re.search(rf"(?<![\w.])([A-Za-z_]\w+)`? (?:in|of|from) `?(?:\./)?{re.escape(path)}", content)
    for match in _SYMBOL.finditer(content):
        name, is_code = match[1], bool(match[2]) or _is_joined[match[1]]
        is_quoted = content[match.start() - 1 : match.start()] == "`" and len(name) > 2
        if (is_code or is_quoted or (beside and beside[1] == name)) and name not in paths and find_block(rows, name):
            yield name


def _list_sought(content: str, known: Collection[str]) -> list[str]:
    """Return what in *content* looks like a symbol, and not like a file, and is none of those *known*."""
    words = [name for name, call in _SYMBOL.findall(content) if call or _is_joined[name]]
    # `hook_dispatcher.py`, which is not there, is more likely a file than a symbol.
    said = dict.fromkeys(name for name in words if "." not in name or _SPLIT.split(name)[-1] not in _ENDINGS)
    return [name for name in said if not any(name == one or one.endswith(f".{name}") for one in known)][:_SOUGHT]


def _begin_search(names: Sequence[str], root: Path) -> Search | None:
    """Have git look for the last word of each of *names*: it reads the work tree once for all of them."""
    if not names or root in _TOO_LARGE or not find_git(root):
        return None
    words = list(dict.fromkeys(_SPLIT.split(name)[-1] for name in names))
    return Search.for_words(root, words, without=".gobby", patience=_PATIENCE)


def _find_defined(names: Sequence[str], paths: Sequence[str], root: Path) -> Iterator[str]:
    """Yield those of *names* that are defined in exactly one of the files at *paths*; no more of them are read than that takes."""
    places: dict[str, list[str]] = {name: [] for name in names}
    for path in paths:
        unsettled = [name for name in names if len(places[name]) < 2]
        rows = (read_rows(root / path) or []) if unsettled else []
        for name in unsettled:
            places[name] += [path] if find_block(rows, name) else []
    yield from (f"{places[name][0]}#{name}" for name in names if len(places[name]) == 1)


_is_joined: Final[Memo[str, bool]] = Memo(lambda name: "_" in name.strip("_") or _JOINED.search(name) is not None)


def _find_commands(content: str, root: Path) -> Iterator[str]:
    for text in (*_QUOTED.findall(content), *(match[1] for match in _PROSE.finditer(content))):
        for raw in commands.split(text)[:2]:
            words = commands.strip(raw)
            if not words or "=" in raw[0] or not _is_command(words, root):
                continue
            plain = [word for word in words[1:] if not word.startswith("-")]
            options = [word for word in words[1:3] if word.startswith("--")] if len(plain) < 2 else []
            yield "$ " + " ".join((words[0], *plain[:1], *options[:1]))


def _is_command(words: commands.Words, root: Path | None) -> bool:
    """Tell whether *words* are a command that is there: in the repository, known to everybody, or on this machine."""
    name = words[0]
    if not re.fullmatch(r"[a-z0-9][\w.+/-]*", name) or (len(words) > 1 and words[1] in _ORDINARY):
        return False
    if "/" in name:
        return _is_there(name, root) and not ((root or Path()) / name).is_dir()
    if len(words) == 1 and (name in _VAGUE or len(name) < 4):
        return False
    is_odd = name in _VAGUE or not re.fullmatch(r"[\w./:@=+,<>-]+", "".join(words))
    return name in _KNOWN or (not is_odd and _is_installed(name))


def _is_installed(name: str) -> bool:
    try:
        return bool(programs.find(name))
    except FileNotFoundError:
        return False


_READING: Final = 0.5  # seconds for what a process has left in its pipe, which something that it started may hold


class Search:
    """Begins to ask git, at *top*, for paths with *arguments*, which end each with a zero byte.

    It has *patience* seconds from now on; what it has found counts, whenever somebody waits for it. `close` ends it; nobody need have waited.
    """

    def __init__(self, top: Path, arguments: Sequence[str], *, patience: float) -> None:
        import subprocess

        self._end = time.monotonic() + patience
        self._process: Popen[bytes] | None = None
        with suppress(OSError):  # there is no git
            self._process = subprocess.Popen(
                [programs.find("git"), *arguments],
                cwd=top,
                env={**clean_env(), **QUIET},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
            )

    @classmethod
    def for_words(cls, top: Path, words: Sequence[str], *, without: str, patience: float) -> Search:
        """Look for *words*, each as a whole word, in the files at *top* that git does not ignore, but for those *without*."""
        asked = [part for word in words for part in ("-e", word)]
        # The last two against settings: colours in names, and submodules, with which git refuses untracked files.
        options = ("-l", "-z", "-I", "-w", "-F", "--untracked", "--no-color", "--no-recurse-submodules")
        return cls(top, ("grep", *options, *asked, "--", ".", f":!{without}"), patience=patience)

    @classmethod
    def for_edited(cls, top: Path, *, without: str, patience: float) -> Search:
        """Look for the files at *top*, but for those *without*, that differ from the last commit or are new: each behind two letters and a space."""
        options = ("--porcelain", "-z", "--no-renames", "--ignore-submodules", "--untracked-files=normal")
        return cls(top, ("status", *options, "--", ".", f":!{without}"), patience=patience)

    def wait(self) -> list[str] | None:
        """Return the paths that git found; None where there is no git, or it took too long."""
        import subprocess

        if self._process is None:
            return None
        is_done = self._process.poll() is not None  # and its answer is read, however late
        left = max(_READING if is_done else 0.0, self._end - time.monotonic())
        try:
            out, _ = self._process.communicate(timeout=left)
        except subprocess.TimeoutExpired:
            return None
        return [path for path in out.decode("utf-8", "surrogateescape").split("\0") if path]

    def close(self) -> None:
        """End the search, if it still runs."""
        if self._process is not None:
            with self._process as process:  # which reads no further: what git has started may hold the pipe for long
                process.kill()
            self._process = None

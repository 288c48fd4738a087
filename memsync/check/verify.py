"""What instruction files say against what the tree has: each finding with what is so, since when, and how sure that is."""

from __future__ import annotations

import posixpath
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import takewhile
from typing import Final
from urllib.parse import unquote

from memsync.check import commands
from memsync.check.facts import Facts, find_claims, find_length
from memsync.check.files import Ground, is_elsewhere, is_task
from memsync.check.past import Gone, Past
from memsync.check.report import Finding
from memsync.check.statements import Statement, cut_place, has_ending
from memsync.check.words import Words, find_files, is_plain
from memsync.store.tree import Tree

# Folders and files that a tool makes, or a person keeps to himself: that they are not in git says nothing.
_MADE: Final = re.compile(
    r"(?:^|/)(?:node_modules|generated|dist|build|out|output|target|coverage|\.git|\.?venv|__pycache__|te?mp|logs?|\.cache|\.next|\.turbo|site-packages"
    r"|\.env(?:\.\w+)*|\.pytest_cache|\.mypy_cache|\.ruff_cache|settings\.local\.json|CLAUDE\.local\.md)(?:/|$)"
    r"|^\.(?:claude|codex|cursor|gemini|agents|windsurf|opencode|vscode|idea)$"
)
# A folder or file of a tool in the project that it works on, which may be another.
_OWN: Final = re.compile(r"^\.(?!github/|claude/|cursor/|vscode/)")
_DOMAIN: Final = re.compile(r"[\w-]+(?:\.[\w-]+)*\.(?:com|org|io|cc|dev|net|in|ai|sh|gg|so|app)/")
_PLACEHOLDER: Final = re.compile(
    r"(?i)(?:^|[/._-])(?:path[/_-]to|foo|bar|baz|qux|your|my|xxx*|yyyy|nnnn*|n|example|sample|some|placeholder|dummy|name|file|folder|dir|module|feature|slug|specific)(?:[/._-]|$)"
    r"|(?:task|step|page|chapter|phase|file|test|item)[-_]?\d|\d{4}-\d\d|0000|1234|XX|YYYY|NNN|(?:^|/)My[A-Z]|Foo|Bar(?=[./]|$)|(?:^|/)x\.|\.\.\.|<|>|\$"
)
_GENERIC: Final = re.compile(
    r"(?i)(?:index|main|mod|lib|utils?|types?|config|settings|constants?|setup|readme|license|changelog|contributing|package|tsconfig|pyproject"
    r"|__init__|conftest|requirements|dockerfile|makefile|skill|claude|agents?|gemini|todo|plan|spec|design|tasks?|schema|test|server|client|app|api)\b"
)
_HEADINGS: Final = re.compile(r"(?m)^ {0,3}#{1,6} +(.+)$|(?:id|name)=[\"']([^\"'\n]+)|\{#([^}\n]+)\}")
_LINE: Final = re.compile(r"(?::|#L)(\d{1,7})(?:[-:]L?\d+)*$")
_TWINS: Final = "yml yaml|md mdx mdc|json jsonc json5|jsx tsx|js mjs cjs ts|htm html"
_TWIN_OF: Final = {ending: {*group.split()} - {ending} for group in _TWINS.split("|") for ending in group.split()}
_PLANNED: Final = re.compile(
    r"(?i)\b(?:upgrad\w+|bump\w*|migrat\w+|plan\w*|future|until|compat\w*|docs? for|e\.g\.|example|such as|if |break|fail|unsupported|validated|tested|verified|ubuntu|debian|apt|brew|dnf)"
)
_NUMBERING: Final = re.compile(r"^\s*(?:(?:\d+[.)]|[-*+>|])\s+)*")
_NUMERAL: Final = re.compile(r"(?<![\w.])v?\d+(?:[.,]\d+)*(?![\w])")
_BY_TOOLS: Final = ("AGENTS.md", "CLAUDE.md", "GEMINI.md")  # which a tool makes here when it is asked
_TOLD: Final = re.compile(  # somebody is sent there
    r"(?i)\b(?:update|edit|see|refer to|modify|(?:(?:defined|located|lives?|configured|documented|described|declared|implemented) in))\W{1,4}$"
)
_GLOB: Final = {r"\*\*/": "(?:.*/)?", r"\*\*": ".*", r"\*": "[^/]*", r"\?": "."}
_SAYING: Final = 3  # words of a line that says something

Found = Iterator[tuple[Finding, list[str]]]  # and the paths that git may be told to ignore


class Verifier:
    """Asks *tree*, and where something is missing *past*, about one statement after the other."""

    def __init__(self, tree: Tree, past: Past) -> None:
        self._tree = tree
        self._past = past
        self._ground = Ground(tree)
        self._commands = commands.Commands(tree)
        self._facts = Facts(tree)
        self._words = Words(self._ground, past, self._facts, self._commands)

    def verify(self, statements: Sequence[Statement]) -> list[Finding]:
        """Return what is not so, in the order of *statements*; each once in a line."""
        found: list[tuple[Finding, list[str]]] = []
        for one in statements:
            if one.kind == "command":
                found += self._check_command(one)
            elif one.kind in ("path", "link", "import"):
                found += self._check_path(one, one.said, one.at)
            elif one.kind == "role":
                found += self._check_role(one)
        rows = [one for one in statements if one.kind == "row"]
        found += [(one, []) for row in rows for one in self._check_versions(row)]
        found += [(one, []) for one in self._check_lengths(statements)]
        found += [(one, []) for one in self._find_disagreements(row for row in rows if not is_task(row.file))]
        found += self._check_trees([one for one in statements if one.kind == "tree"])
        found += [(one, []) for one in self._words.check(statements)]
        ignored = self._find_ignored({path for _, paths in found for path in paths})
        left = [one for one, paths in reversed(found) if not ignored.intersection(paths)]
        left += _repeat(left, statements)
        kept = {(one.file, one.line, one.said): one for one in left}
        order = {file: number for number, file in enumerate(dict.fromkeys(one.file for one in statements))}
        return sorted(kept.values(), key=lambda one: (order[one.file], one.line, one.at))

    def _find_ignored(self, paths: set[str]) -> set[str]:
        """Return those of *paths* that git ignores, but for what a pattern ignores with a folder that has files of git's all the same."""
        above = {path: posixpath.dirname(path) for path in paths}
        found = self._past.find_ignored(sorted({*paths, *above.values()} - {""})) if paths else set()
        return {path for path in paths & found if above[path] not in found or above[path] not in self._ground.folders}

    # paths

    def _check_path(self, one: Statement, said: str, at: int) -> Found:
        path = said.replace("\\", "/")
        if one.kind == "link":
            path = unquote(path.partition("#")[0].partition("?")[0])
            path = f"/{path[4:]}" if path.startswith("mdc:") else path  # Cursor's, from the root
            if ":" in path or not ("/" in path.strip("/") or has_ending(path)):
                return
        path = cut_place(path)
        fixed = "/".join(takewhile(lambda part: not set("*?") & set(part), path.split("/")))
        places = one.list_places(fixed)
        if there := [place for place in places if self._ground.has(place)]:
            yield from self._check_inside(one, said, at, there[0], path[len(fixed) :].lstrip("/"))
            return
        if not fixed or not places or path.startswith(("~", "$") if one.kind == "link" else ("~", "$", "/")):
            return
        bare = fixed.strip("/").removeprefix("./")
        while bare.startswith("../"):
            bare = bare[3:]
        if one.kind != "link" and (ends := self._ground.ends(bare)):
            yield from self._check_end(one, said, at, bare, path[len(fixed) :], ends)
            return
        if _MADE.search(bare) or _PLACEHOLDER.search(path) or _DOMAIN.match(bare):
            return
        yield from self._explain(one, said, at, bare, places)

    def _check_end(self, one: Statement, said: str, at: int, bare: str, rest: str, there: Sequence[str]) -> Found:
        """Look whether *bare*, the end of the paths *there*, was there itself, or is hidden where the line says nothing of it."""
        make = Finding(one.file, one.line, said, "", at=at)
        places = one.list_places(bare) if "/" in bare or rest or one.folder else []
        gone = next(filter(None, (self._past.find(place, is_suffix=False) for place in places)), None)
        if gone and (len(there) == 1 or rest) and not one.is_over and not is_task(one.file):
            now = self._past.follow(gone, self._ground.names, self._ground.folders)
            what = f"moved to {now}" if now else f"gone, but there is {there[0]}" if has_ending(bare) else "gone"
            new = self._spell(one, said, bare, gone.path, now or (there[0] if has_ending(bare) else ""))
            yield make._replace(is_=what, now=new, since=gone.since), [gone.path]
            return
        hidden = there[0][: -len(bare)] if len(there) == 1 and "/" in bare and there[0][0] == "." != bare[0] else ""
        is_said = any(part in one.row for part in hidden.split("/") if part) or one.file.startswith(
            hidden.split("/")[0]
        )
        if hidden and not is_said and is_plain(one):
            what = f"no such {'file' if has_ending(bare) else 'folder'}, but {there[0]}"
            yield make._replace(is_=what, now=there[0]), [there[0]]

    def _find_last(self, pattern: str) -> str:
        """Return what *pattern* found last, if it finds nothing since one commit; "" if it still does, never did, or lost one after the other."""
        found = re.compile(re.sub(r"\\\*\\\*/|\\\*\\\*|\\\*|\\\?", lambda mark: _GLOB[mark[0]], re.escape(pattern)))
        is_there = any(map(found.fullmatch, (*self._ground.names, *self._ground.folders)))
        gone = [] if is_there else [*filter(found.fullmatch, self._past.deleted)]
        return gone[0] if len({self._past.deleted[path] for path in gone}) == 1 else ""  # else what comes and goes

    def _check_inside(self, one: Statement, said: str, at: int, place: str, rest: str) -> Found:
        """Look whether *place* has the heading that a link names, the line that a path names, or what the *rest* of a pattern finds."""
        text = self._tree.text(place) if "#" in said or _LINE.search(said) else ""
        finding = Finding(one.file, one.line, said, "", sure=True, at=at)
        fragment = said.partition("#")[2]
        if rest and (gone := self._find_last(posixpath.join(place, rest))) and not is_task(one.file):
            yield finding._replace(is_=f"finds nothing since {gone} went", since=self._past.deleted[gone]), [gone]
        if text and one.kind == "link" and place.endswith(".md") and not re.fullmatch(r"(?:L\d+.*)?", fragment):
            wanted = _fold(unquote(fragment)).rstrip("0123456789")
            names = (_fold(name) for each in _HEADINGS.findall(text) for name in each)
            if wanted and not any(wanted in name for name in names):
                yield finding._replace(is_=f"{place} has no heading {fragment}"), []
        elif text and (line := _LINE.search(said)) and int(line[1]) > (rows := text.count("\n") + 1):
            yield finding._replace(is_=f"{place} has {rows} lines"), []

    def _explain(self, one: Statement, said: str, at: int, bare: str, places: list[str]) -> Found:
        """Yield the finding that *bare* is not there, by what its history or what is like it says; none where nothing speaks for one."""
        if one.is_over:
            return
        make = Finding(one.file, one.line, said, "", sure=not one.is_open, at=at)
        gone = next(filter(None, (self._past.find(place, is_suffix=False) for place in places)), None)
        if gone is None and ("/" in bare or (has_ending(bare) and not _GENERIC.match(bare))):
            gone = self._past.find(bare, is_suffix=True)
        if gone:
            yield from self._explain_gone(one, make, gone, bare, places)
        else:
            yield from self._explain_absence(one, make, bare, places)

    def _explain_gone(self, one: Statement, make: Finding, gone: Gone, bare: str, places: list[str]) -> Found:
        is_there = gone.path in (places if "/" in bare else places[:1])
        if not is_there and "/" not in bare and is_task(one.file):
            return  # a skill names what it writes
        now = self._past.follow(gone, self._ground.names, self._ground.folders) or self._find_same(gone.path)
        now = now or (self._find_twin([gone.path], bare) if is_there else "")
        now = "" if is_elsewhere(now) and not is_elsewhere(gone.path) else now
        is_example = re.search(r"(?i)\b(?:e\.g\.|for example|for instance|such as)\W{0,3}$", one.row[: one.at])
        is_sure = not is_example and (is_there or ("/" in bare and not one.is_loose))
        is_sure = is_sure and (bool(now) or not (_OWN.search(bare) or self._words.is_made(bare)))
        what, new = f"moved to {now}" if now else "gone", self._spell(one, make.said, bare, gone.path, now)
        yield make._replace(is_=what, now=new, since=gone.since, sure=make.sure and is_sure), [gone.path]

    def _explain_absence(self, one: Statement, make: Finding, bare: str, places: list[str]) -> Found:
        """Yield that *bare* was never there, where a file or folder is spelled almost so, or somebody would look for it."""
        is_folder = make.said.endswith("/") or not has_ending(bare)
        kind = "folder" if is_folder else "file"
        if twin := self._find_twin(places, bare) or self._find_longer(bare):
            now = self._spell(one, make.said, bare, places[-1], twin)
            is_sure = make.sure and ("/" in bare or not is_task(one.file))  # a skill speaks of all such files
            yield make._replace(is_=f"no such {kind}, but {twin}", now=now, sure=is_sure), places
            return
        if one.is_loose:
            return
        same, is_named = self._find_same(bare), one.kind in ("link", "import")
        is_near = same or any(posixpath.dirname(place) in self._ground.folders for place in places)
        is_below = make.sure and "/" in bare and "[" not in bare and bare[0] != "."
        is_called = re.match(r"\W{1,3}(?:folder|director)", one.row[one.at + len(one.said) :]) and not is_task(one.file)
        is_below = is_below and is_near and (has_ending(bare) or make.said.endswith("/") or one.kind == "command")
        is_told = "/" not in bare and has_ending(bare) and _TOLD.search(one.row[: one.at]) and is_plain(one)
        if is_named or is_below or is_told or (is_called and make.sure and make.said.endswith("/")):
            now = self._spell(one, make.said, bare, bare, same)
            what = f"no such {kind}, but {same}" if same else f"no such {kind}"
            is_sure = make.sure and is_named and make.said[0] != "/"  # which a site may answer
            is_sure = is_sure and bare not in _BY_TOOLS
            yield make._replace(is_=what, now=now, sure=is_sure), places

    def _find_same(self, path: str) -> str:
        """Return the only file elsewhere that is called as *path*; "" if there are none, or many, or every folder has such a one."""
        found = self._ground.ends(path.rpartition("/")[2])
        is_file = has_ending(path)
        found = [one for one in found if (one in self._ground.names) == is_file]
        return found[0] if len(found) == 1 and is_file and not _GENERIC.match(path.rpartition("/")[2]) else ""

    def _find_twin(self, places: Iterable[str], bare: str) -> str:
        """Return the file that differs from what is said in the spelling of its ending, or in capitals."""
        for place in places:
            folder, _, name = place.rpartition("/")
            if len(same := [one for one in self._ground.list_named(name) if one.lower() == place.lower()]) == 1:
                return same[0]
            stem, _, ending = name.rpartition(".")
            twins = {f"{stem}.{other}".lower() for other in _TWIN_OF.get(ending, ())}
            twins |= {name.replace("-", "_").lower(), name.replace("_", "-").lower()}
            if "/" in bare:
                twins |= {f"{stem}s.{ending}".lower(), f"{stem.removesuffix('s')}.{ending}".lower()}
            named = (one for twin in twins for one in self._ground.list_named(twin))
            alike = [one for one in named if one.rpartition("/")[0] == folder]
            if len(alike) == 1 and ("/" in bare or name.startswith(".") or not _GENERIC.match(name)):
                return alike[0]
        return ""

    def _find_longer(self, bare: str) -> str:
        """Return the only path that begins and ends as *bare*, with folders that it leaves out."""
        parts = bare.split("/")
        of_kind = self._ground.names if has_ending(bare) else self._ground.folders
        if len(parts) < 2 or parts[0] not in self._ground.folders:
            return ""
        if has_ending(bare) and _GENERIC.match(parts[-1]):
            return ""
        ends = [one for one in self._ground.ends(parts[-1]) if one in of_kind and one.startswith(f"{parts[0]}/")]
        longer = [one for one in ends if _is_within(parts, one.split("/"))]
        return longer[0] if len(longer) == 1 else ""

    def _spell(self, one: Statement, said: str, bare: str, old: str, now: str) -> str:
        """Return *now* as the line would spell it, where *old*, from the root, was spelled *bare* in *said*."""
        if not now:
            return ""
        if said.startswith("mdc:"):
            return f"mdc:{now}"
        if one.kind == "link" and not said.startswith("/"):
            now = posixpath.relpath(now, posixpath.dirname(one.file) or ".")
        elif old.endswith(bare) and old != bare and now.startswith(old.removesuffix(bare)):
            now = now.removeprefix(old.removesuffix(bare))
        if one.kind == "tree":
            return ""  # its place in the drawing says where it is
        if "\\" in said:
            return now.replace("/", "\\")
        at = max(said.find(bare), 0)
        lead, rest = said[:at], said[at + len(bare) :]
        return (lead if lead in ("./", "/") and not now.startswith(".") else "") + now + rest

    # trees that are drawn

    def _check_trees(self, entries: Sequence[Statement]) -> Found:
        groups: dict[tuple[str, int], list[Statement]] = defaultdict(list)
        for one in entries:
            groups[one.file, one.group].append(one)
        for (file, _), group in groups.items():
            root = group[0].folder.partition("\0")[0]
            above = posixpath.dirname(file)
            named = self._ground.ends(root) if root not in ("", ".") else ()
            bases = dict.fromkeys((posixpath.join(above, root).rstrip("/"), root, above, "", *named))
            counted = [(sum(self._ground.has(_place(base, one)) for one in group), base) for base in bases]
            most, base = max(counted, key=lambda pair: pair[0])
            missing = [one for one in group if not self._ground.has(_place(base, one))]
            if most < 3 or most < 2 * len(missing):
                continue
            for one in missing:
                place = _place(base, one)
                folder = posixpath.dirname(place)
                if (folder and folder not in self._ground.folders) or _MADE.search(place) or _PLACEHOLDER.search(place):
                    continue  # what is in a folder that is not there is said once
                found = list(self._explain(one, one.said, one.at, place, [place]))
                yield from found
                is_elsewhere_too = found or self._ground.ends(one.said.strip("/"))
                if not is_elsewhere_too and not one.is_open and not one.is_over:
                    what = f"{folder or 'the root'} has no such entry"
                    yield Finding(one.file, one.line, one.said, what, at=one.at), [place]

    # versions, and what agents are given to call

    def _check_versions(self, one: Statement) -> Iterator[Finding]:
        """Yield the versions that the files of the repository exclude."""
        for claim in find_claims(one.row):
            facts, number = self._facts.find_excluded(claim)
            if facts and not _PLANNED.search(one.row) and one.is_meant:
                pattern = rf"{re.escape(facts[0].spelled)}[^0-9a-z]{{1,12}}{re.escape(claim.number.removesuffix('.x'))}"
                since = self._past.find_loss(pattern, [*dict.fromkeys(fact.file for fact in facts)])
                now = claim.said.replace(claim.number.lstrip("v").removesuffix(".x"), number) if number else ""
                what = f"{facts[0].file} has {facts[0].spec}"
                # of two words, the last one with its number may be a name of its own
                is_whole = facts[0].name == claim.names[1] or not claim.number.isdigit()
                sure = is_whole and not one.is_loose and not is_task(one.file)
                yield Finding(one.file, one.line, claim.said, what, now, since, sure, at=claim.at)

    def _check_lengths(self, statements: Sequence[Statement]) -> Iterator[Finding]:
        """Yield what the rows say of the length of the only file that they name, where it is a fifth shorter or a quarter longer."""
        rows = ((one, find_length(one.row)) for one in statements if one.kind == "row" and not is_task(one.file))
        told = {(one.file, one.line): (one, length) for one, length in rows if length and one.is_meant}
        named: dict[tuple[str, int], set[str]] = defaultdict(set)
        for one in statements:
            if one.kind in ("path", "link") and (one.file, one.line) in told:
                named[one.file, one.line].update(find_files(self._ground, one))
        for place, files in named.items():
            if len(files) == 1:
                one, (number, is_least, said, at) = told[place]
                file = files.pop()
                count = self._tree.text(file).count("\n")
                if count and (count < number * (1 if is_least else 0.8) or (count > number * 1.25 and not is_least)):
                    yield Finding(one.file, one.line, said, f"{file} has {count}", at=at)

    def _find_disagreements(self, rows: Iterable[Statement]) -> Iterator[Finding]:
        """Yield the lines that say what a line of another file says with another number."""
        first: dict[str, Statement] = {}
        for one in rows:
            text = _NUMBERING.sub("", one.row)
            words = _NUMERAL.sub("#", text)
            if len(re.findall(r"[a-z]{3}", words.lower())) < _SAYING or one.row.startswith("#"):
                continue
            other = first.setdefault(re.sub(r"[\W_]+", " ", words.replace("#", " 0 ")).strip().lower(), one)
            if other.file != one.file and one.is_meant and other.is_meant:
                pairs = zip(_NUMERAL.findall(text), _NUMERAL.findall(_NUMBERING.sub("", other.row)), strict=False)
                for said, theirs in pairs:
                    if said != theirs:
                        what = f"{other.file}:{other.line} says {theirs}"
                        yield Finding(one.file, one.line, said, what, at=one.row.find(said))

    def _check_role(self, one: Statement) -> Found:
        """Yield that an agent, a skill or a command that a line names was taken away: that one never was here says nothing."""
        name = one.said.lstrip("/").replace(":", "/")
        ends = [f"commands/{name}.md"] if one.said[0] == "/" else [f"agents/{name}.md", f"skills/{name}/SKILL.md"]
        if any(map(self._ground.ends, (*ends, f"{name}/SKILL.md"))) or not one.is_meant:
            return
        gone = next(filter(None, (self._past.find(end, is_suffix=True) for end in ends)), None)
        if gone and not is_elsewhere(gone.path):
            now = self._past.follow(gone, self._ground.names, self._ground.folders)
            what = f"{gone.path} {f'moved to {now}' if now else 'is gone'}"
            yield Finding(one.file, one.line, one.said, what, since=gone.since, sure=True, at=one.at), [gone.path]

    # commands

    def _check_command(self, one: Statement) -> Found:
        words = one.said.split()
        lack = self._commands.find_lack(words) if words else None
        if lack and one.is_meant:
            since = self._past.find_loss(re.escape(lack.name), lack.files)
            is_lost = since and not any(lack.name in self._tree.text(file) for file in lack.files)
            if is_lost or not lack.is_open:
                sure = not (one.is_open or lack.is_open) and bool(since or not is_task(one.file))
                yield Finding(one.file, one.line, one.said, lack.what, since=since, sure=sure, at=one.at), []
        yield from self._check_manager(one, words)
        for path in commands.find_paths(words) if words else ():
            if not set("<>{}$*\"'") & set(path):
                yield from self._check_path(one, path, one.at + one.said.find(path))

    def _check_manager(self, one: Statement, words: Sequence[str]) -> Found:
        """Yield that packages are installed by another program than the one whose lock file lies there."""
        folder = posixpath.normpath(posixpath.join(posixpath.dirname(one.file), one.folder)).removeprefix(".")
        file, manager = self._commands.find_manager(folder) if words[1:] in (["install"], ["ci"]) else ("", "")
        lock = commands.LOCK_OF.get(words[0], "") if manager else ""
        if lock and words[0] != manager and one.is_meant:
            gone, now = self._past.find(posixpath.join(folder, lock), is_suffix=False), f"{manager} install"
            make = Finding(one.file, one.line, one.said, f"packages are locked by {file}", now, at=one.at)
            yield make._replace(since=gone.since if gone else "", sure=not is_task(one.file)), []


def _fold(heading: str) -> str:
    """Return the letters and digits of a *heading*, which every way to make an anchor of it keeps, without links and marks."""
    return re.sub(r"[\W_]+", "", re.sub(r"\]\([^)]*\)", "]", heading)).lower()


def _is_within(parts: Sequence[str], whole: Sequence[str]) -> bool:
    """Tell whether *whole* has *parts* in their order."""
    left = iter(whole)
    return all(part in left for part in parts)


def _place(base: str, one: Statement) -> str:
    return posixpath.normpath(posixpath.join(base, one.folder.partition("\0")[2], one.said.strip("/")))


def _repeat(found: Sequence[Finding], statements: Sequence[Statement]) -> Iterator[Finding]:
    """Yield of other lines of a file that say the same as one that is *found* that they may be as wrong."""
    told = {(one.file, one.said): one for one in found if "/" in one.said}
    lines = {(one.file, one.line, one.said) for one in found}
    for one in statements:
        first = told.get((one.file, one.said)) if one.kind == "path" and not is_task(one.file) else None
        if first and (one.file, one.line, one.said) not in lines and one.is_meant:
            yield first._replace(line=one.line, at=one.at, sure=False)

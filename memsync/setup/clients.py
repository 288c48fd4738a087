"""Writing our entries into the clients' settings, and taking them out again.

Everything is decided before anything is written: one file that cannot be
edited refuses the whole. What was there before is recorded in `local/clients.json`
of the store, so that an empty list or an empty file of the user comes back as it was;
and so are the permissions that we gave, because the user may have given the same.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final, NamedTuple, Protocol

from memsync.clients import facts
from memsync.clients.facts import Client, Entry, File
from memsync.errors import OutsideTree, SettingsRefused, StoreError, blaming
from memsync.memories.project import Project
from memsync.setup import block, json_entries, text_entries, toml_entries, yaml_entries
from memsync.setup.entries import Look
from memsync.setup.jsonedit import EditRefused, NotJson, first_comment, first_loose_comma
from memsync.store import files
from memsync.store.places import Place
from memsync.store.yamltext import NotYaml
from memsync.system.home import find_home
from memsync.system.limits import LARGEST_SETTINGS, TooMuch, check_size, list_only, read_json, read_object

_NOTES: Final = "clients.json"
_USERS: Final = (
    "projects"  # in the notes of the home store: client -> keys of the private projects that use its settings
)
_GIVEN: Final = "permissions"  # in the note of a file: those that were not there before
_LINE: Final = re.compile(r"at line (\d+)")


class Editor(Protocol):
    """Our entries in settings of one form: text in, text out."""

    def add(self, text: str, wanted: Sequence[Entry], /) -> str: ...  # noqa: D102
    def remove(self, text: str, wanted: Sequence[Entry], /) -> str: ...  # noqa: D102
    def compare(self, text: str, wanted: Sequence[Entry], /) -> Look: ...  # noqa: D102


EDITORS: Final[Mapping[str, Editor]] = {
    "json": json_entries,
    "json+comments": json_entries,
    "jsonc": json_entries,
    "toml": toml_entries,
    "yaml": yaml_entries,
    "text": text_entries,
    "block": block,
}


class Change(NamedTuple):
    """What becomes of one settings file; None: there is no file."""

    target: Target
    before: bytes | None
    after: bytes | None

    def __str__(self) -> str:
        """Return what is done, in words."""
        name, path = self.target.client.title, self.target.path
        if self.after is None:
            return f"{name}: removed {path}, which held nothing else"
        verb, kinds = "wrote" if self.before is None else "changed", {one.kind for one in self.target.wanted}
        what = " and ".join(kind for kind in ("hooks", "MCP server", "allowed tools", "block") if kind in kinds)
        return f"{name}: {verb} {path} ({what})"


def plan(
    project: Project,
    clients: Iterable[str],
    *,
    stealth: bool,
    allow_tools: bool = False,
    only: Callable[[Target], bool] = bool,
) -> list[Change]:
    """Return what has to change so that *clients* know memsync; nothing for what is in place already.

    With *allow_tools* they may also read with it without asking. *only*: which files are looked at.
    """
    found = [
        target
        for client in map(facts.find, clients)
        for target in list_targets(client, project, stealth=stealth or client.is_personal, allow_tools=allow_tools)
    ]
    return [change for change in map(_plan_addition, filter(only, found)) if change.before != change.after]


def _plan_addition(target: Target) -> Change:
    before, text = read(target)
    if target.file.base and not text.strip(json_entries.BLANK):
        text = json.dumps(target.file.base, indent=2) + "\n"
    with _explain_refusal(target):
        new = EDITORS[target.file.form].add(text, target.wanted)
    return Change(target, before, new.encode())


def refresh_blocks(project: Project) -> list[Change]:
    """Make our blocks in AGENTS.md and the like say what the memories do now, where they are; never under stealth."""
    if project.settings.stealth or project.layout.root is None:
        return []
    changes = [
        change
        for change in plan(project, facts.BLOCKS, stealth=False, only=_may_hold_block)
        if change.before is not None and list_entries(change.target, change.before.decode())
    ]
    apply(project, changes)
    return changes


def _may_hold_block(target: Target) -> bool:
    """Tell whether our block may be in *target*: a file without it stops nothing, whatever else is wrong with it."""
    with suppress(OutsideTree):  # behind such a link we write nothing
        data, _ = files.read(files.resolve_inside(target.path, target.tree))
        return target.file.form != "block" or block.BEGIN.encode() in data
    return False


def plan_removal(project: Project, clients: Iterable[str], *, stealth: bool) -> list[Change]:
    """Return what has to change so that *clients* do not know memsync any more."""
    notes = _read_notes(_choose_place(project, stealth=stealth))
    found = [
        target
        for client in map(facts.find, clients)
        for target in list_targets(client, project, stealth=stealth, allow_tools=True)
    ]
    changes = [_plan_one_removal(target, notes.get(str(target.path), {})) for target in found]
    return [change for change in changes if change.before != change.after]


def enroll(project: Project, clients: Iterable[str], *, leave: bool = False) -> None:
    """Note that this private project uses the user's own settings of *clients*, or, to *leave*, does not any more."""
    place, key = project.layout.place("global"), project.layout.place("private").directory.name
    notes = _read_notes(place)
    users = {name: set(list_only(keys, str)) for name, keys in notes.get(_USERS, {}).items()}
    for client in clients:
        mine = users.setdefault(client, set())
        (mine.discard if leave else mine.add)(key)
    files.make_local(place.local, private=True)
    _save(place, {**notes, _USERS: {name: sorted(keys) for name, keys in users.items()}})


def find_users(project: Project, client: str) -> tuple[bool, int]:
    """Return whether this project uses the user's own settings of *client*, and how many others do."""
    if project.layout.global_ is None or project.layout.private is None:
        return False, 0
    users = set(list_only(_read_notes(project.layout.global_).get(_USERS, {}).get(client), str))
    key = project.layout.private.directory.name
    return key in users, len(users - {key})


def _plan_one_removal(target: Target, note: Mapping[str, Any]) -> Change:
    before, text = read(target)
    if before is None or not text.strip(json_entries.BLANK):
        return Change(target, before, before)
    with _explain_refusal(target):
        kept = note.get("kept")
        stay = {tuple(keys) for keys in kept if keys == list_only(keys, str)} if isinstance(kept, list) else set()
        ours = _choose_ours(target, list_only(note.get(_GIVEN), str))
        is_json = target.file.form.startswith("json")
        new = json_entries.remove(text, ours, stay) if is_json else EDITORS[target.file.form].remove(text, ours)
    if new == text or not _is_blank(new, target):
        return Change(target, before, new.encode())
    was = note.get("was")
    return Change(target, before, was.encode() if isinstance(was, str) and _is_blank(was, target) else None)


def _is_blank(text: str, target: Target) -> bool:
    """Tell whether *text* says no more than an empty file of this kind does."""
    bare = text.strip(json_entries.BLANK)
    if target.file.base and bare:
        with suppress(ValueError):
            if read_json(bare) == target.file.base:
                return True
    return bare in ("", "{}")


@contextmanager
def _explain_refusal(target: Target) -> Iterator[None]:
    path = target.path
    try:
        yield
    except NotJson as error:
        raise SettingsRefused(path, error.line, f"not JSON ({error})", "fix it") from None
    except EditRefused as error:
        raise SettingsRefused(path, error.line, str(error), "make it one, or remove it") from None
    except text_entries.NotOurs as error:
        raise SettingsRefused(path, None, str(error), "rename or remove it") from None
    except NotYaml as error:
        raise SettingsRefused(path, error.line, f"not YAML that can be edited ({error})", "fix it") from None
    except toml_entries.NotToml as error:
        line = _LINE.search(str(error))
        why = f"not TOML that can be edited ({error})"
        raise SettingsRefused(path, int(line[1]) if line else None, why, "fix it") from None


def read(target: Target) -> tuple[bytes | None, str]:
    """Return the bytes of the file, None if there is none, and its text.

    Raises:
        SettingsRefused, StoreError
    """
    data, stamp = files.read(files.resolve_inside(target.path, target.tree))
    if stamp == files.ABSENT:
        return None, ""
    try:
        check_size(data, LARGEST_SETTINGS)
        text = data.decode()
    except TooMuch as error:
        raise SettingsRefused(target.path, None, f"too large ({error})", "make it smaller") from None
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise SettingsRefused(target.path, line, "not UTF-8", "save it as UTF-8") from None
    name = target.client.title
    if target.file.form == "json" and (at := first_comment(text)):
        raise SettingsRefused(target.path, at, f"a comment, because of which {name} ignores the file", "remove it")
    if target.file.form in ("json", "json+comments") and (at := first_loose_comma(text)):
        raise SettingsRefused(target.path, at, "not JSON (a comma before the end)", "fix it")
    return data, text


def apply(project: Project, changes: Iterable[Change]) -> None:
    """Write *changes*; each file is replaced atomically, with its mode.

    Raises:
        SettingsRefused: a file changed in between.
        StoreError: this file and those after it are as they were.
    """
    for change in changes:
        place = _choose_place(project, stealth=change.target.tree is None)
        files.prepare(place)
        _note(place, change)
        _write(change, place)


def _write(change: Change, place: Place) -> None:
    target = change.target
    path = files.resolve_inside(target.path, target.tree)
    if change.after is None:
        _remove(path, stays=target.tree is None)
        return
    files.make_dirs(path.parent, private=target.tree is None)
    # Beside the file, unless there is a directory that git ignores.
    temp = (path.parent if target.tree is None or place.private else place.local) / f"{path.name}.{os.getpid()}.memsync"
    was = change.before or b""
    if files.replace(path, change.after, was=was, temp=temp, private=target.tree is None) is None:
        raise SettingsRefused(path, None, "changed while it was written", "look at it")


def _remove(path: Path, *, stays: bool) -> None:
    """Remove a file that held nothing but ours and, unless that *stays*, its directory if it is empty now, as that of plugins in `.opencode`."""
    with blaming(path):
        path.unlink(missing_ok=True)
    with suppress(OSError):
        if not stays:
            path.parent.rmdir()
            if path.parents[1].name.startswith("."):  # a folder of the client's, and not the project
                path.parents[1].rmdir()


def _choose_place(project: Project, *, stealth: bool) -> Place:
    """Return the store whose notes tell of the files: the project's if it has one, else the home store, as for the user's own."""
    shared = project.layout.project
    return shared if shared and shared.directory.is_dir() and not stealth else project.layout.place("global")


def _read_notes(place: Place) -> dict[str, dict[str, Any]]:
    """Return the notes that can be read.

    Without one what we emptied is taken out: the same for everybody who had nothing there.
    """
    try:
        found = read_object(files.read(place.local / _NOTES)[0])
    except StoreError:
        return {}
    return {name: note for name, note in found.items() if isinstance(note, dict)}


def _note(place: Place, change: Change) -> None:
    """Note what the file was like before the first entry of ours; forget it with the last."""
    notes = _read_notes(place)
    name = str(change.target.path)
    text = (change.before or b"").decode()
    after = (change.after or b"").decode()
    note = notes.get(name, {})
    given = list_only(note.get(_GIVEN), str)
    is_json = change.target.file.form.startswith("json")
    if change.before is None or not _list_ours(change.target, text, given):
        is_blank = _is_blank(text, change.target)
        kept = json_entries.empty_containers(text, change.target.wanted) if is_json and not is_blank else []
        note = {"was": text if is_blank and change.before is not None else None, "kept": kept}
        given = []
    had, has = (json_entries.list_words(one, change.target.wanted) if is_json else [] for one in (text, after))
    given = [word for word in given if word in has or word not in had] + [word for word in has if word not in had]
    notes[name] = {**note, _GIVEN: given}
    if change.after is None or not _list_ours(change.target, after, given):
        del notes[name]
    _save(place, notes)


def _save(place: Place, notes: Mapping[str, Any]) -> None:
    path = place.local / _NOTES
    was = files.read(path)[0]
    data = json.dumps(notes, indent=1).encode()  # escaped: a path need not be UTF-8
    temp = path.with_name(f"{_NOTES}.{os.getpid()}.tmp")
    files.rewrite(path, data, was=was, temp=temp, private=place.private)


def list_entries(target: Target, text: str) -> list[str]:
    """Return the names of our entries in *text*: events, the server, and what is allowed."""
    return _list_ours(target, text, [one.value for one in target.wanted if one.is_word])


def _list_ours(target: Target, text: str, given: Collection[str]) -> list[str]:
    """Return the names of our entries in *text*; of the permissions those that were *given*."""
    found = EDITORS[target.file.form].compare(text, _choose_ours(target, given))
    return [*found.present, *found.stale]


def _choose_ours(target: Target, given: Collection[str]) -> list[Entry]:
    return [one for one in target.wanted if not one.is_word or one.value in given]


class Target(NamedTuple):
    """One settings file of a client and what it must hold. *tree* is what its links may not leave; None for a file of the user."""

    client: Client
    path: Path
    wanted: tuple[Entry, ...]
    tree: Path | None
    file: File


def home_of(client: Client, env: Mapping[str, str]) -> Path | None:
    """Return the directory in which *client* keeps what is the user's."""
    if chosen := env.get(client.home.variable):
        return Path(os.path.abspath(os.path.expanduser(chosen))) / client.home.inner
    home = find_home(env)
    return Path(home) / client.home.folder if home else None


def detect(project: Project) -> list[str]:
    """Return the clients with hooks that the user has used, or that the project has files of."""
    root = project.layout.root

    def is_used(client: Client) -> bool:
        home = home_of(client, project.env)
        in_project = root is not None and any((root / sign).exists() for sign in client.signs)
        return in_project or (home is not None and home.is_dir())

    return [client.name for client in facts.every() if client.hooks and is_used(client)]


def list_targets(client: Client, project: Project, *, stealth: bool, allow_tools: bool = False) -> list[Target]:
    """Return the files of *client*: the project's or, as nothing of ours may be in the tree then, the user's.

    With *allow_tools* also what lets the client use the reading tools without asking.
    """
    tree = None if stealth else project.layout.root
    folder = tree or (home_of(client, project.env) if stealth else None)
    found: dict[Path, Target] = {}
    for file in client.files if folder else ():
        path = _choose_path(folder, file, stealth=stealth) if folder else None
        wanted = tuple(entry for entry in file.entries if allow_tools or entry.kind != "allowed tools")
        if file.form == "block" and path:
            wanted = (block.make_entry(project, client.name),)
        if path and wanted:
            before = found[path].wanted if path in found else ()
            found[path] = Target(client, path, (*before, *wanted), tree, file)
    return list(found.values())


def _choose_path(folder: Path, file: File, *, stealth: bool) -> Path | None:
    name = file.user if stealth else file.project
    names = [folder / other for other in (name, *(() if stealth else file.also)) if other]
    return next((path for path in names if path.exists()), names[0] if names else None)

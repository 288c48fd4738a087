"""Which file says what of the settings: reading them all, and writing one.

Later files win: defaults, `~/.gobby/config.yaml`, the project's
`.gobby/config.yaml`, the project's private one in the home store. Of the
project's, which a stranger may have written, only what `trust` lets pass.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from memsync.errors import ConfigError, StoreError
from memsync.store import files, trust, yamltext
from memsync.store.places import Layout, Place
from memsync.store.settings import ALIASES, FIELDS, KEYS, Settings, Spec, find_spec, name_of, parse_value


class Loaded(NamedTuple):
    """The settings in force, where each that is not a default was said, and what was not understood or not taken.

    `instructions` are the repository's settings that act, approved or not; those in `waiting` are not in force.
    `unreadable` says why the repository's file cannot be read: it could have said stealth, so stealth is on.
    """

    settings: Settings
    sources: Mapping[str, Path]
    warnings: tuple[str, ...]
    instructions: tuple[trust.Instruction, ...] = ()
    waiting: tuple[trust.Instruction, ...] = ()
    unreadable: str = ""


def load(layout: Layout) -> Loaded:
    """Read the settings files of *layout*; a missing file says nothing."""
    return _Reading(layout).read(layout.global_, layout.project, layout.private)


def load_own(layout: Layout) -> Loaded:
    """Read the user's own settings files of *layout*, as `load` does."""
    return _Reading(layout).read(layout.global_, layout.private)


class _Reading:
    def __init__(self, layout: Layout) -> None:
        self._layout = layout
        self._values: dict[str, Any] = {}
        self._sources: dict[str, Path] = {}
        self._warnings: list[str] = []
        self._acting: dict[str, tuple[trust.Instruction, bool]] = {}  # by key; whether it waits
        self._unreadable = ""

    def read(self, *places: Place | None) -> Loaded:
        for place in filter(None, places):
            self._take(place)
        instructions = tuple(one for one, _ in self._acting.values())
        waiting = tuple(one for one, waits in self._acting.values() if waits)
        settings = Settings(**self._values)
        return Loaded(settings, self._sources, tuple(self._warnings), instructions, waiting, self._unreadable)

    def _take(self, place: Place) -> None:
        try:
            found = list(_flatten(_read_yaml(place)))
        except (ConfigError, StoreError) as error:
            if place.scope != "project":
                raise
            self._unreadable = f"{error}; until then nothing is written to the work tree"
            self._warnings.append(self._unreadable)
            self._hide(place)
            return
        for said, value in found:
            try:
                spec, parsed = find_spec(said), parse_value(said, value)
            except ConfigError as error:
                self._refuse(place, said, error)
                continue
            if self._may_say(place, said, spec, parsed):
                self._values[FIELDS[spec.key]] = parsed
                self._sources[spec.key] = place.config

    def _refuse(self, place: Place, said: str, error: ConfigError) -> None:
        """Ignore what *place* says: a repository stops no command. If it may have asked for stealth, stealth is on."""
        is_known = said in KEYS or said in ALIASES
        if is_known and place.scope != "project":
            raise ConfigError(f"{place.config}: {error}") from None
        where = _find_line(place.config, said) if is_known else place.config
        self._warnings.append(f"{where}: {error}")
        if said in trust.STICKY:
            self._hide(place)

    def _hide(self, place: Place) -> None:
        self._values["stealth"] = True
        self._sources["memory_sync.stealth"] = place.config

    def _may_say(self, place: Place, said: str, spec: Spec, value: object) -> bool:
        key = spec.key
        if place.scope != "project":
            self._acting.pop(key, None)  # the user's own word for this project
            return not (key in trust.STICKY and self._values.get(FIELDS[key]))
        verdict = trust.judge(key, value, self._values.get(FIELDS[key], spec.default))
        if verdict == "waits":
            one = trust.of_setting(self._layout, place.config, key, value)
            is_approved = trust.Approvals(self._layout).cover(one)
            self._acting[key] = one, not is_approved
            return is_approved
        if verdict == "refused":
            self._warnings.append(f"{_find_line(place.config, said)}: {said} {trust.explain(key)}")
        return verdict == "taken"


def _find_line(path: Path, key: str) -> str:
    row = re.compile(rf"(?:^|[\s{{,\"'.]){re.escape(key.rpartition('.')[2])}[\"']?\s*:")
    rows = files.read(path)[0].decode("utf-8", "replace").splitlines()
    return next((f"{path}:{number}" for number, text in enumerate(rows, 1) if row.search(text)), str(path))


def _read_yaml(place: Place) -> Any:
    path = files.resolve_inside(place.config, place.tree)
    return _read_text(files.read(path)[0], path)


def _read_text(data: bytes, path: Path) -> Any:
    if not data:
        return {}
    parsed = yamltext.load(data, path)
    if parsed is not None and not isinstance(parsed, dict):
        raise ConfigError(f"{path}: not a mapping of settings; fix or remove it")
    return parsed or {}


def _flatten(tree: Mapping[Any, Any], prefix: str = "") -> Iterable[tuple[str, Any]]:
    for name, value in tree.items():
        key = f"{prefix}{name}"
        if isinstance(value, dict) and key not in KEYS:
            yield from _flatten(value, f"{key}.")
        else:
            yield key, value


def check_text(text: str, path: Path, *, is_lenient: bool = False) -> dict[str, Any]:
    """Return the settings that *text*, of the file *path*, says, by key; where that *is_lenient* those before the first that is none."""
    found: dict[str, Any] = {}
    with suppress(*[ConfigError] * is_lenient):
        for key, value in _flatten(_read_text(text.encode(), path)):
            found[name_of(key)] = parse_value(key, value)
    return found


def store(place: Place, key: str, value: Any) -> None:
    """Write one setting into the config file of *place*, keeping comments and order.

    The caller holds the lock of *place* and has made its directories.

    Raises:
        ConfigError, StoreError: nothing was changed.
    """
    value = parse_value(key, value)
    _read_yaml(place)
    _edit(place, name_of(key), partial(yamltext.set_value, value=value))


def _edit(place: Place, key: str, change: Callable[..., str]) -> None:
    path = files.resolve_inside(place.config, place.tree)
    data, _ = files.read(path)
    aliases = (alias for alias, meant in ALIASES.items() if meant == key)
    try:
        new = change(data.decode("utf-8-sig"), key, *aliases).encode()
    except ValueError as error:
        raise ConfigError(f"{path}: not YAML that can be edited ({error}); fix or remove it") from None
    files.rewrite(path, new, was=data, temp=place.local / "config.tmp", private=place.private)


def read_own(place: Place, key: str) -> Any:
    """Return what the file of *place* itself says of *key*; None if it says nothing."""
    found = [value for name, value in _flatten(_read_yaml(place)) if ALIASES.get(name, name) == key]
    return parse_value(key, found[-1]) if found else None


def copy(values: Mapping[str, Any], to: Place) -> dict[str, Any]:
    """Store *values*, by the names of the settings, in the file of *to* as well, and return what was stored.

    What *to* says already wins, as it did. The caller holds its lock. Values, not what a file says: a
    repository's file may say more than what `trust` lets pass.
    """
    copied = {key: value for key, value in values.items() if read_own(to, key) is None}
    for key, value in copied.items():
        store(to, key, value)
    return copied


def drop(place: Place, key: str, value: Any) -> None:
    """Take the setting *key* out of the file of *place*, if it still says *value*. The caller holds the lock."""
    if read_own(place, key) == value:
        _edit(place, key, yamltext.drop_value)

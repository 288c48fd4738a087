"""Settings: what each is called, its type and default, and which file says so.

Later files win: defaults, `~/.gobby/config.yaml`, the project's
`.gobby/config.yaml`, the project's private one in the home store. Of the
project's, which a stranger may have written, only what `trust` lets pass.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from functools import partial
from pathlib import Path
from typing import Any, Final

from memsync.errors import ConfigError, Remedy, StoreError, closest, suggest
from memsync.store import trust, yamledit, yamltext
from memsync.store.files import read, resolve_inside
from memsync.store.files import replace as replace_file
from memsync.store.places import Layout, Place


def _setting(
    key: str, default: Any, help_: str, *, low: float | None = None, high: float | None = None, one_of: Any = ()
) -> Any:
    return field(default=default, metadata={"key": key, "help": help_, "low": low, "high": high, "one_of": one_of})


MODES: Final = ("worktree", "on-commit", "auto-commit")


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Every setting of memsync, by the seeds' names (seeds 002 and 004)."""

    recall_limit: int = _setting("memory.recall_limit", 15, "how many memories a recall returns", low=1)
    embedder: str = _setting(
        "memory.embedder", "builtin", "what finds by meaning: builtin, none, model2vec:PATH, … (docs/recall.md)"
    )
    enabled: bool = _setting("memory.enabled", True, "give memories to agents unasked (seed 002)")
    injection_limit: int = _setting(
        "memory.injection_limit", 10, "most memories given at the start of a session", low=0
    )
    importance_threshold: float = _setting(
        "memory.importance_threshold",
        0.3,
        "least importance of what is given: today's at the start of a session, as written at a prompt",
        low=0,
        high=1,
    )
    injection_budget: int = _setting(
        "memory.injection_budget", 2_000, "most characters given unasked at once", low=0, high=9_000
    )
    auto_extract: bool = _setting(
        "memory.auto_extract", True, "propose memories and skills when a session ends (docs/learning.md)"
    )
    stop_words: bool = _setting("memory.stop_words", True, "leave English stop words out of queries")
    decay_enabled: bool = _setting("memory.decay_enabled", True, "let importance fade with disuse")
    decay_rate: float = _setting("memory.decay_rate", 0.05, "importance lost per month without use", low=0, high=1)
    decay_floor: float = _setting("memory.decay_floor", 0.1, "where decay stops", low=0, high=1)
    author: str = _setting("memory.author", "", "name on new memories; empty: git's user.name")
    allow_secrets: tuple[str, ...] = _setting(
        "memory.secrets.allow", (), "patterns and fingerprints of what is not a secret (docs/security.md)"
    )
    stealth: bool = _setting("memory_sync.stealth", False, "keep every memory out of the work tree")
    mode: str = _setting(
        "memory_sync.mode", "worktree", "when changes reach git: worktree, on-commit or auto-commit", one_of=MODES
    )
    export_debounce: float = _setting("memory_sync.export_debounce", 5.0, "seconds of quiet before an export", low=0)
    auto_reject_threshold: float = _setting(
        "janitor.dedup.auto_reject_threshold", 0.98, "likeness from which near-identical texts are one", low=0, high=1
    )
    gray_zone_low: float = _setting(
        "janitor.dedup.gray_zone_low", 0.88, "likeness from which a model, if there is one, is asked", low=0, high=1
    )
    llm_verify: bool = _setting(
        "janitor.dedup.haiku_verify_enabled", True, "ask the model of llm.provider about likely duplicates"
    )
    dedup_strict: bool = _setting(
        "janitor.dedup.strict", False, "reject likely duplicates when no model can be asked, as seed 001 does"
    )
    archive_after: float = _setting(
        "janitor.archive_after", 30.0, "days at the decay floor until the janitor archives", low=0
    )
    batch_percent: float = _setting(
        "janitor.batch_percent", 50.0, "how much of the model's window a batch of pairs may fill", low=1, high=90
    )
    llm_provider: str = _setting(
        "llm.provider", "", "who answers: anthropic, openai, command; empty: nobody (docs/llm.md)"
    )
    llm_model: str = _setting("llm.model", "", "the model; empty: claude-haiku-4-5 of anthropic")
    learning_model: str = _setting("skills.learning_model", "", "the model that drafts skills; empty: llm.model")
    llm_base_url: str = _setting("llm.base_url", "", "another server that speaks the provider's protocol")
    llm_command: str = _setting("llm.command", "", "for command: a program that answers standard input, e.g. claude -p")
    llm_timeout: float = _setting("llm.timeout", 60.0, "seconds for one question, retries included", low=0.1)
    llm_retries: int = _setting("llm.retries", 2, "how often a busy model is asked again", low=0, high=10)
    llm_budget_per_run: int = _setting("llm.budget_per_run", 200_000, "tokens that one command may use", low=0)
    llm_budget_per_day: int = _setting(
        "llm.budget_per_day", 1_000_000, "tokens that a day may use, over all projects", low=0
    )
    llm_window: int = _setting("llm.context_window", 200_000, "tokens that the model can read at once", low=1_000)


_BY_KEY: Final = {spec.metadata["key"]: spec for spec in fields(Settings)}
ALIASES: Final = {
    "agent.memory_recall_limit": "memory.recall_limit",
    "agent.memory_dedup_threshold": "janitor.dedup.gray_zone_low",
    "memory_dedup_threshold": "janitor.dedup.gray_zone_low",
    "janitor.dedup.llm_verify_enabled": "janitor.dedup.haiku_verify_enabled",
}
KEYS: Final = tuple(_BY_KEY)


@dataclass(frozen=True, slots=True)
class Loaded:
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


def describe(key: str) -> str:
    """Return what the setting *key* does."""
    return str(_BY_KEY[key].metadata["help"])


def range_of(key: str) -> str:
    """Return which numbers the setting *key* takes, in words; "" if it is not a number."""
    low, high = (_spec(key).metadata[end] for end in ("low", "high"))
    return "" if low is None else f"{low:g} or more" if high is None else f"from {low:g} to {high:g}"


def get(settings: Settings, key: str) -> Any:
    """Return the value of the dotted *key*.

    Raises:
        ConfigError: there is no such setting.
    """
    return getattr(settings, _spec(key).name)


def name_of(key: str) -> str:
    """Return the name of the setting that *key* or an alias of it means.

    Raises:
        ConfigError: there is no such setting.
    """
    return str(_spec(key).metadata["key"])


def _spec(key: str) -> Any:
    known = _BY_KEY.get(ALIASES.get(key, key))
    if known is None:
        advice = suggest(closest(key, KEYS), Remedy("memory config"), " lists them")
        raise ConfigError(f"unknown setting {key!r}; ", *advice)
    return known


def load(layout: Layout) -> Loaded:
    """Read the settings files of *layout*; a missing file says nothing.

    Raises:
        ConfigError: a file of the user's is not YAML or has a value of the wrong kind.
        StoreUnreadable, OutsideTree: it cannot be read.
    """
    return _Reading(layout).read(layout.global_, layout.project, layout.stealth)


def load_own(layout: Layout) -> Loaded:
    """Read the user's own settings files of *layout*, as `load` does."""
    return _Reading(layout).read(layout.global_, layout.stealth)


class _Reading:
    """The settings of one file after the other."""

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
        settings = replace(Settings(), **self._values)
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
                spec, parsed = _spec(said), parse_value(said, value)
            except ConfigError as error:
                self._refuse(place, said, error)
                continue
            if self._may_say(place, said, spec, parsed):
                self._values[spec.name] = parsed
                self._sources[spec.metadata["key"]] = place.config

    def _refuse(self, place: Place, said: str, error: ConfigError) -> None:
        """Pass over what *place* says: a repository stops no command, and what may have been privacy is taken for it."""
        is_known = said in _BY_KEY or said in ALIASES
        if is_known and place.scope != "project":
            raise ConfigError(f"{place.config}: {error}") from None
        where = _find_line(place.config, said) if is_known else place.config
        self._warnings.append(f"{where}: {error}")
        if said in trust.STICKY:
            self._hide(place)

    def _hide(self, place: Place) -> None:
        self._values["stealth"] = True
        self._sources["memory_sync.stealth"] = place.config

    def _may_say(self, place: Place, said: str, spec: Any, value: object) -> bool:
        key = spec.metadata["key"]
        if place.scope != "project":
            self._acting.pop(key, None)  # the user's own word for this project
            return not (key in trust.STICKY and self._values.get(spec.name))
        verdict = trust.judge(key, value, self._values.get(spec.name, spec.default))
        if verdict == "waits":
            one = trust.of_setting(self._layout, place.config, key, value)
            is_approved = trust.Approvals(self._layout).cover(one)
            self._acting[key] = one, not is_approved
            return is_approved
        if verdict == "refused":
            self._warnings.append(f"{_find_line(place.config, said)}: {said} {trust.explain(key)}")
        return verdict == "taken"


def _find_line(path: Path, key: str) -> str:
    """Return *path* with the line that seems to say *key*, if one does."""
    row = re.compile(rf"(?:^|[\s{{,\"'.]){re.escape(key.rpartition('.')[2])}[\"']?\s*:")
    rows = read(path)[0].decode("utf-8", "replace").splitlines()
    return next((f"{path}:{number}" for number, text in enumerate(rows, 1) if row.search(text)), str(path))


def parse_value(key: str, value: object) -> Any:
    """Return *value* (text, or what YAML made of it) as the type of the setting *key*.

    Raises:
        ConfigError: it does not fit.
    """
    spec = _spec(key)
    kind = type(spec.default)
    if kind is bool:
        return _parse_bool(key, value)
    if kind is str:
        return _parse_text(key, value, spec.metadata["one_of"])
    if kind is tuple:
        return _parse_patterns(key, value)
    return _parse_number(key, value, kind, spec.metadata)


def _parse_text(key: str, value: object, one_of: tuple[str, ...]) -> str:
    """Return the one spelling of *value* that everything which checks or uses it sees."""
    text = "" if value is None else str(value).strip()
    if (word := text.casefold()) in one_of or (key == "memory.embedder" and word in trust.BUILT_IN):
        return word
    if one_of:
        raise ConfigError(f"{key}: {text!r} is not one of {', '.join(one_of)}")
    return text


def _parse_bool(key: str, value: object) -> bool:
    word = str(value).strip().lower()
    if word in ("true", "on", "yes", "1"):
        return True
    if word in ("false", "off", "no", "0"):
        return False
    raise ConfigError(f"{key}: {value!r} is not on or off")


def _parse_patterns(key: str, value: object) -> tuple[str, ...]:
    from memsync.secrets import Allow

    items = value if isinstance(value, list | tuple) else str(value or "").split()
    patterns = tuple(map(str, items))
    try:
        Allow(patterns)
    except ValueError as error:
        raise ConfigError(f"{key}: {error}") from None
    return patterns


def _parse_number(key: str, value: object, kind: type, limits: Mapping[str, Any]) -> float | int:
    try:
        number = kind(value)
        is_exact = "_" not in str(value) and number == float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        raise ConfigError(f"{key}: {value!r} is not a {'whole ' if kind is int else ''}number") from None
    low, high = limits["low"], limits["high"]
    is_within = (low is None or number >= low) and (high is None or number <= high)
    if isinstance(value, bool) or not is_exact or not is_within:
        raise ConfigError(f"{key}: {value!r} is not a number {range_of(key)}")
    return number  # type: ignore[no-any-return]


def _read_yaml(place: Place) -> Any:
    path = resolve_inside(place.config, place.tree)
    data, _ = read(path)
    parsed = yamltext.load(data, path)
    if parsed is not None and not isinstance(parsed, dict):
        raise ConfigError(f"{path}: not a mapping of settings; fix or remove it")
    return parsed or {}


def _flatten(tree: Mapping[Any, Any], prefix: str = "") -> Iterable[tuple[str, Any]]:
    for name, value in tree.items():
        key = f"{prefix}{name}"
        if isinstance(value, dict) and key not in _BY_KEY:
            yield from _flatten(value, f"{key}.")
        else:
            yield key, value


def store(place: Place, key: str, value: Any) -> None:
    """Write one setting into the config file of *place*, keeping comments and order.

    The caller holds the lock of *place* and has made its directories.

    Raises:
        ConfigError, StoreError: nothing was changed.
    """
    value = parse_value(key, value)
    _read_yaml(place)
    _edit(place, name_of(key), partial(yamledit.set_value, value=value))


def _edit(place: Place, key: str, change: Callable[..., str]) -> None:
    path = resolve_inside(place.config, place.tree)
    data, _ = read(path)
    aliases = (alias for alias, meant in ALIASES.items() if meant == key)
    try:
        new = change(data.decode("utf-8-sig"), key, *aliases).encode()
    except ValueError as error:
        raise ConfigError(f"{path}: not YAML that can be edited ({error}); fix or remove it") from None
    if replace_file(path, new, was=data, temp=place.local / "config.tmp", private=place.private) is None:
        raise ConfigError(f"{path}: changed while it was written; try again")


def read_own(place: Place, key: str) -> Any:
    """Return what the file of *place* itself says of *key*; None if it says nothing.

    Raises:
        ConfigError, StoreError
    """
    found = [value for name, value in _flatten(_read_yaml(place)) if ALIASES.get(name, name) == key]
    return parse_value(key, found[-1]) if found else None


def copy(values: Mapping[str, Any], to: Place) -> dict[str, Any]:
    """Store *values*, by the names of the settings, in the file of *to* as well, and return what was stored.

    What *to* says already wins, as it did. The caller holds its lock. Values, not what a file says: a
    repository's file may say more than what `trust` lets pass.

    Raises:
        ConfigError, StoreError
    """
    copied = {key: value for key, value in values.items() if read_own(to, key) is None}
    for key, value in copied.items():
        store(to, key, value)
    return copied


def drop(place: Place, key: str, value: Any) -> None:
    """Take the setting *key* out of the file of *place*, if it still says *value*. The caller holds the lock.

    Raises:
        ConfigError, StoreError
    """
    if read_own(place, key) == value:
        _edit(place, key, yamledit.drop_value)

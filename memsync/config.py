"""Settings: what each is called, its type and default, and which file says so.

Later files win: defaults, `~/.gobby/config.yaml`, the project's
`.gobby/config.yaml`, the project's private one in the home store.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any, Final

from memsync import yamltext
from memsync.errors import ConfigError
from memsync.files import read, resolve_inside
from memsync.files import replace as replace_file
from memsync.routing import Layout, Place


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
        "memory.importance_threshold", 0.3, "least importance today of a memory given unasked", low=0, high=1
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
    decay_floor: float = _setting("memory.decay_floor", 0.1, "what decay stops at", low=0, high=1)
    author: str = _setting("memory.author", "", "name on new memories; empty: git's user.name")
    allow_secrets: tuple[str, ...] = _setting(
        "memory.secrets.allow", (), "what is no secret: patterns and fingerprints, between spaces (docs/security.md)"
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


_PERSONAL: Final = ("openai:", "model2vec:", "sentence-transformers:")
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
    """The settings in force, where each that is not a default was said, and what was not understood."""

    settings: Settings
    sources: Mapping[str, Path]
    warnings: tuple[str, ...]


def is_personal(key: str, value: object) -> bool:
    """Tell whether a repository may not set *key* to *value*: a clone must not choose where memories or money go, nor what runs."""
    return key.startswith("llm.") or (key == "memory.embedder" and str(value).startswith(_PERSONAL))


def describe(key: str) -> str:
    """Return what the setting *key* does."""
    return str(_BY_KEY[key].metadata["help"])


def get(settings: Settings, key: str) -> Any:
    """Return the value of the dotted *key*.

    Raises:
        ConfigError: there is no such setting.
    """
    return getattr(settings, _spec(key).name)


def _spec(key: str) -> Any:
    known = _BY_KEY.get(ALIASES.get(key, key))
    if known is None:
        near = difflib.get_close_matches(key, KEYS, 1)
        raise ConfigError(
            f"there is no setting {key!r}"
            + (f"; did you mean {near[0]}?" if near else "; `memsync memory config` lists them")
        )
    return known


def load(layout: Layout) -> Loaded:
    """Read the settings files of *layout*; a missing file says nothing.

    Raises:
        ConfigError: a file is not YAML or has a value of the wrong kind.
        StoreUnreadable, OutsideTree: it cannot be read, or leads out of the repository.
    """
    values: dict[str, Any] = {}
    sources: dict[str, Path] = {}
    warnings: list[str] = []
    for place in (layout.global_, layout.project, layout.stealth):
        if place is None:
            continue
        for key, value in _flatten(_load_yaml(place)):
            try:
                spec, parsed = _spec(key), parse_value(key, value)
            except ConfigError as error:
                if key not in _BY_KEY and key not in ALIASES:
                    warnings.append(f"{place.config}: {error}")
                    continue
                raise ConfigError(f"{place.config}: {error}") from None
            if place.scope == "project" and is_personal(spec.metadata["key"], parsed):
                warnings.append(f"{place.config}: {key} is not taken from a repository; set it with --global")
                continue
            values[spec.name] = parsed
            sources[spec.metadata["key"]] = place.config
    return Loaded(replace(Settings(), **values), sources, tuple(warnings))


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
    text = "" if value is None else str(value)
    if one_of and text not in one_of:
        raise ConfigError(f"{key}: {text!r} is not one of {', '.join(one_of)}")
    return text


def _parse_bool(key: str, value: object) -> bool:
    word = str(value).lower()
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
    if (
        isinstance(value, bool)
        or not is_exact
        or not (low is None or number >= low)
        or not (high is None or number <= high)
    ):
        span = f"{low:g} or more" if high is None else f"from {low:g} to {high:g}"
        raise ConfigError(f"{key}: {value!r} is not a number {span}")
    return number  # type: ignore[no-any-return]


def _load_yaml(place: Place) -> Any:
    path = resolve_inside(place.config, place.tree)
    data, _ = read(path)
    parsed = yamltext.load(data, path)
    if parsed is not None and not isinstance(parsed, dict):
        raise ConfigError(f"{path}: not a mapping of settings; mend or remove it")
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
    _load_yaml(place)
    path = resolve_inside(place.config, place.tree)
    data, _ = read(path)
    try:
        new = _with_setting(data.decode("utf-8-sig"), _spec(key).metadata["key"], value)
    except ValueError as error:
        raise ConfigError(f"{path}: not YAML that can be edited ({error}); mend or remove it") from None
    if replace_file(path, new.encode(), was=data, temp=place.local / "config.tmp", private=place.private) is None:
        raise ConfigError(f"{path}: changed while it was written; try again")


def said(place: Place, key: str) -> Any:
    """Return what the file of *place* itself says of *key*; None if it says nothing.

    Raises:
        ConfigError, StoreError
    """
    found = [value for name, value in _flatten(_load_yaml(place)) if ALIASES.get(name, name) == key]
    return parse_value(key, found[-1]) if found else None


def copy(keys: Iterable[str], place: Place, to: Place) -> dict[str, Any]:
    """Store what *place* says of *keys* in the file of *to* as well, and return what was stored.

    What *to* says already wins, as it did. The caller holds both locks.

    Raises:
        ConfigError, StoreError
    """
    copied = {key: said(place, key) for key in keys if said(to, key) is None}
    for key, value in copied.items():
        store(to, key, value)
    return copied


def drop(place: Place, key: str, value: Any) -> None:
    """Take the setting *key* out of the file of *place*, if it still says *value*. The caller holds the lock.

    Raises:
        ConfigError, StoreError
    """
    if said(place, key) != value:
        return
    data, _ = read(place.config)
    new = _without_setting(data.decode("utf-8-sig"), key)
    replace_file(place.config, new.encode(), was=data, temp=place.local / "config.tmp", private=place.private)


def _with_setting(text: str, key: str, value: Any) -> str:
    """Return the YAML *text* with one setting, which other spellings of it no longer contradict."""
    root, yaml = yamltext.edit(text)
    value = list(value) if isinstance(value, tuple) else value
    comments = "" if root else text
    root = root or yaml.map()
    spelled = [place for name in (*_aliases(key), key) for place in _spellings(root, name)]
    for node, name in spelled[:-1]:
        del node[name]
    if spelled and key.endswith(spelled[-1][1]):
        spelled[-1][0][spelled[-1][1]] = value
    else:
        for node, name in spelled[-1:]:
            del node[name]
        _put(root, key, value, yaml.map)
    return (comments.rstrip() + "\n" if comments.strip() else "") + _dump(yaml, root)


def _without_setting(text: str, key: str) -> str:
    root, yaml = yamltext.edit(text)
    for name in (*_aliases(key), key):
        for node, spelled in list(_spellings(root, name)):
            del node[spelled]
    for name in [name for name, inner in root.items() if inner == {}]:
        del root[name]
    return _dump(yaml, root) if root else ""


def _dump(yaml: Any, root: Any) -> str:
    from io import StringIO

    out = StringIO()
    yaml.dump(root, out)
    return out.getvalue()


def _aliases(key: str) -> list[str]:
    return [alias for alias, meant in ALIASES.items() if meant == key]


def _spellings(node: Any, key: str) -> Iterator[tuple[Any, str]]:
    """Yield each mapping and name that say the dotted *key*: `a.b: 1` as well as `a: {b: 1}`."""
    if key in node:
        yield node, key
    for name, inner in node.items():
        if key.startswith(f"{name}.") and isinstance(inner, dict):
            yield from _spellings(inner, key.removeprefix(f"{name}."))


def _put(node: Any, key: str, value: Any, new_map: Callable[[], Any]) -> None:
    """Set the dotted *key* in the group that is there already, else in new ones."""
    group, _, rest = key.partition(".")
    for name, inner in node.items():
        if key.startswith(f"{name}.") and isinstance(inner, dict):
            group, rest = name, key.removeprefix(f"{name}.")
    if not rest:
        node[group] = value
        return
    if not isinstance(node.get(group), dict):
        node[group] = new_map()
    _put(node[group], rest, value, new_map)

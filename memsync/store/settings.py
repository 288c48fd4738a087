"""What settings there are: the key, the type, the default and the bounds of each, and reading a value of one."""

from __future__ import annotations

from typing import Any, Final, NamedTuple

from memsync.errors import ConfigError, Remedy, closest, suggest


class Spec(NamedTuple):
    """What is to know of one setting."""

    key: str
    default: Any
    help: str
    low: float | None
    high: float | None
    one_of: tuple[str, ...]


_specs: list[Spec] = []  # of each field of `Settings`, in their order


def _setting(
    key: str, default: Any, help_: str, *, low: float | None = None, high: float | None = None, one_of: Any = ()
) -> Any:
    _specs.append(Spec(key, default, help_, low, high, one_of))
    return default


HEADLINE: Final = 0.12  # confidence from which a match is worth a headline where nothing is given
USUAL_LIMIT: Final = 10  # memories given at a start; with fewer, no store is given whole
BUMPS: Final = ("off", "sure")
BUILT_IN: Final = ("builtin", "none")  # the embedders that reach nothing outside of the package
AUTOMATIC: Final = ("off", "propose", "apply")
MODES: Final = ("worktree", "on-commit", "auto-commit")


class Settings(NamedTuple):
    """Every setting of memsync; most names are those of seeds 002 and 004."""

    recall_limit: int = _setting("memory.recall_limit", 15, "how many memories a recall or a prompt returns", low=1)
    recall_threshold: float = _setting(
        "memory.recall_threshold", 0.35, "least confidence of a match that is given unasked", low=0, high=1
    )
    headlines: bool = _setting(
        "memory.headlines", True, "name the three best weak matches in a dozen words where nothing is given"
    )
    embedder: str = _setting(
        "memory.embedder", "builtin", "what finds by meaning: builtin, none, openai:MODEL@URL, … (docs/recall.md)"
    )
    enabled: bool = _setting("memory.enabled", True, "give memories to agents unasked")
    injection_limit: int = _setting(
        "memory.injection_limit", USUAL_LIMIT, "most memories given at a start; a small store is given whole", low=0
    )
    importance_threshold: float = _setting(
        "memory.importance_threshold",
        0.3,
        "least importance: after decay at a session's start, as written at a prompt",
        low=0,
        high=1,
    )
    injection_budget: int = _setting(
        "memory.injection_budget", 2_000, "most characters given unasked at once", low=0, high=9_000
    )
    all_repos: bool = _setting(
        "memory.all_repos", False, "let agents that recall look in every repository that this machine knows"
    )
    guard: bool = _setting(
        "memory.guard", False, "let a memory of type `rule` ask before what it is anchored to (docs/hooks.md)"
    )
    bump: str = _setting(
        "memory.bump", "off", "off, or sure: refuse a call once where a memory is due (docs/hooks.md)", one_of=BUMPS
    )
    agent_approvals: bool = _setting(
        "memory.agent_approvals", False, "let commands that an agent runs approve and trust (docs/security.md)"
    )
    resident: bool = _setting(
        "memory.resident", False, "let a hook start `memsync serve`, which answers the next ones (docs/hooks.md)"
    )
    auto_extract: bool = _setting(
        "memory.auto_extract", True, "propose memories and skills when a session ends (docs/learning.md)"
    )
    bridges: str = _setting(
        "memory.bridges", "", "whose own notes `sync` proposes: claude, codex, gemini, qwen (docs/clients.md)"
    )
    stop_words: bool = _setting("memory.stop_words", True, "leave English stop words out of queries")
    decay_enabled: bool = _setting("memory.decay_enabled", True, "let importance fade with disuse")
    decay_rate: float = _setting("memory.decay_rate", 0.05, "importance lost per month without use", low=0, high=1)
    decay_floor: float = _setting("memory.decay_floor", 0.1, "where decay stops", low=0, high=1)
    author: str = _setting("memory.author", "", "name on new memories; empty: git's user.name")
    allow_secrets: tuple[str, ...] = _setting(
        "memory.secrets.allow", (), "patterns and fingerprints of what is not a secret (docs/security.md)"
    )
    sync_enabled: bool = _setting("memory_sync.enabled", True, "put memory files in order and stage them unasked")
    stealth: bool = _setting("memory_sync.stealth", False, "keep every memory out of the work tree")
    mode: str = _setting(
        "memory_sync.mode", "worktree", "when changes reach git: worktree, on-commit or auto-commit", one_of=MODES
    )
    test_on_commit: bool = _setting(
        "memory_sync.test_on_commit", False, "let a failing memory test stop a commit of memories (docs/evaluation.md)"
    )
    export_debounce: float = _setting("memory_sync.export_debounce", 5.0, "seconds of quiet before an export", low=0)
    auto_reject_threshold: float = _setting(
        "janitor.dedup.auto_reject_threshold", 0.98, "likeness from which near-identical texts are one", low=0, high=1
    )
    gray_zone_low: float = _setting(
        "janitor.dedup.gray_zone_low", 0.88, "likeness from which a model, if there is one, is asked", low=0, high=1
    )
    llm_verify: bool = _setting(
        "janitor.dedup.llm_verify_enabled", True, "ask the model of llm.provider about likely duplicates"
    )
    dedup_strict: bool = _setting("janitor.dedup.strict", False, "reject likely duplicates when no model can be asked")
    janitor_automatic: str = _setting(
        "janitor.automatic", "off", "once a day when a session ends: off, propose or apply", one_of=AUTOMATIC
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
    skills_enabled: bool = _setting("skills.enabled", True, "learn skills, and offer them to agents")
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

    @property
    def least_named(self) -> float:
        """The confidence below which a match is not even named unasked."""
        return min(self.recall_threshold, HEADLINE) if self.headlines else self.recall_threshold


_BY_KEY: Final = {spec.key: spec for spec in _specs}
FIELDS: Final = dict(zip(_BY_KEY, Settings._fields, strict=True))  # by the key
ALIASES: Final = {
    "agent.memory_recall_limit": "memory.recall_limit",
    "agent.memory_recall_threshold": "memory.recall_threshold",
    "agent.memory_dedup_threshold": "janitor.dedup.gray_zone_low",
    "memory_recall_limit": "memory.recall_limit",
    "memory_recall_threshold": "memory.recall_threshold",
    "memory_dedup_threshold": "janitor.dedup.gray_zone_low",
    "janitor.dedup.haiku_verify_enabled": "janitor.dedup.llm_verify_enabled",
}
KEYS: Final = tuple(_BY_KEY)


def describe(key: str) -> str:
    """Return what the setting *key* does."""
    return _BY_KEY[key].help


def range_of(key: str) -> str:
    """Return which numbers the setting *key* takes, in words; "" if it is not a number."""
    spec = find_spec(key)
    low, high = spec.low, spec.high
    return "" if low is None else f"{low:g} or more" if high is None else f"from {low:g} to {high:g}"


def get(settings: Settings, key: str) -> Any:
    """Return the value of the dotted *key*."""
    return getattr(settings, FIELDS[name_of(key)])


def spell(value: object) -> str:
    """Return *value* as somebody types it."""
    if isinstance(value, tuple):
        value = " ".join(value)
    return str(value).lower() if isinstance(value, bool) else str(value)


def name_of(key: str) -> str:
    """Return the name of the setting that *key* or an alias of it means."""
    return find_spec(key).key


def find_spec(key: str) -> Spec:
    """Return what is to know of the setting that *key* or an alias of it means.

    Raises:
        ConfigError: there is no such setting.
    """
    known = _BY_KEY.get(ALIASES.get(key, key))
    if known is None:
        advice = suggest(closest(key, KEYS), Remedy("config"), " lists them")
        raise ConfigError(f"unknown setting {key!r}; ", *advice)
    return known


def parse_value(key: str, value: object) -> Any:
    """Return *value* (text, or what YAML made of it) as the type of the setting *key*."""
    spec = find_spec(key)
    kind = type(spec.default)
    if kind is bool:
        return _parse_bool(key, value)
    if kind is str:
        return _parse_text(key, value, spec.one_of)
    if kind is tuple:
        return _parse_patterns(key, value)
    return _parse_number(key, value, kind, spec)


def _parse_text(key: str, value: object, one_of: tuple[str, ...]) -> str:
    """Return *value* in the one spelling that all code sees which checks or uses it."""
    text = "" if value is None else str(value).strip()
    if (word := text.casefold()) in one_of or (key == "memory.embedder" and word in BUILT_IN):
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
    from memsync.safety.secrets import Allow

    items = value if isinstance(value, list | tuple) else str(value or "").split()
    patterns = tuple(map(str, items))
    try:
        Allow(patterns)
    except ValueError as error:
        raise ConfigError(f"{key}: {error}") from None
    return patterns


def _parse_number(key: str, value: object, kind: type, spec: Spec) -> float | int:
    try:
        number = kind(value)
        is_exact = "_" not in str(value) and number == float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        raise ConfigError(f"{key}: {value!r} is not a {'whole ' if kind is int else ''}number") from None
    low, high = spec.low, spec.high
    is_within = (low is None or number >= low) and (high is None or number <= high)
    if isinstance(value, bool) or not is_exact or not is_within:
        raise ConfigError(f"{key}: {value!r} is not a number {range_of(key)}")
    return number  # type: ignore[no-any-return]

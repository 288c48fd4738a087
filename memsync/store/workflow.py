"""Lifecycles: which actions run when a session or a subagent begins, at a prompt, at a compaction, at the end.

They are YAML files: those of the package, the user's for all projects in
`~/.gobby/workflows/`, and the project's in `.gobby/workflows/`, where a file of the same name
replaces the others once the user has approved it. A parsed file is kept as JSON, because a hook has no time to load a YAML parser.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from memsync import __version__
from memsync.errors import ConfigError, StoreError
from memsync.store import files, trust, yamltext
from memsync.store.places import WORKFLOWS, list_workflows
from memsync.system.limits import LARGEST_YAML, read_json
from memsync.system.logs import Log

if TYPE_CHECKING:
    from memsync.store.config import Loaded
    from memsync.store.places import Layout

log = Log(__name__)

_MOST_FILES: Final = 64  # of a project: each is read by every hook
COMPILED: Final = Path(__file__).with_name("workflows.json")  # those of templates/, parsed by `make docs`

# Our name of each trigger, and what Gobby and the clients call it.
TRIGGERS: Final[Mapping[str, tuple[str, ...]]] = {
    "session_start": (),
    "prompt": ("before_agent", "user_prompt", "user_prompt_submit", "prompt_submit"),
    "pre_compact": ("pre_compress",),
    "compact": ("post_compact", "clear"),
    "subagent_start": (),
    "session_end": (),
}
_NAMES: Final = {alias: name for name, aliases in TRIGGERS.items() for alias in (name, *aliases)}


class Step(NamedTuple):
    """One action with its parameters, and the file it stands in."""

    action: str
    params: Mapping[str, Any]
    source: str


class Lifecycles(NamedTuple):
    """The steps of each trigger in order, the names of the files they are from, and what was not understood.

    Files of the repository in `waiting` are not in force.
    """

    steps: Mapping[str, list[Step]]
    sources: tuple[str, ...]
    problems: tuple[str, ...]
    waiting: tuple[trust.Instruction, ...] = ()


class _Own(NamedTuple):
    path: Path
    data: bytes
    is_theirs: bool


def load(layout: Layout) -> Lifecycles:
    """Return the lifecycles in force: ours, with others put over them by name, in the order of the names.

    The repository's count if the user approved them, the user's own always. What they say is kept, parsed, in the home store. A file that cannot be read leaves ours in force, and is a problem.
    """
    chosen: dict[str, Any] = json.loads(COMPILED.read_bytes())
    found, problems = _read_files(layout)
    approvals = trust.Approvals(layout)
    theirs = [trust.of_file(layout, one.path, one.data) for one in found if one.is_theirs]
    waiting = [one for one in theirs if not approvals.cover(one)]
    held = {one.path for one in waiting}
    own = {one.path.stem: one for one in found if one.path not in held}
    if own:
        # Never in the work tree, where a repository could bring its own.
        cache = layout.private.local / "workflows.json" if layout.private else None
        chosen |= _parse_cached(own, cache, problems)
    steps: dict[str, list[Step]] = {name: [] for name in TRIGGERS}
    for name in sorted(chosen):
        for trigger, action, params in chosen[name]:
            steps[trigger].append(Step(action, params, name))
    return Lifecycles(steps, tuple(sorted(chosen)), tuple(problems), tuple(waiting))


def find_instructions(layout: Layout, loaded: Loaded) -> list[trust.Instruction]:
    """Return what the repository brings that acts, approved or not: settings, and workflow files."""
    place = layout.project
    found = _read_files(layout)[0] if place is not None and (place.directory / WORKFLOWS).is_dir() else []
    return [*loaded.instructions, *(trust.of_file(layout, one.path, one.data) for one in found if one.is_theirs)]


def find_waiting(layout: Layout, loaded: Loaded) -> list[trust.Instruction]:
    """Return those of the instructions that the user has neither approved nor refused; they are not in force."""
    approvals = trust.Approvals(layout)
    return [one for one in find_instructions(layout, loaded) if approvals.wait(one)]


def _read_files(layout: Layout) -> tuple[list[_Own], list[str]]:
    found: list[_Own] = []
    problems = []
    for number, (path, place) in enumerate(list_workflows(layout)):
        if number == _MOST_FILES:
            problems.append(f"{path.parent}: more than {_MOST_FILES} files; the others are not read")
            break
        try:
            real = files.resolve_inside(path, place.tree)
            if files.stamp(real).size > LARGEST_YAML:  # before it is read: it may be as large as git takes
                problems.append(f"{path}: larger than {LARGEST_YAML // 1024} KiB; the built-in one is used instead")
                continue
            found.append(_Own(path, files.read(real)[0], place.scope == "project"))
        except StoreError as error:
            problems.append(str(error))
    return found, problems


def _parse_cached(own: Mapping[str, _Own], cache: Path | None, problems: list[str]) -> dict[str, Any]:
    from memsync.system.digests import sha256

    key = sha256(repr((__version__, sorted(own.items()))).encode("utf-8", "backslashreplace")).hexdigest()
    kept = _read_json(cache) if cache else None
    if isinstance(kept, dict) and kept.get("key") == key:
        problems += kept["problems"]
        return dict(kept["steps"])
    parsed: dict[str, Any] = {}
    broken: list[str] = []
    for name, (path, data, is_theirs) in own.items():
        try:
            steps = parse(data, path, broken)
        except ConfigError as error:
            broken.append(f"{error}; the built-in one is used instead")
            continue
        parsed[name] = list(_keep_allowed(steps, path, broken)) if is_theirs else steps
    problems += broken
    if cache:
        _write_json(cache, {"key": key, "steps": parsed, "problems": broken})
    return parsed


def _keep_allowed(
    steps: Iterable[tuple[str, str, dict[str, Any]]], path: Path, problems: list[str]
) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Yield the *steps* that a repository may have; the others are problems."""
    for trigger, action, params in steps:
        if why := trust.why_no_step(action, params):
            problems.append(f"{path}: on_{trigger}: {action}: {why}; left out")
        else:
            yield trigger, action, params


def _read_json(path: Path) -> Any:
    try:
        return read_json(files.read(path)[0])
    except (StoreError, ValueError):
        return None


def _write_json(path: Path, value: Any) -> None:
    from contextlib import suppress

    with suppress(StoreError, OSError, TypeError, ValueError):  # a value that JSON has not: parsed again next time
        files.make_dirs(path.parent, private=True)
        files.rewrite(path, json.dumps(value).encode(), was=files.read(path)[0], private=True)


def parse(data: bytes, path: Path, problems: list[str]) -> list[tuple[str, str, dict[str, Any]]]:
    """Return trigger, action and parameters of each step in the YAML *data*; what is odd goes to *problems*.

    Four spellings are read: `on_prompt:` at the top or under `triggers:`, a list of
    `- action: name`; `triggers:` as a list of `event` and `actions`, each with a `type`;
    and `actions:` at the top, without a trigger: what gives memories runs at each prompt, the rest at the end.

    Raises:
        ConfigError: not YAML, or not a mapping.
    """
    root = yamltext.load(data, path)
    if root is None:
        return []
    if not isinstance(root, dict):
        raise ConfigError(f"{path}: not a mapping; a workflow has a name and triggers such as on_prompt")
    if root.get("enabled") is False:
        return []
    found = []
    for name, steps in _find_triggers(root):
        if trigger := trigger_of(str(name)):
            found += [(trigger, *step) for step in _find_steps(steps, f"{path}: {name}", problems)]
        else:
            choice = ", ".join(f"on_{known}" for known in TRIGGERS)
            problems.append(f"{path}: unknown trigger {str(name)!r}; choose one of {choice}")
    for step in _find_steps(root.get("actions"), f"{path}: actions", problems):
        found.append(("prompt" if trust.gives(step[0]) else "session_end", *step))
    return found


def _find_triggers(root: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    yield from ((name, steps) for name, steps in root.items() if str(name).startswith("on_"))
    triggers = root.get("triggers")
    if isinstance(triggers, dict):
        yield from triggers.items()
    for one in triggers if isinstance(triggers, list) else ():
        if isinstance(one, dict):
            yield str(one.get("event", "")), one.get("actions")


def trigger_of(name: str) -> str | None:
    """Return our name for the trigger *name*, however it is spelled; None if it is unknown."""
    return _NAMES.get(name.lower().removeprefix("on_").replace("-", "_"))


def _find_steps(steps: Any, where: str, problems: list[str]) -> Iterator[tuple[str, dict[str, Any]]]:
    if steps is not None and not isinstance(steps, list):
        problems.append(f"{where}: not a list of actions")
        return
    for number, step in enumerate(steps or (), 1):
        name = (step.get("action") or step.get("type")) if isinstance(step, dict) else None
        if not isinstance(name, str):
            problems.append(f"{where}, step {number}: no action; write `- action: memory_inject`")
        elif "when" in step:
            problems.append(f"{where}, step {number}: `when` is not supported, because nothing is evaluated; left out")
        else:
            yield name, {str(key): value for key, value in step.items() if key not in ("action", "type")}

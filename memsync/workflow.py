"""Lifecycles: which actions run when a session begins, a prompt comes, a context is compacted, a session ends.

They are YAML files: those of the package, and the project's in
`.gobby/workflows/`, where a file of the same name replaces ours. A parsed file
is kept as JSON, because a hook has no time to load a YAML parser.
"""

from __future__ import annotations

import json
import logging
import zlib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from memsync import files, yamltext
from memsync.errors import ConfigError, StoreError

if TYPE_CHECKING:
    from memsync.routing import Place

log = logging.getLogger(__name__)

FOLDER: Final = "workflows"
PACKAGED: Final = Path(__file__).with_name("templates") / FOLDER
COMPILED: Final = PACKAGED / "compiled.json"

# Our name of each trigger, and what Gobby and the clients call it.
TRIGGERS: Final[Mapping[str, tuple[str, ...]]] = {
    "session_start": (),
    "prompt": ("before_agent", "user_prompt", "user_prompt_submit", "prompt_submit"),
    "pre_compact": ("pre_compress",),
    "compact": ("post_compact", "clear"),
    "session_end": (),
}
_NAMES: Final = {alias: name for name, aliases in TRIGGERS.items() for alias in (name, *aliases)}


class Step(NamedTuple):
    """One action with its parameters, and the file it stands in."""

    action: str
    params: Mapping[str, Any]
    source: str


class Lifecycles(NamedTuple):
    """The steps of each trigger in order, the names of the files they are from, and what was not understood."""

    steps: Mapping[str, list[Step]]
    sources: tuple[str, ...]
    problems: tuple[str, ...]


def load(places: Iterable[Place], cache: Path | None) -> Lifecycles:
    """Return the lifecycles in force: ours, with the files of *places* put over them by name, in the order of the names.

    What the project's files say is kept in *cache*. A file that cannot be read leaves ours in
    force, and is a problem.
    """
    chosen: dict[str, Any] = json.loads(COMPILED.read_bytes())
    problems: list[str] = []
    own, broken = _own(places)
    problems += broken
    if own:
        chosen |= _parsed(own, cache, problems)
    steps: dict[str, list[Step]] = {name: [] for name in TRIGGERS}
    for name in sorted(chosen):
        for trigger, action, params in chosen[name]:
            steps[trigger].append(Step(action, params, name))
    return Lifecycles(steps, tuple(sorted(chosen)), tuple(problems))


def own_files(places: Iterable[Place]) -> Iterator[tuple[Path, Place]]:
    """Yield the workflow files of *places*."""
    for place in places:
        folder = place.directory / FOLDER
        if folder.is_dir():
            yield from ((path, place) for path in sorted(folder.glob("*.y*ml")))


def _own(places: Iterable[Place]) -> tuple[dict[str, tuple[Path, bytes]], list[str]]:
    """Return the project's files by name, with their bytes, and which could not be read."""
    found: dict[str, tuple[Path, bytes]] = {}
    problems = []
    for path, place in own_files(places):
        try:
            found[path.stem] = path, files.read(files.resolve_inside(path, place.tree))[0]
        except StoreError as error:
            problems.append(str(error))
    return found, problems


def _parsed(own: Mapping[str, tuple[Path, bytes]], cache: Path | None, problems: list[str]) -> dict[str, Any]:
    key = f"{zlib.crc32(repr(sorted(own.items())).encode()):08x}"
    kept = _read_json(cache) if cache else None
    if isinstance(kept, dict) and kept.get("key") == key:
        problems += kept["problems"]
        return dict(kept["steps"])
    parsed: dict[str, Any] = {}
    broken: list[str] = []
    for name, (path, data) in own.items():
        try:
            parsed[name] = parse(data, path, broken)
        except ConfigError as error:
            broken.append(f"{error}; ours is in force instead")
    problems += broken
    if cache and cache.parent.is_dir():
        _write_json(cache, {"key": key, "steps": parsed, "problems": broken})
    return parsed


def _read_json(path: Path) -> Any:
    try:
        return json.loads(path.read_bytes())
    except (OSError, ValueError):
        return None


def _write_json(path: Path, value: Any) -> None:
    import os
    from contextlib import suppress

    temp = path.with_name(f"{path.name}.{os.getpid()}")
    with suppress(OSError, TypeError, ValueError):  # a value that JSON has not: parsed again next time
        temp.write_text(json.dumps(value), encoding="utf-8")
        temp.replace(path)


def parse(data: bytes, path: Path, problems: list[str]) -> list[tuple[str, str, dict[str, Any]]]:
    """Return trigger, action and parameters of each step in the YAML *data*; what is odd goes to *problems*.

    Three spellings are read: `on_prompt:` at the top or under `triggers:`, a list of
    `- action: name` (seed 000); and `triggers:` as a list of `event` and `actions`, each with a `type` (seed 002).

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
    return [
        (trigger, action, params)
        for said, steps in _triggers(root)
        if (trigger := _trigger(str(said), path, problems))
        for action, params in _steps(steps, f"{path}: {said}", problems)
    ]


def _triggers(root: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    yield from ((name, steps) for name, steps in root.items() if str(name).startswith("on_"))
    triggers = root.get("triggers")
    if isinstance(triggers, dict):
        yield from triggers.items()
    for one in triggers if isinstance(triggers, list) else ():
        if isinstance(one, dict):
            yield str(one.get("event", "")), one.get("actions")


def trigger_of(said: str) -> str | None:
    """Return our name of the trigger *said*, in whatever spelling; None if there is none."""
    return _NAMES.get(said.lower().removeprefix("on_").replace("-", "_"))


def _trigger(said: str, path: Path, problems: list[str]) -> str | None:
    name = trigger_of(said)
    if name is None:
        problems.append(
            f"{path}: there is no trigger {said!r}; there are {', '.join(f'on_{name}' for name in TRIGGERS)}"
        )
    return name


def _steps(steps: Any, where: str, problems: list[str]) -> Iterator[tuple[str, dict[str, Any]]]:
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


def compile_packaged() -> str:
    """Return what COMPILED holds: the packaged files, parsed."""
    problems: list[str] = []
    found = {path.stem: parse(path.read_bytes(), path, problems) for path in sorted(PACKAGED.glob("*.yaml"))}
    assert not problems, problems
    return json.dumps(found, indent=1, sort_keys=True) + "\n"

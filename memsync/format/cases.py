"""Memory tests: the lines of `.gobby/tests.jsonl`, each a question and what a session must, or must not, be given for it. Pure."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any, Final, NamedTuple

from memsync.errors import MemsyncError
from memsync.format.codec import bare
from memsync.records import shown_id
from memsync.system.limits import read_json

TESTS: Final = "tests.jsonl"
DOORS: Final = ("error", "prompt", "command", "path")  # an error may say which command failed
_KEYS: Final = frozenset((*DOORS, "given", "not", "silent"))
_FORM: Final = 'write {"prompt": "…", "given": ["ID"]}: a prompt, command, path or error; given, not or "silent": true'


class Case(NamedTuple):
    """One test: what is asked, and by its ids what must be given and what must not; `silent`: nothing may."""

    number: int
    asked: Mapping[str, str]
    given: tuple[str, ...] = ()
    banned: tuple[str, ...] = ()
    silent: bool = False
    raw: bytes = b""

    @property
    def door(self) -> str:
        """What is asked: a prompt, a command, a path or an error."""
        return next(door for door in DOORS if door in self.asked)

    @property
    def question(self) -> str:
        """Its text."""
        return self.asked[self.door]

    @property
    def ids(self) -> tuple[str, ...]:
        """The memories that it names."""
        return (*self.given, *self.banned)

    def as_dict(self) -> dict[str, Any]:
        """Return it as its line spells it."""
        said = {"given": list(self.given), "not": list(self.banned), "silent": self.silent}
        return {**self.asked, **{key: value for key, value in said.items() if value}}


def read_cases(data: bytes, name: str) -> list[Case]:
    """Return the tests in *data*, the file *name*; blank lines are none."""
    rows = ((number, bare(raw).strip()) for number, raw in enumerate(data.split(b"\n"), 1))
    return [_read_case(number, raw, f"{name}:{number}") for number, raw in rows if raw]


def _read_case(number: int, raw: bytes, where: str) -> Case:
    try:
        value = read_json(raw)
    except ValueError:
        raise MemsyncError(f"{where}: not JSON; {_FORM}") from None
    if not isinstance(value, dict) or (unknown := sorted(value.keys() - _KEYS)):
        what = "not a JSON object" if not isinstance(value, dict) else f"unknown key {unknown[0]!r}"
        raise MemsyncError(f"{where}: {what}; {_FORM}")
    asked = {door: said for door in DOORS if isinstance(said := value.get(door), str) and said.strip()}
    wanted = [value.get(key, []) for key in ("given", "not")]
    silent = value.get("silent", False)
    is_one = len(asked) == 1 or asked.keys() == {"error", "command"}
    is_typed = all(isinstance(ids, list) and all(isinstance(id_, str) and id_ for id_ in ids) for ids in wanted)
    if not is_one or len(asked) != len(value.keys() & set(DOORS)) or not is_typed or not isinstance(silent, bool):
        raise MemsyncError(f"{where}: it must ask one thing and say ids as lists of text; {_FORM}")
    if (not any(wanted) and not silent) or (silent and any(wanted)):
        raise MemsyncError(f'{where}: it must say what is given or not, or else "silent": true; {_FORM}')
    return Case(number, asked, tuple(wanted[0]), tuple(wanted[1]), silent, raw)


def encode_case(case: Case) -> bytes:
    """Return the line of *case*, without its end."""
    return json.dumps(case.as_dict(), ensure_ascii=False).encode("utf-8", "backslashreplace")


def explain_loss(cases: Iterable[Case], gone: Collection[str]) -> Iterator[str]:
    """Yield what to say of each test that names a memory of *gone*, which no session is given any more."""
    for case in cases:
        if lost := [id_ for id_ in gone if id_.startswith(case.ids)]:
            names = ", ".join(map(shown_id, sorted(lost)))
            yield f"{TESTS}:{case.number} tests {names}, which no session is given any more; `memsync test` says what to do"

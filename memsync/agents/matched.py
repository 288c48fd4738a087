"""What the last prompt of a session was about, in case that the context is lost before it is answered."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from datetime import datetime

    from memsync.store.places import Place
    from memsync.store.state import State

LEDGER: Final = "injected_memory_ids"  # the variable of a session that has what it was given
MATCHED: Final = "matched"
HELPED: Final = "helped"
_LONGEST: Final = 400  # bytes of a session's id that SQLite keeps in one piece, however long its row is
_MOST: Final = 1 << 22  # bytes of a database that are looked through


class Matched(NamedTuple):
    """What the last prompt was about: the ids that it was given, and those that the session had."""

    turn: str = ""
    given: tuple[str, ...] = ()
    known: tuple[str, ...] = ()


def keep_matched(state: State, session: str, now: datetime, matched: Matched) -> None:
    """Keep what the prompt of *session* was about, and that the user has spoken; nothing, where nothing was and nothing is to be kept."""
    turn, given, known = matched
    if given or known or {MATCHED, HELPED} & state.variables(session).keys():
        state.change_variables(
            session, now, lambda variables: {**variables, MATCHED: [turn, given, known], HELPED: False}
        )


def open_noted(place: Place, session: str) -> State | None:
    """Return the local state at *place*, if anything can be noted of *session* there; else SQLite is not loaded."""
    path = place.local / "state.db"
    if not session or not may_have_notes(path, session):
        return None
    from memsync.store.state import State

    return State(path, private=place.private, place=place)


def may_have_notes(database: Path, session: str) -> bool:
    """Tell whether anything can be noted of *session* in *database*; loading SQLite and opening it takes longer than this look at its bytes.

    SQLite writes an id as it is, before the variables, which are an object; into the log of the database first.
    """
    wanted = f"{session}{{".encode("utf-8", "replace")
    if len(wanted) > _LONGEST:
        return True
    for path in (database.with_name(f"{database.name}-wal"), database):
        try:
            with open(path, "rb") as file:
                found = file.read(_MOST)
        except FileNotFoundError:
            continue
        except OSError:
            return True
        if wanted in found or len(found) == _MOST:
            return True
    return False

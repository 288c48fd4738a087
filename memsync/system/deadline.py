"""A clock for whatever git or an agent waits for. When it has run out the process says so and ends."""

from __future__ import annotations

import os
import sys
import time
from threading import Thread
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

_LOOK = 0.02  # seconds between two looks at what was done, at least
_GRACE = 0.5  # seconds after which the process ends without a word
_GIT = {"hook": 30.0, "merge": 120.0}  # seconds; a merge is worth waiting for, and has more to read


def start(seconds: float, last_words: Callable[[], int], *, own: float | None = None, will_fork: bool = False) -> None:
    """End the process after *seconds* with the code that *last_words* returns, whatever it is doing.

    With *own* also after so many seconds of its own work, its start included: beside others it may be waiting for its turn.
    """
    Thread(target=_end, args=(seconds, own, last_words), daemon=True).start()
    if not will_fork:  # a child could never set this clock again
        import faulthandler

        # Code in C may keep every thread of Python from running, but not this one, which ends with code 1.
        faulthandler.dump_traceback_later(seconds + _GRACE, exit=True, file=2)


def _end(seconds: float, own: float | None, last_words: Callable[[], int]) -> None:
    until = time.monotonic() + seconds
    while (left := until - time.monotonic()) > 0 and (own is None or (rest := own - time.process_time()) > 0):
        time.sleep(left if own is None else min(left, max(rest, _LOOK)))
    code = 0
    try:
        if sys.platform != "win32":
            os.set_blocking(2, False)  # whoever does not read what is said must not keep us
        code = last_words()
    finally:
        os._exit(code)


def seconds_of(env: Mapping[str, str], name: str, default: float) -> float:
    """Return how many seconds the variable *name* allows, from a tenth of one to an hour; *default* without a number."""
    try:
        return min(max(0.1, float(env.get(name, default))), 3600.0)
    except ValueError:
        return default


def start_for_git(kind: str, env: Mapping[str, str], last_words: Callable[[str], int]) -> None:
    """Start the clock of what git runs, a hook or a merge; *last_words* is told after how many seconds."""
    seconds = seconds_of(env, "MEMSYNC_GIT_SECONDS", _GIT[kind])
    start(seconds, lambda: last_words(f"{seconds:g} seconds; MEMSYNC_GIT_SECONDS allows more"))

"""What people mean by since when: a span back from now, a day, or a commit."""

from __future__ import annotations

import re
from datetime import datetime, timedelta
from typing import Final

from memsync.errors import NoHistory, UsageError
from memsync.git import history
from memsync.history.lines import files_of
from memsync.memories.project import Project

_SPAN: Final = re.compile(
    r"(\d{1,5}|an?|last)?\s*(minute|min|hour|hr|h|day|d|week|wk|w|month|mo|year|yr|y)s?(?:\s+ago)?", re.IGNORECASE
)
_DAYS: Final = {"m": 1 / 1440, "h": 1 / 24, "d": 1, "w": 7, "mo": 30, "y": 365}


def find_moment(project: Project, text: str) -> datetime:
    """Return the moment that *text* names: 7d, "1 week", yesterday, 2026-11-01 (here, at midnight), or when a revision was committed.

    Raises:
        UsageError: none of these.
    """
    now = project.clock()
    if (moment := _read_span(text.strip(), now) or _read_date(text.strip(), now)) is not None:
        return moment
    try:
        return history.resolve(files_of(project).root, text).when
    except NoHistory:
        raise UsageError(
            f'{text!r} is no time and no revision; give 7d, "2 weeks", 2026-11-01, yesterday or a commit'
        ) from None


def _read_span(text: str, now: datetime) -> datetime | None:
    if not (found := _SPAN.fullmatch(text)):
        return None
    unit = found[2].lower()
    number = int(found[1]) if (found[1] or "").isdecimal() else 1
    days = number * _DAYS["mo" if unit.startswith("mo") else unit[0]]
    return now - timedelta(days=min(days, 36_500))


def _read_date(text: str, now: datetime) -> datetime | None:
    back = {"today": 0, "yesterday": 1}.get(text.lower())
    if back is not None:
        return (now.astimezone() - timedelta(days=back)).replace(hour=0, minute=0, second=0, microsecond=0)
    try:
        return datetime.fromisoformat(text).astimezone()  # without an offset it is the clock on the wall here
    except (ValueError, OverflowError):
        return None

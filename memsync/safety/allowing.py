"""What the user says is no secret."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    import regex

_FINGERPRINT: Final = re.compile(r"[0-9a-f]{12}")
_SECONDS: Final = 0.1  # for a pattern and a value; what takes longer is not allowed


class Allow:
    """What is no secret here: patterns for whole values, and fingerprints as reports show them.

    Raises:
        ValueError: a pattern is not a regular expression, or would let an issuer's tokens through.
    """

    def __init__(self, entries: Iterable[str] = ()) -> None:
        self.entries = tuple(entries)
        self._fingerprints = {entry for entry in self.entries if _FINGERPRINT.fullmatch(entry)}
        self._patterns = [_allowing(entry) for entry in self.entries if entry not in self._fingerprints]

    def __contains__(self, value: str) -> bool:
        return any(_fits(pattern, value) for pattern in self._patterns) or (
            bool(self._fingerprints) and fingerprint(value) in self._fingerprints
        )


@cache
def _allowing(entry: str) -> regex.Pattern[str]:
    import regex

    try:
        pattern = regex.compile(entry)
    except regex.error as error:
        raise ValueError(f"{entry!r} is not a regular expression ({error})") from None
    for sample in ("", *_samples()):
        try:
            is_wide = pattern.fullmatch(sample, timeout=_SECONDS) is not None
        except TimeoutError:
            raise ValueError(f"{entry!r} takes too long to match; use simpler repetitions") from None
        if is_wide:
            raise ValueError(f"{entry!r} would let secrets through; write out what the values have in common")
    return pattern


def _fits(pattern: regex.Pattern[str], value: str) -> bool:
    try:
        return pattern.fullmatch(value, timeout=_SECONDS) is not None
    except TimeoutError:
        return False


@cache
def _samples() -> tuple[str, ...]:
    """Return a made-up token of every issuer, and values as generators make them."""
    from memsync.safety.issuers import rules
    from memsync.safety.samples import random_values, sample

    return (*(sample(rule.shape, seed) for rule in rules() for seed in (1, 2)), *random_values())


def fingerprint(value: str) -> str:
    """Return 12 hex digits that name *value* in an allow-list without showing it."""
    from memsync.system.digests import sha256

    return sha256(b"memsync secret " + value.encode("utf-8", "surrogatepass")).hexdigest()[:12]

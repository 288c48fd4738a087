"""What the user has declared at the terminal not to be a secret: fingerprints in the home store, where no repository writes."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from memsync.secrets import Allow, Secret
from memsync.store import files
from memsync.store.places import Layout

_NAME: Final = "allowed-secrets"
_FINGERPRINT: Final = re.compile(rb"^[0-9a-f]{12}$", re.MULTILINE)


def load_allowed(layout: Layout, entries: Iterable[str]) -> Allow:
    """Return what is no secret in a project: the *entries* of the settings in force, and what the user consented to."""
    return Allow((*entries, *read_consented(layout)))


def read_consented(layout: Layout) -> list[str]:
    """Return the fingerprints that the user consented to in this project."""
    path = layout.stealth.directory / _NAME if layout.stealth else None
    data = files.read(path)[0] if path and path.is_file() else b""
    return [found.decode() for found in _FINGERPRINT.findall(data)]


def consent(layout: Layout, secrets: Iterable[Secret]) -> None:
    """Note that *secrets* are none; what is known already is not noted again.

    Raises:
        NoStore: there is no home store to note it in.
        StoreError
    """
    place = layout.place("stealth")
    known = read_consented(layout)
    new = [secret.fingerprint for secret in secrets if secret.fingerprint not in known]
    if new:
        files.make_dirs(place.directory, private=True)
        files.append(
            place.directory / _NAME, "".join(f"{name}\n" for name in dict.fromkeys(new)).encode(), private=True
        )

"""Which hub this user has: a file in the home store, for nobody else to read. Knows no database."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Final

from memsync.errors import HubError, NoStore, Remedy, blaming
from memsync.store import files
from memsync.system.home import find_own

LOCAL: Final = "local"  # the principal who owns an embedded hub
_FILE: Final = "hub.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Where the hub is: a database by its *dsn*, a *server* with a *token*, or embedded where both are empty."""

    dsn: str = ""
    server: str = ""
    token: str = ""
    embedder: str = "builtin"

    @property
    def is_embedded(self) -> bool:
        """Whether the database is started here when it is needed."""
        return not self.dsn and not self.server


def find_directory() -> Path:
    """Return the directory of this user's hub.

    Raises:
        NoStore: no home is known.
    """
    if not (own := find_own()):
        raise NoStore("no home directory is known, so there is no place for a hub; set HOME, or MEMSYNC_HOME")
    return Path(own) / "hub"


def load(env: Mapping[str, str] = os.environ) -> Settings:
    """Return which hub this user has; `MEMSYNC_HUB_DSN`, `MEMSYNC_HUB_URL` and `MEMSYNC_HUB_TOKEN` win.

    Raises:
        HubError: there is none yet.
    """
    path = find_directory() / _FILE
    known = _read(path)
    if dsn := env.get("MEMSYNC_HUB_DSN", ""):
        return Settings(dsn=dsn, embedder=known.embedder if known else "builtin")
    if server := env.get("MEMSYNC_HUB_URL", ""):
        return Settings(server=server, token=env.get("MEMSYNC_HUB_TOKEN", ""))
    if known is None:
        raise HubError("there is no hub yet; ", Remedy("hub init"), " makes one on this machine")
    return replace(known, token=env.get("MEMSYNC_HUB_TOKEN", "") or known.token)


def _read(path: Path) -> Settings | None:
    try:
        found = Settings(**json.loads(path.read_bytes()))
        if not all(isinstance(value, str) for value in asdict(found).values()):
            raise TypeError("what it says is not text")  # noqa: TRY301 - as what cannot be read at all
    except FileNotFoundError:
        return None
    except (OSError, ValueError, TypeError) as error:
        raise HubError(f"{path} cannot be read ({error}); ", Remedy("hub init"), " writes it again") from None
    return found


def save(settings: Settings) -> None:
    """Note which hub this user has.

    Raises:
        StoreNotWritable, StoreFull
    """
    directory = find_directory()
    files.make_dirs(directory, private=True)
    path = directory / _FILE
    temp = path.with_name(f"{_FILE}.new")
    with blaming(path):
        fd = os.open(temp, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(fd, "w", encoding="utf-8") as file:
            json.dump(asdict(settings), file)
        os.replace(temp, path)


def forget() -> None:
    """Forget which hub this user has."""
    (find_directory() / _FILE).unlink(missing_ok=True)

"""Where this copy of memsync was installed from, the command that installs more of the same, and what it has to copy.

Nobody owns the name on a package index, so no command of ours takes it from there:
whoever registers it could run code on the machine of everybody who follows our advice.
"""

from __future__ import annotations

import os
import re
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path
    from typing import Any

_SAFE = re.compile(r"[\w./:@+#=~%,-]+", re.ASCII)
_PINNED = re.compile(r"git\+(?:https|ssh|file)://[^#]+@[^@/:#]+|https://[^#]+#sha256=[0-9a-f]{64}")


def templates() -> Path:
    """Return the folder of what users copy: a wheel packs it into the package, a clone has it at its top."""
    from pathlib import Path

    package = Path(__file__).parent
    packed = package / "templates"
    return packed if (packed / "README.md").is_file() else package.parent / "templates"


def find_source() -> str:
    """Return what an installer takes: a git URL with its commit, an archive with its hash, a directory; "" if unknown."""
    import json
    from importlib.metadata import PackageNotFoundError, distribution

    try:
        told = json.loads(distribution("memsync").read_text("direct_url.json") or "{}")
        return read_source(told)
    except (PackageNotFoundError, OSError, ValueError, AttributeError, TypeError):
        return ""


def read_source(told: dict[str, Any]) -> str:
    """Return what `direct_url.json` (PEP 610) says, as an installer takes it; "" if nothing that is pinned."""
    from urllib.parse import urlsplit
    from urllib.request import url2pathname

    url = str(told.get("url", ""))
    if commit := told.get("vcs_info", {}).get("commit_id"):
        return source if is_pinned(source := f"git+{url}@{commit}") else ""
    if "dir_info" in told:
        path = url2pathname(urlsplit(url).path)
        return path if os.path.isdir(path) else ""
    checksum = str(told.get("archive_info", {}).get("hash", "")).removeprefix("sha256=")
    pinned = f"{url}#sha256={checksum}"
    return pinned if is_pinned(pinned) else ""


def is_pinned(source: str) -> bool:
    """Tell whether *source* is a git URL with a revision or an archive with its hash, and safe in a shell and in YAML."""
    return bool(_SAFE.fullmatch(source) and _PINNED.fullmatch(source))


def advice(extra: str = "") -> str:
    """Return the command that installs this copy again, with *extra*, between backticks and where to run it."""
    return _spell_command(_installer(), extra)


def advise_path() -> str:
    """Return what puts this copy in the PATH of every program, as a sentence without its end."""
    return f"{_spell_command('uv tool install')} puts it there"


def _spell_command(installer: str, extra: str = "") -> str:
    source = find_source()
    command = f"`{installer} {_quote_requirement(source or '.', extra)}`"
    return command if source else f"{command} in a clone of memsync"


def _quote_requirement(source: str, extra: str) -> str:
    from shlex import quote

    if not extra:
        return quote(source)
    is_url = "://" in source
    return quote(f"memsync[{extra}] @ {source}" if is_url else f"{source}[{extra}]")


def _installer() -> str:
    from shlex import quote

    parts = sys.prefix.replace(os.sep, "/")
    if "/uv/tools/" in parts:
        return "uv tool install --reinstall"
    return "pipx install --force" if "/pipx/venvs/" in parts else f"{quote(sys.executable or 'python')} -m pip install"

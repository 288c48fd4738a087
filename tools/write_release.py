"""Write what a release needs beside wheel and sdist: `python tools/write_release.py OWNER`, who owns the name on GitHub.

`server.json` and the line in the README by which the MCP registry knows that both are ours, and a bundle for clients that
install one (MCPB) in `dist/`. The bundle has memsync itself in it: nothing is taken by its name from an index that others could own.
Nothing of this is in the repository before somebody owns the names; RELEASING.md says when.
"""

from __future__ import annotations

import json
import re
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from memsync import __version__
from memsync.mcp.early import GROUPS

ROOT: Final = Path(__file__).parents[1]
_ABOUT: Final = "Memory for coding agents that lives in your repository, as plain files"
_SCHEMA: Final = "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json"
_OWNER: Final = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9-]{0,37}[A-Za-z0-9])?")
_LINE: Final = re.compile(r"\n<!-- mcp-name: .*? -->\n\Z")
_EPOCH: Final = (1980, 1, 1, 0, 0, 0)  # the same bytes each time
_PARTS: Final = ("memsync", "templates", "pyproject.toml", "README.md", "LICENSE", "NOTICE")


def name_of(owner: str) -> str:
    """Return the name of our server in the MCP registry."""
    if not _OWNER.fullmatch(owner):
        raise SystemExit(f"{owner!r} is not the name of an account on GitHub")
    return f"io.github.{owner}/memsync"


def readme(text: str, owner: str) -> str:
    """Return the README *text* with the line that the registry looks for on the package's page."""
    return f"{_LINE.sub('', text).rstrip()}\n\n<!-- mcp-name: {name_of(owner)} -->\n"


def server(owner: str) -> dict[str, Any]:
    """Return `server.json`: where the package is, and how a client starts it."""
    package = {
        "registryType": "pypi",
        "registryBaseUrl": "https://pypi.org",
        "identifier": "memsync",
        "version": __version__,
        "runtimeHint": "uvx",
        "packageArguments": [{"type": "positional", "value": "mcp"}],
        "transport": {"type": "stdio"},
    }
    return {
        "$schema": _SCHEMA,
        "name": name_of(owner),
        "title": "memsync",
        "description": _ABOUT,
        "repository": {"url": f"https://github.com/{owner}/memsync", "source": "github"},
        "version": __version__,
        "packages": [package],
    }


def manifest(owner: str) -> dict[str, Any]:
    """Return the manifest of the bundle. Its client stands in no project, so the user names one."""
    words = ["run", "--no-dev", "--directory", "${__dirname}", "memsync", "-C", "${user_config.project}", "mcp"]
    project = {"type": "directory", "title": "Project", "description": "The repository whose memories are used"}
    return {
        "manifest_version": "0.4",
        "name": "memsync",
        "version": __version__,
        "description": _ABOUT,
        "author": {"name": "The memsync authors"},
        "repository": {"type": "git", "url": f"https://github.com/{owner}/memsync"},
        "license": "MIT",
        "server": {"type": "uv", "entry_point": "memsync/__main__.py", "mcp_config": {"command": "uv", "args": words}},
        "tools": [{"name": name} for name in GROUPS["core"]],
        "tools_generated": True,
        "user_config": {"project": {**project, "required": True}},
        "compatibility": {"runtimes": {"python": ">=3.11"}},
    }


def write_bundle(path: Path, owner: str) -> None:
    """Write the bundle: the manifest, and all that `uv` needs to run memsync from there."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as bundle:
        bundle.writestr(zipfile.ZipInfo("manifest.json", _EPOCH), _json(manifest(owner)))
        for source in _list_files():
            bundle.writestr(zipfile.ZipInfo(source.relative_to(ROOT).as_posix(), _EPOCH), source.read_bytes())


def _list_files() -> Iterator[Path]:
    for part in _PARTS:
        found = [ROOT / part] if (ROOT / part).is_file() else sorted((ROOT / part).rglob("*"))
        yield from (path for path in found if path.is_file() and "__pycache__" not in path.parts)


def _json(value: Any) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False) + "\n"


def main(owner: str) -> None:
    """Write `server.json`, the line in README.md, and the bundle in `dist/`."""
    path = ROOT / "README.md"
    path.write_text(readme(path.read_text(encoding="utf-8"), owner), encoding="utf-8")
    (ROOT / "server.json").write_text(_json(server(owner)), encoding="utf-8")
    (ROOT / "dist").mkdir(exist_ok=True)
    write_bundle(ROOT / "dist" / f"memsync-{__version__}.mcpb", owner)


if __name__ == "__main__":
    main(*sys.argv[1:2] or ("",))

"""Our merge drivers in the configuration of a clone, and the alias that shows memories as people read them."""

from __future__ import annotations

import os
import shlex
import sys
from pathlib import Path
from typing import Final

from memsync.store import checkout
from memsync.store.checkout import Checkout

MERGE: Final = "memsync"
SKILL: Final = "memsync-skill"
ALIAS: Final = "alias.memories"
CONFIGURED: Final = "configured git to merge memories record by record in this clone"


def settings(program: str) -> dict[str, str]:
    """Return the configuration that a clone needs; *program* is how to start memsync where it is not on the path.

    Without memsync git merges as text, which the reader of conflicts then
    settles. Only the exit codes 0, 1 with markers in the file, and 65 for a conflict
    that nobody can merge here mean that memsync did its work: with any other git would take ours for the result.
    """
    # A PATH with an empty entry finds what the repository has at its top.
    find = f"m=$(command -v memsync); case $m in /*) ;; *) m={shlex.quote(program)};; esac"
    plain = "git merge-file --marker-size=%L -L ours -L base -L theirs %A %O %B"

    def driver(name: str) -> str:
        ran = f'{find}; "$m" git {name} %O %A %B %P %L; r=$?'
        done = "[ $r = 0 ] || [ $r = 65 ] || [ $r -gt 128 ] || { [ $r = 1 ] && grep -q '^<<<<<<<' %A; }"
        return f"{ran}; if {done}; then exit $r; fi; {plain}"

    show = f'f() {{ {find}; "$m" git textconv "$1" 2>/dev/null || cat "$1"; }}; f'
    # The attribute diff=memsync is committed, so the setting that it names must hold for one command alone.
    alias = f'!git -C "${{GIT_PREFIX:-.}}" -c diff.{MERGE}.textconv={shlex.quote(show)}'
    return {
        f"merge.{MERGE}.name": "memsync: memories, record by record",
        f"merge.{MERGE}.driver": driver("merge-driver"),
        f"merge.{SKILL}.name": "memsync: skills, the front matter field by field",
        f"merge.{SKILL}.driver": driver("merge-skill"),
        ALIAS: alias,
    }


def install(top: Path) -> list[str]:
    """Make the drivers known to the clone of *top*, for all its worktrees, and say what was done.

    Raises:
        GitRefused: git does not write its configuration.
    """
    found = list_missing(top)
    for name, value in found.items():
        _set(top, "--replace-all", name, value)
    return [CONFIGURED] if found else []


def list_missing(top: Path) -> dict[str, str]:
    """Return the settings that the clone of *top* lacks, or has in another form; an alias of the user's stays."""
    now = _read_section(top)
    wanted = settings(str(own_program() or "memsync"))
    if ALIAS in now and not _is_ours(now[ALIAS]):
        del wanted[ALIAS]
    return {name: value for name, value in wanted.items() if now.get(name) != value}


def _is_ours(alias: str) -> bool:
    return f"diff.{MERGE}.textconv=" in alias


def uninstall(top: Path) -> list[str]:
    """Take out what `install` wrote, and say so."""
    now = _read_section(top)
    if ALIAS in now and _is_ours(now[ALIAS]):
        _set(top, "--unset-all", ALIAS)
    sections = sorted({name.rpartition(".")[0] for name in now if name != ALIAS})
    for section in sections:
        _set(top, "--remove-section", section)
    return [f"removed {section} from git's configuration" for section in sections]


def find_command(checkout: Checkout) -> str | None:
    """Return the command of the merge driver that git in *checkout* would run, whoever set it; None if there is none."""
    return checkout.ask("config", "--get", f"merge.{MERGE}.driver")


def _read_section(top: Path) -> dict[str, str]:
    """Return what the clone's own configuration says of our drivers."""
    rows = (
        checkout.ask(top, "config", "--local", "-z", "--get-regexp", rf"^((merge|diff)\.({MERGE}|{SKILL})\.|{ALIAS}$)")
        or ""
    )
    return dict(row.split("\n", 1) for row in rows.split("\0") if "\n" in row)


def own_program() -> Path | None:
    """Return the command that starts this memsync, which is beside its Python; None if it has none."""
    command = Path(sys.executable).with_name("memsync.exe" if os.name == "nt" else "memsync")
    return command if command.exists() else None


def _set(top: Path, *words: str) -> None:
    Checkout(top).do("config", "--local", *words)

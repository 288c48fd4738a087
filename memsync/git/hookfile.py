"""The text of git hooks: our block, put into a user's script and removed again byte for byte. Touches no file."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from typing import Final

from memsync.check.files import PATTERNS
from memsync.store.places import GATED, MEMORIES, MIRRORS, STORE_DIR

NAMES: Final = ("pre-commit", "post-merge", "post-checkout", "post-rewrite")
# What `memsync git hook` exits with to stop a commit; every other failure of ours lets it pass.
BLOCKED: Final = 65

_BEGIN: Final = b"# >>> memsync >>>"
_END: Final = b"# <<< memsync <<<\n"
_SHEBANG: Final = b"#!/bin/sh\n"
_MADE: Final = b" made by"
_SHELLS: Final = frozenset({b"sh", b"bash", b"dash", b"zsh", b"ksh", b"ash"})
# A PATH with an empty entry finds what the repository has at its top.
_ABSOLUTE: Final = '[ "${memsync#/}" != "$memsync" ]'
_CHAIN: Final = '[ ! -x "$0.memsync-prev" ] || exec "$0.memsync-prev" "$@"'


def make_block(
    name: str, roots: Sequence[str], *, directory: str = "", made: bool = False, chained: bool = False
) -> bytes:
    """Return our lines for the hook *name* of a checkout with memories in *roots*.

    The shell decides whether there is anything to do, in a git call or two;
    memsync is looked for on PATH and then in *directory*. A hook that comes
    after ours gets its standard input untouched. `made`: the file is ours;
    `chained`: it goes on with the hook that was there before.
    """
    found = "$(command -v memsync)"
    if directory:
        found = f'$(PATH="$PATH:"{shlex.quote(directory)}; command -v memsync)'
    lines = [
        f"if {_guard(name, roots)} && memsync={found} && {_ABSOLUTE}; then",
        "  memsync_code=0",
        f'  "$memsync" git hook {name} "$@" </dev/null || memsync_code=$?',
        f'  [ "$memsync_code" -ne {BLOCKED} ] || exit 1',
        "fi",
        *([_CHAIN] if chained else []),
    ]
    head = (
        _BEGIN + (_MADE + b" `memsync git install`" if made else b"") + b" (`memsync git uninstall` takes this out)\n"
    )
    return head + "".join(f"{line}\n" for line in lines).encode() + _END


def _guard(name: str, roots: Sequence[str]) -> str:
    """Return the shell's test for whether there may be something to do."""
    if name != "pre-commit":
        span = {"post-checkout": '"$1" "$2"'}.get(name, "ORIG_HEAD HEAD")
        paths = _paths(roots, f"{STORE_DIR}/{MEMORIES}")
        test = f"! git diff --quiet {span} -- {paths} 2>/dev/null"
        when = {"post-checkout": '[ "$3" = 1 ] && ', "post-rewrite": '[ "$1" = rebase ] && '}.get(name, "")
        return when + test
    local = [f"{STORE_DIR}/local/{name}" for name in ("pending.jsonl", MIRRORS)]
    held = " || ".join(f"[ -s {path} ]" for one in local for path in _paths(roots, one).split())
    held += " || [ -f .git ]"  # a linked worktree or a submodule: what waits is in git's directory
    copies = ".git/memsync/copies"  # of what is private, which nobody may add by force
    held += f" || {{ [ -s {copies} ] && git diff --cached --raw --no-abbrev 2>/dev/null | grep -qFf {copies}; }}"
    ours = f"{_paths(roots, STORE_DIR)} {_paths(roots, '.gitattributes')}"
    changed = f'[ -n "$(GIT_OPTIONAL_LOCKS=0 git status --porcelain -- {ours} 2>/dev/null)" ]'
    staged = f"! git diff --cached --quiet -- {' '.join(map(shlex.quote, (*GATED, *PATTERNS)))} 2>/dev/null"
    removed = "! git diff --cached --quiet --no-renames --diff-filter=D 2>/dev/null"
    return f"{{ {held} || {changed} || {staged} || {removed}; }}"


def _paths(roots: Sequence[str], path: str) -> str:
    return " ".join(shlex.quote(path if root == "." else f"{root}/{path}") for root in roots)


def make_script(name: str, roots: Sequence[str], *, directory: str = "", chained: bool = False) -> bytes:
    """Return a hook of our own."""
    return _SHEBANG + make_block(name, roots, directory=directory, made=True, chained=chained)


def find_block(data: bytes) -> tuple[int, int] | None:
    """Return where our block begins and ends in *data*; None without one."""
    start = data.find(_BEGIN)
    end = data.find(_END, start)
    if start < 0 or end < 0 or (start and data[start - 1 : start] != b"\n"):
        return None
    return start, end + len(_END)


def is_made(data: bytes) -> bool:
    """Tell whether the file is ours alone, and so goes with the block."""
    place = find_block(data)
    return place is not None and _MADE in data[place[0] :].partition(b"\n")[0] and remove_block(data) in (_SHEBANG, b"")


def is_chained(data: bytes) -> bool:
    """Tell whether our block goes on with a hook that was there before."""
    place = find_block(data)
    return place is not None and _CHAIN.encode() in data[place[0] : place[1]]


def remove_block(data: bytes) -> bytes:
    """Return *data* without our block: what it was before."""
    place = find_block(data)
    return data[: place[0]] + data[place[1] :] if place else data


def takes_block(data: bytes) -> bool:
    """Tell whether lines of a shell may be put into the hook *data*: a text for a shell, or for none by name."""
    first, newline, _ = data.partition(b"\n")
    if b"\0" in data or not newline:
        return False
    if not first.startswith(b"#!"):
        return True
    words = first[2:].split()
    names = [word.rpartition(b"/")[2] for word in words]
    at = 1 if names[:1] == [b"env"] else 0
    return names[at : at + 1] != [] and names[at] in _SHELLS


def renew_block(name: str, data: bytes, roots: Sequence[str], directory: str) -> bytes:
    """Return the hook *data* with our block as it is written now: in the place of the old one, else before all that it does."""
    new = make_block(name, roots, directory=directory, made=is_made(data), chained=is_chained(data))
    if place := find_block(data):
        return data[: place[0]] + new + data[place[1] :]
    end = data.index(b"\n") + 1 if data.startswith(b"#!") else 0
    return data[:end] + new + data[end:]


def lefthook_snippet() -> str:
    """Return what belongs into lefthook.yml, whose generated hooks are overwritten."""
    arguments = {"post-checkout": " {1} {2} {3}", "post-merge": " {1}", "post-rewrite": " {1}"}
    parts = [
        f"{name}:\n  commands:\n    memsync:\n"
        f"      run: memsync git hook {name}{arguments.get(name, '')} || test $? -ne {BLOCKED}"
        for name in NAMES
    ]
    return "\n".join(parts)

"""Our hooks in a clone, beside those of others; and what git itself says about them."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal

from memsync.check.files import PATTERNS
from memsync.errors import Remedy, StoreNotWritable, blaming
from memsync.git import attributes
from memsync.git.attributes import MergeRule, read_rule
from memsync.store import checkout as repo
from memsync.store import files
from memsync.store.checkout import Checkout
from memsync.store.places import GATED, MEMORIES, MIRRORS, STORE_DIR, Layout

# the text of git hooks: our block, put into a user's script and removed again byte for byte. Touches no file.


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


ROOTS: Final = "memsync.root"
_LEFTHOOK: Final = ("lefthook.yml", "lefthook.yaml", ".lefthook.yml", ".lefthook.yaml", ".config/lefthook.yml")

Keeper = Literal["git", "repository", "husky", "lefthook", "outside"]


@dataclass(frozen=True, slots=True)
class Hooks:
    """Where git looks for hooks, and who keeps them: `repository` is a core.hooksPath that is committed."""

    directory: Path
    keeper: Keeper

    @property
    def is_shared(self) -> bool:
        """Whether others get the files too, so that nothing of this machine may be in them."""
        return self.keeper in ("repository", "husky")

    def find_program(self) -> str:
        """Return the directory of our command, as hooks of this machine alone may name it; "" if it has no place of its own."""
        program = None if self.is_shared else attributes.own_program()
        return str(program.parent) if program else ""


def find_hooks(checkout: Checkout, layout: Layout) -> Hooks:
    """Ask git where the hooks of *checkout* are."""
    top = checkout.top
    directory = Path(os.path.realpath(top / checkout.do("rev-parse", "--git-path", "hooks")))
    assert layout.git is not None
    if any((top / name).is_file() for name in _LEFTHOOK):
        return Hooks(directory, "lefthook")
    if directory.is_relative_to(os.path.realpath(layout.git.common)):
        return Hooks(directory, "git")
    if not directory.is_relative_to(os.path.realpath(top)):
        return Hooks(directory, "outside")
    if directory.name == "_" and directory.parent.name == ".husky":
        return Hooks(directory.parent, "husky")
    return Hooks(directory, "repository")


def read_noted(checkout: Checkout) -> list[str] | None:
    """Return the directories that `install` has noted in the clone of *checkout*, relative to its top; None: it never ran here."""
    said = checkout.ask("config", "--local", "--get-all", ROOTS)
    return None if said is None else said.splitlines()


def list_roots(checkout: Checkout) -> list[str]:
    """Return the directories of *checkout* that have memories and were installed, relative to its top."""
    return read_noted(checkout) or ["."]


def install(layout: Layout) -> list[str]:
    """Put our block into each hook, and say what was done. Does nothing the second time.

    A script for a shell gets the block behind its first line; any other hook
    is renamed to `NAME.memsync-prev` and goes on after ours.
    """
    assert layout.git is not None
    assert layout.root is not None
    checkout = Checkout(layout.git.root)
    hooks = find_hooks(checkout, layout)
    done = [
        *attributes.install(checkout.top),
        *_note_root(checkout, layout),
    ]  # merging needs no hook, so it comes first
    if hooks.keeper == "outside":
        raise StoreNotWritable(
            hooks.directory,
            "core.hooksPath leads out of the repository, and those hooks serve all your repositories",
            "git still merges memories; for the rest, call ", Remedy("git hook NAME"),
            " from them, or set core.hooksPath for this clone",
        )  # fmt: skip
    if hooks.keeper == "lefthook":
        return [
            *done,
            f"lefthook writes the hooks here; merge into its configuration (a key may stand there only once):\n{lefthook_snippet()}",
        ]
    directory, roots = hooks.find_program(), list_roots(checkout)
    files.make_dirs(hooks.directory, private=False)
    for name in NAMES:
        done += _install_one(hooks.directory / name, roots, directory)
    return done


def _note_root(checkout: Checkout, layout: Layout) -> Iterator[str]:
    assert layout.root is not None
    root, noted = layout.root.relative_to(checkout.top).as_posix(), read_noted(checkout) or []
    for stale in _find_stale_roots(layout, noted):
        checkout.do("config", "--local", "--unset-all", ROOTS, f"^{re.escape(stale)}$")
        yield f"forgot {stale}, which has no memories any more"
    if root not in noted:
        checkout.do("config", "--local", "--add", ROOTS, root)
        yield f"noted that this clone has memories {'at its top' if root == '.' else f'in {root}'}"


def _install_one(path: Path, places: list[str], directory: str) -> Iterator[str]:
    path = _find_holder(path)
    name, data = path.name.removesuffix(".legacy"), _read_script(path)
    if not os.path.lexists(path):
        _create(path, make_script(name, places, directory=directory))
        yield f"created {path}"
        return
    # A hook that may not be run is switched off; our block must not switch it on.
    has_room = takes_block(data) and (os.access(path, os.X_OK) or path.parent.name == ".husky")
    if path.is_symlink() or not (find_block(data) or has_room):
        yield from _chain(path, make_script(name, places, directory=directory, chained=True))
    elif (changed := renew_block(name, data, places, directory)) != data:
        files.rewrite(path, changed, was=data)
        yield f"added a block to {path}"


def _read_script(path: Path) -> bytes:
    return b"" if path.is_symlink() else files.read(path)[0]


def _find_holder(path: Path) -> Path:
    """Return the file of the hook *path* that has our block: pre-commit's own installer moves hooks to NAME.legacy."""
    legacy = path.with_name(f"{path.name}.legacy")
    return legacy if find_block(files.read(legacy)[0]) else path


def _prev(path: Path) -> Path:
    return path.with_name(f"{path.name}.memsync-prev")


def _chain(path: Path, data: bytes) -> Iterator[str]:
    if os.path.lexists(_prev(path)):
        raise StoreNotWritable(_prev(path), "is in the way", f"check what it is, and move it or {path} away")
    with blaming(path):
        path.rename(_prev(path))
    _create(path, data)
    yield f"created {path}, which then runs {_prev(path).name}"


def _create(path: Path, data: bytes) -> None:
    files.create(path, data, private=False)
    with blaming(path):
        path.chmod(path.stat().st_mode | 0o111)


def uninstall(layout: Layout) -> list[str]:
    """Take our blocks out, so that every hook is what it was, byte for byte; say what was done."""
    assert layout.git is not None
    checkout = Checkout(layout.git.root)
    hooks = find_hooks(checkout, layout)
    done = attributes.uninstall(checkout.top)
    for name in NAMES:
        done += _uninstall_one(hooks.directory / name)
    if read_noted(checkout) is not None:
        checkout.do("config", "--local", "--remove-section", ROOTS.partition(".")[0])
        done.append("forgot the directories with memories of this clone")
    return done


def _uninstall_one(path: Path) -> Iterator[str]:
    path = _find_holder(path)
    data = _read_script(path)
    if not find_block(data):
        return
    if not is_made(data):
        files.rewrite(path, remove_block(data), was=data)
        left = f"; what was there before is in {_prev(path).name}" if is_chained(data) else ""
        yield f"took our block out of {path}{left}"
        return
    with blaming(path):
        path.unlink()
        if os.path.lexists(_prev(path)):
            _prev(path).rename(path)
            yield f"put {path} back"
        else:
            yield f"removed {path}"


def find_blocks_in_tree(layout: Layout) -> Iterator[tuple[Path, bytes | None]]:
    """Yield what hooks in the work tree would be without our blocks; not those that the index has with them."""
    assert layout.git is not None
    checkout = Checkout(layout.git.root)
    hooks = find_hooks(checkout, layout)
    for name in NAMES if hooks.is_shared else ():
        path = _find_holder(hooks.directory / name)
        data = _read_script(path)
        if not find_block(data) or find_block(repo.read_staged(path) or b""):
            continue
        here = layout.git.root / path.relative_to(os.path.realpath(layout.git.root))
        if not is_made(data):
            yield here, remove_block(data)
        elif not os.path.lexists(_prev(path)):
            yield here, None
        elif not _prev(path).is_symlink():
            yield here, files.read(_prev(path))[0]
            yield _prev(here), None


def status(layout: Layout) -> dict[str, Any]:
    """Return what git says: where hooks are, and for each of ours `installed`, `outdated`, `off` or `missing`."""
    assert layout.git is not None
    checkout = Checkout(layout.git.root)
    noted, command = read_noted(checkout), attributes.find_command(checkout)
    hooks, states = find_states(layout, noted)
    merging = _find_rule(checkout, layout, command)
    return {
        "hooks_path": str(hooks.directory),
        "keeper": hooks.keeper,
        "hooks": states,
        "driver": command,
        "attribute": merging is not None and merging.here == attributes.MERGE,
        "merging": merging,
        "problems": [*(merging.find_problems() if merging else ()), *list_stale_roots(layout, noted)],
    }


def find_states(layout: Layout, noted: Sequence[str] | None) -> tuple[Hooks, dict[str, str]]:
    """Return where the hooks are, and the state of each of ours as `status` says it, where *noted* is what `read_noted` does."""
    assert layout.git is not None
    checkout = Checkout(layout.git.root)
    hooks = find_hooks(checkout, layout)
    directory = hooks.find_program()
    return hooks, {name: _find_state(checkout.top, hooks, name, noted or ["."], directory) for name in NAMES}


def find_rule(layout: Layout) -> MergeRule | None:
    """Return how git merges the memories of the project; None where it does not have them."""
    if layout.git is None:
        return None
    checkout = Checkout(layout.git.root)
    return _find_rule(checkout, layout, attributes.find_command(checkout))


def _find_rule(checkout: Checkout, layout: Layout, command: str | None) -> MergeRule | None:
    if layout.project is None:
        return None
    path = layout.project.memories.relative_to(checkout.top).as_posix()
    is_known = bool(checkout.ask("ls-files", "--", f":(top,literal){path}"))
    return read_rule(checkout, path, has_driver=command is not None) if is_known else None


def list_stale_roots(layout: Layout, noted: Sequence[str] | None) -> list[str]:
    """Return what to say about directories, of those *noted*, that have no memories any more, as after a move."""
    return [
        f"memories were in {root}, and are not there any more; `memsync git install` notes where they are now"
        for root in _find_stale_roots(layout, noted or [])
    ]


def _find_stale_roots(layout: Layout, noted: Sequence[str]) -> list[str]:
    """Return the *noted* directories without a store, but for the project's own, which may have none yet."""
    assert layout.git is not None
    assert layout.root is not None
    top = layout.git.root
    return [root for root in noted if top / root != layout.root and not (top / root / STORE_DIR).is_dir()]


def _find_state(top: Path, hooks: Hooks, name: str, places: Sequence[str], directory: str) -> str:
    if hooks.keeper == "lefthook":
        call = f"memsync git hook {name}".encode()
        return "installed" if any(call in files.read(top / one)[0] for one in _LEFTHOOK) else "missing"
    path = _find_holder(hooks.directory / name)
    data = _read_script(path)
    if not find_block(data):
        return "missing"
    if hooks.keeper != "husky" and not os.access(path, os.X_OK):
        return "off"
    return "installed" if renew_block(name, data, places, directory) == data else "outdated"

"""Asking git in one checkout.

Short questions go to the git program: one call costs 4 ms, importing GitPython
60 to 120. What reads many versions of files, and making a repository, goes through GitPython. The
user's name is read from git's settings where they say it plainly.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from memsync.errors import GitFailed, GitRefused, MemsyncError
from memsync.store.places import GitDirs, find_git
from memsync.system import programs
from memsync.system.home import find_home

if TYPE_CHECKING:
    from git import Git, Repo

# What git sets for its hooks. A leaked GIT_DIR wins over the directory that git is started in, and a relative
# GIT_INDEX_FILE is read from there, so only a hook at the top of its own checkout may keep them.
_OF_HOOKS: Final = frozenset(
    "GIT_DIR GIT_WORK_TREE GIT_INDEX_FILE GIT_PREFIX GIT_COMMON_DIR GIT_OBJECT_DIRECTORY"
    " GIT_ALTERNATE_OBJECT_DIRECTORIES GIT_IMPLICIT_WORK_TREE GIT_INTERNAL_SUPER_PREFIX GIT_SHALLOW_FILE".split()
)
QUIET: Final = {"GIT_TERMINAL_PROMPT": "0", "GIT_OPTIONAL_LOCKS": "0", "LC_ALL": "C.UTF-8"}
_LONGEST: Final = 120.0
NOT_RUN: Final = 255  # where there is no git, or it took too long
_BLOCK: Final = 1 << 20  # bytes of a file of git's at once

Pick = Callable[[bytes], bytes]
_KINDS: Final = frozenset({b"blob", b"tree", b"commit", b"tag"})
_BELOW: Final = ("GIT_CONFIG_SYSTEM", "GIT_CONFIG_NOSYSTEM")  # about settings that the user's stand above
_ELSEWHERE: Final = ("include", "[user", "worktreeconfig")  # what in the settings of a repository has git asked


class Done(NamedTuple):
    """How a git command ended: with a code of its own, or NOT_RUN."""

    code: int
    out: bytes
    err: str

    @property
    def text(self) -> str:
        """The output without its last newline."""
        return self.out.decode("utf-8", "surrogateescape").rstrip("\n")

    @property
    def paths(self) -> list[str]:
        """The output of a command with -z."""
        return [part for part in self.out.decode("utf-8", "surrogateescape").split("\0") if part]


def clean_env(env: Mapping[str, str] = os.environ) -> dict[str, str]:
    """Return *env* without what binds git to another repository or index."""
    return {name: value for name, value in programs.git_env(env).items() if name not in _OF_HOOKS}


class Checkout:
    """Git in the work tree whose top is *top*. `in_hook`: git itself started us there, so its index counts."""

    def __init__(self, top: Path, *, in_hook: bool = False) -> None:
        self.top = top
        self._env = programs.git_env() if in_hook else clean_env()

    def run(
        self, *words: str, stdin: bytes = b"", env: Mapping[str, str] | None = None, patience: float | None = _LONGEST
    ) -> Done:
        """Run `git WORDS` at the top for *patience* seconds at most and return how it ended; never asks a question."""
        import subprocess

        try:
            done = subprocess.run(
                [programs.find("git"), *words],
                cwd=self.top,
                input=stdin,
                capture_output=True,
                env={**self._env, **QUIET, **(env or {})},
                timeout=patience,
                check=False,
            )
        except OSError as error:
            return Done(
                NOT_RUN, b"", f"it cannot be run ({error.strerror or error}); install git, or put it into the PATH"
            )
        except subprocess.SubprocessError as error:
            return Done(NOT_RUN, b"", str(error))
        return Done(done.returncode, done.stdout, done.stderr.decode("utf-8", "replace"))

    def stream(self, *words: str) -> Generator[bytes]:
        """Yield the lines that `git WORDS` prints, as they come; closed, it ends git.

        Raises:
            GitRefused: it failed, after what it printed.
        """
        import subprocess

        with subprocess.Popen(
            [programs.find("git"), *words],
            cwd=self.top,
            env={**self._env, **QUIET},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        ) as process:
            assert process.stdout
            try:
                yield from process.stdout
                if process.wait():
                    raise GitRefused(words[0], "")
            finally:
                process.kill()

    @contextmanager
    def lock_ref(self, name: str, new: str, old: str, reason: str) -> Iterator[Callable[[], None]]:
        """Hold git's lock of the ref *name*, which is at *old*, and give what moves it to *new*; else it stays.

        Raises:
            GitRefused: it is elsewhere by now, or others hold the lock.
        """
        import subprocess

        with subprocess.Popen(
            [programs.find("git"), "update-ref", "-m", reason, "--stdin"],
            cwd=self.top,
            env={**self._env, **QUIET},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        ) as process:

            def say(words: str) -> None:
                assert process.stdin
                assert process.stdout
                assert process.stderr
                with suppress(BrokenPipeError):  # it says why
                    process.stdin.write(words)
                    process.stdin.flush()
                if not process.stdout.readline().endswith(": ok\n"):
                    raise GitRefused("update-ref", process.stderr.read())

            say("start\n")
            say(f"update {name} {new} {old}\nprepare\n")
            yield partial(say, "commit\n")

    def ask(self, *words: str) -> str | None:
        """Return what `git WORDS` prints; None if it fails."""
        done = self.run(*words)
        return done.text if done.code == 0 else None

    def do(self, *words: str, stdin: bytes = b"", env: Mapping[str, str] | None = None) -> str:
        """Run `git WORDS` and return what it prints.

        Raises:
            GitRefused: it failed.
        """
        done = self.run(*words, stdin=stdin, env=env)
        if done.code:
            raise GitRefused(words[0], done.err)
        return done.text


def ask(directory: Path, *words: str) -> str | None:
    """Return what `git WORDS` prints in *directory*; None if it fails or there is no git."""
    return Checkout(directory).ask(*words)


def find_checkout(path: Path) -> tuple[Checkout, str]:
    """Return the checkout that *path* is in, and what git calls it there.

    Git is asked at the top alone: further down a tracked directory could pass for a bare repository with settings.
    """
    real = Path(os.path.realpath(path.parent)) / path.name
    git = find_git(real.parent)
    top = git.root if git else real.parent
    return Checkout(top), real.relative_to(top).as_posix()


def user_name(directory: Path) -> str | None:
    """Return the name that commits made in *directory* would carry."""
    git = find_git(directory)
    if name := read_user_name(git):
        return name
    directory = git.root if git else directory
    return ask(directory, "config", "--get", "user.name") or ask(directory, "config", "--get", "user.email")


def _ask_about(path: Path, *words: str) -> str | None:
    git, name = find_checkout(path)
    return git.ask("--literal-pathspecs", *words, "--", name)


def is_tracked(path: Path) -> bool:
    """Tell whether git tracks *path*, which is in a checkout.

    Raises:
        GitFailed: there is no git, or it refuses to look here.
    """
    found = _ask_about(path, "ls-files")
    if found is None:
        raise GitFailed(path)
    return bool(found)


def read_stages(path: Path) -> dict[int, bytes]:
    """Return what the index holds of *path* while git merges it: 1 the base, 2 ours, 3 theirs; empty otherwise."""
    rows = [row.partition("\t")[0].split() for row in (_ask_about(path, "ls-files", "-u") or "").splitlines()]
    found = {int(stage): _read_object(path, blob) for _, blob, stage in rows}
    return {stage: data for stage, data in found.items() if data is not None}


def merge_text(directory: Path, texts: Sequence[bytes], *, size: int = 7) -> tuple[int, bytes]:
    """Merge *texts* (base, ours, theirs) as git in *directory* does by itself.

    Returns how many conflicts there are, and the text with their markers.

    Raises:
        OSError: there is no git, or it does not merge these (they are binary).
    """
    import tempfile

    with tempfile.TemporaryDirectory() as name:
        paths = [Path(name) / part for part in ("base", "ours", "theirs")]
        for path, data in zip(paths, texts, strict=True):
            path.write_bytes(data)
        words = ["-L", "ours", "-L", "base", "-L", "theirs", *(str(paths[number]) for number in (1, 0, 2))]
        done = Checkout(directory).run("merge-file", "-p", "-q", f"--marker-size={size}", *words)
    if done.code > 127:
        raise OSError(done.err.strip())
    return done.code, done.out


def is_unmerged(path: Path) -> bool:
    """Tell whether git waits for somebody to resolve a conflict in *path*."""
    return bool(_ask_about(path, "ls-files", "-u"))


def is_left_out(path: Path) -> bool:
    """Tell whether a sparse checkout leaves *path*, which git tracks, out of the work tree."""
    return (_ask_about(path, "ls-files", "-t") or "").startswith("S ")


def is_ignored(path: Path) -> bool:
    """Tell whether a .gitignore keeps *path* from being committed."""
    git, name = find_checkout(path)
    return git.ask("check-ignore", "--", f"./{name}") is not None  # which takes no --literal-pathspecs


def explain_absence(path: Path) -> str:
    """Return that another branch has *path*, where this one never put it: git would not change to that over a file of ours. "" else."""
    if os.path.lexists(path):
        return ""
    git, name = find_checkout(path)
    refs = (git.ask("for-each-ref", "--format=%(refname)", "refs/heads", "refs/remotes") or "").splitlines()
    asked = b"".join(os.fsencode(f"{ref}:{name}\n") for ref in ("HEAD", *refs))
    head, *others = git.run("cat-file", "--batch-check", stdin=asked).text.splitlines() if refs else [""]
    having = [ref for ref, row in zip(refs, others, strict=True) if not row.endswith(" missing")]
    if not having or not head.endswith(" missing") or _ask_about(path, "ls-files"):
        return ""
    branch = having[0].split("/", 2)[2]
    return f"{branch} has it and this branch does not yet; `git merge {branch}`, or `memsync init` begins one here"


def _gitpython() -> tuple[type[Repo], type[Git]]:
    """Import GitPython, which runs `git version` at once.

    Raises:
        MemsyncError: there is no git.
    """
    try:
        os.environ["GIT_PYTHON_GIT_EXECUTABLE"] = programs.find("git")
        from git import Git, Repo
    except (OSError, ImportError) as error:
        raise MemsyncError(f"git cannot be run ({error}); install git, or put it into the PATH") from None
    return Repo, Git


@contextmanager
def objects(top: Path) -> Iterator[Callable[..., bytes | None]]:
    """Give a function that returns the bytes of a file as a user reads it, by its object or as `REV:PATH`, and its path; None: no such file.

    Of a block of whole lines after the other it takes what the third argument makes of it, so that a process that
    stays need not hold a large file at once.
    All of them come from one `git cat-file --batch` of GitPython, by the rules of `Checkout`.
    """
    import subprocess

    _, base = _gitpython()

    class Bound(base):  # type: ignore[misc, valid-type]
        """GitPython's own calls take over the environment as it is, a hook's GIT_DIR and all, and know SHA-1 only."""

        def execute(self, command: Sequence[str], **options: Any) -> Any:
            process = subprocess.Popen(
                [programs.find("git"), *command[1:]],
                cwd=top,
                env={**clean_env(), **QUIET},
                stdin=options["istream"],
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
            )
            return self.AutoInterrupt(process, command)

        def _prepare_ref(self, ref: str) -> bytes:
            if "\n" in ref:
                raise ValueError(ref)
            return os.fsencode(ref) + b"\n"

        def _parse_object_header(self, header_line: bytes) -> tuple[str, str, int]:
            if not header_line:
                raise BrokenPipeError
            words = header_line.split()
            if len(words) != 3 or len(words[0]) not in (40, 64):
                raise ValueError(header_line)
            return words[0].decode(), words[1].decode(), int(words[2])

    git = Bound(top)

    try:
        yield partial(_pick_object, git, Checkout(top))
    finally:
        git.clear_cache()


def _pick_object(git: Git, checkout: Checkout, name: str, path: str, pick: Pick | None = None) -> bytes | None:
    from memsync.store.filters import smudge

    try:
        _, kind, size, stream = git.stream_object_data(name)
    except ValueError:
        return None
    except OSError:  # a broken pipe, which would look as if the reader of our output had gone
        raise GitRefused("cat-file --batch", "it ended before it answered") from None
    if kind != "blob" or pick is None:
        data = stream.read(size)
        return smudge(checkout, path, data, name) if kind == "blob" else None
    return b"\n".join(filter(None, map(pick, _smudge_blocks(checkout, path, name, _read_blocks(stream, size)))))


def _smudge_blocks(checkout: Checkout, path: str, name: str, blocks: Iterator[bytes]) -> Iterator[bytes]:
    """Yield *blocks* as a user reads them; only what a filter stored is held whole."""
    from memsync.store.filters import may_be_stored, smudge

    first = next(blocks, b"")
    yield smudge(checkout, path, b"".join([first, *blocks]), name) if may_be_stored(path, first) else first
    del first
    yield from blocks


def _read_blocks(stream: Git.CatFileContentStream, size: int) -> Iterator[bytes]:
    while size > 0 and (block := stream.read(min(_BLOCK, size))):
        if block[-1:] != b"\n":
            block += stream.readline()
        size -= len(block)
        yield block


def create(directory: Path, *, name: str, email: str) -> None:
    """Make a repository in *directory* with its own user, on branch main."""
    with _gitpython()[0].init(directory, initial_branch="main") as repo, repo.config_writer() as config:
        config.set_value("user", "name", name)
        config.set_value("user", "email", email)
        config.set_value("commit", "gpgsign", "false")


def commit_all(directory: Path, message: str) -> str:
    """Commit everything in *directory* and return git's one-line summary of the commit."""
    with _gitpython()[0](directory) as repo:
        repo.git.add("--all")
        repo.git.commit("--quiet", "--message", message)
        return str(repo.git.show("--stat", "--format=%h %s", "HEAD")).splitlines()[0]


def read_committed(path: Path) -> bytes | None:
    """Return the bytes of *path* in HEAD; None if HEAD has no such file."""
    return _read_object(path, "HEAD:{}")


def read_staged(path: Path) -> bytes | None:
    """Return the bytes of *path* in the index; None if it has no such file."""
    return _read_object(path, ":{}")


def _read_object(path: Path, object_: str) -> bytes | None:
    """Return the bytes of *object_* in the checkout of *path*, whose name stands for `{}` in it; None if there is none."""
    git, name = find_checkout(path)
    done = git.run("cat-file", "blob", object_.replace("{}", name))
    return done.out if done.code == 0 else None


def find_head(path: Path) -> str:
    """Return the commit that is checked out where *path* is; "" if there is none."""
    return find_checkout(path)[0].ask("rev-parse", "--quiet", "--verify", "HEAD") or ""


def had(path: Path, id_: str, commit: str, is_edit: bool) -> bool:
    """Tell whether what is checked out once had the record *id_* in its memory file *path*, as it stood at *commit*.

    Of an edit it counts where the histories parted, as a rebase leaves *commit* behind: an edit outlives a removal that
    did not know of it. A removal goes on waiting for the branch of *commit*, which has the record.
    A record that *commit* itself has not stood only in the work tree. It counts as had, but for as long as something
    may bring it back: a stash, or the hook manager of the commit that runs us, which has put changes aside.
    """
    git, _ = find_checkout(path)
    shared = git.ask("merge-base", commit, "HEAD")
    if not shared or (shared != commit and not is_edit):
        return False
    if _has_record(path, id_, f"{shared}:{{}}"):
        return True
    is_clear = "GIT_INDEX_FILE" not in os.environ and git.ask("rev-parse", "--quiet", "--verify", "refs/stash") is None
    return shared == commit and is_clear


def has_removed(path: Path, id_: str) -> bool:
    """Tell whether HEAD has the memory file *path*, but no record *id_* in it: others may know that it is gone."""
    return _has_record(path, id_, "HEAD:{}") is False


def has_committed(path: Path, id_: str) -> bool:
    """Tell whether HEAD has the record *id_* in the memory file *path*."""
    return _has_record(path, id_, "HEAD:{}") is True


def _has_record(path: Path, id_: str, object_: str) -> bool | None:
    """Tell whether *object_*, spelled as for `_read_object`, has a line of the record *id_*; None if there is no such file.

    Of a large file only those lines are read that may be its, and it is never held as a whole.
    """
    from contextlib import closing

    from memsync.format.jsonl import may_be_of, read_line
    from memsync.store.filters import may_be_stored, smudge

    git, name = find_checkout(path)
    object_ = object_.replace("{}", name)
    try:
        with closing(git.stream("cat-file", "blob", object_)) as lines:
            first = [next(lines, b"")]
            if may_be_stored(name, first[0]):
                first = smudge(git, name, b"".join([*first, *lines]), object_).splitlines(keepends=True)
            rows = chain(first, lines)
            return any(may_be_of(raw, id_) and read_line(raw.removesuffix(b"\n")).id == id_ for raw in rows)
    except (GitRefused, OSError):
        return None


def list_files(directory: Path, *, new: bool = True) -> list[str] | None:
    """Return the paths of all files in *directory* that git tracks, or, if *new*, would take, relative to it; None outside git."""
    git, name = find_checkout(directory / "x")
    inside = name.removesuffix("x")
    words = ("ls-files", "-z", "--cached", *(("--others", "--exclude-standard") if new else ()), "--deduplicate")
    found = git.ask("--literal-pathspecs", *words, "--", inside or ".")
    return None if found is None else [path.removeprefix(inside) for path in found.split("\0") if path]


def read_blobs(checkout: Checkout, names: Sequence[str]) -> list[bytes | None]:
    """Return the bytes of each of *names*, an object or `REV:PATH`; None: git has no such file."""
    stdin = "".join(f"{name}\n" for name in names).encode("utf-8", "surrogateescape")
    if stdin.count(b"\n") == len(names) and (done := checkout.run("cat-file", "--batch", stdin=stdin)).code == 0:
        return list(_split(done.out, len(names)))
    found = [checkout.run("cat-file", "blob", name) for name in names]  # a name of two lines, or a damaged object
    return [one.out if one.code == 0 else None for one in found]


def _split(out: bytes, count: int) -> Iterator[bytes | None]:
    """Yield the *count* files in what `git cat-file --batch` printed: each behind a line `OBJECT KIND SIZE`, before a newline."""
    at = 0
    for _ in range(count):
        end = out.index(b"\n", at)
        words = out[at:end].split()
        at = end + 1
        if len(words) != 3 or words[1] not in _KINDS or not words[2].isdigit():  # such as `NAME missing`
            yield None
            continue
        size = int(words[2])
        yield out[at : at + size] if words[1] == b"blob" else None
        at += size + 1


def read_user_name(git: GitDirs | None, env: Mapping[str, str] = os.environ) -> str | None:
    """Return user.name of the user's settings; None where git must be asked: another file may say something else, or say it oddly."""
    home = find_home(env)
    if not home or any(name.startswith("GIT_CONFIG") and name not in _BELOW for name in env):
        return None
    if git and ((text := _read(git.common / "config")) is None or any(word in text.lower() for word in _ELSEWHERE)):
        return None
    text = _read(Path(home, ".gitconfig"))
    return _find_name(text) if text and "include" not in text.lower() else None


def _read(path: Path) -> str | None:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, ValueError):
        return None


def _find_name(text: str) -> str | None:
    """Return the last user.name of *text*; None where a line of it is not plain."""
    name, is_inside = None, False
    for line in map(str.strip, text.split("\n")):
        key, equals, value = line.partition("=")
        if line.endswith("\\") or (line.startswith("[") and (not line.endswith("]") or "]" in line[:-1])):
            return None
        if line.startswith("["):
            is_inside = line[1:-1].strip().lower() == "user"
        elif is_inside and key.strip().lower() == "name":
            if not equals or any(mark in value for mark in '"\\#;'):
                return None
            name = value.strip()
    return name or None

"""The few things asked of git itself.

Short questions go to the git program: one call costs 4 ms, importing GitPython
60 to 120. Work on a repository goes through GitPython.
"""

from __future__ import annotations

from pathlib import Path

from memsync.errors import GitFailed


def _ask(directory: Path, *words: str) -> str | None:
    """Return what `git WORDS` prints in *directory*; None if it fails or there is no git."""
    import subprocess

    try:
        done = subprocess.run(
            ["git", *words], cwd=directory, capture_output=True, stdin=subprocess.DEVNULL, check=False, timeout=10
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.decode("utf-8", "replace").rstrip("\n") if done.returncode == 0 else None


def user_name(directory: Path) -> str | None:
    """Return the name that commits made in *directory* would carry."""
    return _ask(directory, "config", "--get", "user.name") or _ask(directory, "config", "--get", "user.email")


def is_tracked(path: Path) -> bool:
    """Tell whether git tracks *path*, which is in a checkout.

    Raises:
        GitFailed: there is no git, or it refuses to look here.
    """
    found = _ask(path.parent, "ls-files", "--", path.name)
    if found is None:
        raise GitFailed(path)
    return bool(found)


def is_ignored(path: Path) -> bool:
    """Tell whether a .gitignore keeps *path* from being committed."""
    return _ask(path.parent, "check-ignore", "--", path.name) is not None


def create(directory: Path, *, name: str, email: str) -> None:
    """Make a repository in *directory* with its own user, on branch main."""
    from git import Repo

    with Repo.init(directory, initial_branch="main") as repo, repo.config_writer() as config:
        config.set_value("user", "name", name)
        config.set_value("user", "email", email)
        config.set_value("commit", "gpgsign", "false")


def commit_all(directory: Path, message: str) -> str:
    """Commit everything in *directory* and return git's one-line summary of the commit."""
    from git import Repo

    with Repo(directory) as repo:
        repo.git.add("--all")
        repo.git.commit("--quiet", "--message", message)
        return str(repo.git.show("--stat", "--format=%h %s", "HEAD")).splitlines()[0]


def committed(path: Path) -> bytes | None:
    """Return the bytes of *path* in HEAD; None if HEAD has no such file."""
    text = _ask(path.parent, "show", f"HEAD:./{path.name}")
    return None if text is None else text.encode()

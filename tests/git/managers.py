"""The real hook managers, where they are installed, and what a test does with each of them."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from helpers import GitRepo

# Read when the tests are collected: the sandbox moves HOME before each of them.
INSTALLED = Path(os.environ.get("HOOK_MANAGERS") or Path.home() / ".cache" / "hook-managers")
# The versions that this was measured with.
PACKAGES = {
    "husky": "npm install --prefix {} husky@9.1.7",
    "lint-staged": "npm install --prefix {} lint-staged@16.4.0",
    "lefthook": "npm install --prefix {} lefthook@2.2.2",
    "simple-git-hooks": "npm install --prefix {} simple-git-hooks@2.14.0",
    "pre-commit": "python -m venv {0}/pc && {0}/pc/bin/pip install pre-commit==4.7.0",
}


def folder(program: str) -> Path:
    """Return the directory of commands that has *program*."""
    return INSTALLED / ("pc/bin" if program == "pre-commit" else "node_modules/.bin")


def why_missing(*programs: str) -> str:
    """Return why one of *programs* cannot be run, and what to do; "" if all can."""
    for program in programs:
        if not (folder(program) / program).exists() or not (program == "pre-commit" or shutil.which("node")):
            return f"HOOK MANAGER MISSING: {program}; `{PACKAGES[program].format(INSTALLED)}` brings it"
    return ""


def environment(home: Path) -> Mapping[str, str]:
    """Return an environment that finds the managers and this memsync; nothing of it reaches out."""
    shims = home / "bin"
    shims.mkdir(exist_ok=True)
    shim = shims / "memsync"
    shim.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m memsync "$@"\n')
    shim.chmod(0o755)
    paths = [str(shims), str(folder("husky")), str(folder("pre-commit")), os.environ["PATH"]]
    return {**os.environ, "PATH": os.pathsep.join(paths), "PRE_COMMIT_HOME": str(home / "pre-commit"), "CI": "1"}


def run(repo: GitRepo, *words: str, env: Mapping[str, str]) -> subprocess.CompletedProcess[str]:
    """Run a command at the top of *repo*; it may fail."""
    return subprocess.run(words, cwd=repo.root, env=env, capture_output=True, text=True, check=False, timeout=120)


def set_up_lint_staged(repo: GitRepo, env: Mapping[str, str]) -> None:
    """Have husky run lint-staged, and memsync, at each commit."""
    (repo.root / "package.json").write_text(
        '{"name": "x", "scripts": {}, "lint-staged": {"*.js": "sh .git/lint.sh"}}\n'
    )
    (repo.root / ".gitignore").write_text("node_modules\n")
    (repo.root / "node_modules").symlink_to(INSTALLED / "node_modules")
    assert run(repo, "husky", "init", env=env).returncode == 0
    (repo.root / ".husky" / "pre-commit").write_text("npx lint-staged\n")
    _begin(repo, env)


def set_up_lefthook(repo: GitRepo, env: Mapping[str, str]) -> None:
    """Have lefthook run a task on staged files, and memsync, at each commit."""
    (repo.root / "lefthook.yml").write_text("")
    said = run(repo, "memsync", "git", "install", env=env).stdout
    snippet = said[said.index("pre-commit:") :].split("\npost-merge:")[0]
    task = "\n    lint:\n      glob: '*.js'\n      run: sh .git/lint.sh\n"
    (repo.root / "lefthook.yml").write_text(snippet + task)
    done = run(repo, "lefthook", "install", env=env)
    assert done.returncode == 0, done.stderr
    _begin(repo, env)


def set_up_pre_commit(repo: GitRepo, env: Mapping[str, str]) -> None:
    """Have the pre-commit framework run a task on staged files at each commit, after our hook."""
    task = "{id: lint, name: lint, entry: sh .git/lint.sh, language: system, files: js$}"
    (repo.root / ".pre-commit-config.yaml").write_text(f"repos: [{{repo: local, hooks: [{task}]}}]\n")
    done = run(repo, "pre-commit", "install", env=env)
    assert done.returncode == 0, done.stderr
    _begin(repo, env)


def _begin(repo: GitRepo, env: Mapping[str, str]) -> None:
    done = run(repo, "memsync", "init", "--agent", "none", env=env)
    assert done.returncode == 0, done.stderr
    (repo.root / "a.js").write_text("a\n")
    (repo.root / ".git" / "lint.sh").write_text("exit 0\n")
    repo.git("add", "-A")
    done = run(repo, "git", "commit", "-qm", "begin", env=env)
    assert done.returncode == 0, done.stderr

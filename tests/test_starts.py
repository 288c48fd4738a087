"""Every start of a process: none takes a program or a module from the repository that it works in."""

from __future__ import annotations

import ast
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from helpers import memsync, until

from memsync import Memsync, origin
from memsync.clients import facts
from memsync.git import attributes, install
from memsync.system import programs

PACKAGE = Path(programs.__file__).parents[1]
MODULES = sorted(PACKAGE.rglob("*.py"))
STARTS = re.compile(
    r"(subprocess\.\w+|(?:\w+\.)*Popen|os\.(?:exec\w+|spawn\w+|posix_spawnp?|system|popen|startfile)"
    r"|asyncio\.create_subprocess_\w+|pty\.spawn|multiprocessing\.\w+|ProcessPoolExecutor)$"
)
HARMLESS = re.compile(r"subprocess\.(SubprocessError|TimeoutExpired|CalledProcessError)$|multiprocessing\.get_context$")


def starts(tree: ast.AST) -> Iterator[tuple[ast.Call, ast.AST]]:
    """Yield each call that starts a process, with the function it stands in."""
    for outer in ast.walk(tree):
        if isinstance(outer, ast.FunctionDef | ast.AsyncFunctionDef):
            for node in ast.walk(outer):
                if isinstance(node, ast.Call):
                    name = ast.unparse(node.func)
                    if STARTS.search(name) and not HARMLESS.search(name):
                        yield node, outer


def is_safe(call: ast.Call, function: ast.AST) -> bool:
    """Tell whether the program that *call* starts is what `programs` says."""
    if ast.unparse(call.func) == "ProcessPoolExecutor":
        return "with programs.keep_safe_path()" in ast.unparse(function)
    words = ast.unparse(call.args[0])
    made = [ast.unparse(node) for node in ast.walk(function) if isinstance(node, ast.Assign)]
    name = words.removesuffix("[0]")
    made_here = (f"{name} = programs.own(", f"{name} = own(")  # without a prefix in `programs` itself
    named = re.match(r"\[(\*_bound\(name\), )?(programs\.)?find\(|programs\.own\(", words)  # bounds are by the shell
    return bool(named) or any(one.startswith(made_here) for one in made)


def test_every_process_that_we_start_is_named_by_programs():
    found = {}
    for path in MODULES:
        for call, function in starts(ast.parse(path.read_text(encoding="utf-8"))):
            found[f"{path.relative_to(PACKAGE)}: {ast.unparse(call)[:60]}"] = is_safe(call, function)
    assert [where for where, safe in found.items() if not safe] == []
    assert len(found) >= 4


@pytest.mark.parametrize(
    "code",
    [
        "def f():\n    subprocess.run(['git', 'status'])",
        "def f():\n    subprocess.Popen([sys.executable, '-m', 'memsync'])",
        "def f():\n    words = [sys.executable, '-m', 'memsync']\n    os.posix_spawn(words[0], words, env)",
        "def f():\n    os.execvp('memsync', ['memsync'])",
        "def f():\n    os.system('memsync index rebuild')",
        "def f():\n    with ProcessPoolExecutor(2) as pool:\n        pool.submit(load)",
    ],
)
def test_the_walk_sees_a_start_that_is_not_safe(code):
    ((call, function),) = starts(ast.parse(code))
    assert not is_safe(call, function)


def told() -> Iterator[str]:
    """Yield every text of the package that may be a command line, and every command line that we write for others."""
    for path in MODULES:
        tree = ast.parse(path.read_text(encoding="utf-8"))
        spoken = {ast.get_docstring(node, clean=False) for node in ast.walk(tree) if isinstance(node, ast.Module)}
        for node in ast.walk(tree):
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value not in spoken:
                yield node.value
    for path in [*origin.templates().rglob("*.json"), *PACKAGE.rglob("*.json")]:
        yield path.read_text(encoding="utf-8")
    yield from attributes.settings("/opt/memsync").values()
    for name in install.NAMES:
        yield install.make_script(name, ["."], directory="/opt").decode()
    yield json.dumps([tuple(hook) for client in facts.every() for hook in client.hooks])


def test_no_command_line_that_we_write_runs_a_module_from_the_working_directory():
    assert [text for text in told() if re.search(r"python[\d.]*\s+(?!-P\b)(-\w+\s+)*-[mc]\b", text)] == []


HOSTILE = "import os; open(os.environ['MEMSYNC_HOME'] + '/PWNED', 'a').write(__name__)\n"


def plant(root: Path) -> None:
    """Put modules and programs at the top of a repository, as a clone may bring them."""
    for name in ("json", "sitecustomize", "usercustomize", "orjson", "logging", "__main__"):
        (root / f"{name}.py").write_text(HOSTILE)
    for name in ("memsync", "numpy", "yaml", "click"):
        (root / name).mkdir()
        (root / name / "__init__.py").write_text(HOSTILE)
    for name in ("git", "memsync.sh", "python"):
        (root / name).write_text('#!/bin/sh\ntouch "$MEMSYNC_HOME/PWNED"\n')
        (root / name).chmod(0o755)


def test_a_hook_that_ran_out_of_time_runs_nothing_of_the_repository(repo, home):
    plant(repo.root)
    (home / ".gobby").mkdir()
    rows = (json.dumps({"content": f"note {n} " + f"word{n % 997} " * 60, "id": f"mm-{n:06d}"}) for n in range(12_000))
    repo.write_memories("\n".join(rows) + "\n")
    asked = json.dumps({"session_id": "s", "prompt": "how do we deploy word17?", "cwd": str(repo.root)})
    env = {"MEMSYNC_HOME": str(home / ".gobby"), "MEMSYNC_HOOK_SECONDS": "0.3", "PYTHONPATH": ""}
    started = programs.own("hook", "prompt", "--client", "claude")
    done = run(started, repo.root, asked, env)
    assert "gave nothing in 0.3 seconds" in done
    with Memsync.open(repo.root) as project:
        until(lambda: project.finder.file.describe()["fresh"])
    assert not (home / ".gobby" / "PWNED").exists()


def run(words: list[str], cwd: Path, stdin: str, env: dict[str, str]) -> str:
    import subprocess

    done = subprocess.run(
        words, cwd=cwd, input=stdin, capture_output=True, text=True, env={**os.environ, **env}, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stderr


@pytest.mark.parametrize("path", ["{path}:", ":{path}", ".:{path}", "bin:{path}"])
def test_git_is_not_taken_from_the_repository(repo, home, path, monkeypatch):
    (home / ".gobby").mkdir()
    plant(repo.root)
    (repo.root / "bin").mkdir()
    (repo.root / "git").rename(repo.root / "bin" / "git")
    (repo.root / "git").symlink_to("bin/git")
    monkeypatch.chdir(repo.root)
    assert os.path.isabs(programs.find("git", {"PATH": path.format(path=os.environ["PATH"])}))
    script = Path(sys.executable).with_name("memsync")
    env = {"PATH": path.format(path=os.environ["PATH"]), "MEMSYNC_HOME": str(home / ".gobby")}
    run([str(script), "memory", "add", "a fact that is worth keeping"], repo.root, "", env)
    assert not (home / ".gobby" / "PWNED").exists()


def test_a_program_is_named_by_its_name_or_by_its_whole_path(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "tool").write_text("#!/bin/sh\n")
    (tmp_path / "tool").chmod(0o755)
    for name in ("tool", "./tool"):
        with pytest.raises(FileNotFoundError):
            programs.find(name, {"PATH": "."})
    assert programs.find("tool", {"PATH": str(tmp_path)}) == str(tmp_path / "tool")
    assert programs.find(str(tmp_path / "tool"), {}) == str(tmp_path / "tool")


def test_a_child_finds_neither_programs_nor_modules_in_its_working_directory():
    env = programs.child_env({"PATH": ":/bin:.:x", "PYTHONPATH": ":/lib:src", "OTHER": "kept"})
    assert env == {"PATH": "/bin", "PYTHONPATH": "/lib", "OTHER": "kept", "NoDefaultCurrentDirectoryInExePath": "1"}


def test_our_own_command_starts_from_anywhere(tmp_path):
    assert memsync("--version", cwd=tmp_path).code == 0
    run(programs.own("--version"), tmp_path, "", {})


def test_a_worker_loads_nothing_from_the_working_directory(tmp_path, monkeypatch):
    (tmp_path / "planted.py").write_text("")
    monkeypatch.chdir(tmp_path)
    words = [sys.executable, "-c", "import planted"]
    assert subprocess.run(words, check=False, capture_output=True).returncode == 0
    with programs.keep_safe_path():
        assert subprocess.run(words, check=False, capture_output=True).returncode == 1
    assert "PYTHONSAFEPATH" not in os.environ

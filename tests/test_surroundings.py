"""What surrounds the code keeps its word: workflows, make targets, hooks, decisions, and every path that a text names."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
from collections import Counter
from pathlib import Path

import pytest
from ruamel.yaml import YAML

from tools.check_subject import find_fault

ROOT = Path(__file__).parents[1]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
TARGETS = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
NAMED = {"ids": lambda path: path.name}


def read(path: Path) -> dict:
    return YAML(typ="safe", pure=True).load(path.read_text(encoding="utf-8"))


def jobs(path: Path) -> list[dict]:
    return list(read(path)["jobs"].values())


def scripts(path: Path) -> list[str]:
    """Return every shell script of a workflow, with a word in the place of each expression."""
    return [
        re.sub(r"\$\{\{.*?\}\}", "value", step["run"]) for job in jobs(path) for step in job["steps"] if "run" in step
    ]


@pytest.mark.parametrize("path", WORKFLOWS, **NAMED)
def test_a_workflow_may_only_read_pins_what_it_uses_and_ends(path):
    assert read(path)["permissions"] == {"contents": "read"}
    for job in jobs(path):
        assert {"runs-on", "timeout-minutes", "steps"} <= job.keys() <= {
            "runs-on", "timeout-minutes", "steps", "strategy", "env", "continue-on-error"
        }  # fmt: skip
        for step in job["steps"]:
            assert ("uses" in step) != ("run" in step)
            assert re.fullmatch(r"actions/[\w-]+@(v\d+|[0-9a-f]{40})", step.get("uses", "actions/checkout@v1"))


@pytest.mark.parametrize("path", WORKFLOWS, **NAMED)
def test_the_scripts_of_a_workflow_are_sound_and_nobody_elses_text_becomes_a_command(path):
    for job in jobs(path):
        assert [step["run"] for step in job["steps"] if "${{" in step.get("run", "")] == []
    for script in scripts(path):
        done = subprocess.run(["bash", "-n", "-c", script], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("path", WORKFLOWS, **NAMED)
def test_every_expression_names_what_the_workflow_has(path):
    matrices = {name for job in jobs(path) for name in job.get("strategy", {}).get("matrix", {})}
    for expression in re.findall(r"\$\{\{(.*?)\}\}", path.read_text(encoding="utf-8")):
        for space, name in re.findall(r"\b(matrix|env|github|inputs|secrets)\.(\w+)", expression):
            known = {"matrix": matrices, "github": {"ref", "event_name", "run_id"}, "inputs": {"seed"}}
            assert name in known.get(space, set()), expression


def test_every_make_target_and_file_that_is_called_is_there():
    called = [script for path in WORKFLOWS for script in scripts(path)]
    called += [(ROOT / ".ci" / "run").read_text(encoding="utf-8")]
    called += [hook["entry"] for repo in read(ROOT / ".pre-commit-config.yaml")["repos"] for hook in repo["hooks"]]
    targets = re.findall(r"(?m)(?:^|[;&|`] ?|exec )make ([a-z-]+)", "\n".join(called))
    assert {"lint", "test", "explore"} <= set(targets) <= TARGETS
    files = re.findall(r"python3? (\S+\.py)", "\n".join(called))
    assert [name for name in files if not (ROOT / name).is_file()] == []


def test_the_suite_runs_on_every_python_and_system_that_the_package_names():
    matrix = read(ROOT / ".github" / "workflows" / "ci.yml")["jobs"]["test"]["strategy"]["matrix"]
    named = [entry.rpartition(" ")[2] for entry in PROJECT["project"]["classifiers"] if "Python :: 3." in entry]
    assert matrix["python"] == named
    assert f">={named[0]}" == PROJECT["project"]["requires-python"]
    assert matrix["os"] == ["ubuntu-latest", "macos-latest", "windows-latest"]


def test_the_command_of_ci_can_be_run_and_lints_and_tests():
    run = ROOT / ".ci" / "run"
    assert os.access(run, os.X_OK)
    subprocess.run(["sh", "-n", run], check=True)
    assert re.findall(r"make (\w+)", run.read_text(encoding="utf-8")) == ["lint", "test"]


def test_the_hooks_of_the_repository_need_no_network():
    config = read(ROOT / ".pre-commit-config.yaml")
    assert {repo["repo"] for repo in config["repos"]} == {"local"}
    assert {hook["language"] for repo in config["repos"] for hook in repo["hooks"]} == {"system"}


@pytest.mark.parametrize("path", sorted((ROOT / ".github" / "ISSUE_TEMPLATE").glob("*.yml")), **NAMED)
def test_a_form_for_issues_is_one(path):
    form = read(path)
    if path.name != "config.yml":
        assert {"name", "description", "body"} <= form.keys()
        assert {part["type"] for part in form["body"]} <= {"markdown", "textarea", "input", "dropdown", "checkboxes"}
        assert all(part["attributes"].get("label") or part["type"] == "markdown" for part in form["body"])


@pytest.mark.parametrize(
    ("message", "is_well"),
    [
        ("Say why\n\nBecause.\n", True),
        ("x" * 72, True),
        ("x" * 73, False),
        ("é" * 72, True),
        ("Say what\nand at once more\n", False),
        ("# a comment of git\nSay why\n# Changes to be committed:\n", True),
        ("fixup! " + "x" * 72, True),
        ("", True),
    ],
)
def test_the_subject_of_a_commit_is_short_and_stands_alone(message, is_well):
    assert (find_fault(message) == "") == is_well


def test_the_check_of_a_message_ends_with_an_error_that_says_why(tmp_path):
    message = tmp_path / "COMMIT_EDITMSG"
    for text, code in (("x" * 73, 1), ("short\n", 0)):
        message.write_text(text, encoding="utf-8")
        command = [sys.executable, ROOT / "tools" / "check_subject.py", message]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert (done.returncode, "73 characters; at most 72" in done.stderr) == (code, bool(code))


def test_every_decision_is_listed_once_with_its_number_title_and_date():
    rows = re.findall(
        r"^\| \[(\d+)\]\((\S+)\) \| (.+) \| \d{4}-\d\d-\d\d \|$",
        (ROOT / "docs" / "adr" / "README.md").read_text(encoding="utf-8"),
        re.MULTILINE,
    )
    rows.sort(key=lambda row: int(row[0]))
    pages = sorted((ROOT / "docs" / "adr").glob("[0-9]*.md"))
    titles = [path.read_text(encoding="utf-8").partition("\n")[0] for path in pages]
    assert [(f"# {number}. {title}", name) for number, name, title in rows] == [
        (title, path.name) for title, path in zip(titles, pages, strict=True)
    ]
    assert [path.name[:4] for path in pages] == [f"{int(number):04}" for number, *_ in rows]


def test_a_decision_is_read_in_a_minute():
    texts = {path.name: path.read_text(encoding="utf-8") for path in (ROOT / "docs" / "adr").glob("[0-9]*.md")}
    lines = {name: text.splitlines() for name, text in texts.items()}
    assert [name for name, rows in lines.items() if len(rows) > 25 or max(map(len, rows)) > 110] == []


def test_the_glossary_explains_each_word_once_in_a_sentence():
    rows = re.findall(
        r"^\| ([^|]+) \| ([^|]+) \|$", (ROOT / "docs" / "glossary.md").read_text(encoding="utf-8"), re.MULTILINE
    )
    words = [word for word, _ in rows if word != "word" and not word.startswith("-")]
    assert [word for word, count in Counter(words).items() if count > 1] == []
    assert [text for word, text in rows if word in words and not text.endswith(".")] == []
    design = "record line store place stamp change index hit verdict merge conflict driver export refresh ledger gate floor scope"
    assert set(design.split()) <= set(words)


def test_no_two_test_files_have_one_name():
    names = Counter(path.name for path in (ROOT / "tests").rglob("*.py") if path.name != "conftest.py")
    assert [name for name, count in names.items() if count > 1] == []


OURS = re.compile(r"(?<![\w/.~-])(?:memsync|docs|tests|tools|benchmarks|\.github|\.ci)/[\w./-]*\w(?:/(?=[`\s),.;:]))?")
PAGES = re.compile(r"(?<![\w/.<>*-])[A-Z][A-Z_]{2,}\.md\b")
OF_OTHERS = {"CLAUDE.md", "AGENTS.md", "GEMINI.md", "QWEN.md", "SKILL.md", "MEMORY.md", "README.md", "CONVENTIONS.md"}
IN_OTHER_REPOSITORIES = {  # those of users
    ".github/workflows/memsync-merge.yml", "docs/decisions.md", "memsync/key",
    ".github/copilot-instructions.md", ".github/hooks", ".github/hooks/memsync.json", ".github/mcp.json", ".github/instructions",
}  # fmt: skip
TEXTS = sorted(
    path
    for pattern in (
        "*.md",
        "docs/**/*.md",
        ".github/**/*.md",
        ".claude/skills/*/SKILL.md",
        "memsync/**/*.py",
        "tools/**/*.py",
    )
    for path in ROOT.glob(pattern)
    if path.name not in ("CHANGELOG.md", "cli.md")
)


def spoken(path: Path) -> str:
    """Return the text of a page without its code blocks, or the comments and docstrings of a module."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".md":
        return re.sub(r"^```.*?^```", "", text, flags=re.MULTILINE | re.DOTALL)
    return "\n".join(re.findall(r'#.*$|"""(?:.|\n)*?"""', text, re.MULTILINE))


def is_there(name: str) -> bool:
    """Tell whether we have *name*, which may be a decision by its number alone."""
    return name in IN_OTHER_REPOSITORIES or (ROOT / name).exists() or any(ROOT.glob(f"{name}-*.md"))


@pytest.mark.parametrize("path", TEXTS, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_every_path_of_ours_that_a_text_names_is_there(path):
    text = spoken(path)
    missing = [name for name in OURS.findall(text) if not is_there(name)]
    missing += [name for name in PAGES.findall(text) if name not in OF_OTHERS and not (ROOT / name).exists()]
    assert missing == []

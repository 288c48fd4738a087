"""After a call that failed: what a memory says of the rule, the flag, the file or the line that the tool complains of, and nothing else."""

from __future__ import annotations

import json

import pytest

from tests.helpers import memsync

LINT = """[lint] $ golangci-lint run ./...
cmd/list/view.go:922:4: missing cases in switch of type list.Position: list.None ({})
\t\tswitch position {{
cmd/list/view_test.go:81:15: string `main` has 3 occurrences, make it a constant ({})
2 issues:
[lint] ERROR task failed"""


@pytest.fixture
def fail(repo):
    """Return a function that asks the hook after a failure as Claude Code does, and returns the texts that it gives."""

    def send(error, tool="Bash", session="s1", event="PostToolUseFailure", **given):
        payload = {"session_id": session, "hook_event_name": event, "cwd": str(repo.root), "tool_name": tool}
        payload |= {"tool_input": given or {"command": "make lint"}, "error": error}
        ran = memsync("hook", "post-tool", "--client", "claude", cwd=repo.root, stdin=json.dumps(payload))
        assert ran.code == 0, ran.err
        text = json.loads(ran.out)["hookSpecificOutput"]["additionalContext"] if ran.out else ""
        return [row.partition("] ")[2] for row in text.splitlines() if row.startswith("- [")]

    return send


@pytest.fixture
def linters(project):
    for text in (
        "goconst: a string that is used three times must become a constant, lint fails otherwise",
        "wrapcheck: wrap errors of other packages before returning them, lint fails otherwise",
        "exhaustive: a switch over an enum must name every case, lint fails otherwise",
        "The lint task runs over all packages and fails when one of them does not compile",
        "unused: delete what nobody uses any more, lint fails otherwise",
    ):
        project.remember(text, anchors=[])


def test_each_rule_that_a_linter_names_brings_its_memory_two_at_most_and_once(linters, fail):
    given = fail(LINT.format("exhaustive", "goconst"))
    assert [text.partition(":")[0] for text in given] == ["exhaustive", "goconst"]
    assert "(for exhaustive)" in given[0]
    assert fail(LINT.format("exhaustive", "goconst")) == []
    many = "\n".join(LINT.format(*pair) for pair in (("exhaustive", "goconst"), ("wrapcheck", "unused")))
    assert len(fail(many, session="s2")) == 2
    assert len(fail(many, session="s2")) == 2


@pytest.mark.parametrize(
    "error",
    [
        LINT.format("gosec", "noctx"),
        "cmd/list/view.go:44:19: undefined: lint (typecheck)\n[lint] ERROR task failed",
        "make: *** [Makefile:3: lint] Error 2",
        "FAIL\tlint/cmd 0.3s\nFAIL",
        "",
    ],
)
def test_without_a_memory_that_has_the_name_nothing_comes_however_many_words_are_shared(linters, fail, error):
    assert fail(error) == []


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("`gh pr diff` has no such option: --stat is one of git diff", "unknown flag: --stat"),
        ("TS2345 in forms.ts is a bug of the compiler: cast to FormData", "src/forms.ts(3,1): error TS2345: Argument"),
        ("ECONNREFUSED means that `make up` has not run", "Error: connect ECONNREFUSED 127.0.0.1:5433"),
        ("The module yaml comes with `uv sync --group dev`", "ModuleNotFoundError: No module named 'yaml'"),
        ("There is no skill named commit: run git commit", "<tool_use_error>Unknown skill: commit</tool_use_error>"),
        ("`Money.amount` became Money.cents in May", "AttributeError: 'Money' object has no attribute 'Money.amount'"),
    ],
)
def test_flags_codes_modules_skills_and_symbols_are_names(project, fail, text, error):
    project.remember(text, anchors=[])
    for number in range(3):
        project.remember(f"An option, module or skill number {number} with an argument can commit", anchors=[])
    assert [given.partition(" (Jan 2026")[0] for given in fail(error)] == [text]


@pytest.mark.parametrize("tool", ["Read", "Edit", "Grep", "Glob", "mcp__files__read"])
def test_a_file_that_is_not_there_brings_what_names_it_whichever_tool_looked(project, fail, tool, repo):
    project.remember("The lint settings are in `.golangci.yaml`, there is no `.golangci.yml`", anchors=[])
    assert fail("File does not exist.", tool, file_path=str(repo.root / "docs/other.yml")) == []
    assert len(fail("File does not exist.", tool, file_path=str(repo.root / ".golangci.yml"))) == 1


def test_what_a_client_says_of_its_own_tools_is_no_question(project, fail):
    project.remember("The string to replace was not found in the file: read the file before an edit", anchors=[])
    said = "<tool_use_error>String to replace not found in file.\nString: read the file before an edit</tool_use_error>"
    assert fail(said, "Edit", file_path="a.py", old_string="x", new_string="y") == []
    assert len(fail("Error: string to replace was not found, read the file before an edit")) == 1


def test_colours_and_a_megabyte_of_noise_hide_no_rule(linters, fail):
    noise = "ok  \tpkg/a\t(cached)\n" * 60_000
    assert len(fail(noise + "a/b.go:1:2: \x1b[31mbad\x1b[0m (goconst)\n")) == 1
    assert fail("\0\ud800" * 9_999 + "(" * 9_999) == []

"""`skill validate --fix`: what it cannot make right it leaves as it was and says so; it never makes a file worse."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from skills_ref import validate as specification_says

from memsync.cli.app import cli
from memsync.skills.file import split

SEED = """\
<!-- .claude/skills/run-tests/SKILL.md -->
---
id: sk-a1b2c3
name: run-tests
trigger_pattern: test|pytest|testing|verify
tags: [testing, pytest, development]
---

# Running Tests

1. Run all tests: `uv run pytest`
"""
FRONT = "---\nname: run-tests\ndescription: How to test\n---\n"
BROKEN = "---\nname: other\ndescription: How to test\n---\nGo.\n"  # what --fix is asked to do stands beside it


@pytest.fixture
def skill(repo, monkeypatch) -> Path:
    monkeypatch.chdir(repo.root)
    path = repo.root / ".claude" / "skills" / "run-tests" / "SKILL.md"
    path.parent.mkdir(parents=True)
    return path


def ask(*words: str) -> dict:
    done = CliRunner().invoke(cli, ["skill", *words, "--json"])
    assert done.exit_code in (0, 1), done.output
    return json.loads(done.stdout)


def list_problems(checked: dict) -> set[str]:
    return {problem["what"] for problem in checked["skills"][0]["problems"] if not problem["harmless"]}


def fix(skill: Path, text: str | bytes) -> tuple[dict, bytes]:
    """Run --fix over *text*, hold that it is not worse, and return the answer and the new file."""
    data = text if isinstance(text, bytes) else text.encode()
    skill.write_bytes(data)
    before = list_problems(ask("validate", "run-tests"))
    done = ask("validate", "run-tests", "--fix")
    after, new = list_problems(done), skill.read_bytes()
    assert after == list_problems(ask("validate", "run-tests")) <= before
    assert done["skills"][0]["mended"] == (new != data)
    assert bool(done["skills"][0]["unfixed"]) == bool(after)
    if new != data:
        ask("restore", "run-tests")
        assert skill.read_bytes() == data
        skill.write_bytes(new)
    return done["skills"][0], new


@pytest.mark.parametrize(
    "above", ["<!-- a file -->\n", "\n\n", "<!-- one\n---\ntwo -->\n\n<!-- three -->\n", "\ufeff\n\ufeff"]
)
@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_a_comment_above_the_front_matter_goes_below_it_and_what_the_file_says_counts(skill, above, newline):
    text = (above + SEED.partition("\n")[2]).replace("\n", newline)
    skill.write_bytes(text.encode())
    assert ask("show", "sk-a1b2c3")["name"] == "run-tests"
    done, new = fix(skill, text)
    assert done["valid"], done
    assert specification_says(skill.parent) == []
    shown = ask("show", "sk-a1b2c3")
    assert (shown["description"], shown["tags"]) == ("Running Tests", ["testing", "pytest", "development"])
    rest = new.decode().split(f"---{newline}", 2)[2]
    assert rest.endswith(text.rpartition(f"---{newline}")[2])
    assert rest.count("<!--") == above.count("<!--")


def test_the_seeds_own_file_keeps_its_comment_and_is_valid(skill):
    done, new = fix(skill, SEED)
    assert done["valid"]
    assert "\n---\n<!-- .claude/skills/run-tests/SKILL.md -->\n\n# Running Tests\n" in new.decode()


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (f"# Title\n{FRONT}Go.\n", "no front matter"),
        (f"```markdown\n{FRONT}Go.\n```\n", "no front matter"),
        ("---\nname: run-tests\ndescription: d\n\nGo.\n", "no front matter"),
        ("---\nname: run-tests\n...\nGo.\n", "no front matter"),
        ("+++\nname = 'run-tests'\n+++\nGo.\n", "no front matter"),
        ("  ---\nname: run-tests\n  ---\nGo.\n", "no front matter"),
        ("---\nname: other\n---\n" + FRONT, "a second front matter"),
        ('---\nname: run-tests\ndescription: "<!-- c -->"\n---\n\n<!-- c -->\n' + FRONT, "a second front matter"),
        ("---\nname: run-tests\ndescription: d\ndescription: e\n---\nGo.\n", "duplicate key"),
        ("---\nname: run-tests\nmetadata:\n\tid: sk-1\n---\nGo.\n", "tab|token"),
        ("---\nname: other\ndescription: \x00d\n---\nGo.\n", "control character"),
        (b"---\nname: other\ndescription: caf\xe9\n---\nGo.\n", "not UTF-8"),
        (BROKEN.encode("utf-16"), "not UTF-8"),
        ("---\nname: run-tests\ndescription: d\n\nGo: there.\nAnd back.\n\n---\n\nmore\n", "not YAML"),
        ("---\nname: run-tests\n---\n<!-- only\na comment -->\n", "no description"),
        ("---\nname: run-tests\n---\n```sh\nmake\n```\n", "no description"),
        ("---\nname: run-tests\ndescription: d\nmetadata: [a]\ntags: [b]\n---\n", "metadata is not a mapping"),
        ("---\nname: run-tests\ndescription: d\nmetadata:\n  tags: a\ntags: b\n---\n", "belongs under metadata"),
        ("---\nname: run-tests\ndescription: d\nid: {a: b}\n---\n", "belongs under metadata"),
        ("---\nname: run-tests\ndescription: d\nmetadata: {a: b}  # why\n---\n", "flow style"),
        ("---\nname: run-tests\ndescription: d\ntags:\n- a  # why\n- b\n---\n", "belongs under metadata"),
    ],
)
def test_what_only_a_person_can_fix_is_left_and_said(skill, text, why):
    done, new = fix(skill, text)
    assert new == (text if isinstance(text, bytes) else text.encode())
    assert any(word in problem["what"] for problem in done["problems"] for word in why.split("|")), done
    said = CliRunner().invoke(cli, ["skill", "validate", "--fix"])
    assert said.exit_code == 1
    assert f"left {skill}: " in said.stdout
    assert "fixes what is safe" not in said.stdout


@pytest.mark.parametrize(
    ("text", "row"),
    [
        (BROKEN, "name: run-tests"),
        ("---\nname: run-tests\ndescription: Use when: red\nversion: 1\n---\nGo.\n", 'description: "Use when: red"'),
        ("---\nname: run-tests\ndescription: d\nmetadata: {version: 1.10, on: yes}\n---\n", '  version: "1.10"'),
        ("---\nname: run-tests\ndescription: d\nid: 0x10\n---\n", '  id: "0x10"'),
        ("---\nname: run-tests\n---\n<!-- c -->\nHow to test.\n", "description: How to test."),
    ],
)
def test_what_is_safe_is_fixed_and_every_other_line_stays(skill, text, row):
    done, new = fix(skill, text)
    assert done["mended"]
    assert row in new.decode().splitlines()
    assert new.decode().partition("\n---\n")[2] == text.partition("\n---\n")[2]


ABOVE = st.sampled_from(["", "", "\ufeff", "\n", "<!-- c -->\n", "<!-- open\n", "# T\n", "text\n"])
FENCES = st.sampled_from(["---\n", "---\n", "---\n", "----\n", " ---\n", "--- \n", "+++\n", "...\n", ""])
ROWS = st.lists(
    st.sampled_from(
        [
            "name: run-tests",
            "name: other",
            "description: How to",
            "description: Use when: red",
            "description:\tTab",
            "description:",
            "description: >-\n  folded\n  text",
            "description: [a, b]",
            "id: sk-a1b2c3",
            "tags: [a, b]",
            "tags:\n- a # why\n- b",
            "trigger_pattern: a|(b",
            "version: 1.10",
            "metadata: {version: 1.10, tags: [c]}  # why",
            "metadata:\n  tags: c\n  draft: no",
            "metadata: [a]",
            "\tid: x",
            "# a remark",
            "",
            "key: a\x07b: c",
            "<<<<<<< ours",
            "- item",
            "text: a: b",
        ]
    ),
    max_size=6,
)
BODY = st.lists(
    st.sampled_from(
        ["", "Go.\n", "<!-- c -->\n", "---\n", "```sh\n", "name: z\n", "a: b: c\n", "\x00\n", "1. Do\n", FRONT]
    ),
    max_size=4,
).map("".join)


@given(
    ABOVE,
    FENCES,
    ROWS,
    FENCES,
    BODY,
    st.sampled_from(["\n", "\r\n", "\r"]),
    st.sampled_from(["utf-8", "utf-8", "utf-16"]),
)
@example("<!-- c -->\n", "---\n", ["description: Use when: red"], "---\n", "Go.\n", "\n", "utf-8")
@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_no_file_is_worse_after_it_and_none_loses_a_byte_of_its_text(
    skill, above, first, rows, second, body, newline, code
):
    text = (above + first + "".join(f"{row}\n" for row in rows) + second + body).replace("\n", newline)
    _, new = fix(skill, text.encode(code))
    if code == "utf-8":
        found = split(text)  # a rule in the body may be what closes the front matter
        assert new.decode().endswith(found.body if found else text.lstrip("\ufeff"))
        kept = new.decode().split()
        assert all(kept.count(word) >= text.split().count(word) for word in ("<!--", "#", "why", "1.10", "folded"))

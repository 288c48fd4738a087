"""Before a call: what is known of the names that it uses, whether anything is anchored or not."""

from __future__ import annotations

import json

import pytest
from helpers import memsync

WRONG = "The strategy is in `lib/strategy.py`, since `lib/strategies` was split"
CHARGE = "PaymentGateway.charge is idempotent, so a retry is safe"


@pytest.fixture
def ask(repo):
    """Return a function that asks the hook before a call as Claude Code does, and returns what it gives."""

    def send(tool, session="s1", client="claude", event="pre-tool", **given):
        payload = {"session_id": session, "cwd": str(repo.root), "tool_name": tool, "tool_input": given}
        ran = memsync("hook", event, "--client", client, cwd=repo.root, stdin=json.dumps(payload))
        assert (ran.code, ran.err) == (0, "")
        return json.loads(ran.out)["hookSpecificOutput"]["additionalContext"] if ran.out else ""

    return send


@pytest.fixture
def old(repo, line):
    """A store whose memories have neither anchors nor triggers, as an older memsync wrote them."""
    (repo.root / "lib").mkdir()
    (repo.root / "lib" / "strategy.py").write_text("x = 1\n")
    texts = (WRONG, CHARGE, "Mails go out with send_later, never by deliver_now in a loop")
    repo.write_memories("".join(line(f"mm-aaaaa{number}", text) for number, text in enumerate(texts)))


@pytest.mark.parametrize(
    ("tool", "given"),
    [
        ("Read", {"file_path": "lib/strategies/base.py"}),
        ("Grep", {"pattern": "def run", "path": "lib/strategies"}),
        ("Glob", {"pattern": "lib/strategies/**/*.py"}),
        ("Bash", {"command": "cd lib && ls ../lib/strategies"}),
        ("Write", {"file_path": "lib/strategies/new.py", "content": "y = 2"}),
        ("mcp__files__list", {"path": "lib/strategies"}),
    ],
)
def test_a_path_that_is_not_there_brings_the_memory_that_names_it_and_once(old, ask, tool, given):
    assert ask(tool, **{key: text.replace("strategies", "strategy.py") for key, text in given.items()}) == ""
    said = ask(tool, **given)
    assert "lib/strategy.py" in said
    assert "(for lib/strategies)" in said
    assert ask(tool, **given) == ""
    assert ask(tool, session="s2", **given).count("- [mm-") == 1


def test_a_name_that_is_new_in_the_text_brings_what_is_about_it(old, ask):
    edit = {"file_path": "lib/strategy.py", "old_string": "x = 1"}
    assert ask("Edit", new_string="x = self.gateway.charge(order)", **edit) == ""
    both = {"file_path": "lib/strategy.py", "old_string": "PaymentGateway.charge(a)"}
    assert ask("Edit", new_string="PaymentGateway.charge(b)", **both) == ""
    assert "idempotent" in ask("Edit", new_string="x = PaymentGateway.charge(order)", **edit)
    assert "idempotent" in ask("Grep", session="s2", pattern="PaymentGateway\\.charge|refund")
    assert "deliver_now" in ask("Edit", new_string="deliver_now(mail)", **edit)
    assert ask("Edit", session="s3", new_string="send_later(mail)", **edit) == ""  # it is what the memory advises


SWITCH = "A switch over an enum must name every case, lint fails otherwise"
ANY = "Never use `any`: take `unknown` and narrow it"
PLACE = "The order of the steps is in `src/steps.go` and `src/steps.ts`"


@pytest.mark.parametrize(
    ("path", "old", "new", "given"),
    [
        ("src/a.go", "x()", "switch kind {\ncase A:\n}", SWITCH),
        ("src/a.ts", "let x", "let x: any", ANY),
        ("src/a.go", "switch kind {", "switch other {", ""),  # it was there
        ("src/a.go", "x()", '// switch it off\ns := "a switch"', ""),  # it is only spoken of
        ("src/a.py", "x", "switch = any(rows)", ""),  # no memory names a file of that language
        ("docs/a.md", "x", "a switch over any enum", ""),
    ],
)
def test_a_word_of_a_language_brings_what_is_about_it_where_code_has_it_anew(repo, line, ask, path, old, new, given):
    repo.write_memories("".join(line(f"mm-aaaaa{number}", text) for number, text in enumerate((SWITCH, ANY, PLACE))))
    said = ask("Edit", file_path=path, old_string=old, new_string=new)
    assert given in said
    assert bool(said) == bool(given)


def test_a_word_of_a_language_is_no_reason_in_a_command_or_where_it_is_advised(repo, line, ask):
    texts = ("Use a switch, never a chain of ifs", PLACE, "switch to main before a release")
    repo.write_memories("".join(line(f"mm-aaaaa{number}", text) for number, text in enumerate(texts)))
    assert ask("Edit", file_path="src/a.go", old_string="x()", new_string="switch kind {") == ""
    repo.write_memories("".join(line(f"mm-bbbbb{number}", text) for number, text in enumerate((SWITCH, PLACE))))
    assert ask("Bash", command="git switch main") == ""
    assert ask("Grep", pattern="switch", path="src") == ""


def test_what_several_memories_are_about_or_name_in_passing_is_no_reason(repo, line, ask):
    texts = [f"run_pipeline number {number} is for the {name}" for number, name in enumerate(("night", "day", "week"))]
    texts.append("When the import of all orders has failed half way, then an operator calls repair_orders by hand")
    texts.append("We keep the mirror on GitHub and write JavaScript there")
    repo.write_memories("".join(line(f"mm-aaaaa{number}", text) for number, text in enumerate(texts)))
    assert ask("Bash", command="python -c 'run_pipeline(1)'") == ""
    assert ask("Bash", command="python -c 'repair_orders()'") == ""
    assert ask("WebFetch", url="https://example.com", prompt="JavaScript on GitHub") == ""


def test_who_says_that_a_name_is_wrong_is_silent_in_the_folder_of_the_right_one(repo, project, ask):
    (repo.root / "lib").mkdir()
    (repo.root / "lib" / "a.py").write_text("x = 1\n")
    text = "There is no `lib/commands` folder: the commands are the files in `lib/`"
    memory = project.remember(text, anchors=["lib/"]).entry.memory
    assert memory.triggers == ("not: lib/commands",)
    assert ask("Read", file_path="lib/a.py") == ""
    assert "the files in" in ask("Glob", pattern="lib/commands/*.py")


def test_a_command_with_an_option_is_not_also_anchored_without_it(project):
    assert project.remember("`git show --stat=200` is cut here").entry.memory.anchors == ("$ git show --stat=200",)
    wrong = project.remember("`gh pr diff --stat` does not exist: use `gh pr diff --name-only` or git diff --stat")
    assert wrong.entry.memory.anchors == ("$ gh pr diff --stat",)


def test_the_session_and_inject_say_by_which_name_it_came(old, ask, repo):
    ask("Read", file_path="lib/strategies/base.py")
    assert "it is about lib/strategies" in memsync("sessions", "show", "s1", cwd=repo.root).out
    words = ("inject", "--tool", "Grep", "--path", "lib/strategies", "--explain")
    assert "it is about lib/strategies" in memsync(*words, cwd=repo.root).out


def test_a_changed_store_is_asked_at_the_next_call(old, ask, repo, line):
    assert ask("Read", file_path="lib/gone.py") == ""
    repo.write_memories(line("mm-bbbbbb", "`lib/gone.py` went into `lib/strategy.py`"))
    assert "went into" in ask("Read", file_path="lib/gone.py")


@pytest.mark.parametrize("text", ["a.b_" * 250_000, "lib/strategies/" * 70_000, "\0\ud800::" * 9_999, "a_b " * 250_000])
@pytest.mark.parametrize("key", ["command", "content", "pattern", "path"])
def test_a_megabyte_of_names_is_answered_in_time(old, ask, text, key):
    ask("Bash" if key == "command" else "Grep" if key == "pattern" else "Write", **{key: text})
    ask("mcp__other__tool", **{key: [text, {"deep": text}]})

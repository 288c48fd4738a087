"""What `memsync memory extract` proposes of a recorded session: first what the user refused, put right and ruled."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from helpers import GitRepo, memsync
from llm_server import Model, question_of
from recorder import ROOT, Recorder

REFUSED = "The user doesn't want to proceed with this tool use. To tell you how to proceed, the user said:\n"


class Session(Recorder):
    """A session in which calls are refused with words."""

    def __init__(self, name: str = "one", root: str | Path = ROOT) -> None:
        super().__init__(name, 1, root)

    def says(self, text: str) -> Session:
        self.prompt(text)
        return self

    def refuses(self, words: str, tool: str = "Edit", **given: str) -> Session:
        given = given or {"file_path": f"{self.root}/src/state.go", "old_string": "a", "new_string": "b"}
        self.call(tool, REFUSED + words, failed=True, **given)
        return self


@pytest.fixture
def shop(tmp_path):
    repo = GitRepo.create(tmp_path / "shop")
    for name in ("src/state.go", "config/shop.yaml"):
        (repo.root / name).parent.mkdir()
        (repo.root / name).write_text("a\n")
    repo.git("add", "-A")
    repo.git("commit", "-qm", "the shop")
    assert memsync("init", "--agent", "none", cwd=repo.root).code == 0
    return repo.root


def extract(shop: Path, session: Recorder, *options: str) -> dict[str, Any]:
    path = shop.parent / f"{session.name}.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in session.rows))
    ran = memsync("memory", "extract", str(path), "--no-llm", "--json", *options, cwd=shop)
    assert ran.code == 0, ran.err
    return json.loads(ran.out)["sources"][0]


def texts(shop: Path, session: Recorder) -> list[str]:
    return [one["content"] for one in extract(shop, session, "--dry-run")["proposed"]]


def test_the_words_of_a_refusal_are_the_users_and_anchored_to_what_was_refused(shop):
    words = "Never use ioutil in this repository, always use os.WriteFile with 0600"
    session = Session().says("write the state file").refuses(words)
    (one,) = extract(shop, session.refuses("don't do that", "Bash", command="git push --force"), "--dry-run")[
        "proposed"
    ][:1]
    assert (one["content"], one["anchors"]) == (f"{words}.", ["src/state.go"])
    assert one["rationale"] == "the user refused a call with these words"
    assert (one["source_session_id"], one["where"].rpartition(":")[2]) == ("one", "3")
    assert texts(shop, session)[1:] == []  # nobody who has not seen the call knows what "that" is


def test_an_agent_gets_each_turn_in_which_the_user_refused_or_put_right_also_without_a_word_that_lasts(shop):
    session = Session().says("fix the state file").refuses("too slow", "Bash", command="mise run test:ci")
    session.says("ok").says("use uv as the package manager; the password for the staging db is hunter2secret99")
    found = extract(shop, session, "--dry-run")
    assert [one["content"] for one in found["proposed"]] == []
    assert [(one["about"], one["text"].partition(";")[0]) for one in found["turns"]] == [
        ("", "fix the state file"),
        ("Bash mise run test:ci (refused)", "too slow"),
        ("Bash mise run test:ci (refused)", "use uv as the package manager"),
    ]
    assert [one["line"] for one in found["turns"]] == [1, 3, 5]
    assert "hunter2" not in json.dumps(found["turns"])


@pytest.mark.parametrize(
    ("words", "learned"),
    [
        ("no, I did not say commit anything", "Unless asked, do not commit anything."),
        ("can we use our logging framework? should be WARN", "Use our logging framework."),
        ("We don't want if-else here, switch instead", "We don't want if-else, switch instead."),
        ("nein, nimm pnpm statt npm", "Nimm pnpm statt npm."),
        ("non, utilise pnpm au lieu de npm", "Utilise pnpm au lieu de npm."),
        ("Nunca altere o arquivo gerado", "Nunca altere o arquivo gerado."),
        ("不要用 npm，用 pnpm", "不要用 npm，用 pnpm。"),
        ("生成されたファイルは絶対に編集しないでください", "生成されたファイルは絶対に編集しないでください。"),
        ("that's not how we do it, handlers live in src/handlers", "Handlers live in src/handlers."),
        ("we use conventional commits here", "We use conventional commits."),
        ("I told you to use bun, not npm", "Use bun, not npm."),
        ("ask me before you push anything", "Ask the user before you push anything."),
        (
            "no need for a migration, the table is made at each start",
            "No need for a migration, the table is made at each start.",
        ),
        ("aqui usamos commits convencionais", "Usamos commits convencionais."),
        ("推送之前先问我", "推送之前先问我。"),
        ("A partir de ahora los commits van en inglés", "A partir de ahora los commits van en inglés."),
        ("いいえ、npmではなくpnpmを使っています", "npmではなくpnpmを使っています。"),
        ("mainに直接pushしないでください", "mainに直接pushしないでください。"),
        ("決済APIはUI層から呼ばないでください", "決済APIはUI層から呼ばないでください。"),
    ],
)
def test_a_refusal_becomes_one_line_that_stands_alone_in_the_language_it_was_said_in(shop, words, learned):
    assert texts(shop, Session().says("go on").refuses(words)) == [learned]


@pytest.mark.parametrize(
    "words",
    [
        "what are you doing?", "wait, let's talk about this", "do we even know the prompt?", "warum machst du das?", "看起来不错",
        "e.g. always use pnpm, never npm", "z. B. immer pnpm benutzen, nie npm", "z.B. nimm immer pnpm statt npm", "p. ej. siempre usa pnpm, nunca npm",
        "par exemple, utilise toujours pnpm", "por exemplo, nunca use npm", "例如，不要用 npm，用 pnpm", "例えば、mainに直接pushしないでください",
        "ok", "no", "not now", "this belongs in src/lib/dates.ts", "don't add comments like this", "eso está mal", "das ist falsch", "先别动",
        "don't touch this", "die Datei hier darfst du nicht anfassen", "No toques esto", "ne touche pas à ce fichier",
        "違います", "maybe we should always test this first", "The password for the staging db is hunter2secret99",
        "The user wants to clarify these questions.\n    This means they may have additional information.",
    ],
)  # fmt: skip
def test_a_question_a_plan_a_secret_and_what_the_client_writes_are_not_proposed(shop, words):
    assert texts(shop, Session().says("go on").refuses(words)) == []


def test_what_a_client_writes_is_nobodys_word(shop):
    session = Session()
    for text in (
        "Operation stopped by hook: never start a second session here",
        "Implement the following plan:\n\n# Plan\n\nWe always use the outbox table for events.",
        "<bash-input>we never use tabs</bash-input>",
        '<teammate-message teammate_id="lead">Never touch the tests.</teammate-message>',
        "fix the outbox\nIf you need specific details from before exiting plan mode, always read the full transcript",
    ):
        session.says(text)
    assert texts(shop, session.says("<ide_opened_file>We never use tabs</ide_opened_file>we use pnpm")) == [
        "We use pnpm."
    ]


def test_what_a_memory_or_an_instruction_file_says_is_not_proposed_and_it_is_said_which(shop):
    (shop / "AGENTS.md").write_text("# Rules\n\n- Never push to main without a review.\n")
    memsync("remember", "We use pnpm for the web client", cwd=shop)
    session = Session().says("We use pnpm for the web client").says("Never push to main without a review.")
    found = extract(shop, session)
    assert found["proposed"] == []
    memory, file = (one["why"] for one in found["dropped"])
    assert memory.startswith("mm-")
    assert memory.endswith("says it already")
    assert file == "AGENTS.md:3 says it already"


def test_what_is_stored_word_for_word_is_not_proposed_of_notes_either(shop):
    memsync("remember", "Always run migrations with `make migrate`", cwd=shop)
    (shop / "notes.md").write_text("- Always run migrations with `make migrate`.\n- Never deploy on a Friday.\n")
    ran = memsync("extract", "notes.md", "--no-llm", "--json", "--dry-run", cwd=shop)
    (found,) = json.loads(ran.out)["sources"]
    assert [one["content"] for one in found["proposed"]] == ["Never deploy on a Friday."]
    assert found["dropped"][0]["why"].endswith("says it already")


def test_what_was_rejected_does_not_come_back_in_other_words(shop):
    (one,) = extract(shop, Session("a").says("We always use pnpm for the web client"))["proposed"]
    assert memsync("reject", one["id"], cwd=shop).code == 0
    found = extract(shop, Session("b").says("For the web client, we always use pnpm"))
    assert (found["proposed"], found["dropped"][0]["why"]) == ([], "it was rejected before")


def test_the_same_lesson_of_two_sessions_is_one_proposal_that_names_both_and_counts_for_more(shop):
    rule = "Never edit config/shop.yaml by hand"
    (first,) = extract(shop, Session("a").says(rule))["proposed"]
    for _ in range(2):  # a session that is resumed is read again
        assert extract(shop, Session("b").says("fine").says(f"{rule}!"))["proposed"] == []
    (waiting,) = json.loads(memsync("candidates", "--json", cwd=shop).out)["candidates"]
    assert (waiting["id"], waiting["also"]) == (first["id"], ["b:2"])
    assert waiting["importance"] > first["importance"]


LINT = "src/state.go:12:9: error returned from external package is unwrapped: sig: func save() error (wrapcheck)\n\treturn err\n\t^"


def repairs(shop: Path, session: Recorder) -> list[tuple[str, list[str], list[str]]]:
    found = extract(shop, session, "--dry-run")["proposed"]
    assert {one["rationale"] for one in found} <= {"it failed, and then it worked"}
    return [(one["content"], one.get("anchors", []), one.get("triggers", [])) for one in found]


def test_a_rule_of_a_linter_is_told_with_the_lines_that_made_the_same_command_green(shop):
    edit = {
        "file_path": f"{ROOT}/src/state.go",
        "old_string": "\tx()\n\treturn err\n}",
        "new_string": '\tx()\n\treturn fmt.Errorf("save: %w", err)\n}',
    }
    session = Session().says("lint").call("Bash", LINT, failed=True, command="make lint 2>&1").call("Edit", **edit)
    assert repairs(shop, session) == []
    told = (
        "`make lint` fails on wrapcheck (error returned from external package is unwrapped): "
        'write `return fmt.Errorf("save: %w", err)` instead of `return err`.'
    )
    passed = session.call("Bash", "ok", command="make lint 2>&1")
    assert repairs(shop, passed) == [(told, [], ["fails: (wrapcheck)"])]


def test_a_name_that_is_not_there_is_told_with_the_one_that_was_found(shop):
    missing = {"failed": True, "file_path": f"{ROOT}/config/shop.yml"}
    session = Session().says("read the settings").call("Read", "File does not exist.", **missing)
    assert repairs(shop, session.call("Read", "a", file_path=f"{ROOT}/src/state.go")) == []
    told = ("There is no `config/shop.yml`; it is `config/shop.yaml`.", ["config/shop.yaml"], ["not: config/shop.yml"])
    assert repairs(shop, session.call("Read", "a", file_path=f"{ROOT}/config/shop.yaml")) == [told]
    session = Session().call("Read", "File does not exist. Did you mean shop.yaml?", **missing)
    assert repairs(shop, session) == [told]
    there_is_none = {"failed": True, "pattern": "x", "path": f"{ROOT}/src/commands"}
    session = Session().call("Grep", "Path does not exist: src/commands", **there_is_none)
    assert repairs(shop, session.call("Read", "a", file_path=f"{ROOT}/src/state.go")) == [
        ("There is no folder `src/commands`; look in `src`.", [], ["not: src/commands"])
    ]


def test_an_option_that_a_program_lacks_is_told_with_the_command_that_worked(shop):
    session = (
        Session()
        .says("which files?")
        .call("Bash", "unknown flag: --stat\n\nUsage:", failed=True, command="gh pr diff 88 --stat")
    )
    assert repairs(shop, session.call("Bash", "a.go", command="gh pr diff 88 --name-only")) == [
        (
            "`gh pr diff` has no `--stat`; `gh pr diff 88 --name-only` works.",
            ["$ gh pr diff"],
            ["fails: unknown flag: --stat"],
        )
    ]


def test_what_has_to_run_before_is_told_where_nothing_else_was_changed(shop):
    failed = {"failed": True, "command": "make serve"}
    session = (
        Session()
        .says("serve")
        .call("Bash", "error: no database is running", **failed)
        .call("Bash", command="make db-up")
    )
    assert repairs(shop, session.call("Bash", command="make serve")) == [(
        "`make serve` fails until `make db-up` has run.",
        ["$ make serve"], ["fails: error: no database is running"],
    )]  # fmt: skip
    edited = Session().call("Bash", "error: no database is running", **failed).call("Bash", command="make db-up")
    edited.call("Edit", file_path=f"{ROOT}/src/state.go", old_string="a", new_string="b").call(
        "Bash", command="make serve"
    )
    assert repairs(shop, edited) == []


@pytest.mark.parametrize(
    ("fails", "works", "learned"),
    [
        ("make flash", "make flash PROBE=jlink", "`make flash` fails without `PROBE=jlink`: Error: no probe was found."),
        ("typst compile a.typ", "typst compile --font-path fonts a.typ", "`typst compile` fails without `--font-path fonts`: Error: no probe was found."),
        ("fastlane beta", "fastlane ios beta", "`fastlane beta` fails, `fastlane ios beta` works: Error: no probe was found."),
        ("pytest", "pytest tests/test_state.py", ""),
        ("make flash", "make flash PROBE=jlink | tee log", ""),
    ],
)  # fmt: skip
def test_what_a_command_lacked_is_told_where_it_worked_with_that_and_nothing_else_was_changed(
    shop, fails, works, learned
):
    session = Session().call("Bash", "Error: no probe was found", failed=True, command=fails)
    assert [text for text, _, _ in repairs(shop, session.call("Bash", command=works))] == ([learned] if learned else [])


def test_what_a_search_prints_is_no_rule_of_a_linter(shop):
    session = Session().says("where?").call("Bash", LINT, command="rg -n 'err' src > /tmp/found; cat /tmp/found")
    assert repairs(shop, session.call("Bash", "", command="rg -n 'err' src > /tmp/found; cat /tmp/found")) == []


def test_tests_that_fail_and_are_made_green_teach_nothing(shop):
    session = Session().says("fix it").call("Bash", "--- FAIL: TestSave\nFAIL", failed=True, command="go test ./...")
    session.call("Bash", command="go generate ./...").call("Bash", command="go test ./...")
    assert repairs(shop, session) == []


def test_a_secret_in_a_command_is_not_proposed(shop):
    key = "ghp_" + "a1B2c3D4e5" * 4
    session = Session().call(
        "Bash", "unknown flag: --stat", failed=True, command=f"gh pr diff 88 --stat --token {key[:40]}"
    )
    assert repairs(shop, session.call("Bash", "a", command=f"gh pr diff 88 --token {key[:40]}")) == []


@pytest.mark.parametrize(
    "key", ["ghp_abcdefghijklmnopqrstuvwxyz0123456789", "ghp_EXAMPLEtoken1234567890", "sk-proj-1234567890abcdef"]
)
def test_a_made_up_token_is_in_nothing_that_is_proposed_left_out_or_handed_to_an_agent(shop, key):
    session = Session().says(f"Never use {key} in this repository, always ask for a new one")
    session.refuses(f"we always export {key} instead of asking for it", "Bash", command=f"curl -H {key} localhost")
    session.call("Bash", f"unknown flag: --stat {key}", failed=True, command="gh pr diff 88 --stat")
    session.call("Bash", "a.go", command="gh pr diff 88 --name-only")
    found = extract(shop, session, "--dry-run")
    assert len(found["turns"]) == 2
    assert found["dropped"]
    assert key not in json.dumps(found)


def test_a_model_gets_what_the_rules_listen_to_and_the_same_checks_look_at_its_answer(shop):
    session = (
        Session().says("which files?").call("Bash", "unknown flag: --stat", failed=True, command="gh pr diff 88 --stat")
    )
    session.call("Bash", "a.go", command="gh pr diff 88 --name-only").refuses(
        "don't push yourself", "Bash", command="git push"
    )
    session.row("assistant", [{"type": "text", "text": "The report says that all is well."}])
    memsync("remember", "Always ask before a push", cwd=shop)
    said = [
        {"content": "`gh pr diff` lists names by `--name-only`, it has no `--stat`.", "line": 2},
        {"content": "Always ask before a push.", "line": 6},
        {"content": "Currently everything is broken.", "line": 1},
    ]
    with Model(json.dumps(said)) as model:
        home = Path(os.environ["HOME"]) / ".gobby"
        home.mkdir(exist_ok=True)
        settings = f"llm:\n  provider: openai\n  model: tiny\n  base_url: {model.url}\n  retries: 0\n"
        (home / "config.yaml").write_text(settings)
        path = shop.parent / "one.jsonl"
        path.write_text("".join(json.dumps(row) + "\n" for row in session.rows))
        ran = memsync("memory", "extract", str(path), "--json", "--dry-run", cwd=shop, env={"MEMSYNC_LLM_KEY": "k"})
        asked = question_of(model.asked[0])
    found = json.loads(ran.out)["sources"][0]
    assert [(one["content"], one["triggers"]) for one in found["proposed"]] == [
        (said[0]["content"], ["fails: unknown flag: --stat"])
    ]
    assert sorted(one["why"].partition(" ")[2] for one in found["dropped"]) == ["for a while only", "says it already"]
    assert "user, refusing `git push`: don't push yourself" in asked
    assert "failed: `gh pr diff` has no `--stat`; `gh pr diff 88 --name-only` works." in asked
    assert "all is well" not in asked


def keep(session: Recorder, when: int) -> None:
    """Write *session* where Claude Code keeps those of its folder, last touched at *when*."""
    path = Path(os.environ["HOME"]) / ".claude" / "projects" / "-shop" / f"{session.name}.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in session.rows))
    os.utime(path, (when, when))


def learn(shop: Path, *options: str) -> list[list[str]]:
    ran = memsync("learn", *options, "--json", cwd=shop)
    assert ran.code == 0, ran.err
    return [[one["content"] for one in source["proposed"]] for source in json.loads(ran.out)["sources"]]


def test_learn_takes_the_last_session_of_this_repository_or_all_since_a_day(shop):
    many = Session("b", shop)
    for rule in (
        "Never push to main.", "We use pnpm for the web client.", "From now on invoices are rounded per line.",
        "We never edit `src/state.go` by hand.", "We have moved the catalogue to Go.", "We release from tags only.",
    ):  # fmt: skip
        many.says(rule)
    keep(Session("a", shop).says("We never deploy on a Friday."), 1_780_000_000)
    keep(many, 1_781_000_000)
    keep(Session("c", shop.parent).says("We never speak of elsewhere."), 1_782_000_000)
    many.says("The export in `jobs/export.py` is in CSV.")
    keep(many, 1_781_000_000)
    (last,) = learn(shop, "--dry-run")
    assert not any("CSV" in text for text in last)
    assert len(last) == 5
    assert learn(shop, "--last", "--dry-run") == [last]
    assert learn(shop, "--since", "2026-06-09") == [last]
    assert learn(shop, "--since", "2026-05-01")[0] == ["We never deploy on a Friday."]


def test_facts_without_a_word_of_a_rule_are_only_listed_by_extract(shop):
    fact = Session("a", shop).says("The export in `jobs/export.py` is in CSV.")
    keep(fact, 1_780_000_000)
    assert learn(shop, "--dry-run") == [[]]
    assert texts(shop, fact) == ["The export in `jobs/export.py` is in CSV."]


def test_orders_of_the_hour_are_only_listed_by_extract(shop):
    said = Session("a", shop).says("export the orders").call("Edit", file_path="jobs/export.py")
    said = said.says("no, the export should be below the list. We should be clearer in the text instead.")
    keep(said.says("Don't create a PR, just a commit. Don't use any in `jobs/export.py`."), 1_780_000_000)
    assert learn(shop, "--dry-run") == [["Don't use any in `jobs/export.py`."]]
    assert "We should be clearer in the text instead." in texts(shop, said)


def look(shop: Path, name: str) -> Session:
    """Return a session that looks for a file that is not there, and finds the one that is."""
    session = Session(name, shop).says("read the settings")
    session.call("Read", "File does not exist.", failed=True, file_path=f"{shop}/config/shop.yml")
    session.call("Read", "a", file_path=f"{shop}/config/shop.yaml")
    return session


def test_a_wrong_name_is_proposed_when_a_second_session_looks_for_it_too(shop):
    told = "There is no `config/shop.yml`; it is `config/shop.yaml`."
    keep(look(shop, "a"), 1_780_000_000)
    assert learn(shop) == [[]]
    assert learn(shop) == [[]]  # the same session again
    assert json.loads(memsync("candidates", "--json", cwd=shop).out)["candidates"] == []
    keep(look(shop, "b"), 1_781_000_000)
    assert learn(shop) == [[told]]
    (waiting,) = json.loads(memsync("candidates", "--json", cwd=shop).out)["candidates"]
    assert (waiting["content"], waiting["also"]) == (told, ["b:2"])


def test_a_wrong_name_that_an_instruction_file_says_is_proposed_at_once(shop):
    (shop / "CLAUDE.md").write_text("The settings are in `config/shop.yml`.\n")
    keep(look(shop, "a"), 1_780_000_000)
    assert learn(shop) == [["There is no `config/shop.yml`; it is `config/shop.yaml`."]]


def test_learn_says_where_sessions_are_missing(shop):
    ran = memsync("learn", cwd=shop)
    assert (ran.code, ran.out) == (2, "")
    assert "no session of this repository is on this machine" in ran.err

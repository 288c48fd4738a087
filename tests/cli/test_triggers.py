"""When a memory is due: what its triggers say, and what is found in its text."""

from __future__ import annotations

import json

import pytest
from helpers import memsync

from memsync import Memsync
from memsync.learn.candidates import Candidates, Proposal
from memsync.records import Memory


@pytest.fixture
def run(repo):
    return lambda *words, stdin="": memsync(*words, cwd=repo.root, stdin=stdin)


def remember(run, *words):
    made = run("remember", *words, "--json")
    assert made.code == 0, made.err
    return made.json["memory"]


def test_a_trigger_is_stored_shown_found_and_united_and_can_be_changed(repo, run):
    memory = remember(run, "PyYAML is what we import", "--trigger", "Not:yaml_parser")
    assert memory["triggers"] == ["not: yaml_parser"]
    assert "triggers: not: yaml_parser" in run("show", memory["id"]).out
    assert run("list", "--json").json["memories"][0]["triggers"] == ["not: yaml_parser"]
    assert memory["id"] in run("recall", "yaml_parser", "--ids").out
    run("remember", "PyYAML is what we import", "--trigger", "fails: No module named yaml")
    stored = json.loads(repo.memories.read_text().splitlines()[-1])
    assert stored["triggers"] == ["not: yaml_parser", "fails: No module named yaml"]
    changed = run("update", memory["id"], "--trigger", "fails: KeyError")
    assert changed.code == 0, changed.err
    assert run("list", "--format", "{triggers}").out == "fails: KeyError\n"
    with Memsync.open(repo.root) as project:
        assert [hit.id for hit in project.search("KeyError")] == [memory["id"]]


@pytest.mark.parametrize("trigger", ["yaml_parser", "$ git push", "sometimes: x", "not:", "fails: "])
def test_what_is_no_trigger_is_refused_and_the_message_says_what_to_give(run, repo, trigger):
    made = run("remember", "PyYAML is what we import", "--trigger", trigger)
    assert made.code == 1
    assert "'not: NAME'" in made.err
    assert not repo.memories.exists()


def test_a_trigger_is_looked_at_for_secrets(run):
    token = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    made = run("remember", "PyYAML is what we import", "--trigger", f"fails: {token}")
    assert made.code == 1
    assert "a secret" in made.err


def test_the_triggers_of_another_program_are_kept_as_they_are(repo, run, line):
    repo.write_memories(line("mm-aaaaaa", "CI needs Node 20", triggers={"on": "push"}))
    assert run("update", "mm-aaaaaa", "--content", "CI needs Node 22").code == 0
    assert json.loads(repo.memories.read_text().splitlines()[-1])["triggers"] == {"on": "push"}


WRONG = {
    "The config is `.golangci.yaml`, not `.golangci.yml`": ["not: .golangci.yml"],
    "The lint configuration is .golangci.yaml; there is no .golangci.yml": ["not: .golangci.yml"],
    "Never use datetime.utcnow(), use datetime.now(UTC)": ["not: datetime.utcnow"],
    "Don't import yaml_parser, use ruamel": ["not: yaml_parser"],
    "Use pnpm, not npm or yarn": ["not: npm", "not: yarn"],
    "`legacy/` was removed; the code is in `core/`": ["not: legacy/"],
    "`foo_old` is now `foo_new`": ["not: foo_old"],
    "Die Konfiguration heißt `.golangci.yaml`, nicht `.golangci.yml`": ["not: .golangci.yml"],
    "Es gibt kein `cmd/app/commands` mehr, nur `cmd/app`": ["not: cmd/app/commands"],
    "`npm` nicht verwenden, sondern pnpm": ["not: npm"],
    "`make lint` fails with `(goconst)` where a string is repeated": ["fails: (goconst)"],
    'Without the extra pytest fails with "No module named foo"': ["fails: No module named foo"],
    "Der Build bricht ab mit `ENOSPC: no space left`": ["fails: ENOSPC: no space left"],
}
RIGHT = [
    "We use tabs, not spaces",
    "The API returns `None`, not `False`",
    "not only `foo_bar` but also `x_y`",
    "parse() raises ValueError on empty input",
    "Do not forget to run `make gen`",
    "`foo_old` is now a function",
]


@pytest.mark.parametrize("text", WRONG)
def test_a_sentence_that_says_what_is_wrong_is_due_there_and_remember_says_so(run, text):
    made = run("remember", text)
    due = made.out.partition("  due at ")[2].splitlines()[0].split("; ")
    assert [one for one in due if not one.startswith("$")] == WRONG[text]


def test_a_sentence_that_says_nothing_wrong_has_no_trigger(project):
    assert [project.remember(text).entry.memory.triggers for text in RIGHT] == [()] * len(RIGHT)


def test_a_file_that_is_there_is_no_wrong_name_but_an_anchor_and_so_is_a_dot_file(repo, project):
    (repo.root / ".golangci.yaml").touch()
    (repo.root / "old.py").touch()
    memory = project.remember("Lint rules are in .golangci.yaml, not in `old.py`").entry.memory
    assert (memory.anchors, memory.triggers) == ((".golangci.yaml", "old.py"), ())


def test_a_path_is_not_taken_for_a_command_as_well(repo, project):
    (repo.root / "src").mkdir()
    (repo.root / "src/state.go").write_text("package src\n")
    assert project.remember("State lives in `src/state.go` only").entry.memory.anchors == ("src/state.go",)


def test_an_option_that_a_command_does_not_have_is_the_whole_command(project):
    for text in ("For a summary: gh pr diff has no --stat", "`git show` kennt `--no-stat` nicht; nimm `--no-patch`"):
        project.remember(text)
    found = {entry.memory.anchors for entry in project.list_all()}
    assert found == {("$ git show --no-stat",), ("$ gh pr diff --stat",)}


@pytest.fixture
def hook(repo, run):
    """Return a function that asks the hook before a tool, and one after a failure, in a new session each."""
    numbers = iter(range(1000))

    def ask(tool, given, *, error=None, session=None):
        event = "post-tool" if error else "pre-tool"
        about = {
            "session_id": session or f"s{next(numbers)}",
            "cwd": str(repo.root),
            "tool_name": tool,
            "tool_input": given,
        }
        done = run(
            "hook", event, "--client", "claude", stdin=json.dumps({**about, **({"error": error} if error else {})})
        )
        assert (done.code, done.err) == (0, "")
        return json.loads(done.out)["hookSpecificOutput"]["additionalContext"] if done.out else ""

    return ask


CALLS = [
    ("Read", {"file_path": "{root}/.golangci.yml"}),
    ("Edit", {"file_path": "{root}/.golangci.yml", "old_string": "a", "new_string": "b"}),
    ("Write", {"file_path": "{root}/a.sh", "content": "lint --config=.golangci.yml\n"}),
    ("Edit", {"file_path": "{root}/a.sh", "old_string": "x", "new_string": "cat ./.golangci.yml"}),
    ("Bash", {"command": "cat .golangci.yml | head"}),
    ("Bash", {"command": "timeout 5 bash -c 'golangci-lint run --config .golangci.yml'"}),
    ("Grep", {"pattern": "goconst", "path": ".golangci.yml"}),
    ("Grep", {"pattern": r"\.golangci\.yml", "path": "."}),
    ("Glob", {"pattern": "**/.golangci.yml"}),
]
OTHERS = [
    ("Read", {"file_path": "{root}/.golangci.yml.bak"}),
    ("Bash", {"command": "cat .golangci.yaml"}),
    ("Bash", {"command": "git commit -m 'Rename .golangci.yml'"}),
    ("Bash", {"command": "echo 'see .golangci.yml'"}),
    ("Edit", {"file_path": "{root}/a.sh", "old_string": ".golangci.yml -v", "new_string": ".golangci.yml -q"}),
]


def spell(given, root):
    return {key: value.replace("{root}", str(root)) for key, value in given.items()}


@pytest.mark.parametrize(("tool", "given"), CALLS)
def test_a_wrong_name_is_met_before_each_tool_that_uses_it(repo, run, hook, tool, given):
    remember(run, "The config is `.golangci.yaml`, not `.golangci.yml`")
    for _ in range(2):  # before there is a lookup file, and by it
        assert "The config is `.golangci.yaml`" in hook(tool, spell(given, repo.root)), (tool, given)
    assert "(for .golangci.yml)" in hook(tool, spell(given, repo.root))


@pytest.mark.parametrize(("tool", "given"), OTHERS)
def test_a_call_that_only_speaks_of_the_name_or_has_another_one_is_given_nothing(repo, run, hook, tool, given):
    remember(run, "The config is `.golangci.yaml`, not `.golangci.yml`")
    assert [hook(tool, spell(given, repo.root)) for _ in range(2)] == ["", ""]


@pytest.mark.parametrize(
    ("line", "is_met"),
    [
        ("npm install", True), ("timeout 5 npm ci", True), ("cd web && CI=1 npm test", True), ("bash -c 'npm run x'", True),
        ("{ npm ci; }", True), ("npm \\\n  install", True), ("pnpm install", False), ("cat npm", False), ("echo npm", False),
    ],
)  # fmt: skip
def test_a_program_that_is_wrong_is_met_as_a_command_however_it_is_spelled(run, hook, line, is_met):
    remember(run, "Use pnpm, never npm")
    assert [bool(hook("Bash", {"command": line})) for _ in range(2)] == [is_met, is_met]


def test_a_failure_that_says_what_a_trigger_waits_for_gives_that_memory_and_no_other(run, hook):
    waits = remember(run, "A string that is used three times is a constant here", "--trigger", "fails: (goconst)")
    remember(run, "The lint of cmd/x_test.go fails where a string has occurrences in the error task")
    error = "cmd/x_test.go:8:13: string `line1` has 4 occurrences, make it a constant (GOCONST)\nERROR task failed"
    given = hook("Bash", {"command": "mise run lint"}, error=error)
    assert f"[{waits['id']}]" in given
    assert given.count("- [") == 1


def test_beside_a_line_that_a_trigger_waits_for_the_names_in_other_lines_are_looked_for(run, hook):
    waits = remember(run, "A string that is used three times is a constant here", "--trigger", "fails: (goconst)")
    other = remember(run, "wrapcheck: errors of other packages are wrapped")
    error = "a.go:8:13: string `line1` has 4 occurrences (goconst)\na.go:9:1: error is not wrapped (wrapcheck)\nERROR task failed"
    words = ("inject", "--tool", "Bash", "--command", "mise run lint", "--error", error, "--explain")
    for given in (hook("Bash", {"command": "mise run lint"}, error=error), run(*words).out):
        assert f"[{waits['id']}]" in given
        assert f"[{other['id']}]" in given


def test_a_memory_is_given_once_a_session_and_what_gave_it_can_be_read(run, hook):
    memory = remember(run, "The config is `.golangci.yaml`, not `.golangci.yml`")
    assert hook("Bash", {"command": "cat .golangci.yml"}, session="one")
    assert hook("Read", {"file_path": ".golangci.yml"}, session="one") == ""
    assert "before Bash, it is due at not: .golangci.yml" in run("sessions", "show", "one").out
    explained = run("inject", "--tool", "Bash", "--command", "cat .golangci.yml", "--explain")
    assert f"{memory['id']} given: would be given\n    it is due at not: .golangci.yml" in explained.out
    remember(run, "x needs y", "--trigger", "fails: E42")
    failed = run("inject", "--tool", "Bash", "--command", "x", "--error", "what e42 says", "--explain").out
    assert "given: would be given\n    it is due at fails: E42" in failed


def test_what_the_start_of_a_session_gave_is_given_once_more_where_it_is_due(run, hook):
    remember(run, "The config is `.golangci.yaml`, not `.golangci.yml`")
    begun = run("hook", "session-start", stdin=json.dumps({"session_id": "one", "source": "startup"}))
    assert "The config is" in begun.out
    given = [
        bool(hook("Bash", {"command": line}, session="one")) for line in ("ls", "cat .golangci.yml", "rm .golangci.yml")
    ]
    assert given == [False, True, False]


def test_a_memory_of_every_project_is_due_too(run, hook):
    remember(run, "Use pnpm, never npm", "--global")
    assert [bool(hook("Bash", {"command": "npm ci"})) for _ in range(2)] == [True, True]


def test_a_candidate_is_anchored_and_due_like_what_is_remembered_once_it_is_approved(repo, project):
    (repo.root / ".golangci.yaml").touch()
    candidates = Candidates(project)
    draft = Memory(id="", content="The config is `.golangci.yaml`, not `.golangci.yml`")
    (waiting,) = candidates.propose([Proposal(memory=draft)])
    (done,) = candidates.approve([waiting.memory.id])
    assert done.entry.memory.anchors == (".golangci.yaml",)
    assert done.entry.memory.triggers == ("not: .golangci.yml",)


def test_a_text_that_says_something_else_now_is_due_at_what_it_says_now(repo):
    made = memsync("remember", "The config is `.lint.yaml`, not `.lint.yml`", "--json", cwd=repo.root).json["memory"]
    assert made["triggers"] == ["not: .lint.yml"]
    memsync("update", made["id"], "--content", "The config is `lint.toml`, not `.lint.yaml`", cwd=repo.root)
    assert memsync("show", made["id"], "--json", cwd=repo.root).json["triggers"] == ["not: .lint.yaml"]

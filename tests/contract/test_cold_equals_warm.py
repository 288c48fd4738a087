"""Whatever the index on the disk is, a command, a hook, an MCP client and Python are told the same, by a process that is new and by one that stays.

Nothing here knows how the index is made: it is what lies below `.gobby/local/index*`, and may be deleted at any time.
"""

from __future__ import annotations

import json
import os
import random
import re
import shutil
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest
from calling import connected
from helpers import GitRepo, memory_line, memsync, until

from memsync import Memsync
from memsync.agents.live import Live
from memsync.mcp.early import choose
from memsync.mcp.server import build

BLOCK = 4096  # bytes that a disk reads and loses at once
SEED = int(os.environ.get("MEMSYNC_SEED") or 7)
IS_WHOLE = bool(os.environ.get("MEMSYNC_EXPLORE"))
THINGS = "server database pipeline release cache token schema worker queue branch invoice button report tunnel broker".split()
DEEDS = (
    "restarts deploys checks copies rejects renames retries merges signs measures throttles logs caches parses".split()
)
WHERE = "on Mondays,in staging,before a release,after the review,behind the proxy,at night,für Größe,日本語で".split(
    ","
)
PATHS = tuple(f"src/{thing}/{deed}.py" for thing in THINGS[:4] for deed in DEEDS[:3])
NAMES = (
    "parse_json",
    "parseJson",
    "login.py",
    "a1b2c3d4e5",
    "#871",
    "v1.2.3",
    "port 8080",
    "MEMSYNC_X",
    "git push --force",
)
TAGS = ("ci", "code-style", "deploy", "db")
ANCHORS = ("src/server/restarts.py", "src/database/", "$ git push", "*.toml")
COUNTED = re.compile(
    r'"(access_count|last_accessed_at)": [^,\n]+|, (?:unread|by [^,()]+)(?=[,)])'
)  # what grows with each question


def make_line(dice: random.Random, number: int) -> str:
    """Spell a memory that shares words, names, paths and tags with others, and has some of its own."""
    words = [f"The {dice.choice(THINGS)} {dice.choice(DEEDS)} the {dice.choice(THINGS)} {dice.choice(WHERE)}"]
    words += dice.sample([*NAMES, *PATHS], dice.randrange(3)) + [f"case{number}"] * dice.randrange(2)
    fields = {
        "tags": dice.sample(TAGS, dice.randrange(3)),
        "anchors": dice.sample(ANCHORS, dice.choice((0, 0, 1))),
        "importance": dice.choice((0.3, 0.7, 0.9)),
        "memory_type": dice.choice(("fact", "preference", "pattern")),
        "created_at": f"2025-{dice.randint(1, 12):02}-{dice.randint(1, 28):02}T10:00:00.000Z",
    }
    if dice.random() < 0.1:
        words.append("It " + " ".join(dice.choices(DEEDS, k=60)))
    return memory_line(f"mm-{number:06}", ", ".join(words), **{k: v for k, v in fields.items() if v})


def fill(repo: GitRepo, count: int, seed: int = SEED) -> None:
    """Put *count* memories into the project, and a few into the user's store."""
    dice = random.Random(seed * 10_000 + count)
    repo.write_memories("".join(make_line(dice, number) for number in range(1, count + 1)))
    for path in ("src/server/restarts.py", "src/cache/deploys.py"):
        (repo.root / path).parent.mkdir(parents=True, exist_ok=True)
        (repo.root / path).touch()
    home = Path(os.environ["HOME"]) / ".gobby"
    home.mkdir(exist_ok=True)
    (home / "config.yaml").write_text("memory: {decay_enabled: false}\n")  # a score would change while it is compared
    (home / "memories.jsonl").write_text("".join(make_line(dice, 900_000 + number) for number in range(4)))


def drop_index(repo: GitRepo) -> None:
    for path in (repo.root / ".gobby" / "local").glob("index*"):
        shutil.rmtree(path) if path.is_dir() else path.unlink()


def index_files(repo: GitRepo) -> list[Path]:
    """Return the files of the index that hold something."""
    tops = (repo.root / ".gobby" / "local").glob("index*")
    files = [path for top in tops for path in ([top] if top.is_file() else top.rglob("*")) if path.is_file()]
    return sorted(path for path in files if path.stat().st_size)


def copy_index(repo: GitRepo, to: Path) -> None:
    """Keep the index as it lies there."""
    shutil.rmtree(to, ignore_errors=True)
    to.mkdir()
    for path in (repo.root / ".gobby" / "local").glob("index*"):
        shutil.copytree(path, to / path.name) if path.is_dir() else shutil.copy2(path, to / path.name)


def put_index(kept: Path, repo: GitRepo) -> None:
    """Put a kept index in the place of the one there is."""
    drop_index(repo)
    for path in kept.iterdir():
        to = repo.root / ".gobby" / "local" / path.name
        shutil.copytree(path, to) if path.is_dir() else shutil.copy2(path, to)


def damage(repo: GitRepo, dice: random.Random) -> None:
    """Lose a block of a file, as a disk does, or cut a file off, or fill its end with zeros."""
    path = dice.choice(index_files(repo))
    data = path.read_bytes()
    at = dice.randrange(len(data))
    how, block = dice.choice(("block", "block", "block", "cut", "zeros")), at // BLOCK * BLOCK
    rest = {
        "cut": b"",
        "zeros": bytes(len(data) - at),
        "block": bytes(BLOCK) + data[block + BLOCK :],
    }
    path.write_bytes(data[: block if how == "block" else at] + rest[how])


Question = tuple[tuple[str, ...], str]


def hook(event: str, **payload: object) -> Question:
    return ("hook", event, "--client", "claude"), json.dumps(payload)


def list_questions(count: int) -> list[Question]:
    """Return command lines with what they read, of every kind that the index may answer."""
    some = f"mm-{min(count, 9):06}"
    edit = {"file_path": "src/server/restarts.py", "new_string": "x"}
    return [
        hook("prompt", prompt="which server restarts the database before a release?"),
        hook("prompt", prompt="please look at parse_json in src/cache/deploys.py, case3 and the deploy of case7"),
        hook("prompt", prompt="what about whales?"),
        hook("pre-tool", tool_name="Edit", tool_input=edit),
        hook("pre-tool", tool_name="Bash", tool_input={"command": "git push --force origin main"}),
        (("list", "--json"), ""),
        (("list", "--tag", "ci"), ""),
        (("show", some, "--json"), ""),
        (("tags",), ""),
        (("recall", "the pipeline copies tokens at night", "--json"), ""),
        (("search", "dpeloy databse parseJson 日本語", "--json", "--limit", "40"), ""),
        (("search", "a1b2c3d4e5 #871 Groesse", "--explain"), ""),
    ]


class World:
    """A repository, and what it is asked: each question in a session of its own, with what is counted left out."""

    def __init__(self, repo: GitRepo) -> None:
        self.repo = repo
        self._sessions = 0

    def ask(self, question: Question, *, is_counted: bool = False) -> str:
        """Return what is printed; as if nobody had asked before, unless a process that stays counts."""
        words, given = question
        self._sessions += 1
        if given:
            given = json.dumps({"session_id": f"s{self._sessions}", "cwd": str(self.repo.root), **json.loads(given)})
        for path in () if is_counted else (self.repo.root / ".gobby" / "local").glob("state.db*"):
            path.unlink()
        ran = memsync(*words, cwd=self.repo.root, stdin=given)
        assert (ran.code, ran.err) == (0, ""), (words, ran)
        return COUNTED.sub("", ran.out)

    def ask_all(self, questions: list[Question], **how: bool) -> list[str]:
        return [self.ask(question, **how) for question in questions]


@pytest.fixture
def world(repo) -> World:
    return World(repo)


QUERIES = (
    "which server restarts the database before a release?",
    "dpeloy databse parseJson 日本語",
    "a1b2c3d4e5 #871 case3 case7",
    '"the schema" src/cache/deploys.py',
    "whales",
)


def ask_python(project: Memsync) -> list[object]:
    """Return every part of every hit of some queries, and the whole list in its order."""
    found = [project.search(query, limit=30) for query in QUERIES]
    hits = [
        [(hit.id, hit.scope, hit.content, hit.score, hit.confidence, hit.parts, hit.copy_of) for hit in one]
        for one in found
    ]
    return [hits, [(one.gate, one.floor, one.degraded) for one in found], [entry.id for entry in project.list()]]


def ask_mcp(live: Live) -> list[object]:
    """Return what a client of MCP is told."""
    with connected(build(live, choose("all"), whole=True)) as caller:
        answers = [caller.call("recall", query=query, limit=30) for query in QUERIES]
    return [COUNTED.sub("", json.dumps(answer)) for answer in answers]


@contextmanager
def serving(root: Path) -> Iterator[Path]:
    """Have `memsync serve` answer for *root*, and give out where it listens."""
    command = [sys.executable, "-P", "-m", "memsync", "serve", "--json"]
    with subprocess.Popen(command, cwd=root, stdout=subprocess.PIPE, text=True) as process:
        try:
            said = ""
            while not said.endswith("}\n"):
                said += process.stdout.readline() or "}\n"
            yield Path(json.loads(said)["path"])
            assert process.poll() is None
        finally:
            process.kill()


@contextmanager
def hidden(path: Path) -> Iterator[None]:
    """Let nobody find *path* meanwhile."""
    away = path.rename(path.with_name("away"))
    try:
        yield
    finally:
        away.rename(path)


def make_stale(world: World, kept: Path) -> None:
    """Keep in *kept* an index that was made of other memories."""
    data = world.repo.memories.read_bytes()
    fill(world.repo, 20, seed=SEED + 1)
    world.ask(ANY)
    copy_index(world.repo, kept)
    world.repo.memories.write_bytes(data)


def make_otherwise(world: World, kept: Path) -> None:
    """Keep in *kept* an index of these memories that was made by other settings: of other words, and without vectors."""
    config = world.repo.root / ".gobby" / "config.yaml"
    config.write_text("memory: {embedder: none, stop_words: false}\n")
    drop_index(world.repo)
    world.ask(ANY)
    copy_index(world.repo, kept)
    config.unlink()


ANY: Question = (("search", "the server restarts", "--json"), "")


@pytest.mark.parametrize("count", [16, 80])
def test_commands_and_hooks_say_the_same_whatever_index_lies_there(world, tmp_path, count):
    fill(world.repo, count)
    questions, dice = list_questions(count), random.Random(SEED)
    make_stale(world, tmp_path / "stale")
    make_otherwise(world, tmp_path / "otherwise")
    states: dict[str, Callable[[], None]] = {
        "none": lambda: drop_index(world.repo),
        "there": lambda: put_index(tmp_path / "there", world.repo),
        "damaged": lambda: (put_index(tmp_path / "there", world.repo), damage(world.repo, dice)),
        "of other memories": lambda: put_index(tmp_path / "stale", world.repo),
        "made otherwise": lambda: put_index(tmp_path / "otherwise", world.repo),
    }
    drop_index(world.repo)
    expected = world.ask_all(questions)
    world.ask(ANY)
    copy_index(world.repo, tmp_path / "there")
    assert index_files(world.repo)
    assert [question for question, text in zip(questions, expected, strict=True) if not text] == [questions[2]]
    asked = list(zip(questions, expected, strict=True))
    for number, state in enumerate(states if count > 16 or IS_WHOLE else ("none", "damaged")):
        for question, answer in asked if IS_WHOLE else asked[number % 2 :: 2]:
            states[state]()
            assert world.ask(question) == answer, (state, question)


class Writers:
    """What others do to the memories: commands, a hand in the file, git."""

    def __init__(self, repo: GitRepo, dice: random.Random) -> None:
        self.repo, self.dice, self._count = repo, dice, 500_000

    def _lines(self) -> list[str]:
        return self.repo.memories.read_text().splitlines(keepends=True)

    def _new(self) -> str:
        self._count += 1
        return make_line(self.dice, self._count)

    def _run(self, *words: str) -> None:
        ran = memsync(*words, cwd=self.repo.root)
        assert ran.code == 0, ran

    def remember(self) -> None:
        self._run("remember", json.loads(self._new())["content"])

    def update(self) -> None:
        one = json.loads(self.dice.choice(self._lines()))["id"]
        self._run("memory", "update", one, "--content", json.loads(self._new())["content"])

    def remove(self) -> None:
        self._run("rm", json.loads(self._lines()[3])["id"])

    def export(self) -> None:
        self._run("memory", "export")

    def append_by_hand(self) -> None:
        with self.repo.memories.open("a") as file:
            file.write(self._new() + self._new())

    def change_lines_by_hand(self) -> None:
        lines = self._lines()
        lines[2:4] = [self._new()]
        self.repo.memories.write_text("".join(lines))

    def put_another_file_there(self) -> None:
        """Replace the file by one of the same size and time, in which words are others."""
        seen = self.repo.memories.stat()
        other = self.repo.memories.with_name("other")
        other.write_text("".join(self._lines()).replace("server", "tunnel").replace("deploys", "rejects"))
        os.utime(other, ns=(seen.st_atime_ns, seen.st_mtime_ns))
        assert other.stat().st_size == seen.st_size
        other.replace(self.repo.memories)

    def check_out(self) -> None:
        """Let git bring the memories of another commit, and take them back."""
        self.repo.git("add", "-A", ".gobby")
        self.repo.git("commit", "-qm", "memories")
        self.repo.git("checkout", "-q", "-b", f"b{self._count}")
        self.repo.memories.write_text("".join(self._lines()[::2]))
        self.repo.git("commit", "-qam", "fewer")


WRITES = (
    "remember",
    "append_by_hand",
    "update",
    "put_another_file_there",
    "remove",
    "export",
    "change_lines_by_hand",
    "check_out",
)


def ask_cold(repo: GitRepo) -> tuple[list[object], list[object]]:
    with Memsync.open(repo.root) as project, closing(Live(repo.root)) as live:
        return ask_python(project), ask_mcp(live)


def test_who_stays_says_what_a_new_process_says_whatever_is_written_meanwhile(world):
    fill(world.repo, 40)
    writers = Writers(world.repo, random.Random(SEED))
    with Memsync.open(world.repo.root) as project, closing(Live(world.repo.root)) as live:
        for write in ("", *WRITES):
            if write:
                getattr(writers, write)()
            kept = ask_cold(world.repo)  # with the index as the write has left it
            drop_index(world.repo)
            assert (ask_python(project), ask_mcp(live)) == kept == ask_cold(world.repo), write


@pytest.mark.skipif(not hasattr(socket, "AF_UNIX"), reason="there are no local sockets here")
def test_a_server_answers_as_a_command_alone_whatever_is_written_meanwhile(world):
    fill(world.repo, 40)
    writers = Writers(world.repo, random.Random(SEED))
    questions = [one for one in list_questions(40) if one[0][0] in ("hook", "search")][:: 1 if IS_WHOLE else 3]
    with serving(world.repo.root) as path:
        for write in ("", *WRITES):
            if write:
                getattr(writers, write)()
            until(lambda: "hooks are answered by memsync serve" in memsync("status", cwd=world.repo.root).out)
            served = world.ask_all(questions, is_counted=True)
            with hidden(path):
                kept = world.ask_all(questions, is_counted=True)
                drop_index(world.repo)
                assert served == kept == world.ask_all(questions, is_counted=True), write


def test_two_thousand_memories_are_told_alike_cold_and_warm(world):
    fill(world.repo, 2_000)
    questions = [*list_questions(2_000)[:2], ANY, (("list", "--json", "--limit", "100"), "")]
    expected = world.ask_all(questions)
    with Memsync.open(world.repo.root) as project:
        first = ask_python(project)
        for write in ("remember", "append_by_hand"):
            getattr(Writers(world.repo, random.Random(SEED)), write)()
            warm = ask_python(project)
            assert warm != first
            kept, answers = ask_cold(world.repo)[0], world.ask_all(questions)
            drop_index(world.repo)
            assert warm == kept == ask_cold(world.repo)[0]
            assert answers == world.ask_all(questions) != expected


OLDER = ("25b2846", "b1e5377")
SOURCES = Path(__file__).parents[2]


@pytest.fixture(params=OLDER)
def older(request, tmp_path) -> Path:
    """Return where an earlier memsync lies, out of this repository's own history."""
    to = tmp_path / "older"
    to.mkdir()
    packed = subprocess.run(["git", "archive", request.param, "memsync"], cwd=SOURCES, capture_output=True, check=False)
    if packed.returncode:
        pytest.skip(f"NOT TESTED: an earlier memsync beside this one; fetch the history with {request.param}")
    subprocess.run(["tar", "-x", "-C", to], input=packed.stdout, check=True)
    return to


@pytest.mark.skipif(sys.platform == "win32", reason="an earlier version is unpacked with tar")
def test_an_earlier_version_in_the_same_repository_in_turn_is_told_the_same_and_loses_nothing(world, older):
    fill(world.repo, 30)
    root, written = world.repo.root, [f"Case{number} of the {thing} stays" for number, thing in enumerate(THINGS[:4])]
    asked = ("search", "dpeloy databse parseJson case1 tunnel stays", "--json", "--limit", "30")

    def theirs(*words: str) -> str:
        command = [sys.executable, "-P", "-m", "memsync", *words]
        env = {**os.environ, "PYTHONPATH": str(older)}
        done = subprocess.run(command, cwd=root, env=env, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return COUNTED.sub("", done.stdout)

    def ours(*words: str) -> str:
        return world.ask((words, ""), is_counted=True)

    for number, text in enumerate(written):
        (theirs if number % 2 else ours)("remember", text)
        in_turn = ours(*asked), theirs(*asked), ours(*asked)
        drop_index(world.repo)
        theirs_alone = theirs(*asked)
        drop_index(world.repo)
        assert in_turn == (ours_alone := ours(*asked), theirs_alone, ours_alone)
    for command in (ours, theirs):
        listed = command("list", "--json")
        assert [text for text in written if json.dumps(text) not in listed] == []

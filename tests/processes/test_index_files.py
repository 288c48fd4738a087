"""Another hand between any two calls of who asks, and a death in the middle of it: the index on the disk never says what the memories do not.

Nothing here knows how the index is made: only that it lies below `.gobby/local/index*`, and that it may be deleted.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from actors import drop_index
from crew import Crew
from helpers import memory_line, memsync
from rooms import READ_ONLY, room

SOURCE = Path(__file__).with_name("disk_moments.c")
IS_WHOLE = bool(os.environ.get("MEMSYNC_EXPLORE"))  # else some moments of each kind
THINGS = "server database pipeline release cache token schema worker queue branch tunnel broker".split()
DEEDS = "restarts deploys checks copies rejects renames retries merges".split()
Tell = Callable[[], list[list[object]]]


@pytest.fixture(scope="session")
def watched_crew(crew: Crew, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Crew]:
    """Return actors in whose calls of the C library something may happen."""
    if not shutil.which("cc"):
        pytest.skip("NOT TESTED: a hand between two calls; install cc, which builds what waits for them")
    library = tmp_path_factory.mktemp("disk") / "disk_moments.so"
    words = ["cc", "-shared", "-fPIC", "-O1", "-o", library, SOURCE, "-ldl"]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    company = Crew(LD_PRELOAD=str(library))
    yield company
    company.close()


def spell(version: int, count: int = 24) -> str:
    """Spell memories of which each says something else in each version, in files of one size."""

    def text(n: int) -> str:
        first, deed, last = THINGS[(n + version) % 12], DEEDS[(n + version) % 8], THINGS[(n + 5 * version + 1) % 12]
        return f"The {first} {deed} the {last}, case{n} of version {version}"

    return "".join(memory_line(f"mm-{n:06}", text(n), tags=["ci"]) for n in range(count))


@pytest.fixture
def root(quick_root: Path, home: Path) -> Path:
    (home / ".gobby").mkdir()
    settings = "memory: {author: A. Person, decay_enabled: false}\n"  # a score would change while it is compared
    (home / ".gobby" / "config.yaml").write_text(settings)
    return quick_root


@pytest.fixture
def tell(watched_crew: Crew, root: Path) -> Tell:
    """Return a function that gives what new processes are told: with the index as it is, once more, and without it."""
    return lambda: [what["told"] for what in watched_crew.start("tell", root=str(root)).to_the_end() if "told" in what]


@pytest.fixture
def truth(root: Path, tell: Tell) -> Callable[[str], list[object]]:
    """Return a function that gives what is told of a file without an index."""

    def ask(text: str) -> list[object]:
        (root / ".gobby" / "memories.jsonl").write_text(text)
        drop_index(str(root))
        return tell()[0]

    return ask


OLD, NEW, LATE = spell(1), spell(2), spell(3)
assert len(OLD) == len(NEW) == len(LATE)
MORE = "".join(spell(4, 27).splitlines(keepends=True)[24:])
READERS, WHATS = ("no index", "an index", "an old index", "who stays"), ("replaced", "appended to")
STARTS, STEPS = ("no index", "an index", "an old index"), {"search": 11, "remember": 29}
# Each night all of the pairs, in each run every one of both sides.
MEETINGS = [(reader, what) for n, reader in enumerate(READERS) for what in (WHATS if IS_WHOLE else WHATS[n % 2 :][:1])]
DEATHS = [
    (deed, start) for deed in STEPS for start in STARTS if IS_WHOLE or (deed == "search") != (start == "an index")
]


@pytest.mark.slow
@pytest.mark.parametrize(("reader", "what"), MEETINGS)
def test_a_writer_between_any_two_calls_of_a_reader_is_seen_whole_or_next_time(
    watched_crew, root, tell, truth, reader, what
):
    path, other, first = root / ".gobby" / "memories.jsonl", root / "other", root / "first"
    changed = LATE if what == "replaced" else NEW + MORE
    before, after = truth(NEW), truth(changed)
    call, happened, met = 0, True, 0
    while happened:
        call += 1 if IS_WHOLE or call < 8 else 4
        path.write_text(NEW if reader in ("no index", "an index") else OLD)
        drop_index(str(root))
        if reader in ("an index", "an old index"):
            tell_only_once(watched_crew, root)
        other.write_text(LATE if what == "replaced" else MORE)
        words = {"other": str(other)}
        if reader in ("an old index", "who stays"):
            first.write_text(NEW)
            words["first"] = str(first)
        if reader == "who stays":
            words["stays"] = "yes"
        (said,) = say(watched_crew.start("met", root=str(root), reader="search", call=call, what=what, **words))
        happened = said["happened"]
        assert happened in (0, 1)
        if not happened:
            assert said["during"] == said["after"] == before
            break
        assert said["during"] in [before[:n] + after[n:] for n in range(len(before) + 1)], call
        assert said["after"] == after, call
        assert tell() == [after] * 3, call
        met += 1
    assert met > 3


def say(actor) -> list[dict]:
    return [what for what in actor.to_the_end() if "end" not in what]


def tell_only_once(crew: Crew, root: Path) -> None:
    """Have an index made and saved, which `tell` removes."""
    say(crew.start("met", root=str(root), reader="list", call=0, what="k"))


@pytest.mark.slow
@pytest.mark.parametrize(("deed", "start"), DEATHS)
def test_who_is_killed_between_any_two_calls_leaves_an_index_that_says_what_the_memories_do(
    watched_crew, root, tell, start, deed
):
    path = root / ".gobby" / "memories.jsonl"
    step, call, was_killed, met = 1 if IS_WHOLE else STEPS[deed], 0, True, 0
    while was_killed:
        call += step
        path.write_text(OLD)
        drop_index(str(root))
        if start != "no index":
            tell_only_once(watched_crew, root)
        if start == "an old index":
            path.write_text(NEW)
        said = say(watched_crew.start("met", root=str(root), reader=deed, call=call, what="killed"))
        was_killed = said == []
        kept, again, anew = tell()
        assert kept == again == anew, call
        assert len(anew[-1]) in (24, 25)
        met += was_killed
    assert met > 3


STATES = ("no index", "an index", "an old index", "a damaged index")


def put_state(root: Path, state: str) -> list[str]:
    """Put memories and an index in that state there, and return what is told of these memories without an index."""
    path = root / ".gobby" / "memories.jsonl"
    path.parent.mkdir(exist_ok=True)
    path.write_text(NEW)
    drop_index(str(root))
    expected = ask(root)
    if state == "no index":
        drop_index(str(root))
    elif state == "an old index":
        path.write_text(OLD)
        drop_index(str(root))
        ask(root)
        path.write_text(NEW)
    elif state == "a damaged index":
        files = [
            one for top in (root / ".gobby" / "local").glob("index*") for one in (top, *top.rglob("*")) if one.is_file()
        ]
        largest = max(files, key=lambda one: one.stat().st_size)
        data = largest.read_bytes()
        largest.write_bytes(data[: len(data) // 2] + bytes(len(data) - len(data) // 2))
    return expected


QUESTIONS = (("search", "which server restarts the dpeloy of case7?", "--json", "--limit", "30"), ("list", "--json"))


def ask(root: Path) -> list[str]:
    ran = [memsync(*words, cwd=root) for words in QUESTIONS]
    assert [(one.code, one.err) for one in ran] == [(0, "")] * len(ran)
    return [one.out for one in ran]


@pytest.mark.parametrize("state", STATES)
def test_where_the_index_can_not_be_written_the_answers_are_those_of_the_memories(root, state):
    expected = put_state(root, state)
    with room(root / ".gobby" / "local", READ_ONLY) as found:
        for _ in range(2):
            ran = [found.memsync("-C", str(root), *words) for words in QUESTIONS]
            assert [(one.code, one.err, one.out) for one in ran] == [(0, "", text) for text in expected]


@pytest.mark.parametrize("size", ["4k", "16k", "100k"])
def test_where_the_index_has_no_room_the_answers_are_those_of_the_memories(root, size):
    expected = put_state(root, "no index")
    with room(root / ".gobby" / "local", f'mount -t tmpfs -o size={size} tmpfs "$1"') as found:
        for _ in range(2):
            ran = [found.memsync("-C", str(root), *words) for words in QUESTIONS]
            assert [(one.code, one.err, one.out) for one in ran] == [(0, "", text) for text in expected]

"""A SQLite file that several processes make, use and remove."""

from __future__ import annotations

import subprocess
import sys
from contextlib import closing
from pathlib import Path

from memsync.store import database

HOLD = """
import sys
from pathlib import Path
from memsync.errors import StoreError
from memsync.store import database

db = None
while not db:
    try:
        db, _ = database.connect(Path(sys.argv[1]), wait=5)
    except StoreError:
        print("waits", flush=True)
db.executescript("CREATE TABLE IF NOT EXISTS said (text); INSERT INTO said VALUES ('held');")
print("wrote", flush=True)
sys.stdin.readline()
"""
# Another process opens the file in the moment before this one removes a log.
MEET = """
import subprocess, sys
from pathlib import Path
from memsync.store import database

others, lines = [], []

def meet(event, args):
    if event == "os.remove" and str(args[0]).endswith("-wal") and not others:
        words = [sys.executable, "-c", sys.argv[2], sys.argv[1]]
        others.append(subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True))
        lines.append(others[0].stdout.readline())

sys.addaudithook(meet)
db, _ = database.connect(Path(sys.argv[1]), wait=5)
while lines[-1] != "wrote\\n":
    lines.append(others[0].stdout.readline())
print(db.execute("SELECT name FROM sqlite_master").fetchall())
others[0].communicate("\\n")
"""


def start_holder(path: Path) -> subprocess.Popen[str]:
    """Return a process that has written to the database and holds it open."""
    words = [sys.executable, "-c", HOLD, str(path)]
    holder = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert holder.stdout
    assert holder.stdout.readline() == "wrote\n"
    return holder


def test_two_processes_that_make_the_file_at_once_have_one_log(tmp_path):
    words = [sys.executable, "-c", MEET, str(tmp_path / "some.db"), HOLD]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("[('said',)]\n", "")


def test_a_new_file_has_nothing_of_the_log_that_another_process_holds_of_one_that_is_gone(tmp_path):
    path = tmp_path / "some.db"
    holder = start_holder(path)
    path.unlink()
    with closing(database.connect(path, wait=5)[0]) as db:
        db.execute("CREATE TABLE other (text)")
        assert db.execute("SELECT name FROM sqlite_master").fetchall() == [("other",)]
        holder.communicate("\n")
        with closing(database.connect(path, wait=5)[0]) as late:
            assert late.execute("SELECT name FROM sqlite_master").fetchall() == [("other",)]


def test_a_file_that_is_removed_is_made_anew_while_another_process_holds_the_old_one(tmp_path):
    path = tmp_path / "some.db"
    holder = start_holder(path)
    database.remove(path)
    assert not list(tmp_path.glob("some.db*"))
    second = start_holder(path)
    holder.communicate("\n")
    with closing(database.connect(path, wait=5)[0]) as db:
        assert db.execute("SELECT text FROM said").fetchall() == [("held",)]
    second.communicate("\n")

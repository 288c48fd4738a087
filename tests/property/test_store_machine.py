"""Two processes' worth of `Memsync` and a hand on one file, against a dictionary."""

from __future__ import annotations

import json
import os
import random
import shutil
import tempfile
from collections import Counter
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from helpers import sample
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from store_model import BOM, HAND_IDS, JUNK, Fact, bare, importances, read_by_hand, tags, texts, whole

from memsync import Memsync
from memsync.errors import InvalidMemory, MemoryNotFound
from memsync.memories.remember import REMEMBER_IMPORTANCE
from memsync.setup.doctor import examine

pytestmark = pytest.mark.slow

# An fsync costs nothing there; what survives a crash is shown in tests/processes.
MEMORY_DISK = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None


def key_of(row: bytes) -> object:
    """Return the id that *row* has; the row itself if it has none that can be read."""
    try:
        return json.loads(row.removeprefix(BOM))["id"]
    except (ValueError, LookupError, TypeError):
        return row


class StoreMachine(RuleBasedStateMachine):
    """Rules do to the store and to the dictionary the same thing; invariants compare the two."""

    def __init__(self) -> None:
        super().__init__()
        self.patch = pytest.MonkeyPatch()
        self.patch.setattr("os.urandom", random.Random(0).randbytes)  # the same ids when an example is replayed
        self.top = Path(tempfile.mkdtemp(prefix="memsync-machine-", dir=MEMORY_DISK))
        self.env = {"MEMSYNC_HOME": str(self.top / "home"), "MEMSYNC_SESSION_ID": "s1"}
        self.now = datetime(2026, 1, 15, 12, tzinfo=UTC)
        self.root = self.top / "repo"
        self.path = self.root / ".gobby" / "memories.jsonl"
        self.path.parent.mkdir(parents=True)
        (self.top / "home").mkdir()
        (self.top / "home" / "config.yaml").write_text("memory:\n  author: A. Person\n")
        self.model: dict[str, Fact] = {}
        self.history: dict[str, list[Fact]] = {}
        self.junk: Counter[bytes] = Counter()
        self.both: list[Memsync] = [self.opened(), self.opened()]

    def opened(self) -> Memsync:
        return Memsync.open(self.root, clock=lambda: self.now, env=self.env)

    def teardown(self) -> None:
        self.patch.undo()
        shutil.rmtree(self.top, ignore_errors=True)

    def data(self) -> bytes:
        return self.path.read_bytes() if self.path.exists() else b""

    def pick(self, number: int) -> str:
        return sorted(self.model)[number % len(self.model)]

    def copies(self, text: str) -> set[str]:
        return {id_ for id_, fact in self.model.items() if fact.folded == Fact(text.strip()).folded}

    def replaced(self, id_: str) -> None:
        if id_ in self.model:
            self.history.setdefault(id_, []).append(self.model[id_])

    def wrote(self, id_: str, fact: Fact) -> None:
        self.model[id_] = fact
        self.history.setdefault(id_, []).append(fact)

    # what memsync does

    @rule(who=st.booleans(), text=texts, importance=st.none() | importances, labels=tags)
    def remember(self, who, text, importance, labels):
        result = self.both[who].remember(text, importance=importance, tags=labels)
        if result.status == "created":
            assert (self.copies(text), result.entry.id in self.model) == (set(), False)
            wanted = REMEMBER_IMPORTANCE if importance is None else importance
            self.wrote(result.entry.id, Fact(text.strip(), wanted, labels))
            return
        assert (result.status, result.entry.id in self.copies(text)) == ("exists", True)
        old = self.model[result.entry.id]
        new = old._replace(
            tags=tuple(dict.fromkeys(old.tags + labels)), importance=max(old.importance, importance or 0)
        )
        if new != old:
            self.replaced(result.entry.id)
            self.wrote(result.entry.id, new)

    @precondition(lambda self: self.model)
    @rule(
        who=st.booleans(),
        number=whole,
        text=st.none() | texts,
        importance=st.none() | importances,
        labels=st.none() | tags,
    )
    def update(self, who, number, text, importance, labels):
        id_ = self.pick(number)
        old = self.model[id_]
        change = {"content": text and text.strip(), "importance": importance, "tags": labels}
        new = old._replace(**{name: value for name, value in change.items() if value is not None})
        if new.content != old.content and self.copies(new.content) - {id_}:
            with pytest.raises(InvalidMemory):
                self.both[who].update(id_, content=text, importance=importance, tags=labels)
            return
        result = self.both[who].update(id_, content=text, importance=importance, tags=labels)
        assert result.status == ("exists" if new == old else "updated")
        if new != old:
            self.replaced(id_)
            self.wrote(id_, new)

    @precondition(lambda self: self.model)
    @rule(who=st.booleans(), number=whole)
    def forget(self, who, number):
        id_ = self.pick(number)
        assert self.both[who].forget(id_).content == self.model[id_].content
        self.replaced(id_)
        del self.model[id_]

    @precondition(lambda self: self.history)
    @rule(who=st.booleans(), number=whole)
    def restore(self, who, number):
        id_ = sorted(self.history)[number % len(self.history)]
        earlier = [fact for fact in self.history[id_] if fact != self.model.get(id_)]
        if not earlier:
            with pytest.raises(MemoryNotFound):
                self.both[who].restore(id_)
            return
        if any(fact.folded == earlier[-1].folded for other, fact in self.model.items() if other != id_):
            with pytest.raises(InvalidMemory, match="says the same already"):
                self.both[who].restore(id_)
            return
        assert self.both[who].restore(id_).entry.id == id_
        self.replaced(id_)
        self.wrote(id_, earlier[-1])

    @rule(who=st.booleans())
    def export(self, who):
        self.both[who].export("project")
        data = self.data()
        assert [list(read_by_hand(line)) for line in data.split(b"\n") if b"deleted_at" in line] == []
        assert not self.both[not who].export("project").changed
        assert self.data() == data

    @rule(who=st.booleans())
    def reopen(self, who):
        self.both[who].close()
        self.both[who] = self.opened()

    @rule(who=st.booleans())
    def examine(self, who):
        before = self.tree()
        assert all(finding.level != "error" for finding in examine(self.both[who]))
        assert self.tree() == before

    def tree(self) -> dict[str, bytes]:
        return {str(path): path.read_bytes() for path in self.top.rglob("*") if path.is_file()}

    # what others do

    @rule(seconds=st.integers(-3600, 3600))
    def move_the_clock(self, seconds):
        self.now += timedelta(seconds=seconds)

    @rule()
    def delete_the_local_directory(self):
        shutil.rmtree(self.path.parent / "local", ignore_errors=True)
        self.history.clear()

    @rule(damage=st.sampled_from((None, b"", b"this is no database")))
    def damage_the_local_state(self, damage):
        state = self.path.parent / "local" / "state.db"
        if state.exists():
            for suffix in ("-wal", "-shm"):
                Path(f"{state}{suffix}").unlink(missing_ok=True)
            state.unlink() if damage is None else state.write_bytes(damage)

    def append(self, raw: bytes) -> None:
        gap = b"" if self.data().endswith(b"\n") or not self.data() else b"\n"
        with open(self.path, "ab") as file:
            file.write(gap + raw)

    @rule(
        number=whole,
        text=texts,
        importance=importances,
        is_spaced=st.booleans(),
        end=st.sampled_from(("\n", "\r\n", "")),
    )
    def append_a_record_by_hand(self, number, text, importance, is_spaced, end):
        ids = sorted({*HAND_IDS, *self.model, *self.history})
        id_ = ids[number % len(ids)]
        value = {"content": text, "id": id_, "importance": importance, "x-unknown": [1.50, {"ü": None}]}
        spaces = None if is_spaced else (",", ":")
        self.append((json.dumps(value, separators=spaces, ensure_ascii=is_spaced) + end).encode())
        self.model[id_] = Fact(text, importance)

    @rule(junk=st.sampled_from(JUNK), end=st.sampled_from((b"\n", b"\r\n", b"")))
    def append_junk(self, junk, end):
        self.append(junk + end)
        self.junk[junk] += 1

    @precondition(lambda self: self.data())
    @rule(cut=st.integers(1, 40))
    def tear_a_new_last_line(self, cut):
        torn = b'{"content":"never finished","id":"torn","importance":0.5}'[:cut]
        self.append(torn)
        self.junk[torn] += 1

    def rows(self) -> list[bytes]:
        return self.data().split(b"\n")

    def rewrite(self, rows: list[bytes], *, in_place: bool) -> None:
        data = b"\n".join(rows)
        if in_place:
            self.path.write_bytes(data)
        else:
            swap = self.path.with_name(".memories.swp")
            swap.write_bytes(data)
            os.replace(swap, self.path)
        self.model = read_by_hand(data)
        self.junk &= Counter(map(bare, rows))

    @precondition(lambda self: self.data())
    @rule(number=whole, in_place=st.booleans())
    def delete_a_line(self, number, in_place):
        """Delete the only line of a record, or junk: what is left of several may tell of a merge of text."""
        rows = self.rows()
        gone = rows[number % len(rows)]
        if list(map(key_of, rows)).count(key_of(gone)) == 1:
            rows.remove(gone)
            self.rewrite(rows, in_place=in_place)

    @precondition(lambda self: self.model)
    @rule(number=whole, digit=st.integers(0, 9), in_place=st.booleans())
    def edit_a_line(self, number, digit, in_place):
        """Edit the line of a record that counts: one that was replaced comes back as a version that conflicts."""
        rows = self.rows()
        last = {key_of(row): at for at, row in enumerate(rows)}
        at = last[key_of(rows[number % len(rows)])]
        try:
            value = json.loads(rows[at].removeprefix(BOM))
        except ValueError:
            return
        if isinstance(value, dict) and "content" in value:
            rows[at] = json.dumps({**value, "content": f"edited {digit}"}).encode()
            self.rewrite(rows, in_place=in_place)

    @precondition(lambda self: self.data())
    @rule(order=st.randoms(use_true_random=False), in_place=st.booleans())
    def shuffle_the_lines(self, order, in_place):
        """Shuffle all lines but those of one id among each other: out of their order they tell of a merge of text."""
        rows = [row for row in self.rows() if row.strip()]
        keys = [key_of(row) for row in rows]
        left = {key: [row for row in rows if key_of(row) == key] for key in keys}
        order.shuffle(keys)
        self.rewrite([*(left[key].pop(0) for key in keys), b""], in_place=in_place)

    @precondition(lambda self: self.data())
    @rule(in_place=st.booleans(), bom=st.sampled_from((b"", BOM)))
    def rewrite_with_other_line_ends(self, in_place, bom):
        rows = [bare(row) + b"\r" for row in self.rows() if row.strip()]
        before, junk = dict(self.model), Counter(self.junk)
        self.rewrite((bom + b"\n".join([*rows, b""])).split(b"\n"), in_place=in_place)
        assert (self.model, self.junk) == (before, junk)

    @precondition(lambda self: self.path.exists())
    @rule()
    def delete_the_file(self):
        self.path.unlink()
        self.model, self.junk = {}, Counter()

    # what holds after each of them

    @initialize()
    def start(self):
        pass

    @invariant()
    def both_objects_show_the_model(self):
        for each in self.both:
            each.stores.refresh()
            shown = {
                id_: Fact(memory.content, memory.importance, memory.tags)
                for id_, memory in each.store("project").memories().items()
            }
            assert shown == self.model
            assert sorted(entry.id for entry in each.list()) == sorted(self.model)
        one, other = (each.store("project").problems() for each in self.both)
        assert len(one) == len(other)

    @invariant()
    def the_file_says_what_the_model_says(self):
        assert read_by_hand(self.data()) == self.model

    @invariant()
    def every_line_that_cannot_be_read_is_still_there(self):
        rows = Counter(map(bare, self.rows()))
        assert self.junk - rows == Counter()


StoreMachine.TestCase.settings = settings(
    max_examples=sample(60),
    stateful_step_count=30,
    deadline=None,
    suppress_health_check=list(HealthCheck),
    phases=[Phase.reuse, Phase.generate, Phase.shrink],
)
test_two_objects_and_a_hand_on_one_file_agree_with_a_dictionary = StoreMachine.TestCase

"""A run of the model checker: steps by dice, a meeting of all clones now and then, and what must hold then."""

from __future__ import annotations

import os
import random
import re
import shutil
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import outsiders
import steps
from clones import KITS, MEMORIES, MODES, Clone, Time, as_shown, make_clones, read_rows
from helpers import FILTERS
from ledger import Ledger, Shown
from steps import World

STEPS = {step.__name__: (step, weight) for step, weight in {**steps.STEPS, **outsiders.STEPS}.items()}

MEMORY_DISK = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
EPOCHS = (10, 20, 40, 60)  # steps from one meeting of all clones to the next
# What may take memories out of sight: they are in another branch or in the stash then.
MOVING = frozenset(
    {"use_topic", "end_topic", "stash", "unstash", "pull", "sync_and_push", "race", "use_worktree", "empty_submodule"}
)


class Plan(NamedTuple):
    """What a world is made of."""

    clones: list[tuple[str, str, bool]]  # kit and mode of each, and whether it is a submodule
    filter_: str


class Act(NamedTuple):
    """A step as data: repeated alone it does the same, so that a run can be made shorter."""

    step: str
    clone: int
    seed: int


@dataclass
class Count:
    """What was done in runs."""

    steps: int = 0
    refused: int = 0
    texts: int = 0
    removals: int = 0
    outlived: int = 0
    of_git: int = 0
    commits: int = 0
    by_step: dict[str, int] = field(default_factory=dict)


class Failure(AssertionError):
    """What does not hold, with the steps that led to it."""

    def __init__(self, why: str, told: Sequence[str], at: int) -> None:
        super().__init__("\n".join([why, *told]))
        self.at = at
        found = re.search("lost|forgotten|replaced|times|nobody", why)
        self.kind = found[0] if found else why.partition(": ")[2][:20]


def plan(seed: int, kits: str, count: int) -> tuple[Plan, list[Act]]:
    """Return the world and the steps of a run."""
    dice = random.Random(f"{seed} {kits}")
    size = dice.choice([3, 3, 4])
    modes = dice.choice([["worktree"], ["on-commit"], ["auto-commit"], MODES, MODES, MODES])
    clones = [
        (dice.choice(KITS) if kits == "mixed" else kits, dice.choice(modes), dice.random() < 0.2) for _ in range(size)
    ]
    filter_ = dice.choice(["", "", "", *FILTERS])
    drawn = dice.choices(list(STEPS), [weight for _, weight in STEPS.values()], k=count)
    acts = [Act(name, dice.randrange(size), dice.randrange(2**32)) for name in drawn]
    at = count
    while at > 0:
        acts.insert(at, Act("meet", 0, dice.randrange(2**32)))
        at -= dice.choice(EPOCHS)
    return Plan(clones, filter_), acts


class Run:
    """A world in which a list of acts is done."""

    def __init__(self, seed: int, plan: Plan) -> None:
        self.top = Path(tempfile.mkdtemp(prefix="memsync-model-", dir=MEMORY_DISK))
        self.time = Time()
        self.time.go_on(0)
        self.dice = random.Random(seed)
        host, clones = make_clones(self.top, self.time, self.dice, plan.clones, plan.filter_)
        self.world = World(host, clones, Ledger())
        self.count = Count()
        named = ", ".join(f"{c.name} {c.kit} {c.mode}{' submodule' * c.is_submodule}" for c in clones)
        self.told = [f"clones: {named}; filter: {plan.filter_ or 'none'}"]
        self.seen: set[str] = set()  # commits that were read
        self.of_git: set[str] = set()  # texts that git alone brought back

    def close(self) -> None:
        for clone in self.world.clones:
            clone.stop_server()
        shutil.rmtree(self.top, ignore_errors=True)

    def do(self, acts: Sequence[Act]) -> Count:
        for number, act in enumerate(acts):
            self.time.go_on(random.Random(act.seed).uniform(1, 90))
            try:
                self._do(number, act)
            except AssertionError as error:
                raise Failure(f"{act.step}: {error}", self.told, number) from error
        return self.count

    def _do(self, number: int, act: Act) -> None:
        dice = random.Random(act.seed)
        os.urandom = dice.randbytes
        if act.step == "meet":
            self.meet(dice)
            self.told.append(f"{number}: all meet")
            return
        clone = self.world.clones[act.clone % len(self.world.clones)]
        self.told.append(f"{number}: {clone.name} on {clone.branch} {act.step}")
        ledger = self.world.ledger
        known, taken = len(ledger.family_of), len(ledger.taken)
        # A copy of a text that somebody has edited since may go at any time, and so may what was forgotten in a
        # worktree that is gone, of which this one hears later.
        before = {one.text for one in clone.shown() if not (one.is_copy and one.text in ledger.replaced)}
        before -= ledger.forgotten
        did = STEPS[act.step][0](self.world, clone, dice)
        if not did:
            did = "instead " + (steps.edit(self.world, clone, dice) or steps.add(self.world, clone, dice))
        self.told[-1] += f": {did}"
        self.count_step(act.step, did)
        if act.step not in MOVING:
            wanted = (before | {*list(ledger.family_of)[known:]}) - {*ledger.taken[taken:]}
            missing = wanted - {one.text for one in clone.shown()}
            assert not missing, f"no longer shown: {missing}"

    def count_step(self, step: str, did: str) -> None:
        self.count.steps += 1
        self.count.refused += "refused" in did
        self.count.by_step[step] = self.count.by_step.get(step, 0) + 1

    # All clones meet

    def meet(self, dice: random.Random) -> None:
        """Let every clone finish what it began, and pull and push until all have the same; then check all."""
        for clone in self.world.clones:
            self.finish(clone, dice)
        for _ in range(8):
            for clone in self.world.clones:
                told = steps.pull(self.world, clone, dice, may_abort=False, rebase=False)
                assert told.endswith("done"), f"{clone.name}: {told}"
                steps.commit_all(clone)  # what git merged as text is in order after a `memsync sync`
                steps.push(self.world, clone, dice)
            heads = {clone.do("rev-parse", "HEAD") for clone in self.world.clones}
            if len(heads) == 1 and not any(clone.is_dirty or clone.pending for clone in self.world.clones):
                break
        else:
            raise AssertionError("the clones do not come to the same")
        self.check()

    def finish(self, clone: Clone, dice: random.Random) -> None:
        clone.stop_server()
        steps.commit_all(clone)
        while clone.stashes:
            assert steps.unstash(self.world, clone, dice) == "back"
            steps.commit_all(clone)
        self.finish_topic(clone, dice)
        if clone.linked:
            steps.commit_all(clone.linked)
            outsiders.remove_worktree(self.world, clone, dice)
            steps.commit_all(clone)
            self.finish_topic(clone, dice)

    def finish_topic(self, clone: Clone, dice: random.Random) -> None:
        if clone.topic:
            assert not steps._merge(self.world, clone, dice) or clone.topic
            steps.commit_all(clone)
        if clone.topic:  # given up above
            clone.do("switch", "-q", "main")
            clone.git("merge", "-q", "--no-edit", clone.topic)
            assert not steps._drop_topic(clone, steps.settle(self.world, clone, dice, may_abort=False), clone.topic)
            steps.commit_all(clone)
        assert not clone.topic

    # What must hold

    def check(self) -> None:
        data = {clone.memories.read_bytes() if clone.memories.exists() else b"" for clone in self.world.clones}
        assert len(data) == 1, "the clones have other bytes"
        self.check_file(data.pop())
        for clone in self.world.clones:
            faults = self.find_faults(clone.shown())
            assert not faults, f"{clone.name}: {faults}"
            self.check_user_files(clone)
        self.check_commits()
        self.count_up()

    def check_file(self, data: bytes) -> None:
        """Look at the file with json alone."""
        ledger = self.world.ledger
        rows = list(read_rows(data))
        assert all("content" in row for _, row in rows if row), f"a line that is no memory: {data!r}"
        ids = [row["id"] for _, row in rows if row and "id" in row]
        assert len(ids) == len(set(ids)), "an id comes twice"
        junk = [raw for raw, row in rows if row is None]
        assert sorted(junk) == sorted(ledger.junk), f"lines that nobody can read: {junk}, not {ledger.junk}"
        for raw, row in rows:
            own = ledger.fields.get(row["content"]) if row else None
            assert own is None or own.replace(b" ", b"") in raw.replace(b" ", b""), f"{own} is not in {raw}"
        faults = self.find_faults([as_shown(row) for _, row in rows if row])
        assert not faults, f"the file: {faults}"

    def find_faults(self, live: Sequence[Shown]) -> list[str]:
        """Return what is wrong with all that is *live*, but for what git alone brought back."""
        faults = list(self.world.ledger.find_faults(live))
        found = [fault.partition(", and back: ")[2] for fault in faults]
        self.of_git |= {text for text in found if text and text not in self.of_git and self.is_of_git(text)}
        return [fault for fault, text in zip(faults, found, strict=True) if text not in self.of_git]

    def is_of_git(self, text: str) -> bool:
        """Tell whether git brought *text* back in a merge where it asked no driver: one side removed its line, the other only moved it.

        An export moves what a hand appended, a formatter any line, and to git a line in another place is a new one.
        """
        clone, host = self.world.clones[0], self.world.host
        for row in clone.do("rev-list", "--all", "--merges", "--parents").splitlines():
            commit, *parents = row.split()
            base, one, other, merged = (
                self.find_line(clone, rev, text)
                for rev in (clone.git("merge-base", *parents).out.strip(), *parents, commit)
            )
            if base and merged == base and {one, other} == {base, ""}:
                tried = host.git("merge-tree", "--write-tree", *parents)
                made = host.git("rev-parse", f"{tried.out.strip()}:{MEMORIES}").out
                if tried.code == 0 and made == clone.do("rev-parse", f"{commit}:{MEMORIES}"):
                    return True
        return False

    def find_line(self, clone: Clone, rev: str, text: str) -> str:
        """Return the line of the memory file in *rev* that has *text*; "" if none has."""
        data = clone.git("cat-file", "--filters", f"{rev}:{MEMORIES}").out
        return next((line for line in data.splitlines() if f'{text}"' in line), "")

    def check_user_files(self, clone: Clone) -> None:
        found = {path.name: path.read_bytes() for path in clone.root.glob("code-*")}
        assert found == self.world.ledger.user_files, f"{clone.name}: files of the user"

    def check_commits(self) -> None:
        """Every memory file that was ever committed can be read."""
        for clone in self.world.clones:
            new = set(clone.do("rev-list", "--all").split()) - self.seen
            names = "".join(f"{one}:{MEMORIES} {MEMORIES}\n" for one in sorted(new))
            out = clone.git("cat-file", "--batch", "--filters", stdin=names.encode()).out.splitlines()
            self.seen |= new
            for line in out:
                if not line.startswith("{") or not line.endswith("}"):
                    words = line.split()
                    is_head = words[1:2] in (["blob"], ["missing"])
                    assert is_head or not line or line.encode() in self.world.ledger.junk, f"in a commit: {line}"
        self.count.commits = len(self.seen)

    def count_up(self) -> None:
        ledger = self.world.ledger
        self.count.texts = len(ledger.family_of)
        self.count.removals = len(ledger.forgotten)
        live = {one.text for one in self.world.clones[0].shown()}
        self.count.outlived = len(live & ledger.forgotten)
        self.count.of_git = len(live & self.of_git)


def run(seed: int, kits: str, count: int, *, acts: Sequence[Act] | None = None, keep: bool = False) -> Count:
    """Do a run of *count* steps, or of these *acts* of it."""
    drawn, all_acts = plan(seed, kits, count)
    world = Run(seed, drawn)
    try:
        return world.do(all_acts if acts is None else acts)
    finally:
        if not keep:
            world.close()


def shorten(seed: int, kits: str, count: int) -> tuple[list[Act], str]:
    """Return fewer of the acts of a run that fails, which still make it fail in the same way, and what it then says."""
    _, acts = plan(seed, kits, count)
    failure = find_failure(seed, kits, count, acts)
    assert failure is not None, "it does not fail"
    kind = failure.kind
    acts = acts[: failure.at + 1]
    width = len(acts) // 2
    while width:
        at = 0
        while at < len(acts):
            fewer = acts[:at] + acts[at + width :]
            if not any(act.step == "meet" for act in fewer):
                fewer.append(Act("meet", 0, 0))
            found = find_failure(seed, kits, count, fewer) if len(fewer) < len(acts) else None
            if found and found.kind == kind:
                acts, failure = fewer, found
            else:
                at += width
        width //= 2
    return acts, str(failure)


def find_failure(seed: int, kits: str, count: int, acts: Sequence[Act]) -> Failure | None:
    try:
        run(seed, kits, count, acts=acts)
    except Failure as failure:
        return failure
    return None

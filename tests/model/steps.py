"""What people, agents and tools do in a clone, one step each; every step tells the ledger what was acknowledged.

A step returns what it did in a few words, where git or memsync refused it with the reason; "" where there was nothing to do.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from clones import MEMORIES, MODES, Clone, Host, as_shown, read_rows

from memsync.errors import MemsyncError
from memsync.memories.lost import bring_back, find_lost, find_returned

if TYPE_CHECKING:
    from ledger import Ledger, Shown

WORDS = (
    "kettle lamp window river copper staging deploy queue harbour pencil winter ladder engine mirror garden signal"
    " bottle carpet dragon fabric galaxy hammer island jacket ketchup lantern magnet needle orange parcel quartz"
).split()


@dataclass
class World:
    """All that a step may look at."""

    host: Host
    clones: list[Clone]
    ledger: Ledger
    number: int = 0

    def make_text(self, dice: random.Random) -> str:
        """Return a text that says something else than any other."""
        self.number += 1
        return f"{' '.join(dice.sample(WORDS, 5))} n{self.number}"


Step = Callable[[World, Clone, random.Random], str]


def _choose(dice: random.Random, shown: list[Shown]) -> Shown:
    """Choose a memory: mostly one of a few that everybody is at."""
    shown = sorted(shown)
    return dice.choice(shown[:3] if dice.random() < 0.6 else shown)


# What agents and users do with memsync


def add(world: World, clone: Clone, dice: random.Random) -> str:
    text = world.make_text(dice)
    with clone.memsync() as project:
        assert project.remember(text).status == "created"
        world.ledger.add(text)
    return text


def edit(world: World, clone: Clone, dice: random.Random) -> str:
    if not (shown := clone.shown()):
        return ""
    old, text = _choose(dice, shown), world.make_text(dice)
    with clone.memsync() as project:
        project.update(old.id, content=text)
        world.ledger.edit(old, text)
    return f"{old.text} -> {text}"


def tag(world: World, clone: Clone, dice: random.Random) -> str:
    if not (shown := clone.shown()):
        return ""
    old, new = _choose(dice, shown), f"tag{world.make_text(dice).rpartition(' ')[2]}"
    with clone.memsync() as project:
        project.update(old.id, tags=[*old.tags, new])
        world.ledger.tag(old, new)
    return f"{old.text} + {new}"


def forget(world: World, clone: Clone, dice: random.Random) -> str:
    if not (shown := clone.shown()):
        return ""
    old = _choose(dice, shown)
    with clone.memsync() as project:
        project.forget(old.id)
        world.ledger.forget(old, shown)
    return old.text


def sync(world: World, clone: Clone, dice: random.Random) -> str:
    return clone.sync() or "done"


def start_or_stop_server(world: World, clone: Clone, dice: random.Random) -> str:
    if clone.server:
        clone.stop_server()
        return "stopped"
    clone.start_server()
    return "started"


def set_mode(world: World, clone: Clone, dice: random.Random) -> str:
    clone.stop_server()
    clone.set_mode(dice.choice(MODES))
    return clone.mode


def set_clock(world: World, clone: Clone, dice: random.Random) -> str:
    clone.skew = dice.choice([0, 1, -1]) * dice.uniform(0, 5 * 86400)
    return f"{clone.skew:+.0f} s"


# What people do to the file with an editor


def _find_line(clone: Clone, dice: random.Random) -> tuple[bytes, dict, Shown] | None:
    """Choose a line that counts in the file, unless git left a conflict there."""
    if not clone.memories.exists() or clone.under_way:
        return None
    rows = {row["id"]: (raw, row) for raw, row in read_rows(clone.memories.read_bytes()) if row and "id" in row}
    live = [(raw, row) for raw, row in rows.values() if "content" in row]
    if not live:
        return None
    raw, row = dice.choice(live)
    return raw, row, as_shown(row)


def edit_by_hand(world: World, clone: Clone, dice: random.Random) -> str:
    if not (found := _find_line(clone, dice)):
        return ""
    raw, _, old = found
    text = world.make_text(dice)
    new = raw.replace(json.dumps(old.text).encode(), json.dumps(text).encode())
    assert new != raw
    clone.memories.write_bytes(clone.memories.read_bytes().replace(raw, new))
    world.ledger.edit(old, text)
    return f"{old.text} -> {text}"


def add_by_hand(world: World, clone: Clone, dice: random.Random) -> str:
    if clone.under_way:
        return ""
    text = world.make_text(dice)
    own = f'"x-note":  1.50{world.number}'.encode()
    line = b'{"id": "hand-%d", "content": %s, %s}\n' % (world.number, json.dumps(text).encode(), own)
    _append(clone, line)
    world.ledger.add(text)
    world.ledger.fields[text] = own
    return text


def add_junk(world: World, clone: Clone, dice: random.Random) -> str:
    if clone.under_way:
        return ""
    world.number += 1
    line = dice.choice([b"# a note %d", b'{"id":"cut-%d","con']) % world.number
    _append(clone, line + b"\n")
    world.ledger.junk.add(line)
    return line.decode()


def _append(clone: Clone, line: bytes) -> None:
    clone.memories.parent.mkdir(exist_ok=True)
    with open(clone.memories, "ab") as file:
        file.write(line)


def remove_by_hand(world: World, clone: Clone, dice: random.Random) -> str:
    if not (found := _find_line(clone, dice)):
        return ""
    _, row, old = found
    rows = list(read_rows(clone.memories.read_bytes()))
    there = [as_shown(r) for _, r in rows if r and "content" in r]
    kept = [raw + b"\n" for raw, r in rows if not r or r.get("id") != row["id"]]
    clone.memories.write_bytes(b"".join(kept))
    world.ledger.forget(old, there)
    return old.text


# What people do with git


def write_code(world: World, clone: Clone, dice: random.Random) -> str:
    world.number += 1
    name, data = f"code-{world.number}", b"a line  \r\n\tof %s's %d" % (clone.name.encode(), world.number)
    (clone.root / name).write_bytes(data)
    world.ledger.user_files[name] = data
    return name


def commit(world: World, clone: Clone, dice: random.Random) -> str:
    if clone.under_way:
        return ""
    kind = dice.choice(["all", "all", "tracked", "staged", "code", "no-verify"])
    if kind in ("all", "no-verify"):
        clone.do("add", "-A")
    if kind == "staged":  # an agent writes between `git add` and `git commit`
        clone.do("add", "-A")
        add(world, clone, dice)
    flags = {"tracked": ["-a"], "no-verify": ["--no-verify"]}.get(kind, [])
    if kind == "code":
        if not clone.do("ls-files", "--others", "--", ":(glob)code-*"):
            return ""
        clone.do("add", "--", ":(glob)code-*")
        flags = ["--", ":(glob)code-*"]
    done = clone.git("commit", "-qm", f"{clone.name} {kind}", *flags)
    why = (done.out + done.err).strip()
    if kind != "staged" and "nothing to commit" in why:
        return ""
    return kind if done.code == 0 else f"{kind}, refused: {why[-80:]}"


def commit_all(clone: Clone) -> None:
    """Commit whatever there is, also what waits."""
    clone.sync()
    clone.do("add", "-A")
    if clone.is_dirty:
        clone.do("commit", "-qm", f"{clone.name}: all of it")


def use_topic(world: World, clone: Clone, dice: random.Random) -> str:
    """Begin a branch, or change between it and main."""
    if clone.under_way:
        return ""
    if not clone.topic:
        world.number += 1
        clone.topic = f"{clone.name}-topic-{world.number}"
        clone.do("switch", "-q", "-c", clone.topic)
        return clone.topic
    to = "main" if clone.branch == clone.topic else clone.topic
    done = clone.git("switch", "-q", to)
    return to if done.code == 0 else f"refused: {to}"


def end_topic(world: World, clone: Clone, dice: random.Random) -> str:
    """Bring the branch into main: by a merge, a squash, a rebase, cherry-picks or the button; and delete it."""
    if not clone.topic or clone.under_way:
        return ""
    if dice.random() < 0.7:
        commit_all(clone)
    how = dice.choice(["merge", "squash", "rebase", "pick", "button"])
    if how == "button":
        return how + press_button(world, clone, dice)
    done = {"merge": _merge, "squash": _squash, "rebase": _rebase, "pick": _pick}[how](world, clone, dice)
    return f"{how}: {done or 'done'}"


def _merge(world: World, clone: Clone, dice: random.Random) -> str:
    if clone.git("switch", "-q", "main").code:
        return "refused"
    clone.git("merge", "-q", "--no-edit", *dice.choice([[], ["--no-ff"]]), clone.topic)
    return _drop_topic(clone, settle(world, clone, dice), clone.topic)


def _squash(world: World, clone: Clone, dice: random.Random) -> str:
    if clone.is_dirty or clone.git("switch", "-q", "main").code:
        return "refused"
    done = clone.git("merge", "-q", "--squash", clone.topic)
    if done.code and not clone.unmerged:
        return "refused"
    if clone.unmerged and not _resolve(clone):
        clone.do("reset", "-q", "--merge")
        return "given up"
    clone.do("add", "-A")
    if clone.is_dirty:
        clone.do("commit", "-qm", f"squash {clone.topic}")
    clone.do("branch", "-qD", clone.topic)
    clone.topic = ""
    return ""


def _rebase(world: World, clone: Clone, dice: random.Random) -> str:
    before = clone.git("rev-parse", clone.topic).out
    if clone.git("switch", "-q", clone.topic).code or clone.git("rebase", "-q", "main").code == 0:
        pass
    why = settle(world, clone, dice)
    if why or clone.branch != clone.topic:
        return why or "refused"
    if clone.git("merge-base", "--is-ancestor", "main", "HEAD").code or clone.git("switch", "-q", "main").code:
        return f"refused, from {before[:7]}"
    clone.git("merge", "-q", "--ff-only", clone.topic)
    return _drop_topic(clone, "", clone.topic)


def _pick(world: World, clone: Clone, dice: random.Random) -> str:
    """Take the commits of the branch over one by one, and drop it."""
    if clone.is_dirty or clone.git("switch", "-q", "main").code:
        return "refused"
    start = clone.do("rev-parse", "HEAD").strip()
    for one in clone.do("rev-list", "--reverse", "--no-merges", f"main..{clone.topic}").split():
        done = clone.git("cherry-pick", one)
        if why := settle(world, clone, dice, may_abort=False):
            return why
        assert done.code == 0 or not clone.under_way
    if clone.git("rev-list", "--merges", f"{start}..{clone.topic}").out:
        return _merge(world, clone, dice)  # what was only in a merge
    clone.do("branch", "-qD", clone.topic)
    clone.topic = ""
    return ""


def _drop_topic(clone: Clone, why: str, topic: str) -> str:
    if not why and clone.git("merge-base", "--is-ancestor", topic, "main").code == 0:
        clone.do("branch", "-qD", topic)
        clone.topic = ""
    return why


def press_button(world: World, clone: Clone, dice: random.Random) -> str:
    """Push the branch, and let the host merge it as text."""
    if clone.branch == clone.topic and clone.git("switch", "-q", "main").code:
        return ": refused"
    clone.do("push", "-qf", "origin", clone.topic)
    # A squash of what stands on commits that only this clone has is another history of them, without what they removed.
    is_based = world.host.git("merge-base", "--is-ancestor", clone.do("rev-parse", "main").strip(), "main").code == 0
    if not world.host.press_button(clone.topic, squash=dice.random() < 0.3 and is_based):
        clone.do("push", "-q", "origin", f":{clone.topic}")
        return ": conflict"
    clone.do("push", "-q", "origin", f":{clone.topic}")
    clone.do("branch", "-qD", clone.topic)
    clone.topic = ""
    return ""


def stash(world: World, clone: Clone, dice: random.Random) -> str:
    if clone.under_way or clone.stashes > 1:
        return ""
    before = clone.do("stash", "list").count("\n")
    clone.git("stash", "push", "-q", *dice.choice([[], ["-u"]]))
    clone.stashes += clone.do("stash", "list").count("\n") - before
    return f"{clone.stashes} stashed"


def unstash(world: World, clone: Clone, dice: random.Random) -> str:
    if not clone.stashes or clone.under_way:
        return ""
    done = clone.git("stash", "pop", "-q")
    if "could not restore untracked files" in done.err:  # an earlier try that was refused has left them there
        for name in clone.do("ls-tree", "--name-only", "stash@{0}^3").split():
            (clone.root / name).unlink(missing_ok=True)
        clone.do("checkout", "-q", "--", MEMORIES)
        done = clone.git("stash", "pop", "-q")
    if clone.unmerged:
        if not _resolve(clone):
            clone.do("checkout", "-q", "--ours", "--", ".")
            return f"given up: {done.err}"
        clone.do("stash", "drop", "-q")
    elif done.code:
        return f"refused: {done.err.strip()[-60:]}"
    clone.stashes -= 1
    return "back"


def pull(world: World, clone: Clone, dice: random.Random, *, may_abort: bool = True, rebase: bool | None = None) -> str:
    if clone.under_way or clone.branch != "main":
        return ""
    if rebase is None:
        rebase = dice.random() < 0.5
    if rebase and (own := clone.git("rev-list", "--parents", "@{u}..HEAD").out.splitlines()):
        has_merges = any(line.count(" ") > 1 for line in own)
        # A flattened merge loses what only it held, and a branch on commits that were made anew has another history
        # of them, without what it removed; that is git's, and nobody's wish.
        rebase = not (has_merges or clone.topic or clone.linked)
    words = ["--rebase"] if rebase else ["--no-rebase", "--no-edit"]
    done = clone.git("pull", "-q", *words)
    if done.code and not clone.under_way:
        return f"{words[0]} refused: {done.err.strip()[-60:]}"
    return f"{words[0]}: {settle(world, clone, dice, may_abort=may_abort) or 'done'}"


def push(world: World, clone: Clone, dice: random.Random) -> str:
    done = clone.git("push", "-q", "origin", "main")
    return "pushed" if done.code == 0 else "refused"


def sync_and_push(world: World, clone: Clone, dice: random.Random) -> str:
    if clone.branch != "main":
        return ""
    try:
        return clone.sync(commit=True, push=True) or "pushed"
    except MemsyncError as error:
        return f"refused: {error}"


def race(world: World, clone: Clone, dice: random.Random) -> str:
    """Let all users push in the same moment, by the real command."""
    racers = [one for one in world.clones if one.branch == "main" and not one.under_way and not one.unmerged]
    running = [one.start_sync_and_push() for one in racers]
    codes = [process.wait(timeout=120) for process in running]
    return f"{codes.count(0)} of {len(codes)} got through, others were refused"


# Ending what git began


def _resolve(clone: Clone) -> bool:
    """Do what the docs say of a conflict in the memory file; False where it is in more than that."""
    if clone.unmerged != [MEMORIES]:
        return False
    clone.sync()
    clone.do("add", "--", MEMORIES)
    return True


def _is_left_as_ours(clone: Clone) -> bool:
    """Tell whether git could not merge the file as text: it begins even over what a hand wrote, which giving up throws away."""
    return MEMORIES in clone.unmerged and b"<<<<<<<" not in clone.memories.read_bytes()


def take_back(world: World, clone: Clone) -> None:
    """Do what `memsync doctor` says of what was written or forgotten here, and went with what git took away.

    It names as well what somebody removed by hand before it was ever committed, who leaves that as it is.
    """
    with clone.command() as project:
        lost = [one for one in find_lost(project) if one.memory.content in world.ledger.required]
        assert bring_back(project, lost).refused == ()
        for one in find_returned(project):
            if one.memory.content in world.ledger.forgotten:
                project.forget(one.memory.id)


def settle(world: World, clone: Clone, dice: random.Random, *, may_abort: bool = True) -> str:
    """End a merge, rebase or cherry-pick, sometimes by giving it up; agents go on writing. Return why it failed."""
    for _ in range(60):
        word = clone.under_way
        if not word:
            return ""
        if dice.random() < 0.2:
            dice.choice([add, edit, forget])(world, clone, dice)
        give_up = may_abort and dice.random() < 0.1 and not _is_left_as_ours(clone)
        if give_up or (clone.unmerged and not _resolve(clone)):
            clone.do(word, "--abort")
            take_back(world, clone)
            return "given up"
        done = clone.git(
            "-c", "core.editor=true", *(["commit", "--no-edit"] if word == "merge" else [word, "--continue"])
        )
        if done.code and not clone.unmerged and clone.under_way == word:
            assert "nothing to commit" in done.out + done.err or "empty" in done.out + done.err, done.out + done.err
            clone.do(word, "--skip")
    raise AssertionError("git never came to an end")


STEPS: dict[Step, float] = {
    add: 6,
    edit: 12,
    tag: 3,
    forget: 5,
    edit_by_hand: 3,
    add_by_hand: 2,
    remove_by_hand: 2,
    add_junk: 1,
    write_code: 2,
    sync: 1,
    commit: 9,
    use_topic: 5,
    end_topic: 4,
    stash: 2,
    unstash: 2,
    pull: 7,
    push: 5,
    sync_and_push: 4,
    race: 0.6,
    start_or_stop_server: 1,
    set_mode: 0.3,
    set_clock: 0.3,
}

"""What other programs do around a clone, one step each: worktrees that come and go, editors left open, formatters, other users and another memsync."""

from __future__ import annotations

import atexit
import functools
import json
import os
import random
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

import steps
from clones import MODES, Clone, read_rows
from prefork import Prefork
from steps import Step, World

from memsync.setup.doctor import fix_findings
from memsync.transfer.mirrors import Mirror, add_mirror, load_mirrors, sync_mirrors
from memsync.transfer.readers import split

OLDER = os.environ.get("MEMSYNC_CHECK_OLDER", "")  # a checkout of an older commit of memsync
FORMATS = ("sort", "-c", "-cS", ".", "-s", "-cs")
NUMBER = "a number spelled "


def use_worktree(world: World, clone: Clone, dice: random.Random) -> str:
    """Add a worktree with a branch of its own, or write in it, and perhaps remove it then."""
    if not clone.linked:
        if clone.under_way:
            return ""
        world.number += 1
        name = f"{clone.name}-tree-{world.number}"
        clone.do("worktree", "add", "-q", "-b", name, f"../{name}")
        clone.linked = clone.link(clone.root.parent / name)
        return f"added {name}"
    did = [write(world, clone.linked, dice, steps.commit) for _ in range(dice.randrange(1, 4))]
    if not clone.topic and not clone.under_way and dice.random() < 0.5:
        did.append(remove_worktree(world, clone, dice))
    return f"in {clone.linked.name if clone.linked else 'its worktree'}: {'; '.join(did)}"


def write(world: World, clone: Clone, dice: random.Random, *others: Step) -> str:
    deeds: list[Step] = [steps.add, steps.edit, steps.tag, steps.forget, *others]
    return dice.choice(deeds)(world, clone, dice) or steps.add(world, clone, dice)


def remove_worktree(world: World, clone: Clone, dice: random.Random) -> str:
    """Take the worktree away, as its user or a tool does, and go on with its branch; a refusal is overruled or heeded."""
    assert clone.linked
    linked, how = clone.linked, dice.choice(["", "--force", "rm -r"])
    if how == "rm -r":
        shutil.rmtree(linked.root)
        clone.do("worktree", "prune")
    elif (done := clone.git("worktree", "remove", *how.split(), str(linked.root))).code:
        assert not how, done.err
        steps.commit_all(linked)
        clone.do("worktree", "remove", str(linked.root))
        how = "(after a commit of all)"
    clone.topic, clone.linked = linked.name, None
    steps.take_back(world, clone)
    return f"removed {how}"


def empty_submodule(world: World, clone: Clone, dice: random.Random) -> str:
    """Let the repository above take the files of this one away, and put them back."""
    if not clone.is_submodule or clone.under_way or clone.server or not clone.branch:
        return ""
    branch, force = clone.branch, dice.choice([[], ["--force"]])
    if force:  # what was written by hand is its user's to lose
        steps.commit_all(clone)
    did = write(world, clone, dice)
    emptied = clone.run_above("submodule", "--quiet", "deinit", *force, clone.name)
    if emptied.code:
        return f"refused: {emptied.err.strip()[-60:]}"
    made = clone.run_above("submodule", "--quiet", "update", "--init", clone.name)
    assert made.code == 0, made.err
    clone.do("switch", "-q", branch)
    steps.take_back(world, clone)
    return f"emptied: {did}"


def commit_with_an_editor(world: World, clone: Clone, dice: random.Random) -> str:
    """Let an agent write while the user types the message, or while a hook of the user's runs."""
    if clone.under_way:
        return ""
    steps.write_code(world, clone, dice)
    clone.do("add", *dice.choice([["-A"], ["--", ":(glob)code-*"]]))
    said, told = os.pipe()
    asked, answer = os.pipe()
    waits = dice.choice(["editor", "pre-commit"])
    env = {"MODEL_SAID": str(told), "MODEL_ANSWER": str(asked), "MODEL_WAITS": waits}
    with clone.acting():
        env |= {**os.environ, "GIT_EDITOR": str(clone.homes.parent / "editor")} | env
        words = ["git", "commit", "-q"]
        commit = subprocess.Popen(
            words, cwd=clone.root, env=env, pass_fds=(told, asked), stderr=subprocess.PIPE, stdin=subprocess.DEVNULL
        )
    os.close(told)
    os.close(asked)
    did = []
    if os.read(said, 1):  # nothing comes where git has ended
        did = [write(world, clone, dice) for _ in range(dice.randrange(1, 3))]
        os.write(answer, b"\n")
    os.close(said)
    os.close(answer)
    err = commit.communicate(timeout=120)[1].decode()
    assert commit.returncode == 0, f"the commit of the user failed: {err}"
    return f"{waits} open: {'; '.join(did)}"


def format_file(world: World, clone: Clone, dice: random.Random) -> str:
    """Let a formatter go over the memory file, and `memsync doctor --fix` after it."""
    if clone.under_way or not clone.memories.exists():
        return ""
    data = clone.memories.read_bytes()
    rows = list(read_rows(data))
    ids = [row.get("id") for _, row in rows if row]
    how = dice.choice(FORMATS)
    if not rows or (len(ids) > len(set(ids)) if how == "sort" else len(ids) < len(rows)):
        return ""  # of two versions of a record the last counts; and what cannot be read stops a formatter
    clone.memories.write_bytes(format_lines(data, how))
    if how not in ("sort", "-c", "-cS"):
        if dice.random() < 0.5:
            how += f", {steps.add(world, clone, dice)}"
        with clone.memsync() as project:
            fix_findings(project)
    return how


def format_lines(data: bytes, how: str) -> bytes:
    """Return *data* as `sort`, or `jq` with these options, leaves it; the spelling of numbers stays, as with jq 1.7."""
    if how == "sort":
        return b"".join(sorted(data.splitlines(keepends=True)))
    rows = [json.loads(line, parse_float=lambda text: NUMBER + text) for line in data.splitlines() if line.strip()]
    is_compact = "c" in how
    made = [
        json.dumps(
            row,
            ensure_ascii=False,
            sort_keys="S" in how,
            indent=None if is_compact else 2,
            separators=(",", ":") if is_compact else (",", ": "),
        )
        for row in ([rows] if "s" in how else rows)
    ]
    return re.sub(f'"{NUMBER}([^"]*)"', r"\1", "".join(f"{row}\n" for row in made)).encode()


def change_user(world: World, clone: Clone, dice: random.Random) -> str:
    """Let one of three users, who have homes and modes of their own, go on in this clone."""
    clone.stop_server()
    number = dice.randrange(3)
    clone.change_user(number, dice.choice(MODES))
    return f"user {number}, {clone.mode}"


@functools.cache
def find_older() -> Prefork:
    """Return the older memsync, loaded already."""
    directory = tempfile.mkdtemp(prefix="older-")
    atexit.register(shutil.rmtree, directory, ignore_errors=True)
    made = Prefork(Path(directory), "memsync.cli.app", env={**os.environ, "PYTHONPATH": OLDER})
    atexit.register(made.close)
    return made


def write_with_older(world: World, clone: Clone, dice: random.Random) -> str:
    """Let an agent write with an older memsync, by its command; the clock of that one is the real one."""
    if clone.under_way or not (shown := clone.shown()):
        return ""
    old, text = dice.choice(sorted(shown)), world.make_text(dice)
    deed = dice.choice(["remember", "update", "forget"])
    words = {"remember": [text], "update": [old.id, "-c", text], "forget": [old.id]}[deed]
    with clone.acting():
        done = subprocess.run(
            [str(find_older().program), deed, *words], cwd=clone.root, capture_output=True, check=False
        )
    if clone.hides_what_waits and b"no memory" in done.stderr:
        return f"refused: {deed} {old.text}"
    assert done.returncode == 0, done.stderr.decode()
    if deed == "remember":
        world.ledger.add(text)
    elif deed == "update":
        world.ledger.edit(old, text)
    else:
        world.ledger.forget(old, shown)
    return f"{deed} {old.text if deed != 'remember' else ''} {text if deed != 'forget' else ''}"


def use_mirror(world: World, clone: Clone, dice: random.Random) -> str:
    """Let another tool write, edit or remove a note in a folder that is mirrored, as somebody syncs; the note is what all do who see the memory."""
    folder = clone.homes / "notes"
    if clone.under_way:
        return ""
    if not folder.exists() or not any(one.path == str(folder) for one in _list_mirrors(clone)):
        folder.mkdir(exist_ok=True)
        with clone.command() as project:
            add_mirror(project, "cline", folder)
            sync_mirrors(project)
        return "begun"
    with clone.command() as project:
        sync_mirrors(project)
    did, shown = "", {one.text: one for one in clone.shown() if not one.is_copy}
    path = dice.choice(sorted({*folder.glob("*.md"), folder / "tool.md"}))
    rows = path.read_text().splitlines(keepends=True) if path.exists() else ["# Notes of a tool\n", "\n"]
    held = [number for number, row in enumerate(rows) if row.strip().removeprefix("- ") in shown]
    deed = dice.choice(["add", "edit", "remove"]) if held else "add"
    text = world.make_text(dice)
    if deed == "add":
        rows.append(f"- {text}\n")
        world.ledger.add(text)
    else:
        number = dice.choice(held)
        old = shown[rows[number].strip().removeprefix("- ")]
        did = f"{old.text} "
        if deed == "edit":  # some words of it: another text would be a new note
            text = " ".join([*old.text.split()[:-1], text.split()[-1]])
            rows[number] = f"- {text}\n"
            world.ledger.edit(old, text)
        else:
            del rows[number]
            world.ledger.forget(old, clone.shown())
    path.write_text("".join(rows))
    with clone.command() as project:
        sync_mirrors(project)
        assert not any(one.memories or one.statements for one in sync_mirrors(project)), (
            "a second sync changed something"
        )
    said = [unit.text for file in folder.glob("*.md") for unit in split(file.read_text())]
    shown_now = {one.text: one for one in clone.shown()}
    missing = {text for text, one in shown_now.items() if not one.is_copy}.difference(said)
    assert not missing, f"not in the notes: {sorted(missing)}"
    assert len(said) == len(set(said)), f"twice in the notes: {sorted(said)}"
    alone = {text for text in set(said) - shown_now.keys() if not _is_elsewhere(clone, text)}
    assert not alone, f"only in the notes: {sorted(alone)}"
    return f"{deed} {did}{text if deed != 'remove' else ''}"


def _is_elsewhere(clone: Clone, text: str) -> bool:
    """Tell whether only another branch has a memory of *text*: the note of a tool stays where git switched the memory away."""
    return bool(clone.git("log", "--all", "--reflog", "--format=%h", "-S", text, "--not", "HEAD").out)


def _list_mirrors(clone: Clone) -> list[Mirror]:
    with clone.command() as project:
        return load_mirrors(project)


STEPS: dict[Step, float] = {
    use_mirror: 6,
    use_worktree: 6,
    empty_submodule: 2,
    commit_with_an_editor: 3,
    format_file: 2,
    change_user: 2,
    write_with_older: 5 if OLDER else 0,
}

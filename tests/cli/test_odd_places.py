"""The command where standard output, the directory or the file is not what it should be."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from helpers import memsync

MEMSYNC = f"{sys.executable} -m memsync"


def shell(command: str, cwd) -> tuple[int, str]:
    done = subprocess.run(["sh", "-c", command], cwd=cwd, capture_output=True, text=True, timeout=60, check=False)
    return done.returncode, done.stderr


@pytest.mark.parametrize("words", ["--help", "--version", "memory list", "memory list --json"])
def test_a_full_output_is_a_failure_without_a_traceback(repo, words):
    repo.write_memories('{"id":"a","content":"alpha"}\n')
    code, err = shell(f"{MEMSYNC} {words} > /dev/full", repo.root)
    assert (code, "Traceback" in err) == (1, False)


def test_a_closed_output_does_not_undo_what_was_done(repo):
    code, err = shell(f"{MEMSYNC} memory remember alpha >&-", repo.root)
    assert (code, err) == (0, "")
    assert memsync("memory", "list", "--json", cwd=repo.root).json["count"] == 1


def test_a_reader_that_has_seen_enough_is_no_error(repo):
    repo.write_memories("".join(f'{{"id":"{n}","content":"alpha {n}"}}\n' for n in range(3000)))
    assert shell(f"{MEMSYNC} memory list | head -1", repo.root) == (0, "")


@pytest.mark.skipif(sys.platform == "win32", reason="there is no sh")
@pytest.mark.parametrize("command", ["blame", "log", "diff"])
def test_a_git_that_ends_too_early_is_not_taken_for_a_reader_that_has_seen_enough(repo, tmp_path, command):
    repo.write_memories('{"id":"mm-aaaaaa","content":"alpha"}\n')
    repo.git("add", "-A")
    repo.git("commit", "-qm", "one")
    repo.write_memories('{"id":"mm-aaaaaa","content":"beta"}\n')
    repo.git("add", "-A")
    repo.git("commit", "-qm", "two")
    dying = tmp_path / "bin" / "git"
    dying.parent.mkdir()
    dying.write_text(
        f"""#!/bin/sh\ncase "$*" in *cat-file*--batch) exit 1;; esac\nexec '{shutil.which("git")}' "$@"\n"""
    )
    dying.chmod(0o755)
    path = f"{dying.parent}{os.pathsep}{os.environ['PATH']}"
    words = {"blame": ("mm-aaaaaa",), "log": (), "diff": ("HEAD~1",)}[command]
    ran = memsync("memory", command, *words, cwd=repo.root, env={"PATH": path})
    assert (ran.code, ran.err) == (1, "memsync: git cat-file --batch failed: it ended before it answered\n")


def test_a_directory_that_is_gone_is_said_so(repo):
    code, err = shell(f"mkdir d && cd d && rmdir ../d && {MEMSYNC} memory list", repo.root)
    assert (code, err) == (1, "memsync: the current directory is gone; change to one that exists\n")


def test_a_pipe_in_the_place_of_the_file_stops_nobody_even_with_a_cache(repo):
    repo.write_memories('{"id":"a","content":"alpha"}\n')
    assert memsync("memory", "recall", "alpha", cwd=repo.root).code == 0
    repo.memories.unlink()
    os.mkfifo(repo.memories)
    ran = memsync("memory", "recall", "alpha", cwd=repo.root, timeout=30)
    assert (ran.code, "not a regular file" in ran.err) == (1, True)


def test_a_copy_of_text_that_is_not_unicode_is_written_anyway(repo):
    repo.write_memories('{"id":"a","content":"a\\ud800b"}\n')
    copy = "## Facts\n\n- (flagged: holds invisible or control characters; unread) ab\n"
    assert memsync("memory", "export", "-o", "-", "--format", "markdown", cwd=repo.root).out == copy
    assert memsync("memory", "export", "-o", "copy.md", cwd=repo.root).code == 0
    assert (repo.root / "copy.md").read_text() == copy


def test_json_beside_a_copy_on_standard_output_is_refused(repo):
    ran = memsync("memory", "export", "-o", "-", "--json", cwd=repo.root)
    assert (ran.code, ran.json["exit_code"]) == (2, 2)


def test_arguments_that_are_not_utf8_are_refused_and_nothing_is_written(repo):
    done = subprocess.run(
        [*MEMSYNC.split(), "memory", "remember", b"caf\xe9"], cwd=repo.root, capture_output=True, check=False
    )
    assert (done.returncode, b"not valid UTF-8" in done.stderr) == (1, True)
    assert not repo.memories.exists()


def test_completion_completes_commands_in_bash(repo):
    env = {"_MEMSYNC_COMPLETE": "bash_complete", "COMP_WORDS": "memsync memory re", "COMP_CWORD": "2"}
    done = subprocess.run(
        MEMSYNC.split(), cwd=repo.root, env={**os.environ, **env}, capture_output=True, text=True, check=False
    )
    assert done.stdout.split() == ["plain,remember", "plain,recall", "plain,restore", "plain,reject"]


def test_a_copy_may_not_be_written_over_a_store(repo):
    path = repo.write_memories('{"id":"a","content":"alpha"}\n{"id":"b","content":"beta","tags":["t"]}\n')
    before = path.read_bytes()
    ran = memsync("memory", "export", "-o", ".gobby/memories.jsonl", "--tag", "t", cwd=repo.root)
    assert (ran.code, path.read_bytes()) == (2, before)


@pytest.mark.parametrize("words", [["--stealth", "on", "x", "y"], ["--move"], ["--stealth", "on", "--global"]])
def test_options_of_config_that_do_not_go_together_are_refused(repo, words):
    assert memsync("memory", "config", *words, cwd=repo.root).code == 2


def test_a_project_whose_path_is_not_utf_8_is_connected_and_disconnected(tmp_path):
    root = tmp_path / os.fsdecode(b"r\xff")
    try:
        root.mkdir()
    except OSError:
        pytest.skip("this file system has no such names")
    subprocess.run(["git", "init", "-q", "."], cwd=root, check=True)
    assert memsync("init", "--agent", "all", "--json", cwd=root).code == 0
    assert (root / ".mcp.json").exists()
    assert memsync("uninstall", "--json", cwd=root).code == 0
    assert not (root / ".mcp.json").exists()


@pytest.mark.skipif(
    not hasattr(os, "geteuid") or os.geteuid() == 0, reason="NOT TESTED: root may read anything; run as another user"
)
def test_local_files_of_the_home_that_one_may_not_read_are_named_and_no_surprise(repo):
    assert memsync("remember", "a heron stands in the water", "--global", cwd=repo.root).code == 0
    local = Path.home() / ".gobby" / "local"
    local.chmod(0)
    try:
        ran = memsync("recall", "heron", cwd=repo.root)
    finally:
        local.chmod(0o700)
    assert ran.code == 1
    assert ran.err.endswith("Permission denied; check its owner and mode\n")


STEERING = "a\u009b31mb\u202ec\U000e0041d"


@pytest.mark.parametrize(
    "words", [("list", "--json"), ("export", "-o", "-"), ("export", "-o", "-", "--format", "json")]
)
def test_what_is_printed_as_json_steers_no_terminal_and_says_the_same(repo, words):
    repo.write_memories(json.dumps({"id": "mm-aaaaaa", "content": STEERING}, ensure_ascii=False) + "\n")
    out = memsync(*words, cwd=repo.root).out
    assert not {"\u009b", "\u202e", "\U000e0041"} & {*out}
    found = json.loads(out)
    record = found["memories"][0] if isinstance(found, dict) and "memories" in found else found
    assert (record[0] if isinstance(record, list) else record)["content"] == STEERING


def test_a_directory_whose_name_steers_a_terminal_is_shown_without_that(home, tmp_path):
    place = tmp_path / "a\x1b[31mb"
    place.mkdir()
    subprocess.run(["git", "init", "-q"], cwd=place, check=True)
    assert memsync("remember", "alpha beta gamma", cwd=place).code == 0
    told = memsync("status", cwd=place)
    assert told.code == 0
    assert "\x1b" not in told.out
    assert "\\u001b[31mb" in told.out


@pytest.mark.parametrize("words", [("init", "--agent", "none"), ("sync",), ("export",), ("doctor",)], ids=" ".join)
@pytest.mark.parametrize("sign", ["\u009b", "\u202e", "\x1b]0;"], ids=ascii)
def test_what_a_command_says_of_a_path_steers_no_terminal(home, tmp_path, words, sign):
    place = tmp_path / f"a{sign}b"
    place.mkdir()
    subprocess.run(["git", "init", "-q"], cwd=place, check=True)
    assert memsync("remember", "alpha beta gamma", cwd=place).code == 0
    told = memsync(*words, cwd=place)
    assert sign[0] not in told.out + told.err


@pytest.mark.parametrize("words", [("remember", "CI needs Node 20"), ("import", "notes.md")])
def test_a_folder_outside_git_becomes_a_project_by_init_alone(tmp_path, words):
    place = tmp_path / "plain"
    place.mkdir()
    (place / "notes.md").write_text("- The API listens on port 8443\n")
    refused = memsync(*words, cwd=place)
    assert refused.code == 1
    assert "is in no git repository and has no memories yet; `memsync init` makes it a project" in refused.err
    assert os.listdir(place) == ["notes.md"]
    (place / "rules.md").write_text("- Never use yarn; pnpm is the package manager here.\n")
    assert "pnpm" in memsync("extract", "rules.md", cwd=place).out  # and waits in .gobby/local
    for again in (words, ("approve", "--all")):
        assert "`memsync init` makes it a project" in memsync(*again, cwd=place).err
    assert memsync(*words, "--global", cwd=place).code == 0
    assert memsync("init", "--agent", "none", cwd=place).code == 0
    assert memsync("remember", "Prices are in cents", cwd=place).code == 0
    assert memsync("list", "--json", "--scope", "project", cwd=place).json["count"] == 1

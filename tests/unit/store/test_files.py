"""Files: whole or not at all, whatever else happens to the disk."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from memsync.errors import OutsideTree, StoreNotWritable, StoreUnreadable
from memsync.store import files
from memsync.store.files import ABSENT


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "memories.jsonl"


def mode(path: Path) -> str:
    return oct(stat.S_IMODE(path.stat().st_mode))


def replace(path: Path, data: bytes, **settings: object) -> bytes | None:
    was = path.read_bytes() if path.exists() else b""
    settings = {"was": was, "temp": path.with_name("temp"), "private": False, **settings}
    return files.replace(path, data, **settings)


def on_a_full_disk(code: str, *, room: int, cwd: Path) -> str:
    """Run *code* where no file may grow beyond *room* bytes, and return the name of the error it raises."""
    script = (
        "import resource; from pathlib import Path; from memsync.store import files\n"
        f"resource.setrlimit(resource.RLIMIT_FSIZE, ({room}, {room}))\n"
        f"try:\n    {code}\nexcept Exception as error:\n    print(type(error).__name__)"
    )
    done = subprocess.run([sys.executable, "-c", script], cwd=cwd, capture_output=True, text=True, check=True)
    return done.stdout.strip()


def test_a_missing_file_has_no_bytes_and_the_stamp_absent(path):
    assert (files.read(path), files.stamp(path)) == ((b"", ABSENT), ABSENT)
    assert files.read(path / "below" / "a file that is missing") == (b"", ABSENT)


def test_a_file_is_read_with_the_stamp_that_it_has(path):
    path.write_bytes(b"one\n")
    assert files.read(path) == (b"one\n", files.stamp(path))


def test_what_is_in_the_way_of_a_file_is_named_and_never_waited_for(path):
    os.mkfifo(path)
    with pytest.raises(StoreUnreadable, match="not a regular file; move it away"):
        files.read(path)
    path.unlink()
    path.mkdir()
    with pytest.raises(StoreUnreadable, match="not a regular file"):
        files.read(path)


def test_an_append_makes_the_file_and_tells_its_stamps(path):
    assert files.append(path, b"one\n", private=False) == (ABSENT, files.stamp(path))
    seen = files.stamp(path)
    assert files.append(path, b"two\n", private=False) == (seen, files.stamp(path))
    assert path.read_bytes() == b"one\ntwo\n"


def test_an_append_never_writes_behind_a_torn_line(path):
    path.write_bytes(b'{"torn')
    files.append(path, b"one\n", private=False)
    assert path.read_bytes() == b'{"torn\none\n'


@pytest.mark.parametrize(("private", "expected"), [(True, "0o600"), (False, "0o640")])
def test_a_new_file_is_for_its_owner_alone_where_that_is_asked_for(tmp_path, private, expected):
    before = os.umask(0o027)
    try:
        files.append(tmp_path / "appended", b"x\n", private=private)
        replace(tmp_path / "replaced", b"x\n", private=private)
        files.create(tmp_path / "created", b"x\n", private=private)
    finally:
        os.umask(before)
    assert {file.name: mode(file) for file in tmp_path.iterdir()} == dict.fromkeys(
        ("appended", "replaced", "created"), expected
    )


def test_an_append_that_finds_the_disk_full_leaves_the_file_as_it_was(path):
    path.write_bytes(b"one\n" * 10)
    code = "files.append(Path('memories.jsonl'), b'x' * 90 + b'\\n', private=False)"
    assert on_a_full_disk(code, room=100, cwd=path.parent) == "StoreFull"
    assert path.read_bytes() == b"one\n" * 10


def test_a_first_append_that_finds_the_disk_full_leaves_no_file(path):
    code = "files.append(Path('memories.jsonl'), b'x' * 90 + b'\\n', private=False)"
    assert on_a_full_disk(code, room=10, cwd=path.parent) == "StoreFull"
    assert not path.exists()


def test_a_replace_that_finds_the_disk_full_leaves_the_file_and_nothing_beside_it(path):
    path.write_bytes(b"one\n")
    code = "p = Path('memories.jsonl'); files.replace(p, b'x' * 200, was=b'one\\n', temp=Path('temp'), private=False)"
    assert on_a_full_disk(code, room=100, cwd=path.parent) == "StoreFull"
    assert {file.name: file.read_bytes() for file in path.parent.iterdir()} == {"memories.jsonl": b"one\n"}


def test_a_small_file_that_finds_the_disk_full_is_not_made(path):
    code = "files.create(Path('memories.jsonl'), b'x' * 90, private=False)"
    assert on_a_full_disk(code, room=10, cwd=path.parent) == "StoreFull"
    assert not path.exists()


@pytest.mark.parametrize(
    "act",
    [
        "files.append(p, b'x', private=False)",
        "files.append(p.with_name('there'), b'x', private=False)",
        "files.replace(p, b'x', was=b'', temp=p.with_name('temp'), private=False)",
        "files.create(p, b'x', private=False)",
        "files.make_dirs(p.parent / 'sub', private=False)",
    ],
)
def test_a_read_only_directory_gives_a_clear_error_and_stays_as_it_was(act):
    """Done by a child that is nobody, in a directory that nobody can reach: root may write anywhere."""
    script = (
        "import os, sys; from pathlib import Path; from memsync import errors; from memsync.store import files\n"
        "p = Path(sys.argv[1]) / 'file'\n"
        "if os.geteuid() == 0: os.setuid(65534)\n"
        f"try:\n    {act}\nexcept errors.StoreNotWritable as error:\n    print(error, os.listdir(p.parent))"
    )
    with tempfile.TemporaryDirectory() as directory:
        (Path(directory) / "there").touch(0o444)
        Path(directory).chmod(0o555)
        done = subprocess.run([sys.executable, "-c", script, directory], capture_output=True, text=True, check=True)
    remedy = "Permission denied, nothing was changed; check the owner, the mode and the mount, then try again"
    assert f"{remedy} ['there']" in done.stdout


def test_a_file_where_a_directory_should_be_gives_a_clear_error(path):
    path.write_bytes(b"")
    for act in (
        lambda: files.make_dirs(path / "sub", private=False),
        lambda: files.append(path / "file", b"x\n", private=False),
        lambda: files.create(path / "file", b"x\n", private=False),
    ):
        with pytest.raises(StoreNotWritable, match="Not a directory, nothing was changed"):
            act()


def test_a_replace_keeps_the_mode_and_leaves_no_temporary_file(path):
    path.write_bytes(b"old\n")
    path.chmod(0o640)
    assert replace(path, b"new\n") == b""
    assert (path.read_bytes(), mode(path), os.listdir(path.parent)) == (b"new\n", "0o640", [path.name])


@pytest.mark.parametrize("theirs", [b"theirs\n", b"theirs\nold\n", b"ol", b"", b"oldest\n", None])
def test_a_replace_of_what_somebody_changed_or_removed_does_nothing(path, theirs):
    if theirs is not None:
        path.write_bytes(theirs)
    before = {file.name: file.read_bytes() for file in path.parent.iterdir()}
    assert replace(path, b"new\n", was=b"old\n") is None
    assert {file.name: file.read_bytes() for file in path.parent.iterdir()} == before


@pytest.mark.parametrize("was", [b"", b"old\n"])
def test_a_replace_takes_over_the_lines_that_somebody_appended(path, was):
    path.write_bytes(was + b"theirs\n")
    assert replace(path, b"new\n", was=was, may_grow=True) == b""
    assert path.read_bytes() == b"new\ntheirs\n"


@pytest.mark.parametrize("was", [b"", b"old\n"])
def test_a_replace_does_nothing_to_a_file_that_grew_where_it_may_not(path, was):
    path.write_bytes(was + b"theirs\n")
    assert replace(path, b"new\n", was=was) is None
    assert path.read_bytes() == was + b"theirs\n"


def test_a_replace_does_nothing_when_a_torn_line_was_completed(path):
    path.write_bytes(b"old\ntorn\n")
    assert replace(path, b"new\nto\n", was=b"old\nto", may_grow=True) is None
    assert path.read_bytes() == b"old\ntorn\n"


def test_a_temporary_file_left_by_a_crash_is_in_nobodys_way(path):
    path.write_bytes(b"old\n")
    path.with_name("temp").write_bytes(b"half a fi")
    assert replace(path, b"new\n") == b""
    assert (path.read_bytes(), os.listdir(path.parent)) == (b"new\n", [path.name])


def test_lines_that_an_editor_adds_in_the_last_moment_are_handed_back(path, monkeypatch):
    path.write_bytes(b"one\ntwo\nto")
    swap = os.replace

    def swap_late(*paths: Path) -> None:
        with open(path, "ab") as editor:
            editor.write(b"rn\nlate\n")
        swap(*paths)

    monkeypatch.setattr(os, "replace", swap_late)
    assert replace(path, b"new\n") == b"torn\nlate\n"
    assert path.read_bytes() == b"new\n"


def test_a_link_inside_the_tree_is_followed(tmp_path):
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    assert files.resolve_inside(tmp_path / "link" / "file", tmp_path) == tmp_path / "real" / "file"


@pytest.mark.parametrize("target", ["../outside", "/etc/passwd", "../tree-beside/file"])
def test_a_link_out_of_the_tree_is_refused(tmp_path, target):
    tree = tmp_path / "tree"
    tree.mkdir()
    (tree / "link").symlink_to(target)
    for path in (tree / "link", tree / "link" / "below"):
        with pytest.raises(OutsideTree, match="leads out of the repository"):
            files.resolve_inside(path, tree)


@pytest.mark.parametrize("target", [".git/config", ".git/hooks/pre-commit", "sub/.GIT/config"])
def test_a_link_to_what_is_gits_is_refused(tmp_path, target):
    (tmp_path / "link").symlink_to(target)
    with pytest.raises(OutsideTree, match="leads out of the repository"):
        files.resolve_inside(tmp_path / "link", tmp_path)


def test_our_own_files_in_the_git_directory_are_no_way_out(tmp_path):
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    path = tmp_path / "link" / ".git" / "memsync" / "lock"
    assert files.resolve_inside(path, tmp_path / "link") == tmp_path / "real" / ".git" / "memsync" / "lock"


def test_a_tree_that_is_reached_by_a_link_itself_is_no_way_out(tmp_path):
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    assert files.resolve_inside(tmp_path / "link" / "file", tmp_path / "link") == tmp_path / "real" / "file"


def test_a_home_store_may_be_a_link_to_anywhere(tmp_path):
    (tmp_path / "link").symlink_to("/etc")
    assert files.resolve_inside(tmp_path / "link" / "file", None) == Path("/etc/file")


def test_private_directories_are_for_their_owner_alone_up_to_what_was_there(tmp_path):
    files.make_dirs(tmp_path / "a" / "b", private=True)
    assert [mode(tmp_path / "a"), mode(tmp_path / "a" / "b")] == ["0o700", "0o700"]
    before = mode(tmp_path)
    files.make_dirs(tmp_path / "a" / "b", private=True)
    assert mode(tmp_path) == before


def test_a_local_directory_hides_itself_from_git(tmp_path):
    files.make_local(tmp_path / "local", private=False)
    assert (tmp_path / "local" / ".gitignore").read_bytes() == b"*\n"


def test_a_new_file_never_replaces_one_that_is_there(path):
    assert files.create(path, b"mine\n", private=False)
    assert not files.create(path, b"yours\n", private=False)
    assert path.read_bytes() == b"mine\n"

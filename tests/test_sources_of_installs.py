"""Nothing of ours installs memsync by its bare name: nobody owns it on an index, so anybody could."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest
from helpers import memsync

from memsync import origin

ROOT = Path(__file__).parents[1]
_COMMIT, _HASH = "0123456789abcdef" * 2 + "01234567", "ab" * 32
_BY_NAME = re.compile(
    r"""(?:pip3?|pipx|uv\ pip|uv\ tool|uv)\ (?:-\S+\ )*(?:install|inject|run|add|upgrade)\b  # an installer
        (?:\ -{1,2}[\w-]+(?:=\S+)?)*\ +["']?memsync\b(?!["']?\ @|/|-\w|\[[\w,-]+\]\ @)         # and the name alone
      | \buvx\ (?:-\S+\ )*["']?memsync\b
      | \bnpx\ (?:-\S+\ )*["']?memsync\b""",
    re.VERBOSE,
)


def tracked_texts():
    names = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    for name in names.splitlines():
        if not name.startswith("tests/") and (ROOT / name).is_file():
            yield name, (ROOT / name).read_bytes().decode("utf-8", "replace")


@pytest.mark.parametrize(
    "text",
    [
        "pip install memsync", "pip install 'memsync[mcp]'", "pipx install memsync", "uvx memsync", "uv tool install memsync",
        "python -m pip install --quiet memsync", 'pip install --upgrade "memsync[openai]"', "pipx run memsync",
        "uv add memsync", "uv pip install memsync==0.1.0", "uvx --from memsync memsync",
    ],
)  # fmt: skip
def test_the_look_for_bare_names_finds_them(text):
    assert _BY_NAME.search(text) or "--from memsync" in text


@pytest.mark.parametrize(
    "text", ["pip install .", "pip install 'memsync[mcp] @ git+https://h/p@1'", "memsync git install"]
)
def test_the_look_for_bare_names_lets_the_others_be(text):
    assert not _BY_NAME.search(text)


def test_no_text_of_ours_installs_the_bare_name():
    found = [f"{name}: {hit[0]}" for name, text in tracked_texts() for hit in _BY_NAME.finditer(text)]
    assert found == []
    assert [name for name, text in tracked_texts() if "--from memsync" in text] == []


@pytest.mark.parametrize(
    ("told", "source"),
    [
        (
            {"url": "https://h.example/p.git", "vcs_info": {"vcs": "git", "commit_id": _COMMIT}},
            f"git+https://h.example/p.git@{_COMMIT}",
        ),
        (
            {"url": "https://h.example/m.whl", "archive_info": {"hash": f"sha256={_HASH}"}},
            f"https://h.example/m.whl#sha256={_HASH}",
        ),
        ({"url": "https://h.example/m.whl", "archive_info": {}}, ""),
        ({"url": "file:///no/such/directory", "dir_info": {}}, ""),
        ({}, ""),
    ],
)
def test_the_origin_is_what_the_installer_noted(told, source):
    assert origin.read_source(told) == source


def test_a_copy_from_a_directory_is_installed_from_there_again(tmp_path):
    assert origin.read_source({"url": tmp_path.as_uri(), "dir_info": {"editable": True}}) == str(tmp_path)


def test_advice_names_a_source_and_an_extra():
    said = origin.advice("openai")
    assert "[openai]" in said
    assert not _BY_NAME.search(said)


@pytest.mark.parametrize("source", [f"git+https://h.example/p@{_COMMIT}", f"https://h.example/m.whl#sha256={_HASH}"])
def test_the_workflow_installs_what_was_named(repo, source):
    done = memsync("git", "ci", "--from", source, cwd=repo.root)
    assert done.code == 0, done.err
    assert f'python -P -m pip install --quiet "{source}"\n' in done.out
    assert "MEMSYNC_SOURCE" not in done.out


@pytest.mark.parametrize(
    "source",
    ["memsync", "memsync==0.1.0", "https://h.example/m.whl", "git+https://h.example/p", "git+http://h.example/p@1", ".",
     "/srv/memsync", 'git+https://h/p@1" && id #', "git+https://h/p@$(id)", "git+https://h/p@1\n      - run: id",
     "git+https://h/p@${{secrets.X}}", "--index-url=x"],
)  # fmt: skip
def test_a_source_that_is_not_pinned_or_not_safe_is_refused(repo, source):
    done = memsync("git", "ci", f"--from={source}", cwd=repo.root)
    assert (done.code, done.out) == (2, "")
    assert "--from git+https://HOST/PATH@COMMIT" in done.err

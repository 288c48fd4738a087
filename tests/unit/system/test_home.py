"""One rule says where the user's home is, for whoever asks."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path

import pytest

from memsync.agents.wire import run_dir
from memsync.system.home import find_home, find_own

PACKAGE = Path(__file__).parents[3] / "memsync"
posix = pytest.mark.skipif(sys.platform == "win32", reason="Windows says USERPROFILE")


@posix
def test_the_environment_says_where_home_is_and_an_empty_or_relative_word_means_nowhere():
    assert find_home({"HOME": "/home/ann"}) == "/home/ann"
    assert find_home({"HOME": ""}) == ""
    assert find_home({"HOME": "ann"}) == ""
    assert find_home({}) == os.path.expanduser("~")


@posix
def test_our_folder_is_in_the_home_unless_another_is_named():
    assert find_own({"HOME": "/home/ann"}) == "/home/ann/.gobby"
    assert find_own({"HOME": "", "MEMSYNC_HOME": "/srv/own"}) == "/srv/own"
    assert find_own({"HOME": ""}) == ""


@posix
def test_without_a_home_no_server_is_looked_for_in_the_working_directory():
    assert run_dir("/repo", {"HOME": ""}).startswith("/dev/null/")


def test_nobody_else_looks_for_the_home():
    asks = re.compile(r"""Path\.home\(|expanduser\("~"\)|\["HOME"|get\("HOME"|"USERPROFILE""")
    found = [path.relative_to(PACKAGE).as_posix() for path in PACKAGE.rglob("*.py") if asks.search(path.read_text())]
    assert found == ["system/home.py"]

"""The lock file for development: every dependency is in it, with hashes, at a version that pyproject.toml allows."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
LOCK = (ROOT / "requirements-dev.lock").read_text(encoding="utf-8")
LOCKED = {canonicalize_name(name): version for name, version in re.findall(r"^([\w.-]+)==(\S+)", LOCK, re.MULTILINE)}
RUN_TIME = [Requirement(line) for line in PROJECT["project"]["dependencies"]]
DEVELOPMENT = [Requirement(line) for line in PROJECT["dependency-groups"]["dev"]]


def test_every_dependency_is_locked_at_a_version_that_is_allowed():
    for wanted in (*RUN_TIME, *DEVELOPMENT):
        assert wanted.specifier.contains(LOCKED[canonicalize_name(wanted.name)]), f"{wanted}; run `make lock`"


def test_every_locked_package_has_hashes():
    blocks = re.split(r"^(?=[\w.-]+==)", LOCK, flags=re.MULTILINE)[1:]
    assert [block.partition("\n")[0] for block in blocks if "--hash=sha256:" not in block] == []


def test_every_dependency_of_a_user_ends_before_its_next_major_version():
    extras = [Requirement(line) for lines in PROJECT["project"]["optional-dependencies"].values() for line in lines]
    open_ended = {wanted.name for wanted in (*RUN_TIME, *extras) if "<" not in str(wanted.specifier)}
    assert open_ended == {"regex"}  # its versions are dates

"""What takes memsync to people: the action, the entry for the MCP registry, the bundle. Nothing installs a name that others may own."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from ruamel.yaml import YAML

from memsync import __version__, origin
from memsync.cli.git import RECIPE
from tools import write_action, write_release

ROOT = Path(__file__).parents[1]
OWNER = "example-org"


def test_the_action_is_what_the_script_writes():
    assert write_action.PATH.read_text(encoding="utf-8") == write_action.action(), "run `make docs`"


def test_the_action_does_what_the_workflow_does_in_bash_and_for_no_fork():
    steps = YAML(typ="safe").load(write_action.action())["runs"]["steps"]
    job = YAML(typ="safe").load((origin.templates() / RECIPE).read_text(encoding="utf-8"))["jobs"]["memories"]
    assert [step.get("run") for step in steps[3:]] == [step.get("run") for step in job["steps"][3:]]
    assert all(step["shell"] == "bash" for step in steps if "run" in step)
    assert all(step["if"].endswith(job["if"]) for step in steps)


def test_nothing_installs_memsync_by_its_bare_name():
    texts = [
        write_action.action(),
        (origin.templates() / RECIPE).read_text(),
        json.dumps(write_release.manifest(OWNER)),
    ]
    for text in texts:
        assert not re.search(r"(pip|uv|uvx|pipx)\b[^\n]*\binstall\b[^\n]*[\s\"']memsync[\"'\s]*$", text, re.MULTILINE)
    assert '"$GITHUB_ACTION_PATH"' in texts[0]


def test_the_registry_finds_its_line_in_the_readme_and_the_same_name_in_the_entry():
    text = write_release.readme("# memsync\n", OWNER)
    assert text == "# memsync\n\n<!-- mcp-name: io.github.example-org/memsync -->\n"
    assert write_release.readme(text, "other") == text.replace(OWNER, "other")
    entry = write_release.server(OWNER)
    assert entry["name"] in text
    assert len(entry["description"]) <= 100
    (package,) = entry["packages"]
    assert (package["identifier"], package["version"], entry["version"]) == ("memsync", __version__, __version__)
    assert [word["value"] for word in package["packageArguments"]] == ["mcp"]


@pytest.mark.parametrize("owner", ["", "a b", "../x", "-x", "x" * 40])
def test_an_owner_that_can_be_none_is_refused(owner):
    with pytest.raises(SystemExit, match="not the name of an account"):
        write_release.server(owner)


def test_while_nobody_owns_the_name_nothing_in_the_repository_claims_it():
    claimed = (ROOT / "server.json").exists()
    assert ("mcp-name:" in (ROOT / "README.md").read_text(encoding="utf-8")) == claimed
    if claimed:
        entry = json.loads((ROOT / "server.json").read_text(encoding="utf-8"))
        owner = entry["name"].split("/")[0].removeprefix("io.github.")
        assert entry == write_release.server(owner), f"run `python tools/write_release.py {owner}`"


def test_the_bundle_has_memsync_in_it_and_is_the_same_each_time(tmp_path):
    for name in ("a", "b"):
        write_release.write_bundle(tmp_path / name, OWNER)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
    with zipfile.ZipFile(tmp_path / "a") as bundle:
        bundle.extractall(tmp_path / "out")
    manifest = json.loads((tmp_path / "out" / "manifest.json").read_text())
    assert (tmp_path / "out" / manifest["server"]["entry_point"]).is_file()
    code = "import memsync.origin as o; assert (o.templates() / 'config.yaml').is_file(); print(o.__file__)"
    ran = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path / "out", capture_output=True, text=True, check=True, timeout=60
    )
    assert ran.stdout.startswith(str(tmp_path / "out"))

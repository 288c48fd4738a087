"""What users copy: it is whole, it means what it says, and every kind of installation finds it."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from helpers import memsync
from ruamel.yaml import YAML

from memsync import origin
from memsync.store import config, workflow
from memsync.store import settings as known
from memsync.store.places import locate
from tools.write_docs import SETTINGS, compiled_workflows, settings_text

ROOT = Path(__file__).parents[1]
TEMPLATES = ROOT / "templates"
NAMES = sorted(path.relative_to(TEMPLATES).as_posix() for path in TEMPLATES.rglob("*") if path.is_file())
KINDS = (
    "config.yaml", "skills/my-skill/SKILL.md", "workflows/session-lifecycle.yaml", ".pre-commit-config.yaml",
    "ci/memsync-merge.yml", "plugin/.claude-plugin/plugin.json", "gemini/gemini-extension.json",
)  # fmt: skip


def test_a_clone_has_them_at_its_top_and_none_is_a_link():
    assert origin.templates() == TEMPLATES
    assert set(KINDS) <= set(NAMES)
    assert not [path for path in TEMPLATES.rglob("*") if path.is_symlink()]


@pytest.fixture(scope="module")
def unpacked(tmp_path_factory) -> Path:
    """Return where a wheel of this tree lies, unpacked as an installer does it."""
    place = tmp_path_factory.mktemp("wheel")
    words = ("-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation", "--no-index", "-w", str(place))
    subprocess.run([sys.executable, *words, str(ROOT)], check=True, capture_output=True)
    (wheel,) = place.glob("*.whl")
    with zipfile.ZipFile(wheel) as packed:
        packed.extractall(place / "site")
    return place / "site"


def ask(site: Path, code: str) -> str:
    done = subprocess.run(
        [sys.executable, "-P", "-c", code],
        cwd=site.parent,
        env={"PYTHONPATH": str(site)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_a_wheel_has_each_of_them_and_finds_them(unpacked):
    found = unpacked / "memsync" / "templates"
    assert ask(unpacked, "from memsync import origin; print(origin.templates())") == str(found)
    for name in NAMES:
        assert (found / name).read_bytes() == (TEMPLATES / name).read_bytes(), name


def test_a_wheel_prints_the_workflow_for_ci_and_has_the_data_that_it_runs_with(unpacked):
    code = "import sys; sys.argv = ['memsync', 'git', 'ci', '--from', 'git+https://h.example/p@v1']\n"
    assert "pip install" in ask(unpacked, f"{code}from memsync.cli import main; main()")
    data = "memsync.index.static:BUILTIN memsync.store.workflow:COMPILED memsync.setup.demo:_SET memsync.llm.answers:PROMPTS"
    for module, name in (word.split(":") for word in data.split()):
        assert ask(unpacked, f"import {module} as m; print(m.{name}.exists())") == "True"


def test_a_folder_of_another_package_is_not_taken_for_ours(unpacked, tmp_path):
    shutil.copytree(unpacked / "memsync", tmp_path / "memsync", ignore=shutil.ignore_patterns("embedder.bin"))
    (tmp_path / "templates").mkdir()
    assert ask(tmp_path, "from memsync import origin; print(origin.templates())") == str(
        tmp_path / "memsync" / "templates"
    )


# settings


def test_the_settings_are_those_of_the_program():
    assert SETTINGS.read_text(encoding="utf-8") == settings_text(), "run `make docs`"


def test_the_settings_name_every_key_with_its_default(repo, home):
    text = settings_text()
    for place in (home / ".gobby", repo.root / ".gobby"):
        place.mkdir(exist_ok=True)
        (place / "config.yaml").write_text(text, encoding="utf-8")
    loaded = config.load(locate(repo.root, {}))
    assert (loaded.settings, loaded.warnings, loaded.waiting) == (known.Settings(), (), ())
    assert set(loaded.sources) == set(known.KEYS)
    assert [key for key in known.KEYS if known.describe(key) not in text] == []


def test_the_settings_are_read_without_a_yaml_parser_or_by_one_the_same_way():
    tree = YAML(typ="safe").load(settings_text())
    assert len(tree["memory"]) == sum(key.startswith("memory.") for key in known.KEYS)
    assert known.Settings()._asdict()["recall_limit"] == tree["memory"]["recall_limit"]


# the others


def test_the_compiled_workflows_are_the_yaml_of_the_templates():
    assert workflow.COMPILED.read_text(encoding="utf-8") == compiled_workflows(), "run `make docs`"


def test_a_copied_workflow_has_nothing_wrong(repo):
    shutil.copytree(TEMPLATES / "workflows", repo.root / ".gobby" / "workflows")
    done = memsync("workflow", "validate", cwd=repo.root)
    assert (done.code, done.out) == (0, "3 files checked, nothing is wrong\n")


def test_the_skeleton_of_a_skill_is_a_valid_skill(repo):
    from skills_ref import validate

    shutil.copytree(TEMPLATES / "skills", repo.root / ".claude" / "skills")
    assert validate(TEMPLATES / "skills" / "my-skill") == []
    done = memsync("skill", "validate", "--json", cwd=repo.root)
    assert done.code == 0, done.out
    (shown,) = json.loads(memsync("skill", "list", "--json", cwd=repo.root).out)["skills"]
    assert (shown["trigger_pattern"], shown["tags"]) == ("my skill|that kind of task", ["example"])


def test_the_check_for_pre_commit_is_the_one_that_we_publish():
    (hook,) = YAML(typ="safe").load((TEMPLATES / ".pre-commit-config.yaml").read_text())["repos"][0]["hooks"]
    (published,) = YAML(typ="safe").load((ROOT / ".pre-commit-hooks.yaml").read_text())
    same = ("id", "name", "entry", "files", "require_serial", "stages")
    assert {key: hook[key] for key in same} == {key: published[key] for key in same}

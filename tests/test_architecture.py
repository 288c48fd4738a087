"""The shape of the code: layers, what is imported when, sizes."""

from __future__ import annotations

import ast
import re
import statistics
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[1] / "memsync"
MODULES = sorted(PACKAGE.rglob("*.py"))

# A module imports from its own layer and from those below it (CONTRIBUTING.md says what each does).
LAYERS = {
    0: {"errors", "origin", "records", "programs"},
    1: {
        "codec",
        "jsonl",
        "jsonedit",
        "limits",
        "deadline",
        "yamltext",
        "yamledit",
        "trust",
        "anchors",
        "pending",
        "changed",
        "bystealth",
        "replaced",
        "files",
        "local",
        "owners",
        "config",
        "routing",
        "results",
        "exported",
        "skillentries",
        "index",
        "versions",
        "merge",
        "skillmerge",
        "attributes",
        "dedup",
        "secrets",
        "consent",
        "worddiff",
        "guard",
        "poison",
        "fingerprints",
        "tables",
        "triage",
        "skillfile",
        "skillcheck",
    },
    2: {"store", "skillstore", "state", "watch", "debounce", "git", "parked"},
    3: {
        "recall",
        "importing",
        "readers",
        "exporting",
        "sources",
        "finder",
        "reach",
        "edits",
        "remember",
        "service",
        "setup",
        "syncing",
        "doctor",
        "past",
        "audit",
        "sharing",
        "difference",
        "demo",
        "evaluate",
        "pairs",
        "learn",
        "janitor",
        "live",
        "agents",
        "installing",
        "stealth",
        "context",
        "session",
        "workflow",
        "actions",
        "skills",
        "skilllinks",
        "explain",
    },
    4: {"cli", "mcp", "__main__", "agent_hooks"},
}
LAYER_OF = {name: layer for layer, names in LAYERS.items() for name in names}


def name_of(path: Path) -> str:
    return ".".join(path.relative_to(PACKAGE).with_suffix("").parts).removesuffix(".__init__")


def imported(path: Path) -> Iterator[str]:
    """Yield the modules of the package that *path* imports anywhere, functions included."""
    known = {name_of(module) for module in MODULES}
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] == "memsync":
            base = node.module.removeprefix("memsync").removeprefix(".")
            for alias in node.names:
                whole = f"{base}.{alias.name}".removeprefix(".")
                yield whole if whole in known else base


@pytest.mark.parametrize("path", [p for p in MODULES if p != PACKAGE / "__init__.py"], ids=name_of)
def test_imports_go_down_only(path):
    layer = LAYER_OF[name_of(path).split(".")[0]]
    upwards = [name for name in imported(path) if name and LAYER_OF[name.split(".")[0]] > layer]
    assert upwards == []


def test_the_table_of_the_contributors_guide_has_every_module_in_its_layer():
    guide = (PACKAGE.parent / "CONTRIBUTING.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (\d) \| ([^|]+) \|", guide, re.MULTILINE)
    told = [(name, int(layer)) for layer, names in rows for name in re.findall(r"`(\w+)/?`", names)]
    assert sorted(told) == sorted(LAYER_OF.items())
    assert [int(layer) for layer, _ in rows] == sorted(int(layer) for layer, _ in rows)


def test_no_two_modules_import_each_other():
    graph = {name_of(path): set(imported(path)) - {"", name_of(path)} for path in MODULES}

    def reaches(start: str, goal: str, seen: set[str]) -> bool:
        return any(
            nxt == goal or (nxt not in seen and reaches(nxt, goal, seen | {nxt})) for nxt in graph.get(start, ())
        )

    # The command tree imports its commands by name, when they are used.
    assert [name for name in graph if not name.startswith("cli") and reaches(name, name, {name})] == []


def test_only_repo_py_imports_gitpython():
    importers = [name_of(p) for p in MODULES if "\n    from git import" in p.read_text(encoding="utf-8")]
    assert importers == ["git.repo"]


def importers_of(*packages: str) -> set[str]:
    return {
        name_of(path)
        for path in MODULES
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        for name in (
            [alias.name for alias in node.names]
            if isinstance(node, ast.Import)
            else [node.module or ""]
            if isinstance(node, ast.ImportFrom)
            else []
        )
        if name.split(".")[0] in packages
    }


def test_one_module_parses_yaml_and_one_toml_so_that_the_limits_hold_everywhere():
    assert importers_of("ruamel", "yaml") == {"yamltext"}
    assert importers_of("tomllib") == {"limits"}


def loaded_by(*words: str, cwd: Path) -> set[str]:
    """Return the top-level modules that a command has loaded when it ends."""
    code = (
        "import sys, atexit; sys.argv[0] = 'memsync'\n"
        "atexit.register(lambda: print(' '.join(sorted(sys.modules)), file=sys.stderr))\n"
        "from memsync.cli import main; main()"
    )
    done = subprocess.run([sys.executable, "-c", code, *words], cwd=cwd, capture_output=True, text=True, check=False)
    return {name.split(".")[0] for name in done.stderr.splitlines()[-1].split()}


def test_help_and_version_load_neither_click_nor_orjson(tmp_path):
    for words in ([], ["--help"], ["--version"]):
        assert loaded_by(*words, cwd=tmp_path) & {"click", "orjson", "dataclasses", "pathlib", "re"} == set()


HEAVY = {"anthropic", "openai", "git", "watchdog", "mcp", "pydantic", "numpy", "frontmatter", "asyncio", "subprocess"}


def test_recall_loads_nothing_heavy(repo):
    repo.write_memories('{"id":"mm-a","content":"the tests need docker"}\n')
    first = loaded_by("memory", "recall", "docker", cwd=repo.root)
    assert first & (HEAVY | {"filelock", "ruamel"}) == {"numpy"}
    again = loaded_by("memory", "recall", "docker", cwd=repo.root)
    assert again & (HEAVY | {"filelock", "ruamel", "orjson", "hashlib"}) == set()


def test_reading_ordinary_settings_loads_no_yaml_parser(repo):
    settings = "# of this project\nmemory:\n  recall_limit: 5  # fewer\nmemory_sync.mode: worktree\n"
    (repo.root / ".gobby").mkdir(exist_ok=True)
    (repo.root / ".gobby" / "config.yaml").write_text(settings, encoding="utf-8")
    assert loaded_by("memory", "config", "memory.recall_limit", cwd=repo.root) & {"ruamel", "yaml"} == set()


def test_remember_loads_numpy_only_to_bring_a_stale_index_up_to_date(repo):
    repo.write_memories('{"id":"mm-a","content":"the tests need docker"}\n')
    light = HEAVY - {"subprocess", "numpy"}
    first = loaded_by("memory", "remember", "CI needs Node 20", cwd=repo.root)
    assert first & light == set()
    fresh = loaded_by("memory", "remember", "the linter is strict", cwd=repo.root)
    assert fresh & (light | {"numpy"}) == set()


def functions() -> Iterator[tuple[str, int]]:
    for path in MODULES:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                yield f"{name_of(path)}.{node.name}", (node.end_lineno or node.lineno) - node.lineno + 1


def test_modules_and_functions_stay_small():
    lengths = dict(functions())
    assert [name for name, length in lengths.items() if length > 50] == []
    assert [name_of(p) for p in MODULES if p.read_text(encoding="utf-8").count("\n") > 400] == []
    assert statistics.median(lengths.values()) <= 10
    assert statistics.quantiles(lengths.values(), n=10)[-1] <= 30

"""The shape of the code: rooms and their rows, circles, what is imported when, sizes."""

from __future__ import annotations

import ast
import functools
import json
import re
import statistics
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[1] / "memsync"
MODULES = sorted(PACKAGE.rglob("*.py"))

# A module imports from its own row, if that makes no circle, and from those below it (CONTRIBUTING.md says what each does).
ROWS = (
    {"cli", "mcp", "web", "__main__"},
    {"agents", "setup", "janitor", "learn", "transfer", "hub"},
    {"memories", "skills"},
    {"git", "llm", "clients", "check"},
    {"store"},
    {"format", "index"},
    {"origin", "errors", "records", "net", "safety", "system"},
)
ROW_OF = {room: number for number, rooms in enumerate(ROWS) for room in rooms}


def name_of(path: Path, package: Path = PACKAGE) -> str:
    return ".".join(path.relative_to(package).with_suffix("").parts).removesuffix("__init__").removesuffix(".")


def room_of(name: str) -> str:
    return name.partition(".")[0]


KNOWN = {name_of(path): path for path in MODULES}


def run_nodes(tree: ast.AST) -> Iterator[ast.AST]:
    """Yield the nodes of *tree* that run: what is imported for types alone is left out."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.If) and ast.unparse(node.test) in ("TYPE_CHECKING", "typing.TYPE_CHECKING"):
            for other in node.orelse:
                yield other
                yield from run_nodes(other)
        else:
            yield node
            yield from run_nodes(node)


def names_in(node: ast.AST, package: str) -> Iterator[str]:
    """Yield the dotted names that *node* imports, functions included, by statement or by a name in a string."""
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names)
    elif isinstance(node, ast.ImportFrom):
        parts = package.split(".")
        above = parts[: len(parts) - node.level + 1] if node.level else []
        base = ".".join([*above, *([node.module] if node.module else [])])
        yield from (f"{base}.{alias.name}" for alias in node.names)
    elif isinstance(node, ast.Call) and ast.unparse(node.func).split(".")[-1] in (
        "import_module",
        "__import__",
    ):
        if node.args and isinstance(node.args[0], ast.Constant):
            yield str(node.args[0].value)
        elif node.args and isinstance(node.args[0], ast.JoinedStr):
            first = node.args[0].values[0]  # what the rest is called nobody can tell: the room counts
            yield str(first.value) if isinstance(first, ast.Constant) else ""


def imported(text: str, package: str, known: Iterable[str]) -> Iterator[str]:
    """Yield those of the modules *known* that *text*, in *package* ("memsync.git"), imports anywhere when it runs."""
    known = set(known)
    for node in run_nodes(ast.parse(text)):
        for name in names_in(node, package):
            top, _, rest = name.partition(".")
            if top == "memsync" and rest:
                inner = rest.rpartition(".")[0]
                yield rest if rest in known else inner if inner in known else f"unknown {rest}"


def package_of(path: Path) -> str:
    return ".".join(("memsync", *path.relative_to(PACKAGE).parent.parts))


@functools.cache
def graph() -> dict[str, set[str]]:
    """Return what each module imports; not when it is collected, which each worker does."""
    return {
        name: set(imported(path.read_text(encoding="utf-8"), package_of(path), KNOWN)) - {"", name}
        for name, path in KNOWN.items()
        if name
    }


def circles(found: Mapping[str, set[str]]) -> list[str]:
    """Return the nodes from which a way leads back to themselves."""

    def reach(start: str) -> set[str]:
        seen, todo = set(), [start]
        while todo:
            for nxt in found.get(todo.pop(), ()):
                if nxt not in seen:
                    seen.add(nxt)
                    todo.append(nxt)
        return seen

    return sorted(node for node in found if node in reach(node))


def test_each_module_is_in_a_room_of_the_table():
    assert {room_of(name) for name in graph()} == set(ROW_OF)


def test_imports_go_down_the_rows_only():
    upwards = [
        f"{name} imports {other}"
        for name, others in graph().items()
        for other in sorted(others)
        if ROW_OF.get(room_of(other), -1) < ROW_OF[room_of(name)]
    ]
    assert upwards == []


def test_no_two_modules_import_each_other():
    assert circles(graph()) == []


def test_no_two_rooms_import_each_other():
    rooms: dict[str, set[str]] = {room: set() for room in ROW_OF}
    for name, others in graph().items():
        rooms[room_of(name)] |= {room_of(other) for other in others} - {room_of(name)}
    assert circles(rooms) == []


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("from memsync.store import files", ["store.files"]),
        ("from memsync.store.files import read", ["store.files"]),
        ("import memsync.store.files", ["store.files"]),
        ("def late():\n    from memsync.store import files", ["store.files"]),
        ("from . import hooks", ["git.hooks"]),
        ("from ..store.files import read", ["store.files"]),
        ("import_module('memsync.store.files')", ["store.files"]),
        ("importlib.import_module('memsync.store.files').read()", ["store.files"]),
        ("import_module(f'memsync.store.{name}')", ["store"]),
        ("if TYPE_CHECKING:\n    from memsync.store import files", []),
        ("if TYPE_CHECKING:\n    pass\nelse:\n    from memsync.store import files", ["store.files"]),
        ("from memsync import __version__", []),
        ("import orjson", []),
    ],
)
def test_the_look_at_imports_sees_each_way_to_write_one(text, found):
    seen = imported(text, "memsync.git", {"", "git", "git.hooks", "store", "store.files"})
    assert [name for name in seen if name] == found


def test_a_circle_of_three_is_seen():
    assert circles({"a": {"b"}, "b": {"c"}, "c": {"a"}, "d": {"a"}}) == ["a", "b", "c"]


def test_the_table_of_the_contributors_guide_has_every_room_in_its_row():
    guide = (PACKAGE.parent / "CONTRIBUTING.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (\d) \| ([^|]+) \|", guide, re.MULTILINE)
    written = [(name, int(row)) for row, names in rows for name in re.findall(r"`(\w+)/?`", names)]
    assert sorted(written) == sorted(ROW_OF.items())
    assert [int(row) for row, _ in rows] == sorted(int(row) for row, _ in rows)


def test_few_modules_lie_outside_of_the_rooms():
    assert len(list(PACKAGE.glob("*.py"))) <= 6


def test_the_rooms_are_few_enough_to_know():
    assert len({path.parent for path in MODULES} - {PACKAGE}) <= 20


def test_no_way_through_the_imports_is_much_longer_than_the_longest_one_is_now():
    @functools.cache
    def floors(name: str) -> int:
        return 1 + max(map(floors, graph()[name]), default=0)

    assert max(map(floors, graph())) <= 25


def test_the_unit_tests_lie_in_the_rooms_of_what_they_test():
    folders = {path.name for path in (PACKAGE.parent / "tests" / "unit").iterdir() if any(path.glob("test_*.py"))}
    assert folders - set(ROW_OF) == set()


def test_opening_a_room_loads_nothing():
    for path in PACKAGE.rglob("__init__.py"):
        if path.parent.name not in ("memsync", "cli"):
            assert len(ast.parse(path.read_text(encoding="utf-8")).body) <= 1, path


def test_gitpython_is_imported_in_one_place():
    importers = [name for name, path in KNOWN.items() if "\n    from git import" in path.read_text(encoding="utf-8")]
    assert importers == ["store.checkout"]


def loaded_by(*words: str, cwd: Path, given: str = "") -> set[str]:
    """Return the modules that a command has loaded when it ends, and the packages that they are in; what stands for one has no spec."""
    code = (
        "import sys, atexit, os; sys.argv[0] = 'memsync'; end = os._exit\n"
        "tell = lambda: os.write(2, ('\\n' + ' '.join(sorted(n for n, m in sys.modules.items() if getattr(m, '__spec__', 0)))).encode())\n"
        "os._exit = lambda code: (tell(), end(code))\n"
        "atexit.register(tell)\n"
        "from memsync.cli import main; main()"
    )
    run = [sys.executable, "-c", code, *words]
    done = subprocess.run(run, cwd=cwd, input=given, capture_output=True, text=True, check=False)
    names = set(done.stderr.splitlines()[-1].split())
    return names | {name.split(".")[0] for name in names}


# Each takes longer to import than a whole command may; the standard library is used as it is.
HEAVY = {"anthropic", "openai", "git", "watchdog", "mcp", "pydantic", "numpy", "frontmatter", "ruamel", "starlette"}


def test_help_and_version_load_neither_click_nor_orjson(tmp_path):
    for words in ([], ["--help"], ["--version"]):
        assert loaded_by(*words, cwd=tmp_path) & (HEAVY | {"click", "orjson"}) == set()


def test_the_first_recall_makes_an_index_with_numpy_and_the_next_needs_none(repo):
    repo.write_memories('{"id":"mm-a","content":"the tests need docker"}\n')
    assert loaded_by("memory", "recall", "docker", cwd=repo.root) & HEAVY == {"numpy"}
    assert loaded_by("memory", "recall", "docker", cwd=repo.root) & HEAVY == set()


def test_what_a_list_has_screened_no_later_one_screens(repo):
    repo.write_memories('{"id":"mm-a","content":"the tests need docker"}\n')
    assert "memsync.safety.screen" in loaded_by("list", cwd=repo.root)
    assert "memsync.safety.screen" not in loaded_by("list", cwd=repo.root)


def test_reading_ordinary_settings_loads_no_yaml_parser(repo):
    settings = "# of this project\nmemory:\n  recall_limit: 5  # fewer\nmemory_sync.mode: worktree\n"
    (repo.root / ".gobby").mkdir(exist_ok=True)
    (repo.root / ".gobby" / "config.yaml").write_text(settings, encoding="utf-8")
    assert loaded_by("memory", "config", "memory.recall_limit", cwd=repo.root) & {"ruamel", "yaml"} == set()


@pytest.mark.parametrize(
    ("event", "given"),
    [
        ("prompt", {"prompt": "do the tests need docker?"}),
        ("prompt", {"prompt": "how do whales sleep below the ice?"}),
        ("prompt", {"prompt": "ok thanks"}),
        ("pre-tool", {"tool_name": "Edit", "tool_input": {"file_path": "a.py", "new_string": "x"}}),
        ("post-tool", {"tool_name": "Read", "tool_input": {"file_path": "a.py"}}),
        ("session-start", {}),
        ("subagent-start", {}),
        ("pre-compact", {}),
        ("post-compact", {}),
        ("session-end", {}),
    ],
)
def test_no_hook_loads_anything_heavy(repo, event, given):
    (repo.root / "a.py").write_text("pass\n")
    repo.write_memories('{"id":"mm-a","content":"the tests need docker"}\n')
    loaded_by("memory", "remember", "a.py stays small", "--anchor", "a.py", cwd=repo.root)
    loaded_by("memory", "recall", "docker", cwd=repo.root)  # makes the index
    asked = json.dumps({"session_id": "s", "cwd": str(repo.root), **given})
    assert loaded_by("hook", event, cwd=repo.root, given=asked) & HEAVY == set()


def test_the_status_line_loads_nothing_heavy(repo):
    repo.write_memories('{"id":"mm-a","content":"the tests need docker"}\n')
    given = json.dumps({"session_id": "s", "workspace": {"current_dir": str(repo.root)}})
    assert loaded_by("statusline", cwd=repo.root, given=given) & HEAVY == set()


@pytest.mark.parametrize(
    "words",
    [
        ("list", "--limit", "1"),
        ("show", "mm-a"),
        ("memory", "remember", "the linter is strict"),
        ("undo",),
        ("import", "more.jsonl"),
        ("update", "mm-a", "--importance", "0.3"),
        ("tags", "add", "ci", "mm-a"),
        ("rm", "mm-a"),
    ],
    ids=lambda words: " ".join(words[:2]),
)
def test_no_command_with_an_index_makes_another(repo, words):
    repo.write_memories('{"id":"mm-a","content":"the tests need docker"}\n')
    (repo.root / "more.jsonl").write_text(
        '{"content":"the build is slow on Mondays"}\n{"content":"CI has four cores"}\n'
    )
    loaded_by("memory", "recall", "docker", cwd=repo.root)  # makes the index
    loaded_by("memory", "remember", "CI needs Node 20", cwd=repo.root)
    loaded_by(*words, cwd=repo.root)
    assert loaded_by("memory", "recall", "Mondays", cwd=repo.root) & HEAVY == set()


@pytest.mark.parametrize("word", ["_sre", "_thread", "_tuplegetter", "marshal", "__import__(", "sys.modules["])
def test_the_standard_library_is_used_as_it_is_documented(word):
    pattern = re.compile(rf"(?<![\w.]){re.escape(word)}" + (r"\b" if word[-1].isalpha() else ""))
    assert [name for name, path in KNOWN.items() if pattern.search(path.read_text(encoding="utf-8"))] == []


def functions() -> Iterator[tuple[str, int]]:
    for path in MODULES:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                yield f"{name_of(path)}.{node.name}", (node.end_lineno or node.lineno) - node.lineno + 1


def test_modules_and_functions_stay_small():
    lengths = dict(functions())
    assert [name for name, length in lengths.items() if length > 60] == []
    assert [name_of(p) for p in MODULES if p.read_text(encoding="utf-8").count("\n") > 600] == []
    assert statistics.median(lengths.values()) <= 10
    assert statistics.quantiles(lengths.values(), n=10)[-1] <= 24

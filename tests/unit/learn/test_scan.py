"""First memories: nothing but what a file says, with the line that says it."""

from __future__ import annotations

from pathlib import Path

import pytest

from memsync import Memsync
from memsync.learn.candidates import Candidates
from memsync.learn.scan import MOST, _bring_up_to_date, init, scan, scanned_key, start

PYTHON = {
    "pyproject.toml": '[build-system]\nbuild-backend = "flit_core.buildapi"\n\n[project]\nname = "x"\nrequires-python = ">=3.10"\n'
    '\n[project.scripts]\nserve = "x:main"\n\n[tool.pytest.ini_options]\ntestpaths = ["tests"]\n\n[tool.ruff]\nfix = true\n',
    "uv.lock": "version = 1\n",
    "tox.ini": "[tox]\n[testenv]\ncommands =\n    pytest {posargs}\n[testenv:lint]\ncommands = ruff check\n",
    "noxfile.py": "import nox\n\n\n@nox.session(python=False)\ndef tests(session):\n    session.run('pytest')\n",
    "scripts/check": "#!/bin/sh -e\n# types, style and coverage\ncoverage report --fail-under=100\n",
    "src/x/__init__.py": "",
    "tests/test_x.py": "",
    "README.md": "# x\n\n[![CI](https://x/badge.svg)](https://x)\n\nA lightweight toolkit for [web](https://x) things, with **batteries**.\n\n## Install\n",
    "LICENSE": "MIT License\n\nCopyright\n",
}
NODE = {
    "package.json": '{\n  "name": "y",\n  "packageManager": "pnpm@9.1.0+sha512.abc",\n  "engines": {"node": ">=20"},\n  "workspaces": ["packages/*"],\n'
    '  "scripts": {\n    "test": "vitest run",\n    "build": "tsc -b",\n    "lint": "eslint ."\n  }\n}\n',
    "tsconfig.json": '{\n  // strict is on\n  "compilerOptions": {\n    "strict": true\n  }\n}\n',
    "pnpm-lock.yaml": "lockfileVersion: 9\n",
    ".nvmrc": "20.11\n",
    ".github/workflows/ci.yml": 'on: push\njobs:\n  test:\n    strategy:\n      matrix:\n        node-version: ["20", "22"]\n    steps:\n      - run: pnpm run test\n',
    "compose.yaml": 'services:\n  db:\n    image: postgres\n    ports:\n      - "5433:5432"\n',
    ".gitattributes": "/src/gen/** linguist-generated\n*.png binary\n",
    "mise.toml": '[tasks.lint]\nrun = "eslint . --fix"\n',
}
GO = {
    "go.mod": "module example.org/z\n\ngo 1.22\n",
    ".golangci.yml": "linters:\n",
    "Taskfile.yml": "version: '3'\ntasks:\n  docs:\n    cmds:\n      - go doc {{.CLI_ARGS}}\n  release:\n    cmds:\n      - git tag\n      - git push\n",
    "Makefile": "BIN := z\n.PHONY: test\n\ntest: ## run the tests with the race detector\n\tgo test -race ./...\n\nlint:\n\tgolangci-lint run\n\nbuild:\n\tgo build -o $(BIN)\n\tls\n\nclean:\n\trm z\n",
}
RUST = {
    "Cargo.toml": '[workspace]\nmembers = ["a", "b"]\n\n[workspace.package]\nedition = "2021"\nrust-version = "1.75"\n',
    "rust-toolchain.toml": '[toolchain]\nchannel = "1.78"\n',
    "justfile": "default: test\n\ntest:\n    cargo nextest run\n\n@fmt:\n    cargo fmt\n",
}
JAVA = {
    "pom.xml": "<project>\n<properties>\n<java.version>21</java.version>\n</properties>\n</project>\n",
    "mvnw": "#!/bin/sh\n",
}
GRADLE = {"build.gradle.kts": "plugins { java }\n", "gradlew": "#!/bin/sh\n"}
DOTNET = {
    "global.json": '{\n  "sdk": {\n    "version": "8.0.100"\n  }\n}\n',
    "App.sln": "\n",
    "src/App/App.csproj": "<Project>\n<PropertyGroup>\n<TargetFramework>net8.0</TargetFramework>\n</PropertyGroup>\n</Project>\n",
}
CPP = {
    "CMakeLists.txt": "cmake_minimum_required(VERSION 3.20)\n# set(CMAKE_CXX_STANDARD 11)\nset(CMAKE_CXX_STANDARD 20)\n"
}
RUBY = {"Gemfile": 'source "https://rubygems.org"\nruby "3.3.0"\ngem "rspec"\n', ".rubocop.yml": "AllCops:\n"}

WANTED = {
    "python": (
        PYTHON,
        {
            "This project supports Python >=3.10.": "pyproject.toml:6",
            "Python dependencies are managed with uv (uv.lock is committed).": "uv.lock:1",
            "pytest collects tests from `tests`.": "pyproject.toml:12",
            "`tox` runs the tests.": "tox.ini:2",
            "`tox -e lint` is an environment of tox.ini.": "tox.ini:5",
            "`nox -s tests` is a session of noxfile.py.": "noxfile.py:5",
            "`scripts/check`: types, style and coverage.": "scripts/check:1",
            "From README.md: A lightweight toolkit for web things, with batteries.": "README.md:5",
        },
    ),
    "node": (
        NODE,
        {
            "The package manager is pnpm@9.1.0, by package.json.": "package.json:3",
            "This project needs Node.js >=20.": "package.json:4",
            "`pnpm run test` runs `vitest run`, as CI does.": "package.json:7",
            "`pnpm run lint` runs `eslint .`.": "package.json:9",
            "`mise run lint` runs `eslint . --fix`.": "mise.toml:1",
            "`db` is reached on port 5433 (compose.yaml).": "compose.yaml:5",
            "`/src/gen/**` is generated: change what it is made from.": ".gitattributes:1",
            "This is a monorepo with the workspaces `packages/*`.": "package.json:5",
            "The Node.js version is pinned to 20.11 (.nvmrc).": ".nvmrc:1",
        },
    ),
    "go": (
        GO,
        {
            "go.mod asks for Go 1.22.": "go.mod:3",
            "`make test`: run the tests with the race detector.": "Makefile:4",
            "`make lint` runs `golangci-lint run`.": "Makefile:7",
            "`make build` is a target of the Makefile.": "Makefile:10",
            "`task docs` runs `go doc`.": "Taskfile.yml:3",
            "`task release` is in Taskfile.yml.": "Taskfile.yml:6",
        },
    ),
    "rust": (
        RUST,
        {
            "This is a Cargo workspace with the members `a`, `b`.": "Cargo.toml:2",
            "The Rust toolchain is pinned to 1.78.": "rust-toolchain.toml:2",
            "`just test` runs `cargo nextest run`.": "justfile:3",
        },
    ),
    "maven": (JAVA, {"The project is built with Maven (`./mvnw`).": "pom.xml:1", "The Java version is 21.": "pom.xml:3"}),
    "gradle": (GRADLE, {"The project is built with Gradle (`./gradlew`).": "build.gradle.kts:1"}),
    "dotnet": (DOTNET, {"The .NET SDK version is 8.0.100.": "global.json:3", "Projects target `net8.0`.": "src/App/App.csproj:3"}),
    "cpp": (CPP, {"The C++ standard is 20.": "CMakeLists.txt:3"}),
    "ruby": (RUBY, {"The Gemfile asks for Ruby 3.3.0.": "Gemfile:2", "Ruby tests use RSpec.": "Gemfile:3"}),
}  # fmt: skip


def plant(root: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)


@pytest.mark.parametrize("name", WANTED)
def test_a_project_is_described_by_what_its_files_say(tmp_path, name):
    files, wanted = WANTED[name]
    plant(tmp_path, files)
    found = {fact.content: fact.where for fact in scan(tmp_path)}
    assert wanted.items() <= found.items()


@pytest.mark.parametrize("name", WANTED)
def test_every_statement_names_a_line_that_is_there(tmp_path, name):
    plant(tmp_path, WANTED[name][0])
    for fact in scan(tmp_path):
        path, _, line = fact.where.partition(":")
        assert (tmp_path / path).exists()
        assert fact.where == "." or int(line) <= (tmp_path / path).read_text().count("\n") + 1


@pytest.mark.parametrize(
    "files",
    [
        {},
        {"pyproject.toml": "[project\n"},
        {"package.json": "{"},
        {"package.json": "[1]"},
        {"package.json": '{"scripts": {"test": "echo \\"Error: no test specified\\" && exit 1"}}'},
        {"package-lock.json": "{}", "yarn.lock": "", "package.json": '{"name": "x"}'},
        {"uv.lock": "", "poetry.lock": ""},
        {".github/workflows/ci.yml": "a: [b"},
        {"CMakeLists.txt": ""},
        {"Gemfile": "\x00\x01"},
        {"package.json": '{"scripts": ["test"], "workspaces": {"packages": []}, "engines": {"node": 20}}'},
        {".pre-commit-config.yaml": "repos: [{hooks: 5}, 7]\n"},
        {".nvmrc": "20\n22\n"},
        {"pyproject.toml": "[project]\nrequires-python = 3\nscripts = 'x'\n"},
        {
            "README.md": "# Only a title\n\n[![badge](x)](y)\n\n```\ncode that looks like a long enough sentence to be one\n```\n"
        },
    ],
)
def test_what_is_broken_or_ambiguous_says_nothing(tmp_path, files):
    plant(tmp_path, files)
    assert [f.content for f in scan(tmp_path)] == []


def test_what_a_fact_is_about_is_its_anchor(tmp_path):
    plant(tmp_path, GO | NODE)
    found = {fact.content: fact.anchors for fact in scan(tmp_path)}
    assert found["`make lint` runs `golangci-lint run`."] == ("$ make lint",)
    assert found["`/src/gen/**` is generated: change what it is made from."] == ("src/gen/**",)
    assert found["`db` is reached on port 5433 (compose.yaml)."] == ("compose.yaml",)


def test_the_rules_of_how_to_contribute_are_read_and_no_more_than_eight(project, repo):
    rules = "".join(f"- Every module in `lib{n}` must have a test.\n" for n in range(12))
    text = f"# Contributing\n\nThanks for your interest, we are happy about every one!\n\n{rules}"
    plant(repo.root, {"CONTRIBUTING.md": text})
    found = [one.memory.content for one in start(project, scan=False).proposed]
    assert len(found) == 8
    assert found[0] == "Every module in `lib0` must have a test."


def test_ignored_files_and_links_are_not_read(repo, tmp_path):
    plant(tmp_path, {"outside.toml": '[project]\nrequires-python = ">=3.9"\n'})
    (repo.root / "pyproject.toml").symlink_to(tmp_path / "outside.toml")
    plant(repo.root, {".gitignore": "package.json\n", "package.json": '{"engines": {"node": "1"}}'})
    assert [fact.key for fact in scan(repo.root)] == []


def test_there_are_at_most_25_and_the_important_ones_first(tmp_path):
    for files, _ in WANTED.values():
        plant(tmp_path, files)
    found = scan(tmp_path)
    assert len(found) == MOST
    assert [fact.importance for fact in found] == sorted((fact.importance for fact in found), reverse=True)


def test_nothing_is_stored_before_it_is_approved(project, repo):
    plant(repo.root, PYTHON)
    assert len(init(project).proposed) > 5
    assert project.memories() == []
    assert init(project).proposed == ()


def test_a_dry_run_changes_nothing(project, repo):
    plant(repo.root, PYTHON | {"CLAUDE.md": "- Always run the tests before a commit.\n"})
    before = repo.status("--ignored")
    assert start(project, dry_run=True).proposed
    assert repo.status("--ignored") == before


def test_a_second_run_updates_what_changed_and_touches_nothing_a_person_edited(project, repo):
    plant(repo.root, PYTHON | GO)
    start(project, approve=True)
    by_text = {entry.content: entry.id for entry in project.memories()}
    edited = by_text["`make lint` runs `golangci-lint run`."]
    project.update(edited, content="Lint with `make lint`, and never with --fast.")
    plant(repo.root, {
        "pyproject.toml": PYTHON["pyproject.toml"].replace(">=3.10", ">=3.12"),
        "Makefile": GO["Makefile"].replace("golangci-lint run", "staticcheck ./..."),
        "go.mod": "module example.org/z\n",
    })  # fmt: skip
    done = start(project, approve=True)
    assert [entry.content for entry in done.updated] == ["This project supports Python >=3.12."]
    assert done.updated[0].id == by_text["This project supports Python >=3.10."]
    assert [entry.id for entry in done.edited] == [edited]
    assert [entry.content for entry in done.gone] == ["go.mod asks for Go 1.22."]
    assert project.get(edited).content == "Lint with `make lint`, and never with --fast."
    again = start(project, approve=True)
    assert (again.proposed, again.updated, again.stored) == ((), (), ())


def test_what_somebody_edits_while_a_scan_is_under_way_is_theirs(project, repo, clock):
    plant(repo.root, PYTHON)
    start(project, approve=True, instructions=False)
    seen = next(entry for entry in project.memories() if scanned_key(entry.memory) == "python.version")
    Memsync.open(repo.root, clock=clock).update(seen.id, content="Python 3.10 until the tablets are replaced.")
    plant(repo.root, {"pyproject.toml": PYTHON["pyproject.toml"].replace(">=3.10", ">=3.12")})
    fact = next(fact for fact in scan(repo.root) if fact.key == "python.version")
    assert _bring_up_to_date(project, seen, fact).content == "Python 3.10 until the tablets are replaced."
    assert Memsync.open(repo.root).get(seen.id).content == "Python 3.10 until the tablets are replaced."


def test_instruction_files_are_read_too(project, repo):
    plant(repo.root, {
        "CLAUDE.md": "# Testing\n\n- Always run `make check` before a commit.\n",
        "AGENTS.md": "Use tabs in Go files, and spaces elsewhere.\n",
        ".cursor/rules/a.mdc": "---\nglobs: x\n---\n- Never edit generated files by hand.\n",
    })  # fmt: skip
    done = start(project, scan=False)
    assert {one.memory.content: one.where for one in done.proposed} == {
        "Always run `make check` before a commit.": "CLAUDE.md:3",
        "Use tabs in Go files, and spaces elsewhere.": "AGENTS.md:1",
        "Never edit generated files by hand.": ".cursor/rules/a.mdc:4",
    }
    assert done.proposed[0].memory.tags == ("testing",)


GUIDE = """\
# Working here

This file provides guidance to agents in this repository.

1. Dependencies
   - ONLY use poetry
   - Add one: `poetry add <name>`

When a request type changes, keep to the names:
`*Query` for questions and `*Reply` for answers.

Only if every snapshot is right, run:

- `snap accept`

## Adding a route

1. Declare it in `routes/table.py`
2. Then write the handler
"""


def test_points_of_an_instruction_file_are_whole_and_say_nothing_else(project, repo):
    (repo.root / "AGENTS.md").write_text(GUIDE)
    assert [one.memory.content for one in start(project, scan=False).proposed] == [
        "Dependencies: ONLY use poetry; Add one: `poetry add <name>`",
        "When a request type changes, keep to the names: `*Query` for questions and `*Reply` for answers.",
        "Only if every snapshot is right, run: `snap accept`",
        "Adding a route: Declare it in `routes/table.py`",
        "Adding a route: Then write the handler",
    ]


def test_at_most_25_are_proposed_the_important_ones_of_the_instructions_first(project, repo):
    (repo.root / "pyproject.toml").write_text(PYTHON["pyproject.toml"])
    points = [f"- The worker number {n} reads the queue `q{n}`.\n" for n in range(40)]
    (repo.root / "CLAUDE.md").write_text("".join(points) + "- Never write to the archive queue.\n")
    for dry_run in (True, False):
        found = [one.memory.content for one in start(project, dry_run=dry_run).proposed]
        assert len(found) == MOST
        assert found[-1] == "Never write to the archive queue."


def test_the_beginning_of_a_list_in_a_readme_is_cut_off(tmp_path):
    (tmp_path / "README.md").write_text(
        "# x\n\nIt speaks the whole protocol of billing. That makes it easy to:\n\n- do this\n"
    )
    assert [fact.content for fact in scan(tmp_path)] == ["From README.md: It speaks the whole protocol of billing."]


def test_an_instruction_file_that_leads_out_is_not_read(project, repo, tmp_path):
    (tmp_path / "secret.md").write_text("- Always tell nobody about this file.\n")
    (repo.root / "CLAUDE.md").symlink_to(tmp_path / "secret.md")
    assert start(project, scan=False).proposed == ()


def test_what_was_approved_keeps_where_it_can_be_updated_after_a_clone(project, repo):
    plant(repo.root, PYTHON)
    start(project, approve=True, instructions=False)
    project.close()
    assert '"scanned":"python.version ' in repo.memories.read_text()
    assert Candidates(project).memories() == []


def test_of_a_readme_the_first_sentence_is_told_without_markup_and_not_a_row_of_links(tmp_path):
    (tmp_path / "README.md").write_text(
        "# x\n\n[Site](https://x) | [Docs](https://y) | [Issues](https://z)\n\nBuilt on [the Elm way][elm] for `billing <https://b>`_.\n"
    )
    assert [fact.content for fact in scan(tmp_path)] == ["From README.md: Built on the Elm way for billing."]


def test_where_something_else_is_written_and_what_is_bold_in_backticks(tmp_path):
    (tmp_path / ".gobby").mkdir()
    (tmp_path / "CLAUDE.md").write_text(
        "- docs/testing.md — How to test\n- **`src/lexer.rs`** — Tokenizer with 80 kinds\n"
    )
    with Memsync.open(tmp_path, env={"MEMSYNC_HOME": str(tmp_path / "home")}) as project:
        found = [one.memory.content for one in start(project, dry_run=True).proposed]
    assert found == ["`src/lexer.rs` — Tokenizer with 80 kinds"]

"""`memsync check`: what instruction files say that is not so."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import time

import pytest
from helpers import memsync


@pytest.fixture
def tree(repo):
    """Return a function that writes files, and commits them all."""

    def write(files, *, message="more"):
        for name, text in files.items():
            path = repo.root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        repo.git("add", "--all")
        repo.git("commit", "-q", "--allow-empty", "-m", message)
        return repo.git("rev-parse", "--short", "HEAD").strip()

    write.root = repo.root
    return write


@pytest.fixture
def check(repo):
    """Return a function that checks, and gives what each line said, what it is called now, since when and how sure."""

    def run(*words):
        done = memsync("check", *words, "--json", cwd=repo.root)
        assert done.code in (0, 1), done.err
        return [
            (f"{one['file']}:{one['line']}", one["said"], one["now"], one["since"], one["sure"])
            for one in done.json["findings"]
        ]

    return run


def test_a_wrong_ending_and_a_moved_file_are_found_with_the_commit_and_the_new_name(repo, tree, check):
    tree(
        {
            ".golangci.yaml": "run:\n",
            "cmd/shop/commands/help.go": "package commands\n\nfunc Help() {}\n",
            "cmd/shop/main.go": "package main\n",
        }
    )
    repo.git("mv", "cmd/shop/commands/help.go", "cmd/shop/help.go")
    since = tree({}, message="move")
    tree(
        {
            "CLAUDE.md": "# Shop\n\n- `shop/commands`: the commands\n- see `cmd/shop/commands/help.go`\n- Reference `.golangci.yml`\n"
        }
    )
    assert check() == [
        ("CLAUDE.md:3", "shop/commands", "shop", since, True),
        ("CLAUDE.md:4", "cmd/shop/commands/help.go", "cmd/shop/help.go", since, True),
        ("CLAUDE.md:5", ".golangci.yml", ".golangci.yaml", None, True),
    ]


def test_the_answer_has_the_documented_keys_and_sure_findings_exit_with_1(repo, tree):
    tree({"docs/guide.md": "# Guide\n", "AGENTS.md": "Read [the guide](docs/gide.md)\n"})
    done = memsync("check", "--json", cwd=repo.root)
    assert done.code == 1
    assert done.json == {
        "findings": [
            {
                "file": "AGENTS.md",
                "line": 1,
                "said": "docs/gide.md",
                "is": "no such file",
                "now": None,
                "since": None,
                "sure": True,
                "sessions": 0,
            }
        ]
    }
    tree({"AGENTS.md": "Read [the guide](docs/guide.md)\n"})
    done = memsync("check", cwd=repo.root)
    assert (done.code, done.out) == (0, "all is so\n")


def test_a_file_that_was_moved_twice_is_followed(repo, tree, check):
    tree({"src/pay.py": "def pay():\n    return 'a long enough text to be known again'\n"})
    repo.git("mv", "src/pay.py", "src/payment.py")
    since = tree({})
    (repo.root / "lib").mkdir()
    repo.git("mv", "src/payment.py", "lib/payment.py")
    tree({"src/other.py": "pass\n", "AGENTS.md": "Money is in `src/pay.py:2`.\n"})
    assert check() == [("AGENTS.md:1", "src/pay.py:2", "lib/payment.py:2", since, True)]


HONEST = """# Shop
- branches such as `feature/pay` and `origin/main`, `acme/shop` is another repository
- `path/to/file.py`, `src/your_module.py`, `src/NNN.py`, `https://example.org/a/b.md`
- logs are in `logs/app.log`, builds in `dist/app.js`, `.env.local` is yours
- `src/old.py` was removed, use `src/new.py`
- the tool creates `src/report.json`
- `application/json`, `and/or`, `@scope/name`, `~/.config/shop/config.toml`, `$HOME/x.py`
- `secret/keys.pem` is ignored
- beside it: `new.py`, and `src/*.py`, `tests/**/*_test.py`
- see [above](#shop), <https://example.org>, [mail](mailto:a@example.org)

```
src/gone.py: 3 errors
```

```bash
make build        # there is one
npm run lint
python src/new.py --fast
git push origin main
```
"""


def test_branches_placeholders_products_other_repositories_and_output_are_not_findings(tree, check):
    tree({"src/old.py": "a = 1\n", "src/gone.py": "b = 2\n", "Makefile": "build:\n\ttrue\n", ".gitignore": "secret/\n"})
    tree({"package.json": '{"scripts": {"lint": "x"}}', "src/new.py": "c = 3\n", "tests/a/b_test.py": "d = 4\n"})
    tree({"AGENTS.md": HONEST})
    assert check() == []


def test_commands_that_no_file_defines_are_found(repo, tree, check):
    tree({
        "Makefile": "test:\n\ttrue\nlint: test\n\ttrue\n", "package.json": '{"scripts": {"build": "x", "dev:web": "y"}}',
        "justfile": "serve port:\n  true\n", "mise.toml": '[tasks.fmt]\nrun = "x"\n', "Taskfile.yml": "tasks:\n  fix:\n    aliases: [f]\n", "compose.yaml": "services:\n  db:\n    image: x\n",
        "scripts/seed.py": "pass\n",
    })  # fmt: skip
    since = tree({"Makefile": "test:\n\ttrue\n"})
    rows = [
        "make test", "make lint", "npm run build", "npm run biuld", "pnpm dev:api", "just serve 80", "just srve", "mise run fmt", "mise run format",
        "task f", "task fax", "docker compose up -d db", "docker compose logs redis", "python scripts/seed.py", "cd scripts && python seed.py", "FOO=1 make test && make lint",
        "docker compose up -d db > up.log 2>&1", "docker compose exec container_name ls", "docker compose logs db 2>err.txt",
    ]  # fmt: skip
    tree({"AGENTS.md": "```sh\n" + "\n".join(rows) + "\n```\nRun `make lint`, or `make -C sub all`.\n"})
    found = [(place, said, since) for place, said, _, since, sure in check() if sure]
    assert found == [
        ("AGENTS.md:3", "make lint", since), ("AGENTS.md:5", "npm run biuld", None), ("AGENTS.md:6", "pnpm dev:api", None),
        ("AGENTS.md:8", "just srve", None), ("AGENTS.md:10", "mise run format", None), ("AGENTS.md:12", "task fax", None),
        ("AGENTS.md:14", "docker compose logs redis", None), ("AGENTS.md:17", "make lint", since), ("AGENTS.md:22", "make lint", since),
    ]  # fmt: skip


def test_a_name_that_the_named_file_lost_is_found_and_an_option_of_our_own_program_is_perhaps_wrong(tree, check):
    tree({"src/pay.py": "def charge_card():\n    pass\n", "pyproject.toml": '[project.scripts]\nshop = "shop:main"\n'})
    since = tree({"src/pay.py": "def charge():\n    flag('--dry-run')\n"})
    tree(
        {
            "AGENTS.md": "- `charge_card()` is in `src/pay.py`, `stripeClient` is a library's\n- `shop sync --dry-run` and `shop sync --fast-mode`\n"
        }
    )
    assert check() == [
        ("AGENTS.md:1", "charge_card()", None, since, True),
        ("AGENTS.md:2", "--fast-mode", None, None, False),
    ]


def test_a_drawn_tree_is_looked_up_where_most_of_it_is(tree, check):
    tree({f"src/{name}.py": "x = 1\n" for name in ("cart", "price", "stock", "vat")})
    drawn = "shop/\n├── src/\n│   ├── cart.py\n│   ├── price.py   # prices\n│   ├── stock.py\n│   └── taxes.py\n"
    tree({"AGENTS.md": f"```\n{drawn}```\n```\napp/\n├── views/\n│   └── home.py\n└── models.py\n```\n"})
    assert check() == [("AGENTS.md:7", "taxes.py", None, None, False)]


def test_a_tree_that_is_only_indented_is_looked_up_too(tree, check):
    tree({f"internal/{name}.go": "package x\n" for name in ("app", "config/load", "config/init", "ui/main")})
    tree({"internal/jobs/run.go": "package x\n"})
    drawn = "internal/\n  app.go       starts it\n  config/\n    load.go    reads\n  ui/          pages\n  jobs/        runs\n"
    tree(
        {
            "AGENTS.md": f"```\n{drawn}```\n",
            "internal/[id]/edit/a.go": "package x\n",
            "internal/(x)/b.go": "package x\n",
        }
    )
    tree({"AGENTS.md": f"```\n{drawn}  [id]/\n    edit/\n  (x)/       a group\n```\n"})
    assert check() == []
    shutil.rmtree(tree.root / "internal" / "jobs")
    since = tree({}, message="take away")
    assert check() == [("AGENTS.md:7", "jobs/", None, since, True)]


def test_a_line_is_accepted_by_a_comment_with_a_reason(tree, check):
    tree({"docs/a.md": "a\n"})
    tree({
        "AGENTS.md": "[x](docs/x.md) <!-- memsync: accept because the site makes it -->\n[y](docs/y.md) <!-- memsync: accept -->\n"
        "<!-- memsync: accept because so -->\n[z](docs/z.md)\n[w](docs/w.md)\n"
    })  # fmt: skip
    assert [place for place, *_ in check()] == ["AGENTS.md:2", "AGENTS.md:5"]


def test_memories_are_checked_too(repo, tree, check, line):
    tree({"lib/tax.py": "rate = 19\n"})
    repo.write_memories(
        line("mm-aaaaaa", "Rates are in `lib/tax.py`")
        + line("mm-bbbbbb", "See [rates](lib/taxes.md)")
        + line("mm-cccccc", "[x](a/b.md)", archived_at="2026-01-01T00:00:00Z")
    )
    assert check() == [(".gobby/memories.jsonl:2", "lib/taxes.md", None, None, True)]


def test_fix_shows_a_patch_and_changes_nothing_but_the_names(repo, tree):
    tree({".golangci.yaml": "x\n", "src/shop/cart.py": "x\n"})
    text = "\ufeff`.golangci.yml` rules\r\n\r\nand `./src/cart.py`,\ttwice: `.golangci.yml`\r\nno end".encode()
    (repo.root / "CLAUDE.md").write_bytes(text)
    refused = memsync("check", "--fix", cwd=repo.root)
    assert refused.code == 2
    assert "+" in refused.err
    assert (repo.root / "CLAUDE.md").read_bytes() == text
    memsync("remember", "Prices are integers in cents", cwd=repo.root)
    done = memsync("check", "--fix", "--yes", cwd=repo.root)
    assert done.code == 0, done.err
    wanted = text.replace(b".golangci.yml", b".golangci.yaml").replace(b"src/cart.py", b"src/shop/cart.py")
    assert (repo.root / "CLAUDE.md").read_bytes() == wanted
    undone = memsync("undo", "--yes", cwd=repo.root)
    assert "wrote new names into CLAUDE.md, which `git diff` shows; nothing takes that back" in undone.err


def test_what_is_remembered_is_given_to_a_session_that_opens_the_wrong_name(repo, tree):
    tree({".golangci.yaml": "x\n", "CLAUDE.md": "See `.golangci.yml`\n"})
    done = memsync("check", "--remember", cwd=repo.root)
    assert "is wrong: it is `.golangci.yaml`" in done.out
    call = {"tool_name": "Read", "tool_input": {"file_path": str(repo.root / ".golangci.yml")}}
    asked = json.dumps({"session_id": "s", "cwd": str(repo.root), **call})
    given = memsync("hook", "pre-tool", "--client", "claude", cwd=repo.root, stdin=asked)
    assert "it is `.golangci.yaml`" in given.out
    (repo.root / "CLAUDE.md").write_text("See `.golangci.yaml`\n")
    assert memsync("check", cwd=repo.root).out == "all is so\n"


def test_sarif_and_annotations_name_file_and_line(repo, tree):
    tree({"AGENTS.md": "one\n[two](docs/100%.md)\n"})
    sarif = json.loads(memsync("check", "--sarif", cwd=repo.root).out)
    place = sarif["runs"][0]["results"][0]["locations"][0]["physicalLocation"]
    assert (place["artifactLocation"]["uri"], place["region"]["startLine"]) == ("AGENTS.md", 2)
    assert (
        memsync("check", "--github", cwd=repo.root).out
        == "::warning file=AGENTS.md,line=2::`docs/100%25.md`: no such file\n"
    )


def test_sessions_that_fell_for_a_line_are_counted(repo, tree, home):
    tree({".golangci.yaml": "x\n", "CLAUDE.md": "See `.golangci.yml`\n"})
    for name, said, path, failed in (
        ("a" * 8, "File does not exist.", "/.golangci.yml", True),
        ("b" * 8, "ok", "/.golangci.yml", False),
        ("c" * 8, "File does not exist.", "/x.yml", True),
    ):
        use = {"type": "tool_use", "id": "t", "name": "Read", "input": {"file_path": f"{repo.root}{path}"}}
        result = {"type": "tool_result", "tool_use_id": "t", "is_error": failed, "content": said}
        rows = [
            {
                "type": role,
                "uuid": f"{name}{role}",
                "sessionId": name,
                "cwd": str(repo.root),
                "timestamp": "2026-03-01T10:00:00Z",
                "message": {"role": role, "content": [part]},
            }
            for role, part in (("assistant", use), ("user", result))
        ]
        file = home / ".claude" / "projects" / "-shop" / f"{name}.jsonl"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    assert memsync("check", "--json", cwd=repo.root).json["findings"][0]["sessions"] == 1


def test_hostile_files_take_no_time_run_nothing_and_lead_nowhere(repo, tree, tmp_path):
    (tmp_path / "outside.md").write_text("[x](no/such.md)\n")
    (repo.root / "GEMINI.md").symlink_to(tmp_path / "outside.md")
    marker = repo.root / "ran"
    script = repo.root / "shop.sh"
    script.write_text(f"#!/bin/sh\ntouch {marker}\n")
    script.chmod(0o755)
    long = [
        "`" * 20_000,
        "[" * 20_000,
        "![](" * 8_000,
        "`a/" + "*" * 1_500 + "b.md`",
        "a/" * 10_000 + ".md",
        "├" * 5_000,
        "<!--" * 5_000,
    ]
    tree({
        "AGENTS.md": "\n".join([*long, "`../../../etc/passwd.md` [p](../../../../etc/no.md) `./shop.sh --help`", "```sh", "./shop.sh --help", "$(touch ran)", "```"]),
        "Makefile": "a" * 200_000 + "\n" + "%: $(shell touch ran)\n", "package.json": "[" * 100_000,
        "pyproject.toml": "a = 1" + " " * 200_000 + "\n" * 100_000, "requirements.txt": "a[" * 100_000, "Cargo.toml": "a = {" * 60_000, "compose.yaml": "image: " + "a/" * 100_000,
        "go.mod": "a/" * 150_000, ".github/workflows/a.yml": "a-" * 100_000 + "version:[" * 20_000, "Dockerfile": "FROM " + "a/" * 100_000, "tox.ini": "env_list =\n" + " a\n" * 60_000,
        "CLAUDE.md": "\n".join(["Python 3.1 " * 180, "A_" * 900 + "1", "not " * 480, "1 " * 900, "port " * 390, "Ab " * 600 + "3.11"] * 40),
    })  # fmt: skip
    began = time.process_time()
    done = memsync("check", "--json", cwd=repo.root)
    assert done.code in (0, 1), done.err
    assert [one["said"] for one in done.json["findings"]] == []
    assert not marker.exists()
    assert time.process_time() - began < 5


def test_only_files_of_the_project_are_checked_and_others_are_refused(repo, tree, tmp_path):
    tree({"README.md": "[x](docs/manual.md)\n"})
    assert memsync("check", "--json", cwd=repo.root).json["findings"] == []
    assert memsync("check", "README.md", cwd=repo.root).code == 1
    (tmp_path / "other.md").write_text("x\n")
    assert memsync("check", str(tmp_path / "other.md"), cwd=repo.root).code == 2


def test_an_anchor_that_no_heading_makes_and_a_line_behind_the_end_are_found(tree, check):
    tree(
        {
            "docs/guide.md": "# The *first* `step`\n\n<a id='two'></a>\n## Über uns!\n",
            "src/a_long_name.py": "x = 1\ny = 2\n",
        }
    )
    tree({
        "AGENTS.md": "[a](docs/guide.md#the-first-step) [b](docs/guide.md#two) [c](docs/guide.md#%C3%BCber-uns) [d](docs/guide.md#uber)\n"
        "`src/a_long_name.py:2` and `src/a_long_name.py:30`\n"
    })  # fmt: skip
    assert [(place, said) for place, said, _, _, sure in check() if sure] == [
        ("AGENTS.md:1", "docs/guide.md#uber"),
        ("AGENTS.md:2", "src/a_long_name.py:30"),
    ]


def test_the_doctor_and_the_scan_of_a_new_repository_say_it_in_one_line(repo, tree):
    tree({"AGENTS.md": "[guide](docs/guide.md)\n[more](docs/more.md)\n"})
    notes = [
        one for one in memsync("doctor", "--json", cwd=repo.root).json["findings"] if one["where"] == "instructions"
    ]
    assert len(notes) == 1
    assert "AGENTS.md:1 says `docs/guide.md`: no such file, and 1 more line" in notes[0]["what"]
    assert "AGENTS.md:1 says `docs/guide.md`" in memsync("memory", "init", "--no-llm", "--dry-run", cwd=repo.root).out


def test_a_commit_that_takes_a_file_away_says_which_lines_name_it_and_goes_on(repo, tree):
    tree(
        {
            "src/pay.py": "x = 'long enough to be known again'\n",
            "AGENTS.md": "See `src/pay.py`.\nAnd [x](docs/none.md).\n",
        }
    )
    assert memsync("git", "install", cwd=repo.root).code == 0
    repo.git("mv", "src/pay.py", "src/payment.py")
    done = subprocess.run(
        ["git", "commit", "-q", "-m", "move"], cwd=repo.root, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0
    assert "memsync: AGENTS.md:1: `src/pay.py`: moved to src/payment.py; since this commit" in done.stderr
    assert "docs/none.md" not in done.stderr
    (repo.root / "AGENTS.md").write_text("See `src/payment.py`.\nAnd [x](docs/nothing.md).\n")
    done = subprocess.run(["git", "commit", "-qam", "say"], cwd=repo.root, capture_output=True, text=True, check=False)
    assert (done.returncode, "docs/nothing.md" in done.stderr) == (0, True)
    (repo.root / "README").write_text("another\n")
    assert (
        subprocess.run(
            ["git", "commit", "-qam", "more"], cwd=repo.root, capture_output=True, text=True, check=False
        ).stderr
        == ""
    )


def test_versions_that_the_files_exclude_are_found_with_the_commit_and_the_number_to_write(repo, tree, check):
    tree({
        "pyproject.toml": '[project]\nname = "shop"\nrequires-python = ">=3.9"\ndependencies = ["django>=4.2,<5"]\n',
        "package.json": '{"engines": {"node": ">=18"}, "dependencies": {"next": "^14.1.0", "react": "18.2.0"}, "packageManager": "pnpm@9.1.0"}',
        "go.mod": "module shop\n\ngo 1.21\n", "Cargo.toml": '[package]\nrust-version = "1.75"\n[dependencies]\naxum = "0.7"\n',
        "compose.yaml": "services:\n  db:\n    image: postgres:15\n",
        ".github/workflows/ci.yml": "jobs:\n  test:\n    strategy:\n      matrix:\n        ruby-version:\n          - '3.2'\n          - '3.3'\n",
    })  # fmt: skip
    true = "Python 3.9+, Django 4.2, Node 18, Next.js 14, React 18.2, Go 1.22, Rust 1.75+, Axum 0.7, pnpm 9, PostgreSQL 15, Ruby 3.3\n"
    tree({"AGENTS.md": true})
    assert check() == []
    text = (repo.root / "pyproject.toml").read_text().replace("3.9", "3.11")
    since = tree({"pyproject.toml": text, "compose.yaml": "services:\n  db:\n    image: postgres:17\n"})
    tree({
        "AGENTS.md": "- **Python**: 3.9+, Node.js 16, PostgreSQL 15\n| Next.js | 13.x |\nReact 17 components are gone\nUse Django 3 or Ruby 3.1, not Go 1.20\n"
        "Moved from Python 3.8 to 3.11\nReact 18 tests, Rust 2 years, axum 12 times, Node 20+, Python 3.11 and 3.12\n"
    })  # fmt: skip
    assert check() == [
        ("AGENTS.md:1", "Python**: 3.9+", "Python**: 3.11+", since, True),
        ("AGENTS.md:1", "Node.js 16", "Node.js 18", None, True),
        ("AGENTS.md:1", "PostgreSQL 15", "PostgreSQL 17", since, True),
        ("AGENTS.md:2", "Next.js | 13.x", "Next.js | 14.x", None, True),
        ("AGENTS.md:4", "Ruby 3.1", None, None, True),
    ]


def test_a_file_that_a_line_names_is_the_one_that_says_the_version(tree, check):
    tree(
        {
            "go.mod": "module x\n\ngo 1.22.3\n",
            "Dockerfile": "FROM golang:1.22.9-alpine\n",
            ".github/workflows/a.yml": "uses: acme/do-lint@v9\n",
        }
    )
    tree({
        "AGENTS.md": "- **Dockerfile:** golang:1.22.4-alpine\n- **go.mod**: Go 1.22.3\n- do-lint v6\n- Rust. 40+ crates, HTTP (v3), Go 1.22\n"
    })  # fmt: skip
    assert check() == [
        ("AGENTS.md:1", "golang:1.22.4-alpine", "golang:1.22.9-alpine", None, True),
        ("AGENTS.md:3", "do-lint v6", "do-lint v9", None, True),
    ]


def test_a_pattern_that_finds_nothing_any_more_and_other_capitals_are_found(tree, check):
    tree({"testing/all.case": "x\n", "testing/system/a.case": "y\n", "docs/Guide/Pay.md": "# Pay\n", "src/a.py": "x\n"})
    (tree.root / "testing" / "all.case").unlink()
    since = tree({})
    tree(
        {
            "AGENTS.md": "Cases are in `testing/*.case`, `testing/**/*.case`, `src/*.py`, `testing/*.log`\nSee `docs/guide/Pay.md`\n"
        }
    )
    assert check() == [
        ("AGENTS.md:1", "testing/*.case", None, since, True),
        ("AGENTS.md:2", "docs/guide/Pay.md", "docs/Guide/Pay.md", None, True),
    ]


def test_a_pattern_of_what_comes_and_goes_and_what_is_history_are_not_findings(tree, check):
    for name in ("a", "b"):
        tree({f"changes/{name}.note": "x\n", "changes/README.md": "y\n"})
        (tree.root / "changes" / f"{name}.note").unlink()
    tree({"AGENTS.md": "Describe it in `changes/*.note`, historically in `changes/a.note`\n"})
    assert check() == []


def test_a_number_behind_two_words_may_be_of_the_last_one_alone_and_a_snapshot_is_of_another_project(tree, check):
    tree({"package.json": '{"dependencies": {"@acme/material": "^17.1.0", "react": "^18.2.0"}}'})
    tree({"AGENTS.md": "Acme Material 3, not Acme Material 16.2\nAcme Material 16.2, React 17\n"})
    tree({f"docs/snapshots/{'0a' * 20}/AGENTS.md": "React 17\n", "docs/upstream-snapshots/CLAUDE.md": "React 17\n"})
    assert [(said, now, sure) for _, said, now, _, sure in check()] == [
        ("Material 3", "Material 17", False),
        ("Material 16.2", "Material 17.1", True),
        ("React 17", "React 18", True),
    ]


def test_ports_and_variables_that_a_file_had_and_lost_are_found(tree, check):
    tree({"compose.yaml": "services:\n  web:\n    ports: ['8081:80']\n", ".env.example": "SHOP_DB_URL=x\nSHOP_KEY=y\n"})
    since = tree({"compose.yaml": "services:\n  web:\n    ports: ['9090:80']\n", ".env.example": "SHOP_KEY=y\n"})
    tree({
        "AGENTS.md": "The desk is on http://localhost:8081, the metrics on port 9090, vite's on port 5173.\n"
        "Set `SHOP_DB_URL` and `SHOP_KEY`, `AWS_REGION` is yours.\nNever set `SHOP_DB_URL`.\n"
    })  # fmt: skip
    assert check() == [("AGENTS.md:1", "8081", None, since, True), ("AGENTS.md:2", "SHOP_DB_URL", None, since, True)]


def test_more_runners_are_known_and_packages_are_installed_by_the_program_that_locks_them(tree, check):
    tree({
        "tox.ini": "[tox]\nenvlist = lint, py312\n[testenv:docs]\n", "noxfile.py": "import nox\n\ndef tests(session):\n    pass\n",
        "pyproject.toml": '[project.scripts]\nshop = "shop:main"\n[tool.poe.tasks]\nfmt = "x"\n[tool.pdm.scripts]\nserve = "x"\n[tool.hatch.envs.dev.scripts]\nrun = "x"\n',
        "crates/pay/Cargo.toml": '[package]\nname = "shop-pay"\n', "deno.json": '{"tasks": {"dev": "x"}}', "composer.json": '{"scripts": {"qa": "x"}}',
        "pnpm-lock.yaml": "x: 1\n", "web/package.json": '{\n  "name": "@shop/web"\n}', "web/yarn.lock": "x\n", "package-lock.json": "{}\n",
    })  # fmt: skip
    (tree.root / "package-lock.json").unlink()
    since = tree({})
    right = [
        "tox -e docs,lint", "tox -e py311", "nox -s tests", "uv run poe fmt", "poe fmt", "cargo test -p shop-pay", "deno task dev", "composer run qa",
        "pnpm --filter web build", "pnpm --filter @shop/web add x", "hatch run dev:run", "uv run pytest", "uv run shop", "pnpm install", "cd web && yarn install", "cargo build",
    ]  # fmt: skip
    wrong = [
        "tox -e style", "nox -s lint", "uv run poe lint", "cargo run -p shop-cart", "deno task start", "composer run lint",
        "pnpm --filter @shop/api build", "hatch run prod:run", "npm install",
    ]  # fmt: skip
    tree({"AGENTS.md": "```sh\n" + "\n".join(right + wrong) + "\n```\nNever `npm install`, and not `npm ci`.\n"})
    assert [said for _, said, _, _, sure in check() if sure] == wrong
    assert check()[-1][2:4] == ("pnpm install", since)


def test_an_agent_a_skill_or_a_command_that_was_taken_away_is_found(tree, check):
    tree(
        {
            f".claude/{name}.md": "x\n"
            for name in ("agents/code-reviewer", "agents/reader", "commands/ship-it", "skills/pay-out/SKILL")
        }
    )
    tree({".claude/agents/db-helper.md": "# Helps\n"})
    for name in ("agents/code-reviewer.md", "agents/reader.md", "commands/ship-it.md", "skills/pay-out/SKILL.md"):
        (tree.root / ".claude" / name).unlink()
    since = tree({})
    tree({
        "CLAUDE.md": "Ask the `code-reviewer` agent or `db-helper`, then run `/ship-it`.\nThe `pay-out` skill pays, `no-such` agents never were.\n"
        "The value is `code-reviewer`, a `reader` reads, ask the `reader` agent.\n"
    })  # fmt: skip
    assert check() == [
        ("CLAUDE.md:1", "code-reviewer", None, since, True),
        ("CLAUDE.md:1", "/ship-it", None, since, True),
        ("CLAUDE.md:2", "pay-out", None, since, True),
        ("CLAUDE.md:3", "reader", None, since, True),
    ]


def test_two_files_that_say_another_number_of_the_same_are_perhaps_wrong(repo, tree, check, line):
    tree({"AGENTS.md": "- Lines have at most 100 characters\n", "CLAUDE.md": "1. Lines have at most 88 characters.\n"})
    repo.write_memories(line("mm-aaaaaa", "Lines have at most 120 characters"))
    assert check() == [
        ("CLAUDE.md:1", "88", None, None, False),
        (".gobby/memories.jsonl:1", "120", None, None, False),
    ]
    assert "CLAUDE.md:1: perhaps `88`: AGENTS.md:1 says 100" in memsync("check", cwd=repo.root).out


def test_a_file_that_cannot_be_read_is_named_with_what_to_do(repo, tree, tmp_path):
    (repo.root / "GEMINI.md").write_bytes(b"fine\nnot \xff utf-8\n")
    (repo.root / "AGENTS.md").write_text("x" * 500_000)
    (repo.root / "guide.md").write_text("[x](docs/no.md)\n")
    (repo.root / "CLAUDE.md").symlink_to("guide.md")
    (tmp_path / "outside.md").write_text("[x](docs/out.md)\n")
    (repo.root / "QWEN.md").symlink_to(tmp_path / "outside.md")
    done = memsync("check", "--json", cwd=repo.root)
    assert done.code == 1
    assert "memsync: GEMINI.md:2: not UTF-8; save it as UTF-8\n" in done.err
    assert "memsync: AGENTS.md: not read, because it is too large" in done.err
    assert [one["file"] for one in done.json["findings"]] == ["guide.md"]
    alone = memsync("check", "GEMINI.md", cwd=repo.root)
    assert (alone.code, alone.out) == (1, "what could be read is so\n")
    os.mkfifo(repo.root / "pipe.md")
    assert memsync("check", "pipe.md", cwd=repo.root).code == 2


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")
def test_a_pipe_or_a_folder_in_place_of_an_instruction_file_is_named(repo):
    os.mkfifo(repo.root / "CLAUDE.md")
    (repo.root / "AGENTS.md").mkdir()
    for words in (("check",), ("doctor",)):
        done = memsync(*words, cwd=repo.root)
        for name in ("CLAUDE.md", "AGENTS.md"):
            assert f"{name}: not a regular file, so no agent reads it; move it away" in done.out + done.err


def test_a_site_may_have_its_root_in_any_folder_above_and_a_link_backslashes(tree, check):
    tree({
        "web/static/skills/pay/SKILL.md": "[a](/skills/pay/how.md) [b](/skills/pay/none.md) [c](sub\\how.md) [d](sub\\none.md)\n",
        "web/static/skills/pay/how.md": "# How\n", "web/static/skills/pay/sub/how.md": "# How\n",
    })  # fmt: skip
    assert check() == [
        ("web/static/skills/pay/SKILL.md:1", "/skills/pay/none.md", None, None, False),
        ("web/static/skills/pay/SKILL.md:1", "sub\\none.md", None, None, True),
    ]


def test_a_folder_that_a_line_calls_one_must_be_there(tree, check):
    tree({"AGENTS.md": "Read all of the `rules/` directory first, `words/` is a word.\n"})
    assert check() == [("AGENTS.md:1", "rules/", None, None, False)]


def test_how_many_lines_the_only_file_of_a_line_is_said_to_have_is_counted(tree, check):
    tree({
        "src/app.py": "x = 1\n" * 50, "src/web.py": "x = 1\n",
        "CLAUDE.md": "- `src/app.py` (2,000+ lines)\n- `src/app.py` (~48 lines)\n- `src/app.py`: at most 20 lines\n- `src/app.py` (30+ lines)\n"
        "- `src/app.py` (30 lines)\n- `src/app.py` and `src/web.py`, 30 lines\n",
    })  # fmt: skip
    assert check() == [
        ("CLAUDE.md:1", "2,000+ lines", None, None, False),
        ("CLAUDE.md:5", "30 lines", None, None, False),
    ]


def test_the_doctor_names_every_instruction_file_that_cannot_be_read(repo, tree):
    tree({"AGENTS.md": "# Shop\n"})
    (repo.root / "web").mkdir()
    (repo.root / "web/CLAUDE.md").write_bytes(b"fine\nnot \xff utf-8\n")
    found = [
        one for one in memsync("doctor", "--json", cwd=repo.root).json["findings"] if one["where"] == "instructions"
    ]
    assert [one["what"] for one in found] == ["web/CLAUDE.md:2: not UTF-8; save it as UTF-8"]


def test_what_the_code_makes_what_is_kept_elsewhere_and_what_a_tool_makes_on_demand_is_never_surely_wrong(tree, check):
    tree(
        {
            "caches/one.json": "{}\n",
            "plugin/a.lua": "return 1\n",
            "pictures/a.txt": "a\n",
            "run.py": 'CACHE = os.path.join("caches", "one.json")\n',
        }
    )
    for folder in ("caches", "plugin", "pictures"):
        shutil.rmtree(tree.root / folder)
    tree(
        {
            "CLAUDE.md": "@AGENTS.md\nData is in the `caches/` folder, pictures are in `pictures/`.\n\n## Yours (NOT in git)\n\n- `plugin/`: your own\n"
        }
    )
    assert [(place, said, sure) for place, said, *_, sure in check()] == [
        ("CLAUDE.md:1", "AGENTS.md", False), ("CLAUDE.md:2", "caches/", False),
        ("CLAUDE.md:2", "pictures/", True), ("CLAUDE.md:6", "plugin/", False),
    ]  # fmt: skip


def test_names_that_no_code_has_are_perhaps_wrong_of_a_class_or_in_a_list_of_this_code(tree, check):
    tree({"src/pay.py": "class Mode(Enum):\n    FAST = 1\n\n\ndef usePay():\n    pass\n\n\ndef useCart():\n    pass\n"})
    tree({
        "AGENTS.md": "Modes are `Mode.FAST` and `Mode.SLOW`, and `Other.SLOW` of a library.\nHooks: `usePay`, `useShop` and `useCart`; `useEffect` is of React.\n"
        "Names of React: `useMemo`, `useRef`, `useId`.\nAn example is `Mode.SOME`.\n```python\nrun(mode=Mode.SLOW)\n```\n",
        ".claude/skills/pay/SKILL.md": "Write `Mode.SLOWER`.\n",
    })  # fmt: skip
    assert check() == [
        ("AGENTS.md:1", "Mode.SLOW", None, None, False),
        ("AGENTS.md:2", "useShop", None, None, False),
        ("AGENTS.md:6", "Mode.SLOW", None, None, False),
    ]


def test_a_file_to_which_a_line_sends_one_a_hidden_folder_and_the_same_path_again_are_perhaps_wrong(tree, check):
    tree({".agents/skills/go/SKILL.md": "# Go\n", "src/a.py": "a = 1\n" * 11, "tools/x.py": "x = 1\n"})
    tree({
        "AGENTS.md": "Rules are in `skills/go/SKILL.md`; of the `.agents` folder `skills/go/SKILL.md`.\nSee `biome.json`. It prints `other.json`.\n",
        "CLAUDE.md": "Read `skills/go/SKILL.md` and the `vibe/` directory.\nAll of `vibe/` is law, it creates `vibe/`.\n`src/a.py`: the code (12+ lines)\n",
    })  # fmt: skip
    assert check() == [
        ("AGENTS.md:2", "biome.json", None, None, False),
        ("CLAUDE.md:1", "skills/go/SKILL.md", ".agents/skills/go/SKILL.md", None, False),
        ("CLAUDE.md:1", "vibe/", None, None, False),
        ("CLAUDE.md:2", "vibe/", None, None, False),
        ("CLAUDE.md:3", "12+ lines", None, None, False),
    ]


def test_a_path_that_was_here_is_perhaps_wrong_though_another_ends_so(repo, tree, check):
    code = "def pay():\n    return 'a long enough text to be known again'\n"
    tree({"src/pay.py": code, "docs/en/a.md": "# A\n", "docs/en/b.md": "# B\n", "lock/test_note.py": "n = 1\n"})
    (repo.root / "apps/shop").mkdir(parents=True)
    for old, new in (("src", "apps/shop/src"), ("docs", "apps/docs"), ("lock/test_note.py", "apps/test_note.py")):
        repo.git("mv", old, new)
    since = tree({"lock/test_lock.py": "n = 2\n"})
    tree({
        "AGENTS.md": "Money is in `src/pay.py`, pages are in `docs/*/a.md`; of `shop/src/pay.py` nothing is said.\n"
        "```sh\ncd lock\npython -m pytest test_lock.py test_note.py\n```\n",
        ".claude/skills/pay/SKILL.md": "Read `src/pay.py`.\n",
    })  # fmt: skip
    assert check() == [
        ("AGENTS.md:1", "src/pay.py", "apps/shop/src/pay.py", since, False),
        ("AGENTS.md:1", "docs/*/a.md", "apps/docs/*/a.md", since, False),
        ("AGENTS.md:4", "test_note.py", "apps/test_note.py", since, False),
    ]


def test_a_sentence_over_several_lines_is_read_as_one_and_a_skill_speaks_of_all_repositories(tree, check):
    tree({"src/old.py": "a = 1\n", "eslint.config.mjs": "export default []\n"})
    (tree.root / "src/old.py").unlink()
    since = tree({"src/new.py": "b = 2\n"})
    text = "The sum was in\n`src/old.py`, a file that\nwas removed. All is in\n`src/new.py`.\n- It was removed\n- `src/old.py` is it\n"
    tree({"AGENTS.md": text, ".claude/skills/js/SKILL.md": "The file is `eslint.config.js`.\n"})
    assert check() == [
        (".claude/skills/js/SKILL.md:1", "eslint.config.js", "eslint.config.mjs", None, False),
        ("AGENTS.md:6", "src/old.py", None, since, True),
    ]


def test_a_path_of_windows_a_name_almost_right_and_a_file_that_changed_its_ending_are_found(repo, tree, check):
    tree(
        {
            "src/pay.py": "def pay_all():\n    pass\n\n\ndef keep():\n    return [1, 2, 3, 4, 5]\n",
            "docs/tasks.md": "# Tasks\n",
        }
    )
    tree({"format.config.js": "export default {}\n", "package.json": '{"scripts": {"quality": "x", "init": "y"}}\n'})
    for old, new in (("src/pay.py", "src/money.py"), ("format.config.js", "format.config.ts")):
        repo.git("mv", old, new)
    (repo.root / "format.config.ts").write_text("const all: Config = { semi: false, width: 120 }\nexport default all\n")
    code = (repo.root / "src/money.py").read_text().replace("pay_all", "pay")
    since = tree({"src/money.py": code, "package.json": '{"scripts": {"build": "z"}}\n'})
    tree({
        "AGENTS.md": "Money is in `src\\pay.py`, in `src\\money.py` and `App\\Models\\User`.\nTasks are in `docs/task.md`.\n"
        "Style: `format.config.js`\nCall `pay_all()` of `src/money.py`.\nRun `pnpm quality`, `pnpm vitest` and `pnpm init`.\n",
    })  # fmt: skip
    assert check() == [
        ("AGENTS.md:1", "src\\pay.py", "src\\money.py", since, True),
        ("AGENTS.md:2", "docs/task.md", "docs/tasks.md", None, True),
        ("AGENTS.md:3", "format.config.js", "format.config.ts", since, True),
        ("AGENTS.md:4", "pay_all()", None, since, True),
        ("AGENTS.md:5", "pnpm quality", None, since, False),
    ]


def test_what_is_shown_in_code_an_example_on_the_line_before_and_what_is_gone_in_any_language_is_no_finding(
    tree, check
):
    tree({"pay.py": "a = 1\n", "sub/CONTRIBUTING.md": "# Contribute\n"})
    (tree.root / "pay.py").unlink()
    tree({
        "AGENTS.md": "Links are relative: `[churn](./churn.md)`.\nLinks go to files beside, e.g.\n[jobs](../jobs/store.md) for jobs.\n"
        "`pay.py` \u5df2\u5220\u9664\n\n~~`pay.py`~~\n\n## Query \u5df2\u5220\u9664\n\n`pay.py`\n",
        "sub/.github/copilot-instructions.md": "See [how](CONTRIBUTING.md).\n",
    })  # fmt: skip
    assert check() == []

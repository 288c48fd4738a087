"""What a line for a shell runs, and which commands an anchor means."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memsync.memories import commands


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("git push --force", [("git", "push", "--force")]),
        ("cd x && FOO=1 sudo -n git push; ls", [("cd", "x"), ("git", "push"), ("ls",)]),
        ("uv run python -m pytest -q", [("pytest", "-q")]),
        ("bundle exec rspec 'a b' | tee \"c d\"", [("rspec", "a b"), ("tee", "c d")]),
        ("./gradlew test > out.txt 2>&1", [("gradlew", "test", "out.txt", "2"), ("1",)]),
        ("cat > f <<EOF\nrm -rf /\nEOF", [("cat", "f", "EOF")]),
        ("A=b", []),
        ("'unclosed", [("unclosed",)]),
    ],
)
def test_a_line_is_taken_apart_into_what_it_runs(line, found):
    assert [words for words in map(commands.strip, commands.split(line)) if words] == found


@pytest.mark.parametrize(
    ("wanted", "line", "does"),
    [
        ("git push", "git push origin main", True),
        ("git push", "git -C x push", True),
        ("git push --force", "git push origin", False),
        ("git push --force", "git push origin main --force", True),
        ("make up", "make test", False),
        ("rails db:drop", "bin/rails db:drop db:create", True),
        ("bin/console cache:clear", "bin/console cache:clear --env=prod", True),
        ("git push", "echo git push", False),
        ("gitk", "git push", False),
    ],
)
def test_an_anchor_means_a_command_with_all_of_its_words_in_order(wanted, line, does):
    words, (call,) = commands.strip(wanted.split()), map(commands.strip, commands.split(line))
    assert commands.fits(words, call) is does
    assert not does or commands.key(words) in commands.keys(call)  # else the lookup file would hide it


@given(st.text(max_size=300))
def test_no_line_breaks_it(line):
    for words in filter(None, map(commands.strip, commands.split(line))):
        assert commands.keys(words)
    commands.paths(line)


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("sed -i 's/a/b/' src/a.py", ["s/a/b/", "src/a.py"]),
        ("sed -n 1p src/a.py", []),
        ("cat src/a.py", []),
        ("echo x > out/b.txt", ["out/b.txt"]),
        ("bash scripts/run.sh --all", ["scripts/run.sh"]),
        ("bin/reindex --all", ["bin/reindex"]),
        ("git rm old.py && git add new.py", ["old.py"]),
    ],
)
def test_the_files_of_a_line_are_those_that_it_changes_or_runs(line, found):
    assert commands.paths(line) == found

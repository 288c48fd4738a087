"""What fingers type is understood: short names, texts without quotes, what was meant by a word that is no command."""

from __future__ import annotations

import click
import pytest
from click.testing import CliRunner

from memsync.cli.app import cli, command, run
from memsync.cli.words import ALIASES, EVERY_DAY, MEANT, suggest


def find(words: str) -> click.Command:
    command: click.Command = cli
    for word in words.split():
        if word.startswith("--"):
            assert word in {option for param in command.params for option in param.opts}
            continue
        assert isinstance(command, click.Group)
        found = command.get_command(click.Context(command), word)
        assert found is not None, words
        command = found
    return command


@pytest.fixture
def say(repo, monkeypatch):
    monkeypatch.chdir(repo.root)

    def run(*words, code=0):
        done = CliRunner().invoke(cli, list(words))
        assert done.exit_code == code, done.output
        return done.output

    return run


def test_the_commands_of_every_day_need_no_group_and_are_the_same_as_with_one():
    assert [find(f"memory {name}") is find(name) for name in EVERY_DAY.split()] == [True] * len(EVERY_DAY.split())


def test_each_other_name_is_one_of_a_command():
    assert all(find(f"memory {name}") is find(path) for name, path in ALIASES.items())


def test_each_meaning_is_a_command_and_no_word_of_it_is_one_already():
    assert all(find(meant) for meant in MEANT.values())
    taken = {*cli.list_commands(click.Context(cli)), *ALIASES, *EVERY_DAY.split()}
    assert {*MEANT} & taken == set()


@pytest.mark.parametrize("word", ["getr", "delite-it", "regret", "forward"])
def test_a_far_word_never_suggests_what_takes_something_away(word):
    assert suggest(word, [*ALIASES, *EVERY_DAY.split(), "forget", "uninstall"]) not in (
        "forget",
        "rm",
        "delete",
        "uninstall",
    )


@pytest.mark.parametrize(
    ("word", "meant"), [("foget", "forget"), ("recal", "recall"), ("remove", "rm"), ("save", "remember")]
)
def test_a_slip_and_another_word_suggest_what_was_meant(word, meant):
    assert suggest(word, [*ALIASES, *EVERY_DAY.split(), "forget"]) == meant


@pytest.mark.parametrize(
    "words",
    [
        ["always", "use", "uv"],
        ["- always use uv"],
        ["--- a rule\nwith lines"],
        ["-n is the dry run of rsync", "--tag", "rsync"],
        ["--cue", "- why is it -n?", "--tag=a b", "rsync", "takes", "-"],
    ],
)
def test_words_are_joined_and_what_begins_with_a_dash_and_has_a_blank_is_text(say, words):
    tags, text = words.index("--tag") if "--tag" in words else len(words), [w for w in words if w != "--tag=a b"]
    said = " ".join(text[2:] if text[0] == "--cue" else words[:tags])
    say("remember", *words)
    assert say("list", "--format", "{content}").strip() == " ".join(said.split())


def test_an_option_that_is_none_is_refused_with_what_to_do_about_it(say):
    assert "quotes" in say("remember", "never", "use", "--force", code=2)


def test_since_takes_spans_days_and_revisions(say, repo):
    say("remember", "the API listens on 8081")
    repo.git("add", "-A")
    repo.git("commit", "-qm", "begin", "--date=2001-01-01T00:00:00Z")
    repo.git("tag", "early")
    repo.git("commit", "-q", "--allow-empty", "-m", "next", "--date=2090-01-01T00:00:00Z")
    for since in ("1week", "1 week", "7d", "2 weeks ago", "yesterday", "2020-01-31", "week", "early"):
        assert "8081" in say("list", "--since", since), since
    assert "no memories" in say("list", "--since", "2100-01-01")
    assert "no memories" in say("list", "--since", "HEAD")


def test_what_was_written_before_a_question_was_stopped_is_what_undo_takes_back(say):
    @click.group()
    def group() -> None: ...

    @command(group)
    def half(project, /):
        project.remember("the second")
        raise click.Abort

    say("remember", "the first")
    assert CliRunner().invoke(group, ["half"]).exit_code == 1
    assert "the second" in say("undo")
    assert "the first" in say("undo")


def test_a_setting_is_unset_and_many_are_edited_in_the_editor(say, monkeypatch):
    say("config", "set", "memory.recall_limit", "3")
    assert say("config", "get", "memory.recall_limit") == "3\n"
    monkeypatch.setenv("EDITOR", "sed -i s/3/4/")
    say("config", "edit")
    assert say("config", "get", "memory.recall_limit") == "4\n"
    say("config", "unset", "memory.recall_limit")
    assert say("config", "get", "memory.recall_limit") == "15\n"


def test_two_tags_that_became_one_are_two_again_after_undo(say):
    say("remember", "one", "--tag", "k8s")
    say("remember", "two", "--tag", "kubernetes")
    say("tags", "rename", "k8s", "kubernetes")
    assert "2 kubernetes" in say("tags")
    say("undo")
    assert say("tags").split() == ["1", "k8s", "1", "kubernetes"]


@pytest.mark.parametrize(
    ("words", "advice"),
    [
        ("forgt", "did you mean `memsync forget`?"),
        ("update uv --tag +tools", "tags add tools is for one of them"),
    ],
)
def test_a_slip_is_understood_and_nothing_is_changed(words, advice, repo, monkeypatch, capsys):
    monkeypatch.chdir(repo.root)
    assert run(["remember", "Use uv"]) == 0
    assert run(words.split()) == 2
    assert advice in capsys.readouterr().err

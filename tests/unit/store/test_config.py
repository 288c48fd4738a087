"""Settings: which file says so, what is refused, and what a stored setting leaves alone."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from memsync.errors import ConfigError, StoreNotWritable
from memsync.store.config import Loaded, load, store
from memsync.store.files import make_local
from memsync.store.places import Layout, Place, locate
from memsync.store.settings import KEYS, Settings, describe, get, parse_value


@pytest.fixture
def layout(tmp_path: Path, home: Path) -> Layout:
    """Return a project outside git, with directories for the settings of all three places."""
    (tmp_path / "project").mkdir()
    layout = locate(tmp_path / "project", {})
    for place in (layout.project, layout.global_, layout.private):
        place.directory.mkdir(parents=True)
    return layout


def write(place: Place, text: str) -> Place:
    place.config.write_text(text)
    return place


def stored(place: Place, key: str, value: object) -> str:
    make_local(place.local, private=False)
    store(place, key, value)
    return place.config.read_text()


def test_without_files_the_defaults_are_in_force(layout):
    assert load(layout) == Loaded(Settings(), {}, ())


@pytest.mark.parametrize("text", ["", "\n", "# only a comment\n", "---\n", "{}\n", "memory:\n", "\ufeffmemory: {}\n"])
def test_a_file_that_says_nothing_says_nothing(layout, text):
    write(layout.project, text)
    assert load(layout).settings == Settings()


def test_the_project_wins_over_the_user_and_its_private_settings_over_both(layout):
    write(layout.global_, "memory: {recall_limit: 1, decay_rate: 0.1, author: me}\n")
    write(layout.project, "memory: {recall_limit: 2, decay_rate: 0.2}\n")
    write(layout.private, "memory: {recall_limit: 3}\n")
    loaded = load(layout)
    assert loaded.settings == Settings(recall_limit=3, decay_rate=0.2, author="me")
    assert loaded.sources == {
        "memory.recall_limit": layout.private.config,
        "memory.decay_rate": layout.project.config,
        "memory.author": layout.global_.config,
    }


@pytest.mark.parametrize(
    "text",
    [
        "memory:\n  recall_limit: 7\n",
        "memory.recall_limit: 7\n",
        "agent:\n  memory_recall_limit: 7\n",
        "memory: {recall_limit: '7'}\n",
        "memory:\r\n  recall_limit: 7\r\n",
    ],
)
def test_a_setting_is_read_in_every_spelling(layout, text):
    write(layout.project, text)
    assert load(layout).settings == Settings(recall_limit=7)


def test_an_unknown_setting_is_a_warning_that_names_the_near_miss(layout):
    write(layout.project, "memory: {recal_limit: 7, decay_rate: 0.2}\nother_tool: {colour: blue}\n")
    loaded = load(layout)
    assert loaded.settings == Settings(decay_rate=0.2)
    assert loaded.warnings == (
        f"{layout.project.config}: unknown setting 'memory.recal_limit'; did you mean memory.recall_limit?",
        f"{layout.project.config}: unknown setting 'other_tool.colour'; `memsync config` lists them",
    )


def test_asking_for_an_unknown_setting_is_an_error_that_names_the_near_miss():
    with pytest.raises(ConfigError, match=r"unknown setting 'memory[.]decay'; did you mean memory[.]decay_"):
        get(Settings(), "memory.decay")


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("memory:\n  recall_limit: [\n", "config.yaml:3: not YAML"),
        ("memory:\n\trecall_limit: 7\n", "config.yaml:2: not YAML"),
        ("memory: {a: 1, a: 2}\n", "config.yaml:1: not YAML"),
        ("memory: !!python/object:os.system {}\n", "config.yaml:1: not YAML"),
        ("caf\udce9: 1\n", "config.yaml:1: not YAML"),
        ("a: \x01\n", "config.yaml:1: not YAML"),
        ("a: 2020-13-45\n", "config.yaml"),
        ("a: &x [*x]\n", "config.yaml:1: not YAML"),
        ("? [a]\n: b\n", None),
        ("- a list\n", "config.yaml: not a mapping of settings; fix or remove it"),
        ("just text\n", "config.yaml: not a mapping of settings"),
        ("memory: {recall_limit: many}\n", "config.yaml: memory.recall_limit: 'many' is not a whole number"),
        ("memory: {recall_limit: 0}\n", "config.yaml: memory.recall_limit: 0 is not a number 1 or more"),
        ("memory: {recall_limit: .inf}\n", "config.yaml: memory.recall_limit: inf is not a whole number"),
        ("memory: {decay_rate: 1.5}\n", "config.yaml: memory.decay_rate: 1.5 is not a number from 0 to 1"),
        ("memory: {decay_rate: true}\n", "config.yaml: memory.decay_rate: True is not a number from 0 to 1"),
        ("memory: {stop_words: perhaps}\n", "config.yaml: memory.stop_words: 'perhaps' is not on or off"),
    ],
)
def test_a_file_that_cannot_be_read_is_an_error_with_its_place(layout, text, why):
    layout.global_.config.write_bytes(text.encode("utf-8", "surrogateescape"))
    if why is None:
        assert load(layout).settings == Settings()
        return
    with pytest.raises(ConfigError) as caught:
        load(layout)
    assert why in str(caught.value)


@pytest.mark.parametrize(
    ("key", "value", "parsed"),
    [
        ("memory_sync.stealth", "on", True),
        ("memory_sync.stealth", "No", False),
        ("memory_sync.stealth", True, True),
        ("memory.decay_rate", "0.25", 0.25),
        ("memory.decay_rate", 0, 0.0),
        ("memory.recall_limit", "20", 20),
        ("memory.author", 42, "42"),
        ("memory.author", None, ""),
        ("agent.memory_recall_limit", "20", 20),
    ],
)
def test_a_value_is_turned_into_the_type_of_its_setting(key, value, parsed):
    assert (parse_value(key, value), type(parse_value(key, value))) == (parsed, type(parsed))


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("memory.recall_limit", "1.5"),
        ("memory.recall_limit", 1.5),
        ("memory.recall_limit", float("inf")),
        ("memory.recall_limit", None),
        ("memory.decay_floor", "nan"),
        ("memory.decay_floor", "-0.1"),
        ("memory_sync.stealth", 2),
        ("memory_sync.stealth", None),
    ],
)
def test_a_value_of_the_wrong_kind_is_refused(key, value):
    with pytest.raises(ConfigError, match=key):
        parse_value(key, value)


def test_every_setting_has_a_default_and_says_what_it_does():
    assert {key: (bool(describe(key)), parse_value(key, get(Settings(), key)) is not None) for key in KEYS} == (
        dict.fromkeys(KEYS, (True, True))
    )


def test_a_stored_setting_changes_one_line_and_keeps_comments_order_and_quotes(layout):
    before = (
        "# ours\nother_tool:\n  colour: 'blue'   # do not touch\n\nmemory:\n  # how many\n  recall_limit: 5 # few\n"
        '  author: "me"\nlast: [1, 2]\n'
    )
    write(layout.project, before)
    assert stored(layout.project, "memory.recall_limit", "7") == before.replace("recall_limit: 5", "recall_limit: 7")


def test_a_setting_stored_in_a_file_of_comments_keeps_them(layout):
    write(layout.project, "# nothing set yet\n# ask Ann\n")
    text = stored(layout.project, "memory_sync.stealth", "on")
    assert "# nothing set yet\n# ask Ann\n" in text
    assert load(layout).settings == Settings(stealth=True)


def test_a_setting_is_stored_in_a_file_that_was_missing(layout):
    assert stored(layout.project, "memory_sync.stealth", "on") == "memory_sync:\n  stealth: true\n"


@pytest.mark.parametrize(
    "before",
    [
        "memory:\n  decay_rate: 0.1\nmemory.recall_limit: 5\n",
        "memory:\n  recall_limit: 5\nagent:\n  memory_recall_limit: 6\n",
        "memory:\n",
        "memory: {}\n",
        "\ufeffmemory:\r\n  recall_limit: 5\r\n",
    ],
)
def test_a_stored_setting_is_in_force_whatever_the_file_said_before(layout, before):
    write(layout.project, before)
    stored(layout.project, "memory.recall_limit", 7)
    assert load(layout).settings.recall_limit == 7


def test_a_setting_that_does_not_fit_or_a_file_that_is_broken_stays_as_it_was(layout):
    write(layout.project, "memory: [\n")
    for key, value in (("memory.recall_limit", 7), ("memory.recall_limit", "many"), ("no.such", 1)):
        with pytest.raises(ConfigError):
            stored(layout.project, key, value)
    assert layout.project.config.read_text() == "memory: [\n"


@pytest.mark.parametrize("before", ["", "memory:\n  recall_limit: 5\n"])
def test_a_setting_is_not_stored_over_or_into_what_an_editor_saves_in_the_same_moment(layout, before, monkeypatch):
    """Lines appended to YAML belong to the group above them, so they cannot be taken over."""
    write(layout.project, before)
    saved = before + "  author: me\n" if before else "memory_sync:\n  stealth: false\n"
    really_open = os.open

    def open_late(path: Path, *args: int, **at: int) -> int:
        if Path(path).name == "config.tmp":
            write(layout.project, saved)
        return really_open(path, *args, **at)

    monkeypatch.setattr(os, "open", open_late)
    with pytest.raises(StoreNotWritable, match="changed while it was written; try again"):
        stored(layout.project, "memory_sync.stealth", "on")
    assert layout.project.config.read_text() == saved


def test_settings_that_a_link_takes_out_of_the_repository_are_not_taken(layout, tmp_path):
    (tmp_path / "elsewhere.yaml").write_text("memory: {author: mallory}\n")
    layout.project.config.symlink_to(tmp_path / "elsewhere.yaml")
    loaded = load(layout)
    assert loaded.settings == Settings(stealth=True)  # nobody knows what it would have said
    assert "leads out of the repository" in loaded.unreadable


@pytest.mark.parametrize("value", ["openai:m@https://evil.example/v1", "model2vec:/somewhere"])
def test_a_repository_may_not_choose_where_memories_are_sent(layout, value):
    write(layout.project, f"memory:\n  embedder: '{value}'\n")
    loaded = load(layout)
    assert (loaded.settings.embedder, loaded.sources, len(loaded.warnings)) == ("builtin", {}, 1)
    write(layout.global_, f"memory:\n  embedder: '{value}'\n")
    assert load(layout).settings.embedder == value


@pytest.mark.parametrize("key", [key for key in KEYS if isinstance(get(Settings(), key), float)])
def test_a_setting_that_is_no_whole_number_takes_a_fraction(key):
    assert isinstance(parse_value(key, str(get(Settings(), key) + 0.01)), float)

"""Our server in Codex's config.toml: what the user had comes back byte for byte."""

from __future__ import annotations

import tomllib

import pytest
import tomlkit
from hypothesis import given
from hypothesis import strategies as st

from memsync.clients import facts
from memsync.setup import toml_entries
from memsync.setup.toml_entries import NotToml

OURS = {"command": "memsync", "args": ["mcp"], "startup_timeout_sec": 30}
WANTED = facts.find("codex").files[1].entries
KEYS = st.text(st.characters(codec="utf-8", exclude_categories=["Cs", "Cc"]), min_size=1, max_size=4)
VALUES = st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.text(st.characters(codec="utf-8"), max_size=8)
TABLES = st.dictionaries(KEYS, VALUES, max_size=3)
SERVERS = st.dictionaries(st.sampled_from(["github", "memory"]), TABLES, max_size=2)
USERS = st.fixed_dictionaries({}, optional={"model": VALUES, "projects": TABLES, "mcp_servers": SERVERS, "tui": TABLES})


@st.composite
def texts(draw):
    text = tomlkit.dumps(draw(USERS))
    text += draw(st.sampled_from(["", "\n", "# the end", "# the end\n", "\n[[hooks.Stop]]\nmatcher = '*'"]))
    return text if "\r" in text else text.replace("\n", draw(st.sampled_from(["\n", "\r\n"])))


@given(texts())
def test_taking_our_server_out_gives_back_what_the_user_had(text):
    added = toml_entries.add(text, WANTED)
    assert toml_entries.compare(added, WANTED).present == ["memsync"]
    assert toml_entries.add(added, WANTED) == added
    assert toml_entries.remove(added, WANTED) == text


@given(texts())
def test_putting_our_server_in_keeps_every_byte_and_every_value(text):
    added = toml_entries.add(text, WANTED)
    assert added.startswith(text)
    before, after = tomllib.loads(text), tomllib.loads(added)
    servers = after.pop("mcp_servers")
    assert servers == {**before.pop("mcp_servers", {}), "memsync": OURS}
    assert after == before


def test_servers_in_an_inline_table_get_ours_in_there():
    text = 'a = 1 # one\nmcp_servers = { github = { command = "gh" } }\n[tui]\nx = 1\n'
    added = toml_entries.add(text, WANTED)
    assert tomllib.loads(added)["mcp_servers"].keys() == {"github", "memsync"}
    assert added.startswith('a = 1 # one\nmcp_servers = { github = { command = "gh" }, ')
    assert added.endswith("[tui]\nx = 1\n")
    assert tomllib.loads(toml_entries.remove(added, WANTED)) == tomllib.loads(text)


def test_a_server_with_more_settings_of_the_user_is_taken_out_whole_and_nothing_else():
    text = toml_entries.add("model = 'x' # why\n", WANTED).replace("sec = 30\n", "sec = 60\n\n[tui] # mine\n")
    assert toml_entries.remove(text, WANTED) == "model = 'x' # why\n\n[tui] # mine\n"


def test_a_server_named_memsync_that_is_not_ours_is_left_alone():
    text = '[mcp_servers.memsync]\ncommand = "uvx"\nargs = ["memsync", "mcp"]\n'
    assert toml_entries.add(text, WANTED) == text
    assert toml_entries.remove(text, WANTED) == text


@pytest.mark.parametrize("text", ["model =", "mcp_servers = 1\n", "a = 1\na = 2\n", "[[mcp_servers]]\na = 1\n"])
def test_what_is_no_toml_or_has_no_place_for_a_server_is_refused(text):
    with pytest.raises(NotToml):
        toml_entries.add(text, WANTED)

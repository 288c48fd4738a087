"""A memory is data: nothing that it says is read as a file, or run, by a client that has it in its instructions or from a hook."""

from __future__ import annotations

import json

import pytest

pytestmark = pytest.mark.slow  # real clients, in processes of their own

# What a client may take for a file to read, each with a file of its own.
SPELLINGS = {
    "plain": "The layout is in @./notes/{}.md",
    "bare": "@notes/{}.md has the layout",
    "bold": "The hosts are in **@./notes/{}.md** today",
    "emphasis": "The ports are in _@./notes/{}.md_ today",
    "brackets": "The names are there (@./notes/{}.md)",
    "entity": "The users are in &#64;./notes/{}.md",
    "span": "A tick ` and then @./notes/{}.md opens it",
    "link": "See [the map](./notes/{}.md) first",
    "command": "Run !`cat ./notes/{}.md` or !{{cat ./notes/{}.md}} to see",
    "absolute": "Everything is in @{root}/notes/{}.md",
}


def ask_with_notes(client, kind: str) -> tuple[str, str]:
    """Return what the model of *client* was sent, of whose instructions in a file of *kind* some are pinned memories; and that file."""
    root = client.root
    (root / "notes").mkdir()
    names = [*SPELLINGS, "control", "hooked"]
    for name in names:
        (root / "notes" / f"{name}.md").write_text(f"secret of the {name} file: {name}-marker-7391\n")
    file = root / f"{kind.upper()}.md"
    file.write_text("# A project\n\nRead @./notes/control.md\n")
    assert client.memsync("init", "--agent", f"{kind}-md", "--no-git-hooks").code == 0
    for name, text in SPELLINGS.items():
        said = text.replace("{}", name).replace("{root}", str(root)).replace("{{", "{").replace("}}", "}")
        done = client.memsync("remember", said, "--tag", "pinned", "--importance", "0.9")
        assert done.code == 0, done.err
    client.memsync("remember", "The zebra crossing is described in @./notes/hooked.md", "--importance", "0.9")
    assert client.memsync("sync").code == 0
    client.ask("Where is the zebra crossing described?")
    return json.dumps(client.model.turns, ensure_ascii=False), file.read_text()


@pytest.mark.parametrize(("name", "kind"), [("claude", "claude"), ("gemini", "gemini"), ("qwen", "agents")])
def test_no_memory_imports_a_file_into_what_the_model_is_sent(request, name, kind):
    client = request.getfixturevalue(name)
    sent, block = ask_with_notes(client, kind)
    assert "control-marker-7391" in sent  # the client does read what such a line names
    assert "zebra crossing is described" in sent
    assert [one for one in (*SPELLINGS, "hooked") if f"{one}-marker-7391" in sent] == []
    for spelling in SPELLINGS:
        assert f"notes/{spelling}.md" in block  # still found by who looks for it

"""Laws of SKILL.md edits, for files and values that nobody would think of."""

from __future__ import annotations

import frontmatter
from hypothesis import assume, example, given
from hypothesis import strategies as st

from memsync.errors import InvalidSkill
from memsync.skills import check, file

WORDS = st.text(
    st.characters(codec="utf-8", exclude_categories=("Cc", "Cs", "Zl", "Zp", "Cn", "Co")), min_size=1, max_size=30
)
TEXT = WORDS.map(file.as_text).filter(bool).filter(str.isprintable).filter(lambda text: "#" not in text)
NEWLINE = st.sampled_from(["\n", "\r\n"])
ROWS = st.lists(
    st.sampled_from(
        [
            "license: 'MIT'",
            "# a remark",
            "",
            "allowed-tools: Read  # only",
            'compatibility: "3.11"',
            "metadata:\n  version: '1.10'\n\n  # inner\n  author: me",
            "description: >-\n  folded\n  text",
            "trigger_pattern: a|b",
            "tags: [a,  b]",
        ]
    ),
    unique_by=lambda row: row.split(":")[0],
    max_size=7,
)


@st.composite
def files(draw) -> bytes:
    rows = draw(st.permutations(["name: x", *draw(ROWS)]))
    text = "\n".join(["---", *rows, "---", draw(st.sampled_from(["", "body", "\nbody\n---\nmore\n"]))])
    return (draw(st.sampled_from(["", "\ufeff"])) + text).replace("\n", draw(NEWLINE)).encode()


CHANGES = st.fixed_dictionaries(
    {},
    optional={
        "description": TEXT,
        "trigger_pattern": TEXT,
        "id": TEXT,
        "tags": st.lists(TEXT.filter(lambda t: "," not in t), unique=True, max_size=3).map(tuple),
    },
)


@given(files(), CHANGES)
def test_what_is_set_is_read_back_and_nothing_else_changes(data, changes):
    before, after = file.read(data, "x"), file.read(file.edit(data, changes), "x")
    assert after.problems == ()
    wanted = before.skill._asdict() | changes
    if changes.get("id") is None and "id" in changes:
        wanted["id"] = after.skill.id
    assert after.skill._asdict() == wanted
    old, _ = frontmatter.parse(data.decode("utf-8-sig"))
    new, _ = frontmatter.parse(file.edit(data, changes).decode("utf-8-sig"))
    ours = {"description", "metadata", "tags", "trigger_pattern", "id"}
    assert {k: v for k, v in new.items() if k not in ours} == {k: v for k, v in old.items() if k not in ours}


@given(files(), CHANGES)
def test_comments_line_ends_and_the_end_of_the_file_stay(data, changes):
    new = file.edit(data, changes)
    assert new.count(b"# ") == data.count(b"# ")
    assert new.startswith(b"\xef\xbb\xbf") == data.startswith(b"\xef\xbb\xbf")
    assert (new.count(b"\r\n") == new.count(b"\n")) == (data.count(b"\r\n") == data.count(b"\n"))
    assert new.rpartition(b"---")[2] == data.rpartition(b"---")[2]


@given(files(), CHANGES)
def test_setting_it_twice_is_setting_it_once(data, changes):
    once = file.edit(data, changes)
    assert file.edit(once, changes) == once


@given(st.binary(max_size=200))
@example(b"?")
def test_reading_and_checking_never_fail(data):
    file.read(b"---\n" + data, "x")
    check.check(b"---\n" + data + b"\n---\n", "x")


@given(files())
def test_what_is_mended_is_valid_and_stays_so(data):
    assume(file.read(data, "x").skill.instructions or file.read(data, "x").skill.description)
    mended = check.fix(data, "x")
    assert [problem for problem in check.check(mended, "x") if not problem.harmless] == []
    assert check.fix(mended, "x") == mended
    before, after = file.read(data, "x").skill, file.read(mended, "x").skill
    assert (before.tags, before.trigger_pattern, before.instructions) == (
        after.tags,
        after.trigger_pattern,
        after.instructions,
    )


@given(st.binary(max_size=120))
def test_mending_refuses_or_makes_valid(data):
    try:
        mended = check.fix(b"---\nname: x\n" + data + b"\n---\ntext\n", "x")
    except InvalidSkill:
        return
    assert file.read(mended, "x").problems == ()

"""The demo shows what it says, up to the memory that an agent is given."""

from __future__ import annotations

from memsync.setup.demo import tell


def test_the_story_ends_with_an_agent_that_is_given_what_the_first_session_learned():
    *_, heading, last = tell()
    assert heading.startswith("# The next session")
    assert "CI needs Node 20" in last

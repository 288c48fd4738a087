"""The comment on a pull request: what a memory says is escaped once, and by nothing twice."""

from __future__ import annotations

from helpers import memory_line, memsync


def test_a_tag_of_html_is_escaped_once(repo):
    repo.write_memories(memory_line("mm-aaaaaa", "one"))
    repo.git("add", "-A")
    repo.git("commit", "-q", "-m", "a")
    text = "fish & <b>chips</b> &amp; peas"
    repo.write_memories(memory_line("mm-aaaaaa", "one") + memory_line("mm-aaaaab", text, tags=["<img src=y>"]))
    repo.git("add", "-A")
    repo.git("commit", "-q", "-m", "b")
    said = memsync("diff", "HEAD~1...HEAD", "--markdown", cwd=repo.root).out
    assert "&lt;img src=y" in said
    assert "&amp;lt;" not in said
    assert r"fish &amp; \<b\>chips\</b\> &amp;amp; peas" in said


def test_what_was_made_private_since_is_no_removal_that_the_comment_shows(repo):
    repo.write_memories(
        memory_line("mm-aaaaaa", "the zebra contract ends") + memory_line("mm-aaaaab", "CI needs Node 18")
    )
    repo.git("add", "-A")
    repo.git("commit", "-q", "-m", "a")
    memsync("unshare", "mm-aaaaaa", cwd=repo.root)
    memsync("forget", "mm-aaaaab", cwd=repo.root)
    said = memsync("diff", "--markdown", cwd=repo.root).out
    assert "CI needs Node 18" in said
    assert "zebra" not in said

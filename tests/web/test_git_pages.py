"""The pages about git: what this branch teaches, staged or taken back, and what commits did to the memories."""

from __future__ import annotations

import tracemalloc

import pytest

from memsync import Memsync
from memsync.web import branch


@pytest.fixture(autouse=True)
def patient(monkeypatch):
    """Let a page read all that it shows: on a busy machine a quarter of a second is soon over."""
    monkeypatch.setattr("memsync.web.branch._SLICE", 60.0)


@pytest.fixture
def parted(repo, line):
    """Return a repository whose branch has changed one memory, added one and removed one since it left main."""
    kept = line("mm-price1", "Prices are in cents", memory_type="preference", anchors=["src/price.py"])
    repo.write_memories(kept + line("mm-gone11", "The box is in Oslo"))
    repo.git("add", ".gobby")
    repo.git("commit", "-q", "-m", "what main knows")
    repo.git("checkout", "-q", "-b", "topic")
    repo.write_memories(kept.replace("cents", "whole euros") + line("mm-new111", "CI needs Node 20"))
    return repo


def press(desk, page, path: str, number: int = 0):
    """Send the form number *number* of those that go to *path*, as the page has it."""
    at = [has.get("action") for tag, has in page.elements if tag == "form"]
    number = [place for place, action in enumerate(at) if action == path][number]
    fields, count = {}, -1
    for tag, has in page.elements:
        count += tag == "form"
        if tag == "input" and count == number and has.get("type") == "hidden":
            fields[has["name"]] = has["value"]
    return desk.post(path, **fields)


def texts(repo) -> dict[str, str]:
    with Memsync.open(repo.root) as project:
        return {entry.id: entry.content for entry in project.memories()}


def test_a_branch_shows_what_it_teaches_beside_the_one_that_it_left(parted, desk):
    page = desk.get("/branch", **{"with": "main"})
    assert "1 added, 1 changed, 1 removed" in page.text
    assert {"ins", "del"} <= {tag for tag, _ in page.elements}
    assert "whole euros" in page.text
    assert "The box is in Oslo" in page.text
    assert "memsync memory diff" in page.text
    assert [one["value"] for one in page.every("option")] == ["main", "topic"] or page.every("option", value="main")


def test_what_a_merge_of_another_branch_would_bring_is_shown_without_a_form_that_takes_it_back(parted, desk):
    parted.git("add", "-A")
    parted.git("commit", "-q", "-m", "what topic knows")
    parted.git("checkout", "-q", "main")
    page = desk.get("/branch", **{"with": "topic"})
    (link,) = [one["href"] for one in page.every("a") if "brings=1" in (one["href"] or "")]
    page = desk.get(link)
    assert "1 added, 1 changed, 1 removed" in page.text
    assert "CI needs Node 20" in page.text
    assert not [one for one in page.every("form") if (one.get("action") or "").startswith("/branch/")]
    assert "memsync memory diff HEAD...topic" in page.text
    assert "Nothing differs" in desk.get("/branch", **{"with": "topic"}).text


def test_of_a_large_skill_a_branch_shows_the_first_lines_that_differ(parted, desk):
    folder = parted.root / ".claude" / "skills" / "large"
    folder.mkdir(parents=True)
    file = folder / "SKILL.md"
    for kinds in (150, 151):
        rows = "".join(f"line {number % kinds}\n" for number in range(400_000))
        file.write_text(f"---\nname: large\ndescription: Large.\n---\n{rows}")
        parted.git("add", ".claude")
        parted.git("commit", "-q", "-m", f"{kinds} kinds")
    page = desk.get("/branch", **{"with": "HEAD~1"})
    assert "skill large" in page.text
    assert "more lines; memsync diff shows them" in page.text
    assert len(page.text) < 200_000


def test_a_branch_that_does_not_exist_is_told_and_is_no_page(parted, desk):
    page = desk.get("/branch", **{"with": "zz"})
    assert desk.status == 404
    assert "unknown revision 'zz'; `git log --oneline --all` lists the commits" in page.text
    assert "Nothing differs" not in page.text


def test_what_main_learned_since_is_not_what_this_branch_removed(parted, desk, line):
    parted.git("stash", "-q")
    parted.git("checkout", "-q", "main")
    parted.write_memories(parted.memories.read_text() + line("mm-later1", "learned on main later"))
    parted.git("commit", "-q", "-a", "-m", "later")
    parted.git("checkout", "-q", "topic")
    parted.git("stash", "pop", "-q")
    assert "learned on main later" not in desk.get("/branch", **{"with": "main"}).text


def test_approving_stages_what_was_seen_and_undo_takes_it_out_again(parted, desk):
    page = desk.get("/branch", **{"with": "main"})
    done = press(desk, page, "/branch/stage")
    assert "the memories are staged" in done.text
    assert parted.git("diff", "--cached", "--name-only").split() == [".gitattributes", ".gobby/memories.jsonl"] or (
        ".gobby/memories.jsonl" in parted.git("diff", "--cached", "--name-only")
    )
    press(desk, done, "/branch/unstage")
    assert parted.git("diff", "--cached", "--name-only") == ""
    assert texts(parted)["mm-new111"] == "CI needs Node 20"


def test_what_has_changed_since_it_was_seen_is_not_staged(parted, desk, line):
    page = desk.get("/branch", **{"with": "main"})
    parted.write_memories(parted.memories.read_text() + line("mm-other1", "slipped in"))
    press(desk, page, "/branch/stage")
    assert desk.status == 409
    assert parted.git("diff", "--cached", "--name-only") == ""


def test_a_card_is_taken_back_and_brought_back(parted, desk):
    for number, (id_, before) in enumerate((("mm-new111", None), ("mm-price1", "Prices are in cents"), ("mm-gone11", "The box is in Oslo"))):  # fmt: skip
        was = texts(parted)
        page = desk.get("/branch", **{"with": "main"})
        ids = [one["data-id"] for one in page.every("li") if "data-id" in one]
        done = press(desk, page, "/branch/take-back", ids.index(id_))
        assert desk.status == 200, (number, done.text)
        assert texts(parted).get(id_) == before
        if id_ != "mm-gone11":
            press(desk, done, "/memory/restore")
            assert texts(parted) == was


def test_a_file_that_git_left_in_conflict_is_resolved_with_both_texts(parted, desk):
    parted.git("commit", "-q", "-a", "-m", "euros")
    parted.git("checkout", "-q", "main")
    parted.write_memories(parted.memories.read_text().replace("cents", "yen"))
    parted.git("commit", "-q", "-a", "-m", "yen")
    with pytest.raises(AssertionError):
        parted.git("merge", "topic")
    page = desk.get("/branch")
    assert "in conflict" in page.text
    press(desk, page, "/branch/resolve")
    assert parted.git("ls-files", "-u") == ""
    page = desk.get("/branch")
    assert "Texts that a merge kept" in page.text
    (card,) = [one["href"] for one in page.every("a") if (one["href"] or "").startswith("/review?at=conflict")]
    assert "a merge kept both texts" in desk.get(card).text


@pytest.mark.parametrize("name", ["nowhere", "--output=x", "--all", ":(top)x", "main..topic", "-x", "a\nb"])
def test_an_unknown_branch_is_told_and_nothing_else(parted, desk, name):
    for page in (desk.get("/branch", **{"with": name}), desk.get("/timeline", tip=name)):
        assert "unknown revision" in page.text
    assert not list(parted.root.glob("x"))


def test_outside_of_git_the_pages_say_so(tmp_path, browse):
    desk = browse(tmp_path)
    for path in ("/branch", "/timeline"):
        assert "not in a git checkout" in desk.get(path).text
        assert desk.status == 200


def test_the_timeline_says_who_did_what_when_in_which_commit(parted, desk):
    parted.git("commit", "-q", "-a", "-m", "euros, and <b>Node</b>")
    page = desk.get("/timeline")
    assert "euros, and <b>Node</b>" in page.text
    assert "Test User" in page.text
    assert parted.git("rev-parse", "HEAD")[:10] in page.text
    assert "5 changes in 2 commits" in page.text
    assert "preference 1 1" in page.text
    assert "src/price.py 1 1" in page.text


@pytest.fixture
def moved(repo, line, monkeypatch):
    """Return a repository with a memory a commit, whose file had another name in the first three; pages are of three commits."""
    monkeypatch.setattr("memsync.web.branch._COMMITS", 3)
    (repo.root / ".gobby").mkdir()
    for number in range(7):
        if number == 3:
            repo.git("mv", "-f", "was.jsonl", ".gobby/memories.jsonl")
        with (repo.memories if number >= 3 else repo.root / "was.jsonl").open("a") as file:
            file.write(line(f"mm-{number}{number}{number}", f"the {number}th thing is kept in box {number * 7}"))
        repo.git("add", "-A")
        repo.git("commit", "-q", "-m", f"number {number}")
    return repo


def test_the_timeline_goes_on_by_commits_past_a_rename_and_comes_back(moved, desk):
    page, seen = desk.get("/timeline"), []
    while True:
        seen.append([word for word in page.text.split() if word[:1].isdigit() and word.endswith("th")])
        older = page.every("a", **{"data-key": "j"})
        if not older:
            break
        page = desk.get(older[0]["href"])
    assert seen == [["6th", "5th", "4th"], ["3th", "2th", "1th"], ["0th"]]
    back = desk.get(page.every("a", **{"data-key": "k"})[0]["href"])
    assert "3th" in back.text


def test_a_page_of_the_timeline_reads_no_more_of_the_history_than_it_shows(moved, desk):
    first = moved.git("rev-list", "--max-parents=0", "HEAD").strip()
    (moved.root / ".git" / "objects" / first[:2] / first[2:]).unlink()
    page = desk.get("/timeline")
    assert "6th" in page.text
    assert "4th" in page.text
    page = desk.get(page.every("a", **{"data-key": "j"})[0]["href"])
    assert page.every("p", role="alert")
    assert "1th" not in page.text


@pytest.mark.parametrize("data", [b"\0\xff" * 50, b'{"id": "mm-new111"\n', b"<<<<<<< ours\n", b"x" * 3_000_000])
def test_what_cannot_be_read_is_not_passed_off_as_removed_nor_staged(parted, browse, data):
    desk = browse(parted.root)
    parted.memories.write_bytes(data)
    page = desk.get("/branch")
    assert "looks as if it were gone" in page.text or "Git left the memory file in conflict" in page.text
    assert not page.every("form", action="/branch/stage")
    with Memsync.open(parted.root) as project:
        project.stores.refresh()
        desk.post("/branch/stage", was=branch._version(branch.compare(project, branch.find_base(project))))
    assert desk.status == 422
    assert parted.git("diff", "--cached", "--name-only") == ""


@pytest.mark.parametrize("path", ["/health", "/branch", "/memory/history?id=mm-00000100"])
def test_a_page_about_a_large_file_holds_no_second_copy_of_it(repo, browse, line, path):
    rows = [line(f"mm-{number:08}", f"{number} {'word ' * 1_500}") for number in range(400)]
    repo.write_memories("".join(rows))
    repo.git("add", ".gobby")
    repo.git("commit", "-q", "-m", "all of them")
    desk = browse(repo.root)
    desk.get("/memory/new")
    desk.client.get(path)  # what is loaded and kept from now on
    tracemalloc.start()
    desk.client.get(path)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert desk.status == 200
    assert most < 0.9 * repo.memories.stat().st_size

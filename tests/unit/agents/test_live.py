"""The project of a process that stays."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
from helpers import until

from memsync import Memsync
from memsync.agents.live import Live
from memsync.errors import ConfigError, OutsideTree
from memsync.memories.fingerprints import version_of_rules
from memsync.transfer.mirrors import add_mirror


@pytest.fixture
def live(repo) -> Iterator[Live]:
    one = Live(repo.root)
    yield one
    one.close()


def threads() -> set[threading.Thread]:
    return set(threading.enumerate())


def test_nothing_is_made_or_started_before_the_first_call(repo):
    before = threads()
    Live(repo.root).close()
    assert (threads(), repo.status()) == (before, "")


def test_calls_wait_for_one_another(live):
    inside, most = [], []

    def work(project: Memsync) -> None:
        inside.append(1)
        most.append(len(inside))
        project.remember(f"fact {len(most)}")
        inside.pop()

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda _: live.call(work), range(24)))
    assert (set(most), len(live.call(Memsync.list))) == ({1}, 24)


def test_an_error_of_a_call_leaves_the_next_one_alone(live):
    with pytest.raises(ZeroDivisionError):
        live.call(lambda project: 1 // 0)
    assert live.call(Memsync.list) == []


def test_the_file_is_put_in_order_when_the_calls_pause(repo):
    live = Live(repo.root, quiet=0.01)
    for text in ("zebra", "ant", "bee"):
        live.call(lambda project, text=text: project.remember(text))

    def ids() -> list[str]:
        return [json.loads(line)["id"] for line in repo.memories.read_text().splitlines()]

    until(lambda: ids() == sorted(ids()) and len(ids()) == 3)
    live.call(lambda project: project.recall("zebra"))
    with Memsync.open(repo.root) as other:
        until(lambda: [entry.access_count for entry in other.list() if entry.content == "zebra"] == [1])
    live.close()


def test_what_nobody_has_screened_here_is_screened_when_the_calls_pause(repo, line):
    repo.write_memories("".join(line(f"u{n}", f"text {n}") for n in range(3)))
    live = Live(repo.root, quiet=0.01)
    live.call(lambda project: project.finder.index)
    until(lambda: live.call(lambda project: len(project.state("project").screened(version_of_rules()))) == 3)
    live.close()


def test_nothing_is_open_of_the_local_state_when_the_calls_have_paused(repo, line):
    repo.write_memories(line("u1", "a text that nobody has screened here"))
    live, log = Live(repo.root, quiet=0.01), repo.root / ".gobby" / "local" / "state.db-wal"
    live.call(lambda project: project.finder.index)
    with Memsync.open(repo.root) as other:
        until(lambda: other.state("project").screened(version_of_rules()))
    until(lambda: not log.exists())  # the last who closes it takes it away
    live.close()


def test_what_is_written_to_a_file_is_in_the_index_before_it_is_asked_for(live, repo, line):
    repo.write_memories(line("a", "one"))
    index = live.call(lambda project: project.finder.index)
    repo.write_memories(line("a", "one") + line("b", "two"))
    until(lambda: len(index) == 2)


def test_settings_that_change_count_from_the_next_call_on(live, repo):
    live.call(lambda project: project.remember("in the tree"))
    first = live.call(lambda project: project)
    assert live.call(lambda project: project) is first
    (repo.root / ".gobby" / "config.yaml").write_text("memory:\n  recall_limit: 1\n")
    assert live.call(lambda project: project.settings.recall_limit) == 1


def test_a_broken_settings_file_of_the_repository_keeps_new_memories_private_until_it_is_mended(live, repo):
    config = repo.root / ".gobby" / "config.yaml"
    config.parent.mkdir()
    assert live.call(lambda project: project.default_scope) == "project"
    config.write_text("memory: [1\n")
    for _ in range(2):
        assert live.call(lambda project: project.default_scope) == "private"
        assert "config.yaml:2: not YAML" in live.call(lambda project: project.loaded.warnings)[0]
    config.unlink()
    assert live.call(lambda project: project.default_scope) == "project"


def test_a_broken_settings_file_of_the_user_is_an_error_until_it_is_mended(live):
    config = live.call(lambda project: project.layout.global_.config)
    config.parent.mkdir(parents=True, exist_ok=True)
    config.write_text("memory: [1\n")
    for _ in range(2):
        with pytest.raises(ConfigError, match=r"config\.yaml:2: not YAML"):
            live.call(Memsync.list)
    config.unlink()
    assert live.call(Memsync.list) == []


def test_a_repository_that_is_made_later_is_found(live, repo, tmp_path):
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    other = Live(elsewhere)
    assert other.call(lambda project: project.layout.git) is None
    (repo.root / ".git").rename(elsewhere / ".git")
    assert other.call(lambda project: project.layout.git.root) == elsewhere
    other.close()


def test_at_the_end_all_is_in_order_and_no_thread_is_left(repo):
    before = threads()
    live = Live(repo.root)
    for text in ("zebra", "ant"):
        live.call(lambda project, text=text: project.remember(text))
    assert threads() > before
    live.close()
    assert threads() == before
    ids = [json.loads(line)["id"] for line in repo.memories.read_text().splitlines()]
    assert ids == sorted(ids)


def test_it_can_be_opened_again_after_its_end(live):
    live.call(lambda project: project.remember("one"))
    live.close()
    assert [entry.content for entry in live.call(Memsync.list)] == ["one"]


def test_how_long_the_calls_must_pause_is_a_setting_and_closing_waits_for_nothing(repo):
    (repo.root / ".gobby").mkdir()
    (repo.root / ".gobby" / "config.yaml").write_text("memory_sync:\n  export_debounce: 3600\n")
    live = Live(repo.root)
    for text in ("zebra", "ant"):
        live.call(lambda project, text=text: project.remember(text))
    live.call(lambda project: project.forget(project.memories()[0].id))
    assert "deleted_at" in repo.memories.read_text()
    live.close()
    assert "deleted_at" not in repo.memories.read_text()
    (repo.root / ".gobby" / "config.yaml").write_text("memory_sync:\n  export_debounce: 0.01\n")
    live.call(lambda project: project.forget(project.memories()[0].id))
    until(lambda: repo.memories.read_text() == "")
    live.close()


def test_a_store_that_was_moved_out_of_the_tree_behind_a_link_is_refused_at_once(repo, live, line, tmp_path):
    repo.write_memories(line("mm-tabs", "use tabs in Makefiles"))
    assert live.call(lambda project: project.search("tabs").hits)
    (repo.root / ".gobby").rename(tmp_path / "moved")
    (repo.root / ".gobby").symlink_to(tmp_path / "moved")
    with pytest.raises(OutsideTree):
        live.call(lambda project: project.search("tabs"))


def test_a_mirrored_folder_and_the_memories_are_kept_alike_while_it_stays(repo):
    live, folder = Live(repo.root), repo.root / "memory-bank"
    folder.mkdir()
    live.call(lambda project: project.remember("Prices are integers in cents everywhere"))
    live.call(lambda project: add_mirror(project, "cline", folder))  # and it is watched without a new start
    live.call(Memsync.list)
    ours = folder / "memsync.md"
    until(lambda: ours.exists() and "- Prices are integers in cents everywhere\n" in ours.read_text())
    (folder / "brief.md").write_text("- The staging database listens on port 5433\n")
    until(lambda: len(live.call(Memsync.list)) == 2)
    live.call(lambda project: project.remember("The build of the shop needs Node 20 and pnpm"))
    until(lambda: "- The build of the shop needs Node 20 and pnpm\n" in ours.read_text())
    (folder / "brief.md").write_text("# Brief\n")
    until(lambda: len(live.call(Memsync.list)) == 2)
    live.close()

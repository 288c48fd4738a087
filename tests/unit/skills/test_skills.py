"""Skills: written to the specification, changed with care, found, used, and never lost."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from skills_ref import validate as specification_says

from memsync import Memsync
from memsync.errors import AmbiguousSkill, InvalidSkill, NoStore, OutsideTree, SecretFound, SkillNotFound
from memsync.memories.log import skill_events
from memsync.skills.bringing import bring_in, link

HOWTO = "# Running the tests\n\n1. Run `make test`.\n2. Read the first failure.\n"


@pytest.fixture
def skills(project):
    return project.skills


@pytest.fixture
def folder(repo):
    return repo.root / ".claude" / "skills"


def by_hand(folder, name, text):
    (folder / name).mkdir(parents=True, exist_ok=True)
    (folder / name / "SKILL.md").write_bytes(text.encode() if isinstance(text, str) else text)


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"description": "Use when: the tests are red # or not", "tags": ["a b", "c"], "trigger_pattern": "^(x|y): #"},
        {"description": "'quoted' \"both\"", "tags": ["yes", "1.10", "null"], "trigger_pattern": "[a, b]"},
        {"description": "ünï — code ✓", "tags": ["日本"], "trigger_pattern": "true"},
    ],
)
def test_what_is_written_passes_the_specifications_validator(skills, folder, fields):
    entry = skills.create("run-tests", HOWTO, **fields)
    assert specification_says(folder / "run-tests") == []
    assert [one.is_valid for one in skills.validate()] == [True]
    assert entry.skill.tags == tuple(fields.get("tags", ()))
    assert entry.skill.instructions == HOWTO.strip()
    skills.update("run-tests", tags=["new tag"], description="Another: one", name="tests")
    assert specification_says(folder / "tests") == []


def test_a_whole_file_keeps_what_it_says(skills, folder):
    text = "---\nname: other\nlicense: MIT # yes\ndescription: 'How to'\nmetadata:\n  author: me\n---\n\nGo.\n"
    skills.create("deploy", text, tags=["ops"])
    written = (folder / "deploy" / "SKILL.md").read_text()
    assert "license: MIT # yes\n" in written
    assert "  author: me\n" in written
    assert "description: 'How to'\n" in written
    assert specification_says(folder / "deploy") == []


@pytest.mark.parametrize("name", ["", "Bad", "a--b", "-a", "a/b", "../x", "a" * 65, "a b", "naïve", "."])
def test_a_name_that_is_none_is_refused_and_nothing_is_written(skills, folder, name):
    with pytest.raises(InvalidSkill, match="is not a valid skill name"):
        skills.create(name, HOWTO)
    assert not folder.exists()


@pytest.mark.parametrize(
    ("fields", "why"),
    [
        ({"instructions": "  \n"}, "instructions are empty"),
        ({"description": "x" * 1025}, "more than 1,024"),
        ({"description": " "}, "description is empty"),
        ({"description": "a\x07b"}, "control"),
        ({"trigger_pattern": "(a"}, "is not a valid regular expression"),
        ({"trigger_pattern": "(a+)+$"}, "takes too long"),
    ],
)
def test_a_field_that_is_wrong_is_refused_with_the_reason(skills, folder, fields, why):
    with pytest.raises(InvalidSkill, match=why):
        skills.create("x", **{"instructions": HOWTO, **fields})
    assert not folder.exists()


def test_a_step_is_no_description_and_a_heading_is_one(skills):
    with pytest.raises(
        InvalidSkill, match="begins with a step; say what the skill does and when to use it: --description"
    ):
        skills.create("release", "1. bump the version\n2. tag it")
    assert skills.create("release", "# How to release\n\n1. tag it").skill.description == "How to release"


def test_an_update_of_tags_changes_one_line_as_git_sees_it(skills, folder, repo):
    by_hand(folder, "x", "---\nname: x # me\ndescription: 'd'\ntags: [a,  b]\nlicense: MIT\n---\nbody without an end")
    repo.git("add", "-A")
    skills.update("x", tags=["c"])
    assert repo.git("diff", "--numstat", "--", ".claude") == "1\t1\t.claude/skills/x/SKILL.md\n"


def test_companion_files_stay_through_rename_delete_and_restore(skills, folder):
    skills.create("x", HOWTO)
    (folder / "x" / "scripts").mkdir()
    (folder / "x" / "scripts" / "run.sh").write_text("make\n")
    skills.update("x", name="y")
    assert (folder / "y" / "scripts" / "run.sh").read_text() == "make\n"
    skills.delete("y")
    assert not (folder / "y").exists()
    skills.restore("y")
    assert (folder / "y" / "scripts" / "run.sh").read_text() == "make\n"


def test_a_rename_keeps_the_id_and_its_counts(skills, folder):
    by_hand(folder, "x", "---\nname: x\ndescription: d\n---\nGo.\n")
    before = skills.apply("x").skill.id
    after = skills.update("x", name="y")
    assert (after.skill.id, after.use_count) == (before, 1)


def test_restore_undoes_an_update_and_twice_is_redo(skills):
    skills.create("x", HOWTO, tags=["one"])
    skills.update("x", tags=["two"])
    assert skills.restore("x").skill.tags == ("one",)
    assert skills.restore("x").skill.tags == ("two",)


def test_files_that_somebody_put_into_the_folder_go_to_the_trash_before_a_skill_comes_back(skills, folder):
    skills.create("x", HOWTO)
    (folder / "x" / "scripts").mkdir()
    (folder / "x" / "scripts" / "run.sh").write_text("old\n")
    skills.delete("x")
    (folder / "x" / "scripts").mkdir(parents=True)
    (folder / "x" / "scripts" / "run.sh").write_text("written anew\n")
    skills.restore("x")
    assert (folder / "x" / "scripts" / "run.sh").read_text() == "old\n"
    trash = folder.parent.parent / ".gobby" / "local" / "trash"
    assert [path.read_text() for path in trash.rglob("run.sh")] == ["written anew\n"]
    with pytest.raises(SkillNotFound):
        skills.restore("x")
    assert skills.get("x").skill.instructions


def test_an_update_of_what_somebody_has_changed_since_it_was_read_is_refused(skills, folder):
    read = skills.create("x", HOWTO).version
    path = folder / "x" / "SKILL.md"
    path.write_text(path.read_text() + "One more line of a person.\n")
    edited = path.read_bytes()
    with pytest.raises(InvalidSkill, match="was changed since"):
        skills.update("x", instructions="All of it anew.", was=read)
    assert path.read_bytes() == edited
    assert skills.update("x", tags=["ci"], was=skills.get("x").version).version != read


def test_restoring_what_was_never_changed_says_so(skills):
    with pytest.raises(SkillNotFound, match="changed or removed"):
        skills.restore("x")


def test_a_new_skill_does_not_overwrite_one_by_hand(skills, folder):
    by_hand(folder, "x", "mine")
    with pytest.raises(InvalidSkill, match="already"):
        skills.create("x", HOWTO)
    assert (folder / "x" / "SKILL.md").read_text() == "mine"


def test_an_edit_by_hand_in_the_same_moment_is_not_lost(skills, folder, monkeypatch):
    skills.create("x", HOWTO)
    store = skills.stores["project"]
    data, stamp = store.read("x")
    monkeypatch.setattr(store, "read", lambda name: (data, stamp))  # as if the hand came after the look
    by_hand(folder, "x", "by hand")
    with pytest.raises(InvalidSkill, match="somebody else"):
        skills.update("x", tags=["a"])
    assert (folder / "x" / "SKILL.md").read_text() == "by hand"


def test_a_file_that_becomes_unreadable_is_given_as_it_was_with_what_is_wrong(skills, folder, caplog):
    skills.create("x", HOWTO, tags=["one"])
    skills.list()
    by_hand(folder, "x", "---\nname: [\n---\n")
    for _ in range(2):
        assert [(e.skill.tags, bool(e.problems)) for e in skills.list()] == [(("one",), True)]
    assert sum("SKILL.md:3" in r.message or "SKILL.md:2" in r.message for r in caplog.records) == 1


@pytest.mark.parametrize("what", ["folder", "file"])
def test_a_link_out_of_the_repository_is_not_followed(skills, folder, tmp_path, what):
    by_hand(tmp_path, "outside", "---\nname: x\ndescription: secret\n---\n")
    folder.mkdir(parents=True)
    if what == "folder":
        (folder / "x").symlink_to(tmp_path / "outside")
    else:
        (folder / "x").mkdir()
        (folder / "x" / "SKILL.md").symlink_to(tmp_path / "outside" / "SKILL.md")
    assert skills.list() == []
    with pytest.raises((SkillNotFound, OutsideTree)):
        skills.update("x", tags=["a"])


def test_a_folder_of_skills_that_is_a_link_out_takes_no_new_skill(skills, folder, tmp_path):
    (tmp_path / "outside").mkdir()
    folder.parent.mkdir()
    folder.symlink_to(tmp_path / "outside")
    with pytest.raises(OutsideTree):
        skills.create("x", HOWTO)
    assert list((tmp_path / "outside").iterdir()) == []


def test_a_skill_is_found_by_words_by_meaning_and_by_trigger(skills):
    skills.create("run-tests", HOWTO, description="How to run the tests")
    skills.create("deploy", "Push the tag.", description="Ship a release to production", trigger_pattern="rollout")
    assert skills.search("run tests")[0].name == "run-tests"
    assert skills.search("publishing a new version to production")[0].name == "deploy"
    assert skills.search("is the ROLLOUT done")[0].name == "deploy"
    assert skills.list("rollout", limit=1)[0].name == "deploy"


def test_a_name_an_id_and_its_beginning_name_a_skill(skills):
    entry = skills.create("x", HOWTO)
    for ref in ("x", entry.skill.id, entry.skill.id[:-1], entry.skill.id[3:]):
        assert skills.get(ref).name == "x"
    skills.create("y", HOWTO)
    with pytest.raises(AmbiguousSkill):
        skills.get("sk-")


def test_the_project_comes_before_private_and_global(skills):
    for scope in ("global", "private", "project"):
        skills.create("x", f"I am {scope}.", scope=scope)
        assert skills.get("x").scope == scope
    assert skills.get("x", "global").skill.instructions == "I am global."


def test_outcomes_give_a_rate_and_uses_are_counted_locally(skills, repo):
    skills.create("x", HOWTO)
    repo.git("add", "-A")
    repo.git("commit", "-q", "-m", "x")
    skills.apply("x")
    for well in (True, True, False):
        entry = skills.apply("x", outcome=well)
    assert (entry.use_count, entry.success_rate) == (1, 0.6667)
    assert repo.status() == ""


def test_under_stealth_nothing_enters_the_work_tree(skills, repo, project):
    from memsync.setup.installing import turn_stealth

    turn_stealth(project, on=True, move=False)
    skills.create("x", HOWTO)
    with pytest.raises(NoStore, match="stealth is on"):
        skills.create("y", HOWTO, scope="project")
    assert skills.get("x").scope == "private"
    assert repo.status("--ignored") == ""


# the specification's own validator is the judge

SEED = "---\nid: sk-a1b2c3\nname: run-tests\ntrigger_pattern: test|pytest\ntags: [testing, pytest]\n---\n\n# Running\n"


@pytest.mark.parametrize(
    "text",
    [
        SEED,
        SEED.replace("\n", "\r\n"),
        "\ufeff" + SEED,
        "# Just text\n\nGo.\n",
        "---\nname: other\ndescription: Use when: it rains # ok\n---\nGo.\n",
        "---\nname: run-tests\ndescription: d\nmetadata: {version: 1.10, tags: [a, b]}\n---\n",
        "---\nname: run-tests\ndescription: d\nmetadata:\n  version: 1.10\n  draft: no\n---\n",
        "---\ndescription: d\n---\n",
    ],
)
def test_what_fix_mends_passes_the_specifications_validator(skills, folder, text):
    by_hand(folder, "run-tests", text)
    assert not skills.validate()[0].is_valid
    done = skills.validate(fix=True)[0]
    assert (done.problems, done.mended) == ((), True)
    assert specification_says(folder / "run-tests") == []
    skills.restore("run-tests")
    assert (folder / "run-tests" / "SKILL.md").read_bytes() == text.encode()


@pytest.mark.parametrize(
    "text",
    [
        "---\nname: run-tests\ndescription: d\n---\n",
        "---\nname: run-tests\ndescription: d\nwhen: x\n---\n",
        "---\nname: other\ndescription: d\n---\n",
        "---\nname: run-tests\n---\n",
        f"---\nname: run-tests\ndescription: {'d' * 1025}\n---\n",
        "---\nname: run-tests\ndescription: [d]\n---\n",
        "---\nname: run-tests\ndescription: d\ncompatibility: " + "c" * 501 + "\n---\n",
        "no front matter\n",
    ],
)
def test_validate_says_what_the_specifications_validator_says(skills, folder, text):
    by_hand(folder, "run-tests", text)
    assert skills.validate()[0].is_valid == (specification_says(folder / "run-tests") == [])


def test_what_only_a_person_can_mend_is_told_and_left(skills, folder):
    text = "---\nname: x\n<<<<<<< a\ndescription: a\n=======\ndescription: b\n>>>>>>> b\n---\n"
    by_hand(folder, "x", text)
    done = skills.validate(fix=True)[0]
    assert (done.is_valid, done.mended, done.problems[0].number) == (False, False, 3)
    assert (folder / "x" / "SKILL.md").read_text() == text


# other clients


def test_a_link_shows_the_skills_to_other_clients_and_goes_again(skills, repo):
    skills.create("x", HOWTO)
    agents = repo.root / ".agents" / "skills"
    assert [one.done for one in link(skills, "project")] == ["linked"]
    assert os.readlink(agents) == os.path.join("..", ".claude", "skills")
    assert (agents / "x" / "SKILL.md").is_file()
    assert [one.done for one in link(skills, "project")] == ["kept"]
    assert [one.done for one in link(skills, "project", remove=True)] == ["removed"]
    assert not os.path.lexists(agents)


@pytest.mark.parametrize("copy", [False, True])
def test_beside_other_skills_each_gets_its_own_link_or_copy(skills, repo, copy):
    agents = repo.root / ".agents" / "skills"
    by_hand(agents, "theirs", "theirs")
    by_hand(agents, "y", "also theirs")
    for name in ("x", "y", "z"):
        skills.create(name, HOWTO)
    done = {one.path.name: one.done for one in link(skills, "project", copy=copy)}
    assert done == {"x": "copied" if copy else "linked", "y": "left: it is not ours", "z": done["x"]}
    assert {one.done for one in link(skills, "project", copy=copy)} == {"kept", "left: it is not ours"}
    if copy:
        assert specification_says(agents / "x") == []
    skills.delete("z")
    assert {one.path.name: one.done for one in link(skills, "project", copy=copy)}["z"] == "removed"
    link(skills, "project", remove=True)
    assert sorted(path.name for path in agents.iterdir()) == ["theirs", "y"]
    assert (agents / "y" / "SKILL.md").read_text() == "also theirs"


def test_a_copy_follows_its_skill(skills, repo):
    skills.create("x", HOWTO)
    link(skills, "project", copy=True)
    skills.update("x", tags=["new"])
    assert [one.done for one in link(skills, "project", copy=True)] == ["copied"]
    assert "tags: new" in (repo.root / ".agents" / "skills" / "x" / "SKILL.md").read_text()


def test_global_skills_are_linked_into_the_homes_of_the_clients(skills, home):
    skills.create("x", HOWTO, scope="global")
    assert {one.done for one in link(skills, "global")} == {"linked"}
    for client in (".claude", ".agents"):
        assert (home / client / "skills" / "x" / "SKILL.md").is_file()


# elsewhere


def test_export_copies_all_files_and_refuses_to_overwrite(skills, folder, tmp_path):
    skills.create("x", HOWTO)
    (folder / "x" / "notes.txt").write_text("n")
    target = tmp_path / "out"
    assert [entry.path for entry in skills.export(target)] == [target / "x" / "SKILL.md"]
    assert (target / "x" / "notes.txt").read_text() == "n"
    skills.export(target)
    (target / "x" / "SKILL.md").write_text("changed by somebody")
    with pytest.raises(InvalidSkill, match="differs"):
        skills.export(target)
    assert (target / "x" / "SKILL.md").read_text() == "changed by somebody"
    skills.export(target, force=True)
    assert "Running the tests" in (target / "x" / "SKILL.md").read_text()


def test_without_a_directory_export_says_where_the_project_s_own_are_and_copies_what_is_named(skills, folder):
    skills.create("x", HOWTO)
    skills.create("mine", HOWTO, scope="private")
    assert [entry.path.parent for entry in skills.export()] == [folder / "x"]
    assert not (folder / "mine").exists()
    assert [entry.path.parent for entry in skills.export(scope="private")] == [folder / "mine"]
    assert (folder / "mine" / "SKILL.md").exists()


def test_a_folder_of_skills_is_brought_in_with_all_files_or_not_at_all(project, skills, folder, tmp_path):
    there = tmp_path / "theirs"
    by_hand(there, "release", f"---\ndescription: How to release\nid: sk-abcdef\n---\n{HOWTO}")
    (there / "release" / "scripts").mkdir()
    (there / "release" / "scripts" / "tag.sh").write_text("git tag\n")
    (there / "release" / "scripts" / "tag.sh").chmod(0o755)
    assert [(one.status, one.skill.name) for one in bring_in(project, there, scope="project")] == [
        ("imported", "release")
    ]
    assert specification_says(folder / "release") == []  # our id went where it belongs
    assert os.access(folder / "release" / "scripts" / "tag.sh", os.X_OK)
    assert [one.status for one in bring_in(project, there / "release", scope="project")] == ["kept"]

    skills.update("release", description="Ours by now")
    by_hand(there, "a-new-one", HOWTO)
    with pytest.raises(InvalidSkill, match="already exists and differs"):
        bring_in(project, there, scope="project")
    assert [entry.name for entry in skills.list()] == ["release"]
    done = bring_in(project, there, scope="project", force=True)
    assert [(one.status, one.skill.name) for one in done] == [("imported", "a-new-one"), ("replaced", "release")]
    skills.delete("release")
    assert skills.restore("release").skill.description == "How to release"


@pytest.mark.parametrize(
    ("name", "text", "error"),
    [
        ("run-tests", "token = 'ghp_" + "x7Kp2QmZ9rTb4VwL1nYc8HsD3fJg6AeU5iOo" + "'", SecretFound),
        ("run-tests", None, InvalidSkill),  # a link
        ("Bad Name", "x", InvalidSkill),
    ],
)
def test_what_may_not_come_in_is_refused(project, folder, tmp_path, name, text, error):
    by_hand(tmp_path / "theirs", name, HOWTO)
    beside = tmp_path / "theirs" / name / "notes.txt"
    beside.write_text(text) if text else beside.symlink_to("/etc/passwd")
    with pytest.raises(error):
        bring_in(project, tmp_path / "theirs", scope="project")
    assert not folder.exists()


def test_the_history_of_a_skill_follows_its_name_and_tells_what_is_not_committed(project, repo, folder):
    by_hand(folder, "deploy", HOWTO)
    repo.git("add", "-A")
    repo.git("commit", "-q", "-m", "Write it")
    repo.git("mv", ".claude/skills/deploy", ".claude/skills/ship")
    repo.git("commit", "-q", "-m", "Rename it")
    by_hand(folder, "ship", HOWTO + "3. Tell ops.\n")
    found = skill_events(project, "ship")
    assert [(one.commit and one.commit.subject, len(one.added)) for one in found] == [(None, 1), ("Write it", 3)]
    assert found[0].as_dict()["added"] == ["3. Tell ops."]
    with pytest.raises(SkillNotFound):
        skill_events(project, "nowhere")


def test_the_watcher_takes_in_a_skill_by_hand(project, folder):
    came = threading.Event()
    refresh = project.skills.refresh

    def noticed():
        refresh()
        if project.skills.list():
            came.set()

    project.skills.refresh = noticed
    with project.watcher():
        by_hand(folder, "x", "---\nname: x\ndescription: d\n---\nGo.\n")
        assert came.wait(60)


def test_many_processes_add_and_change_skills_at_once_and_none_is_lost(repo):
    code = (
        "import sys; from memsync import Memsync; n = sys.argv[1]\n"
        "with Memsync.open() as m:\n"
        "    m.skills.create(f's{n}', 'Go.')\n"
        "    for i in range(5): m.skills.update(f's{n}', tags=[f'{n}-{i}'])"
    )
    running = [subprocess.Popen([sys.executable, "-c", code, str(n)], cwd=repo.root) for n in range(4)]
    assert [process.wait(100) for process in running] == [0, 0, 0, 0]
    with Memsync.open(repo.root) as project:
        assert {e.name: e.skill.tags for e in project.skills.list()} == {f"s{n}": (f"{n}-4",) for n in range(4)}


def test_a_missing_database_loses_no_skill(skills, repo):
    skills.create("x", HOWTO)
    skills.apply("x")
    for path in (repo.root / ".gobby" / "local").glob("state.db*"):
        path.unlink()
    assert [(e.name, e.use_count) for e in skills.list()] == [("x", 0)]


def test_the_skills_of_this_project_are_valid():
    root = Path(__file__).parents[3] / ".claude" / "skills"
    assert {path.name: specification_says(path) for path in root.iterdir()} == {"add-a-command": []}


def test_a_secret_is_not_written_where_others_read(skills, folder):
    token = "ghp_" + "a1B2c3D4e5" * 4
    with pytest.raises(SecretFound) as caught:
        skills.create("x", f"Use {token[:40]} as the token.")
    assert token[:40] not in str(caught.value)
    assert not folder.exists()
    skills.create("x", f"Use {token[:40]} as the token.", scope="private")
    skills.create("y", "Go.")
    with pytest.raises(SecretFound):
        skills.update("y", instructions=f"Use {token[:40]} as the token.")
    assert skills.get("y").skill.instructions == "Go."


def test_the_trash_keeps_the_last_two_hundred_and_the_newest_of_them_comes_back(skills):
    skills.create("deploy", "# Deploy\n\nVersion 0.\n")
    store = skills.stores["project"]
    with store.writing():
        for number in range(205):
            was, _ = store.read("deploy")
            store.rewrite("deploy", was.replace(b"Version %d." % number, b"Version %d." % (number + 1)), was=was)
    kept = sorted(path.name for path in (store.place.local / "trash").iterdir())
    assert (len(kept), kept[0], kept[-1]) == (200, "000006-deploy", "000205-deploy")
    skills.restore("deploy")
    assert "Version 204." in skills.get("deploy").skill.instructions


@pytest.mark.parametrize("name", ["con", "prn", "aux", "nul", "com1", "lpt9", "con.", "con ", "CON", "nul.md", "a."])
def test_a_name_that_is_a_device_on_windows_is_refused(skills, name):
    with pytest.raises(InvalidSkill, match=r"device name on Windows|skill name"):
        skills.create(name, HOWTO)


def test_where_only_files_were_in_the_place_of_a_skill_the_second_restore_says_where_they_are(repo, skills):
    skills.create("release", HOWTO)
    skills.delete("release")
    (repo.root / ".claude/skills/release").mkdir(parents=True)
    (repo.root / ".claude/skills/release/notes.md").write_text("of somebody\n")
    skills.restore("release")
    with pytest.raises(SkillNotFound, match=r"no skill, lie in .*-release; (?!did you mean release)") as said:
        skills.restore("release")
    place = Path(str(said.value).split(" lie in ")[1].split(";")[0])
    assert (place / "notes.md").read_text() == "of somebody\n"

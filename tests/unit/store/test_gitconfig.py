"""What is read of git's settings without git is what git says."""

from __future__ import annotations

import pytest

from memsync.store.checkout import ask, read_user_name
from memsync.store.places import find_git

PLAIN = {
    "alone": "[user]\n\tname = Ann Example\n",
    "among others": "# of mine\n[core]\n\teditor = vi\n\n[User]\n  email = a@b.example\n  NAME=Ann O'Neil  \n[alias]\n\tst = status\n",
    "twice": "[user]\n name = Ann\n[user]\n name = Änne\n",
    "of a section below": '[user]\n name = Ann\n[user "work"]\n name = Bob\n',
}
ODD = {
    "in quotes": '[user]\n name = "Ann # Example"\n',
    "with a remark": "[user]\n name = Ann ; that is me\n",
    "over two lines": "[user]\n name = Ann \\\n Example\n",
    "behind the section": "[user] name = Ann\n",
    "by an include": "[user]\n name = Ann\n[include]\n path = other\n",
    "after a value of two lines": "[core]\n editor = vi \\\n[user]\n[user]\n name = Ann\n",
    "none": "[core]\n editor = vi\n",
}


@pytest.fixture
def settings(repo, home):
    """Return the user's settings."""
    assert find_git(repo.root)
    return home / ".gitconfig"


@pytest.mark.parametrize("kind", PLAIN)
def test_a_plain_name_is_the_one_that_git_says(settings, repo, kind):
    settings.write_text(PLAIN[kind], encoding="utf-8")
    name = read_user_name(find_git(repo.root))
    assert name
    assert name == ask(repo.root, "config", "--get", "user.name")


@pytest.mark.parametrize("kind", ODD)
def test_git_is_asked_where_a_name_is_not_plain(settings, repo, kind):
    settings.write_text(ODD[kind], encoding="utf-8")
    assert read_user_name(find_git(repo.root)) is None


def test_git_is_asked_where_the_repository_or_the_environment_may_say_another(settings, repo, monkeypatch):
    settings.write_text(PLAIN["alone"], encoding="utf-8")
    with monkeypatch.context() as patch:
        patch.setenv("GIT_CONFIG_COUNT", "1")
        assert read_user_name(find_git(repo.root)) is None
    repo.git("config", "user.name", "Bob")
    assert read_user_name(find_git(repo.root)) is None

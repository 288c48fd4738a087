"""The three places that keep the one contract, and the project's in the two ways that it is written."""

from __future__ import annotations

import pytest

from memsync.records import SCOPES
from memsync.store.places import locate
from memsync.store.store import Store


@pytest.fixture(params=[*SCOPES, "on-commit"])
def store(request, repo) -> Store:
    scope = "project" if request.param == "on-commit" else request.param
    store = Store(locate(repo.root).place(scope))
    store.on_commit = request.param == "on-commit"
    return store

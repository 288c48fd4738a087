"""The three places that keep the one contract."""

from __future__ import annotations

import pytest

from memsync.records import SCOPES
from memsync.routing import locate
from memsync.store import Store


@pytest.fixture(params=SCOPES)
def store(request, repo) -> Store:
    return Store(locate(repo.root).place(request.param))

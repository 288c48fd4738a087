"""A project with records as a person or another machine would have left them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator

import pytest
from llm_server import Model

from memsync import Memsync


@pytest.fixture
def put(repo, line, project) -> Callable[..., None]:
    """Return a function that puts one record a text into the project's file; ids are mm-a, mm-b, …"""

    def write(*texts: str, start: str = "a", **fields: object) -> None:
        repo.memories.parent.mkdir(exist_ok=True)
        with repo.memories.open("a", encoding="utf-8") as file:
            for number, text in enumerate(texts):
                file.write(line(f"mm-{chr(ord(start) + number)}", text, **fields))
        project.stores.refresh()

    return write


@pytest.fixture
def asking(home, repo, clock) -> Iterator[Callable[..., tuple[Memsync, Model]]]:
    """Return a function that opens the project with a model that gives these answers."""
    opened = []

    def open_with(*answers: str, **settings: object) -> tuple[Memsync, Model]:
        model = Model(*answers)
        opened.append(model)
        (home / ".gobby").mkdir(exist_ok=True)
        named = {"llm": {"provider": "openai", "model": "tiny", "base_url": model.url, "retries": 0}, **settings}
        (home / ".gobby" / "config.yaml").write_text(json.dumps(named))
        return Memsync.open(repo.root, clock=clock), model

    yield open_with
    for model in opened:
        model.stop()

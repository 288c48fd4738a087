"""Speak for a library in its own Python: one JSON line in, `[what, given]`, one out. Run by `benchmarks.contenders`, imports nothing of ours."""

from __future__ import annotations

import asyncio
import json
import sys
from importlib.metadata import version
from pathlib import Path
from typing import Any


class _Mem0:
    """mem0 with its local Qdrant; texts are added as they are, without a model that picks facts."""

    def __init__(self, folder: Path, embedder: str) -> None:
        from mem0 import Memory

        openai = {"model": "hash", "openai_base_url": embedder, "api_key": "none", "embedding_dims": 256}
        qdrant = {"path": str(folder / "qdrant"), "on_disk": True, "embedding_model_dims": 256}
        self._memory = Memory.from_config(
            {
                "embedder": {"provider": "openai", "config": openai},
                "vector_store": {"provider": "qdrant", "config": qdrant},
                "llm": {"provider": "openai", "config": {"api_key": "none", "openai_base_url": embedder}},
                "history_db_path": str(folder / "history.db"),
            }
        )

    def fill(self, texts: list[str]) -> None:
        for text in texts:
            self.write(text)

    def write(self, text: str) -> None:
        self._memory.add(text, user_id="bench", infer=False)

    def ask(self, question: str) -> None:
        self._memory.search(question, filters={"user_id": "bench"}, top_k=10)

    def all(self) -> list[str]:
        return [one["memory"] for one in self._memory.get_all(filters={"user_id": "bench"}, top_k=100_000)["results"]]


class _Memsearch:
    """memsearch with Milvus Lite over a folder of Markdown."""

    def __init__(self, folder: Path, embedder: str) -> None:
        from memsearch import MemSearch

        self._wait_for = asyncio.new_event_loop().run_until_complete
        self._notes = folder / "notes"
        self._notes.mkdir(exist_ok=True)
        self._open = MemSearch(
            paths=[str(self._notes)],
            milvus_uri=str(folder / "milvus.db"),
            embedding_provider="openai",
            embedding_model="hash",
            embedding_base_url=embedder,
            embedding_api_key="none",
        )

    def fill(self, texts: list[str]) -> None:
        for number, text in enumerate(texts):
            (self._notes / f"{number // 50:04d}.md").open("a").write(f"## note {number}\n\n{text}\n\n")
        self._wait_for(self._open.index())

    def write(self, text: str) -> None:
        path = self._notes / "today.md"
        with path.open("a") as file:
            file.write(f"## note\n\n{text}\n\n")
        self._wait_for(self._open.index_file(str(path)))

    def ask(self, question: str) -> None:
        self._wait_for(self._open.search(question, top_k=10))

    def all(self) -> list[str]:
        return [part for path in self._notes.glob("*.md") for part in path.read_text().split("\n\n")]


class _Tantivy:
    """tantivy, one commit a write."""

    def __init__(self, folder: Path, _embedder: str) -> None:
        import tantivy

        made = tantivy.SchemaBuilder()
        made.add_text_field("content", stored=True, tokenizer_name="en_stem")
        (folder / "index").mkdir(exist_ok=True)
        self._document = tantivy.Document
        self._index = tantivy.Index(made.build(), path=str(folder / "index"))

    def fill(self, texts: list[str]) -> None:
        writer = self._index.writer()
        for text in texts:
            writer.add_document(self._document(content=text))
        writer.commit()
        writer.wait_merging_threads()

    def write(self, text: str) -> None:
        self.fill([text])

    def ask(self, question: str) -> None:
        self._index.reload()
        searcher = self._index.searcher()
        for _, address in searcher.search(self._index.parse_query(question, ["content"]), 10).hits:
            searcher.doc(address)

    def all(self) -> list[str]:
        import tantivy

        self._index.reload()
        searcher = self._index.searcher()
        hits = searcher.search(tantivy.Query.all_query(), 1_000_000).hits
        return [searcher.doc(address)["content"][0] for _, address in hits]


def main() -> None:
    """Answer until the input ends."""
    package, folder, embedder = sys.argv[1:]
    library: Any = {"mem0ai": _Mem0, "memsearch": _Memsearch, "tantivy": _Tantivy}[package](Path(folder), embedder)
    calls = {
        "version": lambda _: version(package),
        "fill": library.fill,
        "write": library.write,
        "ask": library.ask,
        "all": lambda _: library.all(),
    }
    for line in sys.stdin:
        what, given = json.loads(line)
        print(json.dumps({"result": calls[what](given)}), flush=True)


if __name__ == "__main__":
    main()

"""Sessions that Entire keeps on a git ref: `XX/HASH/N/{full.jsonl,metadata.json}`, of each session the longest checkpoint."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from hashlib import sha256
from pathlib import Path
from typing import Final, NamedTuple

from memsync.store.checkout import Checkout
from memsync.system.limits import read_object

REF: Final = "entire/checkpoints/v1"
_SPELLINGS: Final = (f"refs/heads/{REF}", f"refs/remotes/origin/{REF}", f"refs/{REF}")


class Checkpoint(NamedTuple):
    """One session's longest transcript: its object, and an opaque mark of who ran it."""

    session: str
    blob: str
    person: str


class Archive:
    """The checkpoints of *repository*, which may be bare; `ref` is "" where it has none, or is not a repository."""

    def __init__(self, repository: Path) -> None:
        self._git = Checkout(repository)
        # Git refuses a bare repository that nobody names, because a work tree may hold one with hooks of its own.
        self._bare = ("--git-dir", ".") if (repository / "objects").is_dir() and (repository / "HEAD").is_file() else ()
        refs = self._git.ask(*self._bare, "for-each-ref", "--format=%(refname)", *_SPELLINGS)
        self.ref = refs.split()[0] if refs else ""

    def read(self, checkpoint: Checkpoint) -> Iterator[bytes]:
        """Yield the lines of a transcript."""
        return self._git.stream(*self._bare, "cat-file", "blob", checkpoint.blob)

    def list_checkpoints(self) -> tuple[list[Checkpoint], int]:
        """Return one checkpoint of each session, the oldest first, and how many sessions have no transcript here."""
        blobs: dict[str, tuple[str, int]] = {}
        for row in self._git.do(*self._bare, "ls-tree", "-r", "-l", self.ref).splitlines():
            about, _, path = row.partition("\t")
            _, _, name, digits = about.split()
            blobs[path] = (name, int(digits) if digits.isdigit() else -1)  # of an absent object git says BAD
        people = self._list_people()
        best: dict[str, tuple[int, str, Checkpoint]] = {}
        absent: set[str] = set()
        notes = [path for path in blobs if path.endswith("/metadata.json") and path.count("/") == 3]
        for path, note in zip(notes, self._read_notes([blobs[one][0] for one in notes]), strict=True):
            transcript = path.replace("metadata.json", "full.jsonl")
            name, size = blobs.get(transcript, ("", -1))
            session = str(note.get("session_id") or path)
            if size < 0:
                absent.add(session)
            elif session not in best or size > best[session][0]:
                found = Checkpoint(session, name, people.get(transcript, ""))
                best[session] = size, str(note.get("created_at") or ""), found
        return [one for _, _, one in sorted(best.values(), key=lambda row: row[1])], len(absent - best.keys())

    def _read_notes(self, names: list[str]) -> Iterator[Mapping[str, object]]:
        """Yield what each of the small JSON files *names* says; {} where it says nothing that can be read."""
        asked = "".join(f"{name}\n" for name in names).encode()
        out = self._git.run(*self._bare, "cat-file", "--batch", stdin=asked).out
        at = 0
        for _ in names:
            head, _, _ = out[at : at + 200].partition(b"\n")
            words = head.split()
            at += len(head) + 1
            size = int(words[2]) if len(words) == 3 else -1
            yield read_object(out[at : at + max(size, 0)])
            at += size + 1

    def _list_people(self) -> dict[str, str]:
        """Return by path who added it, as the first digits of a hash: nobody needs the name."""
        people: dict[str, str] = {}
        who = ""
        asked = ("log", "--format=%x00%ae", "--name-only", "--diff-filter=A", self.ref)
        for row in self._git.do(*self._bare, *asked).splitlines():
            if row.startswith("\0"):
                who = sha256(row[1:].encode()).hexdigest()[:8]
            elif row.endswith("/full.jsonl"):
                people[row] = who
        return people

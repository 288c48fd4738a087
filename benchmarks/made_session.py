"""A made-up session of 144 model calls, as in seed 003: what is injected, against the three best at every call."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime
from itertools import count
from pathlib import Path
from typing import NamedTuple

from benchmarks.corpus import records
from memsync import Memsync
from memsync.agents.context import build
from memsync.agents.session import RecallSession
from memsync.agents.tools import decide
from memsync.format.codec import decode, encode
from memsync.memories.anchored import Touched
from memsync.records import Memory

CALLS = 144
OTHERS = 300  # memories that nobody asks for
_FILES = tuple(f"module{n:02d}.py" for n in range(40))  # that the agent edits; each need is anchored to one
_ALWAYS = 3  # memories injected at every call by what seed 003 describes

_RULES = ("Deploys", "Migrations")  # of more importance, so that a session begins with them

# What the project knows, and what the user says when he needs it.
NEEDED = (
    ("The staging database listens on port 5433, production on 5432", "why can I not reach the staging database?"),
    ("Integration tests need Docker; `make up` starts the containers", "run the integration tests, docker is installed"),
    ("Invoices are rounded per line, never on the total", "the total of this invoice is off by one cent, check the rounding"),
    ("Prefer functional React components over classes", "add a React component for the avatar"),
    ("Deploys go out through GitHub Actions after a tag, never from a laptop", "how do I deploy this to production?"),
    ("The nightly import of orders.csv splits at semicolons", "orders.csv has a column too many after the nightly import"),
    ("PaymentGateway.charge() is idempotent, so a retry is safe", "may I retry PaymentGateway.charge after a timeout?"),
    ("Feature flags live in flags.toml and are read at start only", "I changed a feature flag and nothing happens"),
    ("Never log request bodies, they may hold passwords", "log the request body in the login handler"),
    ("The search index is rebuilt by `bin/reindex --all`, which takes 20 minutes", "rebuild the search index"),
    ("All API routes follow /api/v1/{resource} in plural", "add an API route for customers"),
    ("Time zones: store UTC, convert only in templates", "the report shows the wrong time zone"),
    ("The mobile team consumes the GraphQL schema; removing a field breaks them", "can we remove the nickname field from the GraphQL schema?"),
    ("Migrations must run backwards too; CI checks it", "write a migration that drops the legacy column"),
    ("Images are resized by the thumbor service on port 8888", "resized images come out blurry"),
    ("Commit messages start with the ticket number, like PAY-123", "commit this with a good message"),
)  # fmt: skip
_IDLE = ("ok thanks", "continue", "yes please", "looks good", "go ahead", "great, thank you")
_UNRELATED = ("write a haiku about autumn", "what is the capital of Mongolia?", "tell me a joke about penguins")


class Turn(NamedTuple):
    """What the user says, the text that he needs if the session does not have it, and how many model calls follow."""

    prompt: str
    needed: str
    calls: int


class Replayed(NamedTuple):
    """Characters injected by us and by always injecting, how often each needed text came, and what came beside them."""

    ours: int
    always: int
    needed: dict[str, int]
    others: int


def untagged(line: bytes) -> bytes:
    """Return the record without its tags, of which two in five would be the word `database`, and of little importance."""
    memory = decode(line).memory
    assert memory is not None
    return encode(memory._replace(tags=(), importance=0.5))


def turns() -> Iterator[Turn]:
    """Yield the session: every need, small talk, unrelated questions, and some needs again."""
    left = CALLS
    said = []
    for number, (text, prompt) in enumerate(NEEDED):
        said.append((prompt, text, 14 if number == 3 else 5 + number % 4))
        said.append((_IDLE[number % len(_IDLE)], "", 1))
        if number % 5 == 0:
            said.append((_UNRELATED[number // 5 % len(_UNRELATED)], "", 1))
        if number % 4 == 3:
            said.append((f"again: {prompt}", "", 2))
    for prompt, text, calls in said:
        taken = min(calls, left) if (prompt, text) != said[-1][:2] else left
        left -= taken
        yield Turn(prompt, text, taken)


def replay(directory: Path) -> Replayed:
    """Play the session in a project that holds the needed texts among OTHERS."""
    made = datetime.now(UTC)
    known = [
        encode(
            Memory(
                f"aa-{n:02d}",
                text,
                importance=0.9 if text.startswith(_RULES) else 0.7,
                created_at=made,
                anchors=(_FILES[n],),
            )
        )
        for n, (text, _) in enumerate(NEEDED)
    ]
    for name in _FILES:
        (directory / name).touch()
    path = directory / ".gobby" / "memories.jsonl"
    path.parent.mkdir()
    path.write_bytes(b"".join(line + b"\n" for line in (*known, *map(untagged, records(OTHERS)))))
    project = Memsync.open(directory, env={"MEMSYNC_HOME": f"{directory}/home"}).with_settings(author="bench")
    session = RecallSession(project, "replay")
    always, edited = 0, count()
    injections = [session.at_start()]
    session.commit(injections[0])
    for turn in turns():
        injections.append(session.on_turn(turn.prompt))
        for _ in range(turn.calls - 1):
            decision = decide(session, Touched(paths=(_FILES[next(edited) * 7 % len(_FILES)],)))
            session.commit(decision.injection)
            injections += [session.on_tool(), decision.injection]
        best = project.search(turn.prompt, limit=_ALWAYS)
        once = build(best, project.clock(), limit=_ALWAYS, budget=9_000, grouped=False)
        always += turn.calls * len(once.text)
    given = Counter(entry.content for found in injections for entry in found.entries)
    needed = {text: given.pop(text, 0) for text, _ in NEEDED}
    return Replayed(sum(len(found.text) for found in injections), always, needed, given.total())

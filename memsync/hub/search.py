"""A query to the hub by one principal: nominated by PostgreSQL, ranked by memsync's own index, told with its places."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote, urlsplit

from memsync.errors import HubError, Remedy
from memsync.hub import access, loading, nominate, questions
from memsync.hub.database import Database
from memsync.hub.intake import MEMORIES, SKILLS
from memsync.hub.nominate import Filters, Nominee, Reach
from memsync.index.embed import Meaning
from memsync.index.query import parse
from memsync.index.rank import Match, Ranking
from memsync.index.sample import Sample, rows_of
from memsync.index.tokens import Tokenizer
from memsync.memories.decay import effective_importance
from memsync.memories.results import Answered
from memsync.poison.guard import quoted
from memsync.records import Memory, format_time, shown_id
from memsync.store.settings import Settings

if TYPE_CHECKING:
    from psycopg import Connection

LONGEST: Final = 8_192  # characters of a query
_TOKENIZER: Final = Tokenizer()
_DEFAULTS: Final = Settings()


@dataclass(frozen=True, slots=True, kw_only=True)
class HubHit:
    """A memory or skill of a repository, with how well it answers, as `Hit` has it, and where its line is."""

    repository: str
    url: str
    link: str
    kind: str
    memory: Memory
    score: float
    confidence: float
    copy_of: str | None = None

    def as_dict(self) -> dict[str, Any]:
        """Return what a person or a model needs of it; the text quoted, because it is somebody else's."""
        memory = self.memory
        return {
            "repository": self.repository,
            "url": self.url,
            "link": self.link,
            "kind": self.kind,
            "id": shown_id(memory.id),
            "content": quoted(memory.content),
            "memory_type": memory.memory_type,
            "importance": memory.importance,
            "tags": list(memory.tags),
            "written_at": format_time(memory.written_at) if memory.written_at else None,
            "score": round(self.score, 4),
            "confidence": round(self.confidence, 4),
            **({"copy_of": self.copy_of} if self.copy_of else {}),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class HubRecall(Answered):
    """The hits of one query, best first, and how much was looked through."""

    hits: tuple[HubHit, ...]
    repositories: int
    records: int

    def as_dict(self) -> dict[str, Any]:
        """Return the query, the hits, how far to trust them, and how much was looked through."""
        return {**Answered.as_dict(self), "repositories": self.repositories, "records": self.records}


def search(
    database: Database,
    meaning: Meaning | None,
    principal: access.Bearer,
    text: str,
    *,
    limit: int = 15,
    filters: Filters | None = None,
    face: str = "cli",
    clock: Callable[[], datetime] = lambda: datetime.now(UTC),
) -> HubRecall:
    """Return the best *limit* of what *principal* may read, and write down that it was asked, not what.

    Raises:
        HubError: the database is lost, or being loaded for the first time.
    """
    begun = time.perf_counter()
    text, filters = text[:LONGEST], filters or Filters()
    with database.reading(principal.principal) as connection:
        if loading.is_loading(connection):
            raise HubError(
                "the hub is being loaded for the first time; try again when ", Remedy("hub sync"), " has ended"
            )
        reach = nominate.find_reach(connection, filters.repositories, filters.kind)
        found, ranking, degraded = _ask(connection, meaning, text, reach, filters, limit=limit, now=clock())
        places = _read_places(connection, {one.repo for one in found.values()})
    hits = tuple(_as_hit(match, found, places) for match in ranking.matches)
    with database.writing() as connection:
        ms = (time.perf_counter() - begun) * 1000
        access.note(connection, principal.name, face, "search", repos=len(reach.repos), hits=len(hits), ms=ms)
        if reach.repos and not filters.is_narrow and ranking.gate < _DEFAULTS.recall_threshold:
            questions.note(connection, principal.principal, text)
    return HubRecall(
        query=text,
        hits=hits,
        gate=ranking.gate,
        floor=_DEFAULTS.recall_threshold,
        degraded=degraded or ranking.degraded,
        repositories=len(reach.repos),
        records=reach.records,
    )


def _ask(
    connection: Connection[Any],
    meaning: Meaning | None,
    text: str,
    reach: Reach,
    filters: Filters,
    *,
    limit: int,
    now: datetime,
) -> tuple[dict[str, Nominee], Ranking, str]:
    """Return the nominees by the names they are ranked under, the ranking, and what was missing."""
    query = parse(text, _TOKENIZER)
    if not reach.repos:
        return {}, Ranking(), ""
    meaning, degraded = _usable(connection, meaning)
    whole, words = nominate.know_whole(connection, query, reach)
    ids = nominate.by_words(connection, whole, [*query.terms, *words], reach, filters)
    asked = meaning.query(text) if meaning else None
    if asked:
        ids = [*ids, *nominate.by_meaning(connection, asked[0], whole, reach, filters)]
    nominees = nominate.read(connection, sorted(set(ids)), reach, has_vectors=asked is not None)
    found = {f"{one.id}": one for one in nominees}
    rows = rows_of([one.vector for one in nominees], len(asked[0])) if asked else None
    sample = Sample(
        [("project", one.memory._replace(id=name)) for name, one in found.items()], meaning, whole, words, rows
    )

    def allow(_: object, memory: Memory) -> float | None:
        return effective_importance(memory, None, now, _DEFAULTS)

    return found, sample.answer(text, query, limit=limit, allow=allow), degraded


def _usable(connection: Connection[Any], meaning: Meaning | None) -> tuple[Meaning | None, str]:
    """Return *meaning* if the hub's vectors are by it, with how it was calibrated."""
    about = nominate.meta(connection)
    if meaning is None or not nominate.has_vectors(connection):
        return None, ""
    if about.get("embedder") != meaning.id:
        return None, f"by words only: the hub's vectors are by {about.get('embedder')}, and {meaning.id} is here"
    meaning.calibrate(float(about["unrelated"]) if "unrelated" in about else None)
    return meaning, ""


def _read_places(connection: Connection[Any], repos: set[int]) -> dict[int, tuple[str, str]]:
    rows = connection.execute("select id, name, url from repo where id = any(%s)", [list(repos)])
    return {row[0]: (row[1], row[2]) for row in rows}


def _as_hit(match: Match, found: dict[str, Nominee], places: dict[int, tuple[str, str]]) -> HubHit:
    nominee = found[match.memory.id]
    name, url = places[nominee.repo]
    original = found.get(match.copy_of) if match.copy_of else None
    return HubHit(
        repository=name,
        url=url,
        link=link_to(url, nominee),
        kind=nominee.kind,
        memory=nominee.memory,
        score=match.parts.score,
        confidence=match.confidence,
        copy_of=f"{places[original.repo][0]} {shown_id(original.memory.id)}" if original else None,
    )


def link_to(url: str, nominee: Nominee) -> str:
    """Return where a browser shows the line, at the commit that it was taken from; for a path, the file and the line."""
    path = MEMORIES if nominee.kind == "memory" else f"{SKILLS}/{nominee.memory.id}/SKILL.md"
    web = web_address(url)
    if not web:
        return f"{url}/{path}:{nominee.number}"
    middle = "/-/blob/" if "gitlab" in urlsplit(web).netloc else "/blob/"
    return f"{web}{middle}{nominee.commit}/{quote(path)}#L{nominee.number}"


def web_address(url: str) -> str:
    """Return where a browser finds the repository at *url*; "" if none does."""
    if "://" in url:
        parts = urlsplit(url)
        if parts.scheme in ("http", "https"):
            return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path.removesuffix('.git')}"
        return f"https://{parts.hostname}{parts.path.removesuffix('.git')}" if parts.scheme == "ssh" else ""
    host, colon, path = url.partition(":")
    return f"https://{host.rpartition('@')[2]}/{path.removesuffix('.git')}" if colon and not url.startswith("/") else ""

"""A query to the hub by one principal: nominated by PostgreSQL, ranked by memsync's own index, told with its places."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote, urlsplit

from memsync.errors import HubError, Remedy
from memsync.hub import access, loading, nominate, questions
from memsync.hub.database import Database
from memsync.hub.ingest import key_of
from memsync.hub.intake import MEMORIES, SKILLS
from memsync.hub.nominate import Filters, Nominee, Nominees, Place, Reach
from memsync.hub.sample import Sample
from memsync.index.embed import Meaning
from memsync.index.query import parse
from memsync.index.rank import Match, Ranking
from memsync.index.scale import WEIGHED
from memsync.index.synonyms import Synonyms
from memsync.index.tokens import Tokenizer
from memsync.memories.filters import effective_importance
from memsync.memories.results import Answered
from memsync.records import Memory, format_time, shown_id
from memsync.safety.guard import quoted
from memsync.store.settings import Settings

if TYPE_CHECKING:
    from psycopg import Connection

LONGEST: Final = 8_192  # characters of a query
_TOKENIZER: Final = Tokenizer()
_SYNONYMS: Final = Synonyms(_TOKENIZER.terms)
_DEFAULTS: Final = Settings()


@dataclass(frozen=True, slots=True, kw_only=True)
class HubHit:
    """A memory or skill of a repository, with how well it answers, as `Hit` has it, and where its line is.

    `also_in`: how many other repositories have the same text.
    """

    repository: str
    url: str
    link: str
    kind: str
    memory: Memory
    score: float
    confidence: float
    copy_of: str | None = None
    also_in: int = 0

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
            **({"also_in": self.also_in} if self.also_in else {}),
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
        about = nominate.meta(connection)
        if loading.LOADING in about:
            raise HubError(
                "the hub is being loaded for the first time; try again when ", Remedy("hub sync"), " has ended"
            )
        reach = nominate.find_reach(connection, filters.repositories, filters.kind)
        usable, degraded = _usable(about, meaning)
        found, ranking = _ask(connection, usable, text, reach, filters, limit=limit, now=clock())
        shown = _find_shown(found, ranking)
        places = nominate.read_places(connection, [one.id for one in shown.values()], reach)
    may = [match for match in ranking.matches if shown[match.memory.id].id in places]  # a grant may end in between
    hits = tuple(_as_hit(match, shown, places) for match in may)
    is_vain = reach.number and not filters.is_narrow and ranking.gate < _DEFAULTS.recall_threshold
    with database.writing() if is_vain else database.writing_each() as connection:
        ms = (time.perf_counter() - begun) * 1000
        access.note(connection, principal.name, face, "search", repos=reach.number, hits=len(hits), ms=ms)
        if is_vain:
            questions.note(connection, principal.principal, text)
    return HubRecall(
        query=text,
        hits=hits,
        gate=ranking.gate,
        floor=_DEFAULTS.recall_threshold,
        degraded=degraded or ranking.degraded,
        repositories=reach.number,
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
) -> tuple[Nominees, Ranking]:
    """Return what was nominated, and the ranking."""
    query = parse(text, _TOKENIZER)
    if not reach.number:
        return Nominees((), reach.kind), Ranking()
    whole, words = nominate.know_whole(connection, query, _SYNONYMS, reach)
    asked = meaning.query(text) if meaning else None
    nominees = nominate.nominate(connection, query, asked[0] if asked else None, whole, words, reach, filters)
    meant = (nominees.vectors(len(asked[0])), asked) if asked else None
    sample = Sample(
        nominees.as_record, nominees.counted(), partial(key_of, reach.kind), meaning, _TOKENIZER, whole, words, meant
    )

    def allow(_: object, memory: Memory) -> float | None:
        return effective_importance(memory, None, now, _DEFAULTS)

    ranking = sample.answer(text, query, limit=max(limit, WEIGHED), allow=allow, repository=nominees.repository)
    return nominees, ranking._replace(matches=ranking.matches[:limit])


def _usable(about: Mapping[str, str], meaning: Meaning | None) -> tuple[Meaning | None, str]:
    """Return *meaning* if the hub *about* which this is noted has vectors by it, with how it was calibrated, or why not."""
    if meaning is None or not about.get("embedder"):
        return None, ""
    if about.get("embedder") != meaning.id:
        return None, f"by words only: the hub's vectors are by {about.get('embedder')}, and {meaning.id} is here"
    meaning.calibrate(float(about["unrelated"]) if "unrelated" in about else None)
    return meaning, ""


def _find_shown(found: Nominees, ranking: Ranking) -> dict[str, Nominee]:
    """Return what the matches are, and what they are copies of, by the names they were ranked under."""
    names = {name for match in ranking.matches for name in (match.memory.id, match.copy_of) if name}
    return {name: found.find(name) for name in names}


def _as_hit(match: Match, shown: dict[str, Nominee], places: Mapping[int, Place]) -> HubHit:
    nominee = shown[match.memory.id]
    place = places[nominee.id]
    original = shown[match.copy_of] if match.copy_of and shown[match.copy_of].id in places else None
    return HubHit(
        repository=place.name,
        url=place.url,
        link=link_to(place.url, nominee),
        kind=nominee.kind,
        memory=nominee.memory,
        score=match.parts.score,
        confidence=match.confidence,
        copy_of=f"{places[original.id].name} {shown_id(original.memory.id)}" if original else None,
        also_in=place.copies,
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

"""What an organisation asks of its memories: what many repositories say, where they disagree, and how fresh each is.

Compared by the rules of dedup, over what one principal may read.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from memsync.hub import questions
from memsync.hub.access import Bearer
from memsync.hub.database import Database, as_dicts
from memsync.hub.ingest import read_row
from memsync.index.dedup import MERGED, decide
from memsync.index.tokens import Tokenizer
from memsync.janitor.clusters import pairs
from memsync.records import normal_form
from memsync.safety.guard import quoted
from memsync.system.texts import count

if TYPE_CHECKING:
    from psycopg import Connection

MOST: Final = 10_000  # memories that are compared
_SHOWN: Final = 100
_RULE: Final = 3  # repositories that say something, from which it may be a rule for all


class Said(NamedTuple):
    """A text and the repositories that say it."""

    text: str
    repositories: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Clash:
    """Two texts of different repositories that cannot both be true, and why."""

    one: Said
    other: Said
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """What was found, most repositories first. `compared` of `memories` were looked at.

    `rules` are what so many repositories say that it may be a rule for all of them; `unanswered` what several have asked
    in vain, where that is collected.
    """

    memories: int
    compared: int
    shared: tuple[Said, ...]
    rules: tuple[Said, ...]
    clashes: tuple[Clash, ...]
    repositories: tuple[dict[str, Any], ...]
    unanswered: tuple[dict[str, Any], ...] = ()

    def as_dict(self) -> dict[str, Any]:
        """Return all of it by its names."""
        return {
            "memories": self.memories,
            "compared": self.compared,
            "shared": [said._asdict() for said in self.shared],
            "rules": [said._asdict() for said in self.rules],
            "clashes": [{"one": c.one._asdict(), "other": c.other._asdict(), "why": c.why} for c in self.clashes],
            "repositories": list(self.repositories),
            "unanswered": list(self.unanswered),
        }


def make(database: Database, principal: Bearer) -> Report:
    """Return the report over what *principal* may read.

    Raises:
        HubError
    """
    with database.reading(principal.principal) as connection:
        repositories = as_dicts(
            "name url state memories skills commit changed_at",
            connection.execute(
                "select name, url, state, memories, skills, commit, changed_at from repo order by changed_at nulls first, name"
            ),
        )
        found = list(_read_texts(connection))
    with database.writing() as connection:
        unanswered = questions.top(connection)
    shared, clashes = compare(found)
    return Report(
        memories=sum(one["memories"] for one in repositories),
        compared=len(found),
        shared=tuple(shared[:_SHOWN]),
        rules=tuple(said for said in shared if len(said.repositories) >= _RULE)[:_SHOWN],
        clashes=tuple(clashes[:_SHOWN]),
        repositories=tuple(repositories),
        unanswered=tuple(unanswered),
    )


def _read_texts(connection: Connection[Any]) -> Iterator[tuple[str, str]]:
    """Yield the memories that are compared: first those whose words several repositories have together, then the most important."""
    rows = connection.execute(
        "with shared as (select said from record where kind = 'memory' group by said having min(repo) < max(repo))"
        " select p.name, r.name, r.line from record r join repo p on p.id = r.repo left join shared s using (said)"
        " where r.kind = 'memory' order by s.said is null, r.importance desc, r.id limit %s",
        [MOST],
    )
    for repository, name, line in rows:
        yield repository, quoted(read_row("memory", name, bytes(line)).content)


def compare(found: Iterable[tuple[str, str]]) -> tuple[list[Said], list[Clash]]:
    """Return what several repositories say, and what contradicts what, of texts with their repositories. Pure."""
    places: dict[str, set[str]] = defaultdict(set)
    texts: dict[str, str] = {}
    for repository, text in found:
        key = normal_form(text)
        places[key].add(repository)
        texts.setdefault(key, text)
    leader, clashes = _relate(texts)

    def find_head(key: str) -> str:
        while key in leader:  # towards the front of the list, so it ends
            key = leader[key]
        return key

    for key in leader:
        places[find_head(key)] |= places[key]

    def said(key: str) -> Said:
        head = find_head(key)
        return Said(texts[head], tuple(sorted(places[head])))

    shared = [said(key) for key in texts if key not in leader and len(places[key]) > 1]
    told = [Clash(one=said(a), other=said(b), why=why) for a, b, why in clashes if len(places[a] | places[b]) > 1]
    shared.sort(key=lambda each: (-len(each.repositories), each.text))
    told.sort(key=lambda c: (-len(c.one.repositories) - len(c.other.repositories), c.one.text))
    return shared, told


def _relate(texts: Mapping[str, str]) -> tuple[dict[str, str], list[tuple[str, str, str]]]:
    """Return of which earlier text each copy is one, and which pairs contradict each other, with the reasons."""
    keys = list(texts)
    leader: dict[str, str] = {}
    clashes: list[tuple[str, str, str]] = []
    for first, second in pairs([texts[key] for key in keys], Tokenizer()):
        one, other = keys[first], keys[second]
        verdict = decide(texts[other], texts[one], 0.0)
        if verdict.relation == "duplicate" and verdict.decision in MERGED:
            leader.setdefault(other, one)
        elif verdict.relation == "contradicts":
            clashes.append((one, other, verdict.reason))
    return leader, clashes


_STYLE: Final = (
    "body{font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;color:#1b1b1b;background:#fff}"
    "table{border-collapse:collapse;width:100%}td,th{border-bottom:1px solid #ccc;padding:.3rem .6rem;text-align:left}"
    "@media(prefers-color-scheme:dark){body{color:#eee;background:#181818}}"
)


def as_html(report: Report) -> str:
    """Return *report* as one page that loads nothing."""
    counted = f"{count(report.memories, 'memory')} in {count(len(report.repositories), 'repository')}, {report.compared:,} compared"
    parts = [
        '<!doctype html><html lang="en"><meta charset="utf-8"><title>memsync hub: report</title>',
        f"<style>{_STYLE}</style><h1>What the repositories remember</h1><p>{counted}.</p>",
        "<h2>Candidates for a shared rule</h2>",
        _list([f"{len(said.repositories)} repositories say: {said.text}" for said in report.rules]),
        "<h2>Said by several repositories</h2>",
        _list([f"{', '.join(said.repositories)}: {said.text}" for said in report.shared]),
        "<h2>Contradictions between repositories</h2>",
        _list([
            f"{', '.join(c.one.repositories)}: {c.one.text} — {', '.join(c.other.repositories)}: {c.other.text} ({c.why})"
            for c in report.clashes
        ]),
        "<h2>Asked in vain</h2>",
        _list([f"{one['askers']} have asked: {one['question']}" for one in report.unanswered]),
        "<h2>Freshness</h2><table><tr><th>Repository<th>State<th>Memories<th>Last change taken in</tr>",
    ]  # fmt: skip
    for one in report.repositories:
        cells = (one["name"], one["state"], f"{one['memories']:,}", one["changed_at"] or "never")
        parts.append(f"<tr>{''.join(f'<td>{escape(str(cell))}' for cell in cells)}</tr>")
    return "\n".join([*parts, "</table></html>\n"])


def _list(rows: Sequence[str]) -> str:
    return f"<ul>{''.join(f'<li>{escape(row)}' for row in rows)}</ul>" if rows else "<p>None.</p>"

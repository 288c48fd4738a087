"""Questions that the hub could not answer, where its owner has chosen to collect them: told when several have asked the same.

Until so many have asked, no text is kept: what is kept then are keyed hashes of the question and of who asked it.
"""

from __future__ import annotations

import hmac
import secrets
from typing import TYPE_CHECKING, Any, Final

from memsync.errors import UsageError
from memsync.hub.intake import plain
from memsync.index.query import parse
from memsync.index.tokens import Tokenizer
from memsync.safety.secrets import scan

if TYPE_CHECKING:
    from collections.abc import Mapping

    from psycopg import Connection

FEWEST: Final = 2
_ASKERS: Final = "questions_of"  # how many principals
_KEY: Final = "questions_key"
_KEPT: Final = "90 days"
_LONGEST: Final = 300
_SHOWN: Final = 50


def collect(connection: Connection[Any], askers: int) -> None:
    """Begin to collect questions that nothing answers, to be told once *askers* principals have asked the same.

    Raises:
        UsageError: a single one would be told.
    """
    if askers < FEWEST:
        raise UsageError(
            f"a question is told once {FEWEST} or more have asked it; choose a number of at least {FEWEST}"
        )
    stop(connection)
    for key, value in ((_ASKERS, str(askers)), (_KEY, secrets.token_hex(32))):
        connection.execute("insert into meta_private values (%s, %s)", [key, value])


def stop(connection: Connection[Any]) -> None:
    """Stop collecting, and forget what was."""
    connection.execute("delete from meta_private where key = any(%s)", [[_ASKERS, _KEY]])
    connection.execute("truncate question, question_text")


def note(connection: Connection[Any], principal: int, text: str) -> None:
    """Write down that *principal* has asked *text* in vain, if that is collected.

    Two questions are the same when they have the same terms, in any order.
    """
    about = _settings(connection)
    terms = sorted(set(parse(text, Tokenizer()).terms))
    if not about or not terms or len(text) > _LONGEST or scan(text):
        return
    asked = _hash(about, "\0".join(terms))
    asker = _hash(about, f"{principal}\0{asked.hex()}")  # of this question: who asks what else is not to be seen
    connection.execute(
        "insert into question (asked, asker) values (%s, %s)"
        " on conflict (asked, asker) do update set times = question.times + 1, at = now()",
        [asked, asker],
    )
    connection.execute(
        "insert into question_text (asked, text) select %(asked)s, %(text)s where (select count(*) from question"
        f" where asked = %(asked)s and at > now() - interval '{_KEPT}') >= %(askers)s on conflict do nothing".encode(),
        {"asked": asked, "text": plain(" ".join(text.split())), "askers": int(about[_ASKERS])},
    )


def _settings(connection: Connection[Any]) -> Mapping[str, str]:
    rows = connection.execute("select key, value from meta_private where key = any(%s)", [[_ASKERS, _KEY]])
    return dict(rows.fetchall())


def _hash(about: Mapping[str, str], text: str) -> bytes:
    return hmac.digest(bytes.fromhex(about[_KEY]), text.encode("utf-8", "replace"), "sha256")[:16]


def top(connection: Connection[Any]) -> list[dict[str, Any]]:
    """Return what enough principals have asked in vain in the last 90 days, most askers first; older notes go."""
    about = _settings(connection)
    if not about:
        return []
    connection.execute(f"delete from question where at < now() - interval '{_KEPT}'".encode())
    connection.execute("delete from question_text t where not exists (select from question q where q.asked = t.asked)")
    rows = connection.execute(
        "select t.text, count(*), sum(q.times) from question q join question_text t using (asked) group by asked, t.text"
        " having count(*) >= %s order by 2 desc, 3 desc, 1 limit %s",
        [int(about[_ASKERS]), _SHOWN],
    )
    return [{"question": text, "askers": askers, "times": int(times)} for text, askers, times in rows]


def is_collecting(connection: Connection[Any]) -> int:
    """Return how many principals have to ask the same before it is told; 0 where nothing is collected."""
    return int(_settings(connection).get(_ASKERS, 0))

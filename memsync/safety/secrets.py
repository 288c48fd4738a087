"""What looks like a secret in a text, and the same text without it or its writer's home.

Own rules, because a memory is prose: detect-secrets and the like look at
source lines (docs/security.md has the figures). `issuers.tsv` has the shapes of
issuers' tokens; a value of no known shape must look drawn by a machine, or
like a password under a telling name.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from functools import cache
from typing import Final, NamedTuple

from memsync.records import Memory
from memsync.safety.allowing import Allow, fingerprint
from memsync.safety.chunks import (
    CODED,
    LENGTHY,
    LONG,
    PLACES,
    SEED,
    TOKEN,
    TOLD,
    find_marks,
    list_begun,
    list_formats,
    list_stems,
    lower_in_place,
)
from memsync.safety.formats import SEEDS, in_formats
from memsync.safety.hints import may_tell
from memsync.safety.issuers import Rule, hinted, may_hold_token
from memsync.safety.unmasking import decoded, from_base64, from_hex, joined, shown
from memsync.safety.values import entropy, find_drawn, find_runs, is_shown

__all__ = ["NOTHING", "Allow", "Secret", "describe", "fingerprint", "is_ours", "redact", "scan", "scan_memory", "tidy"]

NOTHING: Final = Allow()


class Secret(NamedTuple):
    """What `rule` found at characters `start` to `end`; `redacted` and `fingerprint` may be shown."""

    rule: str
    start: int
    end: int
    redacted: str
    fingerprint: str


_Span = tuple[str, int, int, str]


# What random letters are for that anybody may know.
@cache
def _public_names() -> re.Pattern[str]:
    return re.compile(
        r"(?i)\b(?:sha\d*|md5|\w*hash\w*|\w*digest\w*|checksum|integrity|commit\w*|revision|etag|fingerprint|\w*public\w*|ca_?bundle|sec-websocket-\w+|signaturevalue|dnskey|applicationserverkey|publishable|nonce|kid|x5t\w*"
        r"|resolved|ssh-\w+|ecdsa\S*|\w*cert\w*|cache\w*|nanoid|ulid|uuid|guid|alphabet|base\d+|sourcemappingurl|recaptcha\w*|[\w-]*site-verification|site[_ -]?key|ids?)\b[^\n]{0,28}$"
        r"|\b(?:[\w-]*_?ids?|id-\d|trace|span|cursor|blob|tree|data|price|customer|event|image|distribution|message|run|h1|go\.mod"
        r"|signature|request|build|tx|contract|project|client|account|session|version|name|file|url|path|did:\w{1,8})[\"'`]?(?: is)?[\s:=\"'`#/<(]{1,4}$"
        r"|; ?bh?=$|[\"'](?:n|x|y|x5c)[\"']\s?:\s?\[?[\"']$"  # a signed mail, a public JWK
    )


_SLASHES: Final = re.compile(r"[/\\]+")
_UNNAMED: Final = "random-value"
_CUT_OFF: Final = 60
_VARIED: Final = 2.8  # bits a character, at least
_SHORT: Final = 64  # characters: a tag, an author, a session, as many memories have
_MANY: Final = 4096
_ROW: Final = 16  # texts in a row that is kept
# Short texts, and rows of them, that hold nothing, whatever is allowed.
_clean: Final[set[str | tuple[str, tuple[str, ...]]]] = set()
_last: Final = [""]  # and the last that was longer
_SPACED: Final = re.compile(
    r"\d(?:[ :-](?:[0-9A-Fa-f]{2}[ :-]){3}|(?<=0)x[0-9A-Fa-f]{2},)"
)  # cheap: sixteen pairs hold one such
_WORDLESS: Final = frozenset({float, int, datetime})
_OURS: Final = frozenset({"id", "memory_type", "source_type"})  # which mostly hold what we write there
_PLAIN: Final = re.compile(r"[a-z]{1,16}|mm-[a-z0-9]{6,10}")
_IDS: Final = frozenset({"id", "source_session_id", "conflict_of"})
# Of RFC 9562; its variant makes it no text in base64 either.
_UUID: Final = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[1-8][0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}")
_TIMES: Final = frozenset({"created_at", "updated_at", "archived_at"})
_TIME: Final = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,6})?Z", re.ASCII)


# What is long, random, and for everybody: certificates, public keys, images.
@cache
def _public_pattern() -> re.Pattern[str]:
    return re.compile(
        r"-----BEGIN (?![A-Z ]*PRIVATE)[A-Z0-9 ]+-----(?:\s*(?:Version|Comment|Hash|Charset): [^\n]*\n)*[A-Za-z0-9+/=\s\\]*|data:[\w/+.-]*(?:;[\w-]+=[\w.-]+)*;base64,\S+|\b(?:ssh-|ecdsa-)\S+ AAAA\S+"
        r"|\b(?:iVBORw0KGgo|R0lGOD|UklGR|H4sI|JVBERi0|UEsDB|d09GM)[\w/+=-]+|/9j/[\w/+=-]+|\bMII[\w+/]{3}CC[AB][\w/+=]+"
        r"|\b(?:MII[BC]I[jT]|MIGfMA0G|MFkwEwYH|MHYwEAYH|MCowBQYD)[\w/+=]+|\bv=DKIM1;[^\n]{0,60}?\bp=[\w/+=]+"
    )


def scan(text: str, allow: Allow = NOTHING) -> list[Secret]:
    """Return what looks like a secret in *text*, in order and without overlaps.

    Looked at is what stands there, what it is read as (without invisible
    characters, in plain letters), and what it is when decoded once. Linear in
    the length of *text*.
    """
    if text in _clean or text == _last[0]:
        return []
    marks = find_marks(text)
    spans = [(rule, start, end, text[start:end]) for rule, start, end in _candidates(text, marks)]
    spans += _behind_masks(text, marks)
    if not spans and len(text) > _SHORT:
        _last[0] = text  # a write looks at its text twice: before it is stored, and to note that it may be shown
    elif not spans:
        _keep_clean(text)
    spans.sort(key=lambda found: (found[1], -found[2], found[0] == _UNNAMED))
    secrets: list[Secret] = []
    for rule, start, end, value in spans:
        if (secrets and start < secrets[-1].end) or value in allow:
            continue
        secrets.append(Secret(rule, start, end, f"[{rule}, {end - start} characters]", fingerprint(value)))
    return secrets


def scan_memory(memory: Memory, allow: Allow = NOTHING) -> list[Secret]:
    """Return what looks like a secret in any field of *memory*. Places count in the content."""
    found = scan(memory.content, allow)
    for name, value in zip(Memory._fields, memory, strict=True):
        if not value or name == "content" or type(value) in _WORDLESS:
            continue
        if isinstance(value, tuple):
            found += _scan_words(name, value, allow)
        elif not (isinstance(value, str) and is_ours(name, value)):
            for text in _texts(value, "" if name == "extra" else name):
                found += scan(text, allow)
    return found


def _keep_clean(found: str | tuple[str, tuple[str, ...]]) -> None:
    """Keep what was *found* to hold nothing; of more than _MANY all are forgotten."""
    if len(_clean) >= _MANY:
        _clean.clear()
    _clean.add(found)


def _scan_words(name: str, words: tuple[str, ...], allow: Allow) -> list[Secret]:
    """Return what looks like a secret in *words*, such as the tags that many memories have."""
    if (name, words) in _clean:
        return []
    texts = [*_texts(words, name)]
    found = [secret for text in texts for secret in scan(text, allow)]
    if len(words) <= _ROW and all(map(_clean.__contains__, texts)):
        _keep_clean((name, words))
    return found


def is_ours(name: str, value: str) -> bool:
    """Tell whether *value* is an id, a type or a time as we write it into the field *name*: no secret, and not worth a search."""
    if name in _IDS and _UUID.fullmatch(value):
        return not from_hex(value)
    pattern = _PLAIN if name in _OURS else _TIME if name in _TIMES else None
    return pattern is not None and pattern.fullmatch(value) is not None


def _texts(value: object, names: str) -> Iterator[str]:
    """Yield every text of a JSON value behind the *names* of all that encloses it, and each name."""
    if isinstance(value, str):
        yield f"{names}: {value}" if names else value
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from _texts(item, names)
    elif isinstance(value, Mapping):
        for key, item in value.items():
            inner = f"{names} {key}".strip()
            yield from _texts(item, inner) if isinstance(item, (str, Mapping, list, tuple)) else (f"{inner}: {item}",)


def redact(text: str, allow: Allow = NOTHING, *, names: str = "") -> str:
    """Return *text* with every secret replaced by what kind it was. *names*: of all that encloses it."""
    head = f"{names}: " if names else ""
    whole, place, parts = head + text, len(head), list[str]()
    for secret in scan(whole, allow):
        if secret.end > place:
            parts += [whole[place : secret.start], secret.redacted]
            place = secret.end
    return "".join([*parts, whole[place:]])


def describe(secrets: Sequence[Secret]) -> str:
    """Say what was found, for people, without showing it."""
    kinds = dict.fromkeys(
        f"{s.redacted[1:-1]} at character {s.start + 1}, fingerprint {s.fingerprint}" for s in secrets
    )
    shown = list(kinds)[:3]
    return "; ".join(shown) + (f"; and {len(kinds) - len(shown)} more" if len(kinds) > len(shown) else "")


def tidy(text: str, *, home: str, user: str = "") -> str:
    """Return *text* with the paths of *home*, and of homes that *user* has on other systems, as `~`.

    Only whole path components count; a home of `/` changes nothing.
    """
    plain = text.casefold()
    for name, pattern in _homes(home.rstrip("/\\"), user):
        if name in plain:  # which it is in few; to look for the whole path takes longer
            text = pattern.sub("~", text)
    return text


_SLASH: Final = r"(?:/|\\\\?)"


@cache
def _homes(home: str, user: str) -> tuple[tuple[str, re.Pattern[str]], ...]:
    """Return the pattern of each home, beside a word that is in every text with one, case folded."""
    found = []
    if len(home) > 1:
        parts = _SLASHES.split(home)
        found.append((parts[-1], _SLASH.join(map(re.escape, parts))))
    if user and user != "root":
        found.append((user, rf"(?:/mnt/[a-z]|/[a-z]|[A-Za-z]:)?{_SLASH}(?:Users|home){_SLASH}{re.escape(user)}"))
    return tuple(
        (name.casefold(), re.compile(rf"(?<![\w.~-]){path}(?![\w.-]*\w)", re.IGNORECASE if ":" in path else 0))
        for name, path in found
    )


def _candidates(text: str, marks: int) -> Iterator[tuple[str, int, int]]:
    """Yield what stands in *text* itself. Most texts hold nothing that could be a secret, and are done with at once."""
    lower = lower_in_place(text) if marks & ~(PLACES | LONG) else ""
    if marks & SEED:
        yield from in_formats(text, lower, SEEDS)
    if marks & TOKEN:
        yield from _tokens(text)
    if marks & TOLD and may_tell(lower):
        from memsync.safety.sentences import in_sentences  # with many patterns, and told in few texts

        yield from in_sentences(text, lower)
    if marks & PLACES:
        if marks & LONG:
            yield from _drawn(text)
        yield from in_formats(text, lower, list_formats(marks))
        yield from _named(text, lower, marks)


def _named(text: str, lower: str, marks: int) -> Iterator[tuple[str, int, int]]:
    """Yield what a telling name is given, where it is not for everybody."""
    if stems := [row for row in list_stems(marks) if row[0] in lower]:
        from memsync.safety.named import in_names

        for found in in_names(text, lower, find_runs(text), stems):
            if not _is_public(text, found[1]):
                yield found


def _tokens(text: str) -> Iterator[tuple[str, int, int]]:
    long = " ".join(filter(may_hold_token, text.split()))
    for hint, rule in [pair for pair in hinted() if pair[0] in long]:
        if hint or rule.pattern().search(long):
            for match in rule.pattern().finditer(text):
                if (
                    entropy(match[0]) >= _VARIED
                    and not _is_public(text, match.start())
                    and not is_shown(match[0])
                    and not _is_word_like(match[0])
                ):
                    yield rule.name, *match.span()


def _is_public(text: str, place: int) -> bool:
    return any(found.start() <= place < found.end() for found in _public_pattern().finditer(text))


def _is_word_like(value: str) -> bool:
    return not any(map(str.isdigit, value)) and (value.islower() or value.isupper())


def _drawn(text: str) -> Iterator[tuple[str, int, int]]:
    """Yield what looks drawn by a machine and is not known to be something that anybody may see."""
    for match in find_drawn(text):
        before = text[max(0, match.start() - _CUT_OFF) : match.start()]
        # What is a text in base64 was not drawn; what the text says is looked at for itself.
        if not (_public_names().search(before) or _is_public(text, match.start()) or from_base64(match[0])):
            yield _UNNAMED, *match.span()


def _behind_masks(text: str, marks: int) -> Iterator[_Span]:
    if found := shown(text):
        plain, inner = found.text, find_marks(found.text)
        for rule, start, end in (*_candidates(plain, inner), *_decode(plain, inner)):
            yield rule, *found.where(start, end), plain[start:end]
    else:
        for rule, start, end in _decode(text, marks):
            yield rule, start, end, text[start:end]


def _decode(text: str, marks: int) -> Iterator[tuple[str, int, int]]:
    """Yield what decodes to a secret, or is one when it is put together."""
    is_encoded = "&" in text or "\\" in text or "%" in text
    is_long = marks & PLACES and marks & LONG
    has_chunks = bool(marks & (CODED | LENGTHY))
    if is_encoded or (has_chunks and (is_long or _SPACED.search(text))):
        for found in decoded(text, with_chunks=has_chunks):
            for rule, start, end in _candidates(found.text, find_marks(found.text)):
                yield rule, *found.where(start, end)
    if marks & PLACES:
        for hint, told in list_begun(text):
            yield from _broken(text, told, text.find(hint))


def _broken(text: str, rule: Rule, place: int) -> Iterator[tuple[str, int, int]]:
    for found, seam in joined(text, place):
        match = rule.pattern().search(found.text)
        if match and match.start() < seam < match.end() and entropy(match[0]) >= _VARIED and not is_shown(match[0]):
            yield rule.name, *found.where(*match.span())
            return

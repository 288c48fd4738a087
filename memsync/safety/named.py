"""Values under a telling name: `API_KEY=…`, `setApiKey("…")`, `let token: &str = "…"`, "the password is …"."""

from __future__ import annotations

import re
from bisect import bisect
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from memsync.safety.hints import STEMS
from memsync.safety.values import is_hex, is_key, is_password, is_random, is_shown, is_technical, is_wordy, kinds_of

_NO_SECRET: Final = re.compile(
    r"(?i)bypass|compass|pub[_-]?key|cipher[ _-]?(?:list|suites?)|(?:message|routing|row|record|event|object|document|group|shard|dedup\w*|correlation)[ _-]?key|did:key:|: enc\[|dnskey|key[ _-]?exchange|websocket-key|application_?server_?key|\b(?:rsa|dsa|ecdsa|eddsa)[ _]key|pass(?:es|ed|ing|enger|port|through|ive|[- ]?rate|es)|key(?:s|word|board|stroke|frame|note|press|cloak)\b|author|authent|public[ _-]?(?:\w+[ _-])?key|publickey|publishable|cache[\w ]{0,20}key|primary|foreign|partition|sort.?key|hot.?key|cache|idempotency|csrf|tokeni[sz]|host_?key|site[_ -]?key"
    r"|password(?:less|[_-]?(?:hash|polic|reset|length|min|max|field|input|confirm|strength|manager|encoder|hasher|age|file|timeout|history))"
    r"|(?:key|token|secret|credentials?)s?[_ -]?(?:id|ids|type|types|name|names|file|path|url|uri|endpoint|ttl|length|size|count|limit|version"
    r"|expir\w*|digest|checksum|fingerprint|header|store|ring|word|board|arn|ref|hash|bucket|family|alias|provider|manager|signature)\b"
)
_DIGEST: Final = re.compile(r"(?i)sha-?\d|md5|digest|checksum|integrity|\bhash|fingerprint|\bh1:")
_MARKS: Final = r"[\"'`*\])}>]{0,4}"
_TYPE: Final = r"(?:\s{0,2}:\s{0,2}[&'*\w<>\[\]. |?]{1,40}?)?"
_GIVEN: Final = re.compile(
    rf"{_MARKS}(?:\s{{0,3}}\{{ get; (?:set; |init; )?\}})?{_TYPE}\s{{0,3}}(?:(?:\|\||\?\?|[?:+|])?={{1,2}}>?|[:：>,(]|<<<|->|，)"
    rf"\s{{0,12}}(?:[>|]-?\s{{1,12}})?(?:[A-Za-z][\w.:]{{0,30}}\(|base64:|[brfu])?[\"'`({{\[]{{0,3}}"
    rf"|{_MARKS}[\s,;/{{:]{{0,6}}(?:[\"'<]?(?:value|content|default|val|text|data)[\"']?)\s{{0,2}}[=:>]\s{{0,3}}[\"'`]?"
    rf"|{_MARKS}\s{{0,2}}(?:是|为|為|は|が|을|를)\s?[\"'`「]?"
    r"|\s[\"'`]?"
)
_TOLD: Final = re.compile(
    rf"{_MARKS},?\s(?:[^\s.;!?]{{1,14}}\s){{0,7}}(?:is|are|was|be|as|to|ist|war|lautet|est|es|è|é|er|jest|to|now|=|:)[:]?\s(?:now |still )?[\"'`]?"
    rf"|{_MARKS}\s(?:[^\s.:;!?]{{1,14}}\s){{0,4}}[^\s.:;!?]{{1,14}}:\s[\"'`]?"
)
_VALUE: Final = re.compile(r"[^\s\"'`,;<>「」|]{6,400}")
_LEAD: Final = "=:([{>.&?"
_TAIL: Final = ").]}\\:!?。、"
_STOP: Final = re.compile(
    r"\n\s*\n|[.!?]\s+(?=[A-Z])|\n(?!\s{0,8}[-\"']?\s{0,4}(?:value|login|password|[\"']?value)\b|\s{1,8}\S+$)"
)
_NEAR: Final = 90
_SAID_BEFORE: Final = 20
_NUMBER: Final = re.compile(r"0x[0-9a-fA-F]{1,16}")  # of a machine's word: no key is so short
_SENTENCE: Final = re.compile("\\d{0,3}[\u3040-\u9fff]{2}")  # goes on in the letters of Chinese or Japanese
_MOST: Final = 4  # values looked at behind one name


def in_names(
    text: str, lower: str, possible: Sequence[tuple[int, int]], stems: Iterable[tuple[str, bool]] = STEMS
) -> Iterator[tuple[str, int, int]]:
    """Yield the rule, begin and end of each of the *possible* values that a name with one of *stems* in *text* is given."""
    ends = [end for _, end in possible]
    seen = set[int]()
    empty: dict[int, list[int]] = {}  # ends of names behind which nothing is, and from where of each is told
    for stem, is_password_name in stems:
        for place in _find_all(lower, stem):
            near = bisect(ends, place - _NEAR)
            if near == len(ends) or possible[near][0] > place + 2 * _NEAR:
                continue
            begin, end = _name(text, place, place + len(stem))
            is_reference = text[begin - 2 : begin] == "${" and text[end : end + 1] == "}"
            said = max(0, begin - _SAID_BEFORE, text.rfind(";", 0, begin))  # beyond it is another setting
            if any(_may_name_secret(text, earlier, end) for earlier in empty.pop(end, ())):
                seen.add(end)
            if end in seen or is_reference:
                continue
            found = [*_given(text, end, is_password_name=is_password_name)]
            if not found:
                empty.setdefault(end, []).append(said)  # which takes longer to tell, and seldom matters
            elif _may_name_secret(text, said, end):
                seen.add(end)
                yield from found


def _may_name_secret(text: str, said: int, end: int) -> bool:
    """Tell whether nothing from *said* on says that the name which ends at *end* is none of a secret."""
    return not _NO_SECRET.search(text, said, min(len(text), end + 12))


def _find_all(lower: str, stem: str) -> Iterator[int]:
    """Yield where *stem* stands in *lower*."""
    place = lower.find(stem)
    while place >= 0:
        yield place
        place = lower.find(stem, place + len(stem))


_LEFT: Final = re.compile(r"[\w-]{0,40}$")
_RIGHT: Final = re.compile(r"[\w-]{0,30}", re.ASCII)


def _name(text: str, begin: int, end: int) -> tuple[int, int]:
    left = _LEFT.search(text, max(0, begin - 40), begin)
    right = _RIGHT.match(text, end)
    return (left.start() if left else begin), (right.end() if right else end)


def _given(text: str, end: int, *, is_password_name: bool) -> Iterator[tuple[str, int, int]]:
    stop = _STOP.search(text, end, end + _NEAR)
    limit = stop.start() if stop else end + _NEAR
    rule = "password" if is_password_name else "assigned-secret"
    place, count, gap = end, 0, ""
    while count < _MOST and (match := _VALUE.search(text, place)) and match.start() < limit:
        first, last = _trim(text, *match.span())
        gap = text[end:first]
        if _is_given(text[first:last], gap, is_password_name=is_password_name):
            if not _DIGEST.search(gap):
                yield rule, first, last
            return
        place, count = match.end(), count + 1


def _is_given(value: str, gap: str, *, is_password_name: bool) -> bool:
    """Tell whether *value*, with *gap* between it and a name, is a secret of that name."""
    if not is_password_name and not is_key(value, 16) and not is_random(value, 16):
        return False  # as nearly all, and told at once
    is_given = _GIVEN.fullmatch(gap) is not None
    is_plain = is_given or _TOLD.fullmatch(gap) is not None
    return _fits(value, is_password_name=is_password_name, is_given=is_given, is_plain=is_plain)


def _trim(text: str, first: int, last: int) -> tuple[int, int]:
    while first < last and text[first] in _LEAD:
        first += 1
    if (amp := re.search(r"&[\w-]+=", text[first:last])) and "=" in text[max(0, first - 1) : first]:
        last = first + amp.start()
    while last > first + 1 and text[last - 1] in _TAIL:
        last -= 1
    return first, last


def _fits(value: str, *, is_password_name: bool, is_given: bool, is_plain: bool) -> bool:
    if len(value) < 6 or not _looks_secret(
        value, is_password_name=is_password_name, is_given=is_given, is_plain=is_plain
    ):
        return False
    return not (is_shown(value) or _NUMBER.fullmatch(value) or _SENTENCE.match(value) or is_technical(value))


def _looks_secret(value: str, *, is_password_name: bool, is_given: bool, is_plain: bool) -> bool:
    if is_password_name:
        return (
            is_password(value, is_given=is_given)
            or (is_plain and is_password(value, is_given=True) and kinds_of(value) >= 3)
            or (is_given and is_key(value, 20))
        )
    if value.endswith("("):  # a call
        return False
    if is_plain:
        return is_key(value, 16)
    return is_random(value, 16) and not is_wordy(value) and not is_hex(value)

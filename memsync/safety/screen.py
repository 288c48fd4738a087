"""Whether a text reads like an order to an agent rather than something to know. Pure; the rules are data beside it.

A text is read as a person would read it: without accents, with letters that only look like Latin ones as these, and
with what is encoded decoded. Each phrase is looked up by the beginning of one of its words, so that the hundreds of
them cost an ordinary memory some microseconds.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import cache, lru_cache
from pathlib import Path
from typing import Final, NamedTuple

from memsync.records import TYPE_ORDER, Memory, texts_of
from memsync.safety import unmasking
from memsync.safety.guard import visible
from memsync.system.texts import Memo

_WORD: Final = re.compile(r"[^\W_]+")
_KEY: Final = 4  # letters by which phrases are looked up
_OURS: Final = frozenset((*TYPE_ORDER, "user", "agent", "session", "skill", "inferred", "import"))
_BETWEEN: Final = str.maketrans("-',.:", "     ")
_SPELLED: Final = r"(?<!\w)(?:(?:[^\W\d_][ ._*-]{1,2}){7,}|(?:[^\W\d_][._*-]){5,})[^\W\d_](?!\w)"
_ENCODED: Final = 24  # characters of the shortest word that may be base64
_NAME: Final = 36  # characters of a tag, a type, a name or the id of a session
_LONGEST: Final = 200_000  # characters that are read, which no memory has


_beginnings: Final[Memo[str, str]] = Memo(lambda word: f"{word[:_KEY]}*")


class Shape(NamedTuple):
    """One row of shapes.tsv, which says what its columns mean."""

    why: str
    words: tuple[str, ...]
    excuse: str
    pattern: str


class Phrases(NamedTuple):
    """One section of phrases.txt: why, what excuses a sentence, and the phrases, one a line."""

    why: str
    excuse: str
    lines: str


def _read_shapes() -> tuple[dict[str, str], list[Shape]]:
    """Return what each name stands for, and the shapes."""
    names: dict[str, str] = {}
    shapes = []
    for row in Path(__file__).with_name("shapes.tsv").read_text("utf-8").splitlines():
        if not row.startswith("#"):
            name, *words, pattern = re.sub(r"\{([A-Z]+)\}", lambda found: names[found[1]], row).split("\t")
            if words:
                shapes.append(Shape(names[name], tuple(words[0].split()), words[1], pattern))
            else:
                names[name] = pattern
    return names, shapes


def _read_phrases(script: str) -> tuple[Phrases, ...]:
    """Return the phrases in the letters of *script*, "latin" or "other"."""
    sections = Path(__file__).with_name("phrases.txt").read_text("utf-8").split("\n== ")[1:]
    found = []
    for head, _, lines in (section.partition("\n") for section in sections):
        letters, why, *excuse = head.split()
        if letters == script:
            found.append(Phrases(_NAMES[why], _NAMES[excuse[0]] if excuse else "", lines))
    return tuple(found)


_NAMES, _SHAPES = _read_shapes()
SEND: Final = _NAMES["SEND"]
TAG: Final = _NAMES["TAG"]
SHAPES: Final = tuple(shape for shape in _SHAPES if shape.why != TAG)
TAGS: Final = tuple(shape for shape in _SHAPES if shape.why == TAG)
LATIN: Final = _read_phrases("latin")
OTHER: Final = _read_phrases("other")

# Lower-case letters that look like a Latin one, and signs that stand for one.
LOOKALIKES: Final = {
    "a": "аαɑᴀ", "b": "ьʙ", "c": "сϲᴄ", "d": "ԁժᴅ", "e": "еєҽᴇ", "f": "ғք", "g": "ɡց", "h": "һհ", "i": "іιıɩӏ", "j": "јյᴊ",
    "k": "кκᴋ", "l": "ⅼʟ", "m": "мᴍ", "n": "пոηɴ", "o": "оοօσᴏ", "p": "рρᴘ", "q": "ԛգ", "r": "гʀ", "s": "ѕꜱ", "t": "тτᴛ",
    "u": "υսᴜ", "v": "ѵνᴠ", "w": "ԝωᴡ", "x": "хχ", "y": "уүγʏ", "z": "ᴢʐ",
}  # fmt: skip
LEET: Final = ("013457@$!", "oieastasi")


class Phrase(NamedTuple):
    """One line of the rules: why, what excuses it, and its groups of words with the gaps between them."""

    why: str
    excuse: str
    text: str


def suspicious(text: str) -> str:
    """Return why *text* reads like an order to an agent rather than something to know; "" if it does not.

    A net: it finds what is worded like known attacks, in nine languages, and some honest sentences.
    """
    if visible(text) != text:
        return "holds invisible or control characters"
    return _why(text[:_LONGEST], is_whole=True)


def flaw_of(memory: Memory) -> str:
    """Return why one of the texts of *memory* reads like an order to an agent; "" if none does."""
    return next(filter(None, map(_flaw_of_text, filter(None, texts_of(memory)))), "")


def _flaw_of_text(text: str) -> str:
    """Do what `suspicious` does, once for the names and tags that most memories share."""
    if text in _OURS:
        return ""
    return _flaw_of_name(text) if len(text) <= _NAME else suspicious(text)


@lru_cache(4096)
def _flaw_of_name(text: str) -> str:
    return suspicious(text)


def _why(text: str, *, is_whole: bool) -> str:
    lower = folded(text)
    for reading in _readings(lower):
        if why := _why_in_reading(reading):
            return why
    if why := _tag(text):
        return why
    if re.search(_SPELLED, lower):
        return "spells words letter by letter"
    return next(filter(None, (_why(part, is_whole=False) for part in _decode(text))), "") if is_whole else ""


def folded(text: str) -> str:
    """Return *text* in lower case and its plainest letters: compatibility forms resolved, without accents and joiners."""
    if text.isascii():
        return " ".join(text.lower().split())
    from unicodedata import normalize

    plain = re.sub("[\u0300-\u036f\u200c\u200d]+", "", normalize("NFKD", text).casefold())
    return " ".join(normalize("NFC", plain).split())


def _readings(lower: str) -> Iterator[str]:
    """Yield what a person may read in *lower*: as it is, with look-alikes and digits as the letters they stand for."""
    yield lower
    if not lower.isascii():
        latin = lower.translate(_map_lookalikes())
        if latin != lower:
            yield latin
            lower = latin
    if any(mark in lower for mark in ("*", "`", "_", "~")) and re.search(r"[a-z][*`_~]+[a-z]", lower):
        yield re.sub(r"[*`_~]+", "", lower)
    if len(re.findall(r"[a-z][013457@$!]+[a-z]|\b[013457@$]+[a-z]{2}", lower)) > 1:
        yield lower.translate(str.maketrans(*LEET))


@cache
def _map_lookalikes() -> dict[int, str]:
    return {ord(like): letter for letter, likes in LOOKALIKES.items() for like in likes}


def _why_in_reading(text: str) -> str:
    """Return why a phrase or a shape of the rules is in *text*, which is folded."""
    words = set(_WORD.findall(text))
    keys = words.union(map(_beginnings.__getitem__, words))
    found = _find_near(keys, is_latin=True)
    if not text.isascii():
        found += _find_near(keys | {""}, is_latin=False)
    for phrase in found:
        matches = _pattern(phrase.text).finditer(text)
        if not all(_is_excused(text, match, phrase.excuse) for match in matches):
            return phrase.why
    return _shape(text, words)


def _find_near(keys: set[str], *, is_latin: bool) -> list[Phrase]:
    """Return the phrases of which each group may have a word among *keys*."""
    places, rows = _phrases(is_latin=is_latin)
    near = sorted({place for key in keys if key in places for place in places[key]})
    return [Phrase(*rows[place]) for place in near if not any(map(keys.isdisjoint, _told(rows[place][2])))]


def _is_excused(text: str, match: re.Match[str], excuse: str) -> bool:
    """Tell whether the sentence says before the *match*, or in it, that this is not to be done."""
    if _is_quoted(text, match):
        return True
    if not excuse:
        return False
    start = max(text.rfind(end, 0, match.start()) for end in (". ", "! ", "? ", "; "))
    return re.search(excuse, text[start + 1 : match.start()][-120:]) is not None


def _is_quoted(text: str, match: re.Match[str]) -> bool:
    """Tell whether the *match* begins a short quotation in a sentence about such texts."""
    speaks = r"\b(?:text|texts|phrases?|strings?|inputs?|injections?|sanitiz\w+|filters?)\b[^.\"“„«]{0,60}[\"“„«]$"
    return (
        re.search(speaks, text[max(0, match.start() - 100) : match.start()]) is not None
        and re.match(r"[\w ,']{0,60}[\"”“»]", text[match.end() :]) is not None
    )


@cache
def _phrases(*, is_latin: bool) -> tuple[dict[str, list[int]], list[tuple[str, str, str]]]:
    """Return the places of the phrases by the keys of one of their groups, the most telling, and the phrases in their order."""
    rules = LATIN if is_latin else OTHER
    rows = [(why, excuse, line) for why, excuse, lines in rules for line in _fold_lines(lines)]
    places: dict[str, list[int]] = {}
    for place, (_, _, line) in enumerate(rows):
        for key in next(iter(_told(line)), {""}):
            places.setdefault(key, []).append(place)
    return places, rows


@lru_cache(4096)
def _told(line: str) -> tuple[frozenset[str], ...]:
    """Return the keys of those groups of *line* that have any, the most telling first."""
    groups = map(_keys, line.replace(" ... ", " .. ").split(" .. "))
    return tuple(sorted((group for group in groups if "" not in group), key=len))


def _fold_lines(lines: str) -> Iterable[str]:
    rows = lines.strip().split("\n")
    return map(" ".join, map(str.split, map(str.lower, rows))) if lines.isascii() else map(folded, rows)


def _keys(group: str) -> frozenset[str]:
    """Return by what the words of *group* are looked up: the longest word, or the first letters of one with any ending.

    "" stands for what is no word, or is one of a script without spaces.
    """
    return frozenset(map(_key, group.split("|")))


def _key(word: str) -> str:
    if word.isascii() and word.isalnum():
        return word
    parts = word.translate(_BETWEEN).split()
    best = max(parts, key=len, default="")
    bare = best.strip("*")
    if not bare.isalnum() or bare > "\u2e80":
        return ""
    return bare if bare == best else f"{bare[:_KEY]}*" if len(bare) >= _KEY and best[0] != "*" else ""


@cache
def _pattern(line: str) -> re.Pattern[str]:
    """Return the regular expression of a phrase."""
    parts = re.split(r" (\.{2,3}) ", line)
    gaps = {"..": r"(?:(?![.!?;] ).){0,24}?", "...": r"(?:(?![.!?;] ).){0,60}?"}
    return re.compile("".join(gaps.get(part) or f"(?:{'|'.join(map(_spell, part.split('|')))})" for part in parts))


def _spell(word: str) -> str:
    """Return one word or phrase of a group as a regular expression: whole words, but for `*` and scripts without spaces."""
    inner = re.escape(word.strip("*"))
    is_spaced = word.strip("*")[:1] < "\u2e80"
    left = r"\b" if is_spaced and word[:1].isalnum() else ""
    right = r"\b" if is_spaced and word[-1:].isalnum() else ""
    return f"{left}{inner}{right}"


def _shape(text: str, words: set[str]) -> str:
    """Return why the shape of a command is in *text*."""
    places = _shapes()
    for place in sorted({place for word in words if word in places for place in places[word]}):
        shape = SHAPES[place]
        if not all(_is_excused(text, match, shape.excuse) for match in re.finditer(shape.pattern, text)):
            return shape.why
    return ""


@cache
def _shapes() -> dict[str, list[int]]:
    """Return the places of the shapes by the words of which a text must have one."""
    places: dict[str, list[int]] = {}
    for place, shape in enumerate(SHAPES):
        for word in shape.words:
            places.setdefault(word, []).append(place)
    return places


def find_sending(program: str) -> str:
    """Return why *program*, a script that somebody brought, sends files or secrets away; "" if no line of it looks so."""
    for row in program.replace("\\\n", " ").splitlines():
        lower = folded(row)
        if _shape(lower, set(_WORD.findall(lower))) == SEND:
            return SEND
    return ""


def _tag(text: str) -> str:
    """Return why a tag or a role of a client's is in *text* outside of code spans."""
    plain = text.lower() if text.isascii() else _compatible(text).lower()
    if not any(mark in plain for mark in ("<", "[", ":", "#", "begin", "end", "start")):
        return ""
    plain = re.sub(r"`[^`\n]{1,200}`", "` `", plain)
    for shape in TAGS:
        is_near = any(mark in plain for mark in shape.words)
        if is_near and not all(_is_spoken_of(plain, match) for match in re.finditer(shape.pattern, plain)):
            return TAG
    return ""


def _is_spoken_of(text: str, match: re.Match[str]) -> bool:
    """Tell whether the sentence says what becomes of such a tag, as notes on parsers do."""
    return bool(
        re.match(r"\s*(?:tags?|sections?|elements?|tokens?|markers?|blocks?)\b", text[match.end() :])
        or re.search(
            r"\b(?:split|strip|escap|pars|filter|reject|remov)\w*\ (?:on\ |at\ |by\ |the\ |out\ )?$",
            text[: match.start()],
        )
    )


def _compatible(text: str) -> str:
    from unicodedata import normalize

    return normalize("NFKC", text)


def _decode(text: str) -> Iterator[str]:
    """Yield what *text* says where it is encoded: entities, percent signs, escapes, base64 and hexadecimal."""
    if "&" in text and re.search(r"&(?:#\w{2,7}|[a-z]{2,6});", text):
        yield unmasking.from_entities(text)
    if "%" in text and len(re.findall(r"%[0-9a-fA-F]{2}", text)) > 1:
        yield unmasking.from_percent(text)
    if "\\" in text and len(re.findall(r"\\(?:u\{?[0-9a-fA-F]{2}|x[0-9a-fA-F]{2}|[01][0-7]{2})", text)) > 1:
        yield unmasking.from_escapes(text)
    for word in re.findall(r"[A-Za-z0-9+/_-]{24,}={0,2}", text) if len(text) >= _ENCODED else ():
        is_hex = not word.strip("0123456789abcdefABCDEF")
        said = unmasking.from_hex(word) if is_hex else unmasking.from_base64(word)
        if " " in said:
            yield said

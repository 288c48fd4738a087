"""Code-aware tokens of a text: stems, identifier parts, whole identifiers.

Owns how text becomes index terms; knows neither records nor scores.
A plain word gives one Porter2 stem. A compound (snake_case, CamelCase,
kebab-case, path, version, hash) gives its parts, its joined form, and its
exact form behind ``=``; a commit hash also gives its first seven digits.
"""

from __future__ import annotations

import re
import unicodedata
from typing import TYPE_CHECKING, Final

import Stemmer

from memsync.index.scale import EXACT

if TYPE_CHECKING:
    from memsync.records import Memory

_MEMO_LIMIT: Final = 60_000
_HASH_DIGITS: Final = 7

STOP_WORDS: Final = frozenset(
    """a about above after again all also am an and any are as at be because been before being
    below between both but by can could did do does doing don done down during each etc few for
    from further get gets go going got had has have having he her here hers him his how i if in
    into is isn it its itself just let like ll m may me might mine more most much must my
    no nor not now of off ok on once only or other our ours out over own please re s same she
    should so some such t than that the their theirs them then there these they this those through
    to too under until up us ve very was wasn we were what whats when where whether which
    while who whom whose why will with won would yes you your yours d doesn didn aren couldn
    shouldn wouldn hasn haven hadn im thats theres""".split()
)

_MONTHS: Final = "january february march april may june july august september october november december".split()

_UNIT = re.compile(r"[\w./\\#@+-]+")
_ISSUE = re.compile(r"#\d+$")
_PUNCTUATION = "`'\",;:!?()[]{}<>*"
_EDGE = "./\\-+@#_"
_SEPARATORS = re.compile(r"[^\w]+|_+")
_PATH = re.compile(r"[/\\]+")
_DOTS = re.compile(r"[.@#]+")
_CAMEL = re.compile(r"[A-Z]{2,}s(?![a-z])|[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+(?:\d+[a-z]*)?|[A-Z]+\d*|\d+[a-z]*")
_HASH = re.compile(r"(?=[0-9a-f]*[0-9])(?=[0-9]*[a-f])[0-9a-f]{7,40}$")
_VERSION = re.compile(r"v?(\d+(?:\.\d+)+)[\w.+-]*$")
_CODE_MARK = re.compile(r"[\d_./\\#@]")
_UNSPACED = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1100-\u11ff\u1780-\u17ff\u3040-\u30ff\u3130-\u318f"
    "\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff]+"
)


class Tokenizer:
    """Turn texts into terms, remembering each white-space chunk seen."""

    def __init__(self, *, stop_words: bool = True) -> None:
        self._stop_words: frozenset[str] = STOP_WORDS if stop_words else frozenset()
        self._stemmer = Stemmer.Stemmer("english")
        self._stemmer.maxCacheSize = 0
        self._memo: dict[str, tuple[str, ...]] = {}

    def terms(self, text: str) -> list[str]:
        """Return the terms of *text* in order, repeats kept."""
        memo = self._memo
        found: list[str] = []
        for chunk in text.split():
            known = memo.get(chunk)
            if known is None:
                known = self._remember(chunk)
            found += known
        return found

    def record_terms(self, memory: Memory) -> list[str]:
        """Return the terms of the content of *memory*, then each tag's terms once."""
        terms = self.terms(memory.content)
        for tag in memory.tags:
            terms += dict.fromkeys(self.terms(tag))
        return terms

    def hidden_terms(self, memory: Memory) -> list[str]:
        """Return what *memory* is found by though it does not say it, each term once: its cues, and the day it was made."""
        terms = dict.fromkeys(self.terms(" ".join(memory.cues)))
        if made := memory.created_at:
            terms |= dict.fromkeys((str(made.year), *self._word(_MONTHS[made.month - 1]), f"{EXACT}{made:%Y-%m-%d}"))
        return list(terms)

    def _remember(self, chunk: str) -> tuple[str, ...]:
        if len(self._memo) >= _MEMO_LIMIT:
            self._memo.clear()
        bare = chunk.strip(_PUNCTUATION)
        terms = self._memo.get(bare)
        if terms is None:
            terms = self._memo[bare] = tuple(self._chunk(bare))
        self._memo[chunk] = terms
        return terms

    def _chunk(self, chunk: str) -> list[str]:
        if not chunk:
            return []
        if chunk.isascii():
            if chunk.isalpha() and (chunk.islower() or chunk[1:].islower()):
                return self._word(chunk.lower())
        else:
            chunk = unicodedata.normalize("NFKC", chunk).replace("\u2019", "'")
            if _UNSPACED.search(chunk):
                return self._unspaced(chunk)
        return [term for unit in _UNIT.findall(chunk) for term in self._unit(unit)]

    def _word(self, word: str) -> list[str]:
        """Return the stem of one lower-case *word*, and its unaccented form."""
        if word in self._stop_words:
            return []
        stem: str = self._stemmer.stemWord(word)
        if stem.isascii():
            return [stem]
        plain = unaccented(stem)
        return [stem] if plain in (stem, "") else [stem, plain]

    def _unspaced(self, chunk: str) -> list[str]:
        terms = []
        for run in _UNSPACED.findall(chunk):
            terms += [run[i : i + 2] for i in range(len(run) - 1)] or [run]
        for rest in _UNSPACED.split(chunk):
            terms += [term for unit in _UNIT.findall(rest) for term in self._unit(unit)]
        return terms

    def _unit(self, unit: str) -> list[str]:
        issue = _ISSUE.search(unit)
        return [*self._bare_unit(unit.strip(_EDGE)), *([EXACT + issue[0]] if issue else [])]

    def _bare_unit(self, unit: str) -> list[str]:
        if not unit:
            return []
        low = unit.casefold()
        if low[-1] == "s" and low.isalpha() and unit[:-1].isupper():
            return self._word(low[:-1])
        if low.isalpha() and (unit == low or unit[1:] == low[1:] or unit.isupper()):
            return self._word(low)
        if version := _VERSION.match(low):
            return [EXACT + version[1], *_version_heads(version[1])]
        if _HASH.match(low):
            head = low[:_HASH_DIGITS]  # which may be all digits, and then looks like a number in a query
            return [EXACT + low, EXACT + head, *([head] if head.isdigit() else [])]
        return self._compound(unit, low)

    def _compound(self, unit: str, low: str) -> list[str]:
        """Return parts and joined form per path component, then the exact form."""
        terms: list[str] = []
        exact = [low] if is_identifier(unit) else []
        for component in _PATH.split(unit):
            exact.append(component.casefold().strip(_EDGE))
            for piece in _DOTS.split(component):
                exact.append(piece.casefold().strip(_EDGE))
                parts = word_parts(piece)
                for part in parts:
                    terms += self._word(part)
                if len(parts) > 1:
                    terms += self._word("".join(parts))
        return terms + [EXACT + form for form in dict.fromkeys(exact) if is_identifier(form)]


def word_parts(unit: str) -> list[str]:
    """Split an identifier at separators and case changes, lower-cased."""
    parts: list[str] = []
    for piece in _SEPARATORS.split(unit):
        if piece.isascii() and not piece.islower():
            parts += [part.lower() for part in _CAMEL.findall(piece)]
        elif piece:
            parts.append(piece.casefold())
    return parts


def is_identifier(form: str) -> bool:
    """Say whether *form* looks like code: separators of code, or mixed letters and digits."""
    return bool(_CODE_MARK.search(form)) and not form.isdigit()


def unaccented(text: str) -> str:
    """Return *text* without combining marks."""
    return "".join(c for c in unicodedata.normalize("NFKD", text) if not unicodedata.combining(c))


def _version_heads(version: str) -> list[str]:
    numbers = version.split(".")
    return [EXACT + ".".join(numbers[:n]) for n in range(2, len(numbers))]

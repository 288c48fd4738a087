"""A text as the guards see it: its words in order, without provenance noise, light words marked."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from functools import cache, lru_cache, partial, wraps
from itertools import chain, starmap
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple, TypeVar

from memsync.system.texts import Memo

# the word lists of the guards, as dedup_words.txt has them: what carries no content, and what turns a sentence round


def _read() -> dict[str, list[str]]:
    """Return the lines of each section of the file."""
    sections: dict[str, list[str]] = {}
    for line in Path(__file__).with_name("dedup_words.txt").read_text("utf-8").splitlines():
        if line.startswith("["):
            sections[section := line[1:-1]] = []
        elif line and not line.startswith("#"):
            sections[section].append(line)
    return sections


_SECTIONS: Final = _read()


def _list(section: str) -> list[str]:
    return " ".join(_SECTIONS[section]).split()


def _group(section: str) -> dict[str, str]:
    """Return the name that each word has by a section of `name: words`."""
    groups = (group.split(": ") for line in _SECTIONS[section] for group in line.split("; "))
    return {word: name for name, words in groups for word in words.split()}


def _pair(section: str) -> dict[str, frozenset[str]]:
    """Return the partners of each word in a section of pairs."""
    partners: defaultdict[str, set[str]] = defaultdict(set)
    for pair in "|".join(_SECTIONS[section]).split("|"):
        one, other = pair.split()
        partners[one].add(other)
        partners[other].add(one)
    return {word: frozenset(others) for word, others in partners.items()}


ARTICLES: Final = frozenset(_list("articles"))
LIGHT: Final = ARTICLES.union(_list("light"))
DIRECTIONS: Final = frozenset(_list("directions"))
NEGATIONS: Final = frozenset(_list("negations"))
QUANTIFIERS: Final = frozenset(_list("quantifiers"))
SAME_QUANTIFIERS: Final = _group("same quantifiers")
MODALS: Final = _group("modals")
TEMPORAL: Final = frozenset(_list("temporal"))
SERIES: Final = frozenset(_list("series"))
NUMBERS: Final = _group("numbers")
UNITS: Final = _group("units")
SIGNS: Final = frozenset(_list("signs"))
IRREGULAR: Final = _group("irregular verbs")
OPPOSITES: Final = _pair("opposites")
NEGATING_LETTERS: Final = frozenset(_list("negating letters"))
PARTICLES: Final = frozenset(_list("particles"))
NEGATING_ENDINGS: Final = tuple(_list("negating endings"))
CASE_PARTICLES: Final = tuple(_list("case particles"))
LATIN_CHANGES: Final = rf"\b(?:{'|'.join(_SECTIONS['changes'])})\b"
CHANGES: Final = rf"{LATIN_CHANGES}|{'|'.join(_SECTIONS['changes in scripts without spaces'])}"


T = TypeVar("T")
Kind = Literal["word", "name", "value", "letter", "light", "article", "not", "kana"]
CONTENT: Final = frozenset({"word", "name", "value", "letter"})

# Where somebody saw it is no part of what is true.
_TURNS: Final = r"turns?\s+#?\d+(?:\s*(?:,|-|–|and|to|&)\s*(?:and\s+)?#?\d+)*"
_FIRST: Final = (
    r"^\s*(?:we\s+decided\s+(?:to|that)|remember\s+that|note\s+that)\s"
    r"|^\s*(?:decision|decided|note|remember|fyi|important|reminder|tip|warning|hint)\s*:\s"
)
_OPENING: Final = re.compile(_FIRST, re.IGNORECASE)


@cache
def _noise_pattern() -> re.Pattern[str]:
    return re.compile(
        rf"\(\s*(?:[\w ]{{0,40}}?\b)?{_TURNS}[\w ]{{0,24}}\)"
        rf"|\b(?:as\s+)?(?:observed|seen|noted|noticed|discovered|confirmed|found|learned|shown)\s+(?:in|at|from|during)\s+{_TURNS}"
        rf"|\(?\b(?:observed|seen|noted|noticed|confirmed)\s+(?:once|twice|again|repeatedly|multiple times|several times|\d+\s+times)\b\)?"
        rf"|{_FIRST}",
        re.IGNORECASE,
    )


_TURN: Final = re.compile(r"turns?\s+#?\d")
_SEEN: Final = ("observed", "seen", "noted", "noticed", "confirmed")
_OFTEN: Final = ("once", "twice", "again", "repeatedly", "times")
_QUOTED: Final = "|".join(
    rf"(?<!\w){start}(?=[^{end}\n]*\b(?:error|errors|failed|fails|invalid|required|unknown|unexpected|no such|not found|denied|missing)\b)"
    rf"(?:(?!{end}(?!\w))[^\n])+\s(?:(?!{end}(?!\w))[^\n])+{end}(?!\w)"
    for start, end in (("'", "'"), ('"', '"'), ("`", "`"), ("“", "”"))
)
_MONTH: Final = r"(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\.?"
_DAY: Final = rf"(?:\d{{4}}-\d\d(?:-\d\d)?|\d{{1,2}}(?:st|nd|rd|th)?\s+{_MONTH}\s+\d{{4}}|{_MONTH}\s+\d{{1,2}}(?:st|nd|rd|th)?,?\s+\d{{4}})"


@cache
def _evidence_pattern() -> re.Pattern[str]:
    return re.compile(
        rf"{_QUOTED}|\(?\b{_TURNS}\b(?!\s+of\b)\)?|\b(?:e\.g|i\.e)\b\.?"
        r"|\(\s*\d{4}-\d\d(?:-\d\d)?\s*\)"
        r"|\b(?:as\s+of|observed|seen|noted|noticed|discovered|confirmed|verified|tested|found|learned|reported)"
        rf"(?:\s+(?:on|in|at|again))?\s+{_DAY}(?:,?\s+(?:at\s+)?\d\d?:\d\d(?:\s*(?:utc|z))?)?"
        r"|(?:\(|\b(?:in|during|from)\s+)(?:session|conversation)\s+(?=[a-f-]*\d)(?=[\d-]*[a-f])[\da-f-]{4,}\b",
        re.IGNORECASE,
    )


_QUESTION: Final = re.compile(r"(?:^|(?<=[.!?;\n]))[^.!?;\n]*\?+(?=\s|$)")
_CONTRACTED: Final = (
    (re.compile(r"\bcan(?:no|')t\b", re.IGNORECASE), "can not"),
    (re.compile(r"\bwon't\b", re.IGNORECASE), "will not"),
    (re.compile(r"n't\b", re.IGNORECASE), " not"),
)
_LINE: Final = re.compile(r"\s-\s|\n")  # where a clause ends between chunks
_BREAK: Final = re.compile(r"[—–…]|[.;:,!?)(]$|[(\[]|[。、；：，！？（）「」]")  # and in one
_CLOSING: Final = ".;:,!?)"  # of what _BREAK finds at the end of a chunk
_ENDING: Final = f"{_CLOSING}([—–…。、；：，！？（）「」"  # and all of it: behind one a clause begins
_QUOTES: Final = "`'\"“”‘’«»[](){}<>,;!?*"
_AMOUNT: Final = re.compile(r"([+-]?\d[\d.,]*)([a-zµ%°]+)$")
_GROUPED: Final = re.compile(r"(?<![\w.,])[1-9]\d{0,2}([,_])\d{3}(?:\1\d{3})*(?![\d,_])")
_CODE: Final = re.compile(r"[\d_/\\.:#@=*$~]|^--?\w|\w\(\)$")
_LETTERED: Final = re.compile(r"-[^\W\d_]$")
_SIGNED: Final = re.compile("[<>]=?(?=[\\w.])")
_NAMES: Final = frozenset({"US", "IT"})  # and not the pronouns
_UNSPACED: Final = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
_SCRIPTS: Final = tuple(zip(_UNSPACED[::3], _UNSPACED[2::3], strict=True))  # the first and the last letter of each
_VOWELS: Final = frozenset("aeiouy")
_HIRAGANA: Final = re.compile("[\u3040-\u309f]")


@cache
def _run_pattern() -> re.Pattern[str]:
    return re.compile(f"(?:[{_UNSPACED}]|[ー々])+")


_PLURALS: Final = {
    "men": "man",
    "women": "woman",
    "children": "child",
    "people": "person",
    "mice": "mouse",
    "feet": "foot",
}

# Of a word in several lists, the last counts.
_KNOWN: Final[dict[str, tuple[str, Kind]]] = {
    **{word: (word, "word") for word in (*QUANTIFIERS, *MODALS)},
    **{word: (word, "light") for word in (*LIGHT, *DIRECTIONS)},
    **{word: (word, "article") for word in ARTICLES},
    **{word: (name, "word") for word, name in UNITS.items()},
    **{word: (digits, "value") for word, digits in NUMBERS.items()},
    **{word: (word, "value") for word in SERIES},
    **{word: (word, "not") for word in NEGATIONS},
    "no": ("not", "not"),
}


class Token(NamedTuple):
    """One word: *form* as compared, *raw* as written in lower case."""

    form: str
    kind: Kind
    raw: str


Tokens = tuple[Token, ...]
Marks = tuple[Token | None, ...]  # None is where a clause ends


class Reading:
    """A text in tokens; *content* are the forms that carry meaning, in order. Of *marks*, None is where a clause ends.

    What is derived of it is kept with it: a write compares its own text with many, and these come back at the next one.
    """

    __slots__ = ("_marks", "content", "derived", "tokens")

    def __init__(self, marks: Marks) -> None:
        self._marks = marks
        self.tokens: Tokens = tuple(filter(None, marks))
        self.content = tuple([form for form, kind, _ in self.tokens if kind in CONTENT])
        self.derived: dict[Callable[[Reading], Any], Any] = {}

    @property
    def clauses(self) -> tuple[Tokens, ...]:
        """The tokens clause by clause; few texts are read so closely."""
        return _cut_clauses(self)

    def split(self) -> Iterator[Tokens]:
        """Yield the tokens of each clause that has any."""
        clause: list[Token] = []
        for token in (*self._marks, None):
            if token is not None:
                clause.append(token)
            elif clause:
                yield tuple(clause)
                clause = []


def kept(make: Callable[[Reading], T]) -> Callable[[Reading], T]:
    """Have what *make* derives of a reading made once."""

    @wraps(make)
    def find(reading: Reading) -> T:
        try:
            found: T = reading.derived[make]
        except KeyError:
            found = reading.derived[make] = make(reading)
        return found

    return find


@kept
def _cut_clauses(reading: Reading) -> tuple[Tokens, ...]:
    return tuple(reading.split())


@lru_cache(maxsize=512)  # some 10 kB each
def read(text: str) -> Reading:
    """Return *text* in tokens."""
    return Reading(_list_all(strip_noise(text)))


def _list_all(plain: str) -> Marks:
    """Return the tokens of *plain*, which is without noise. Each chunk is looked up, as most come again."""
    found: list[Token | None] = []
    for line in _split_lines(_expand(plain)):
        if chunks := line.split():
            rows = [*map(_later_chunks.__getitem__, chunks)]
            for place, before in enumerate((_ENDING[0], *chunks[:-1])):
                if before[-1] in _ENDING:
                    rows[place] = _first_chunks[chunks[place]]
            found += chain.from_iterable(rows)
            found.append(None)
    return tuple(found)


def _split_lines(text: str) -> list[str]:
    """Split *text* where _LINE is; most texts have none, and the space is the only white space that is printable."""
    return _LINE.split(text) if " - " in text or not text.isprintable() else [text]


def _read_chunk(chunk: str, *, is_first: bool) -> Marks:
    """Return the tokens of *chunk*, which is the first of its clause or is not, and where clauses end in it."""
    word = chunk[:-1] if (is_closed := chunk[-1] in _CLOSING) else chunk
    if word.isascii() and word.isalpha() and (word.islower() or (word.istitle() and len(word) > 1)):
        token = _read_word(word, is_first=is_first)
        return (token, None) if is_closed else (token,)
    first, *others = _BREAK.split(chunk)
    found: list[Token | None] = [*starmap(Token, _list_marks(first, is_first))]
    for part in others:
        found += (None, *starmap(Token, _list_marks(part, True)))
    return tuple(found)


def _read_word(word: str, *, is_first: bool) -> Token:
    """Return the token of *word*, which is of plain letters, none but the first a capital: most are, and are read quickly."""
    form, kind = _find_form(lower := word.lower())
    is_name = kind == "word" and not is_first and word != lower
    return Token(form, "name" if is_name else kind, lower)


_first_chunks: Final = Memo(partial(_read_chunk, is_first=True))
_later_chunks: Final = Memo(partial(_read_chunk, is_first=False))


@kept
def list_words(reading: Reading) -> tuple[str, ...]:
    """Return every form but the articles, in order."""
    return tuple([token.form for token in reading.tokens if token.kind != "article"])


@kept
def list_raws(reading: Reading) -> tuple[str, ...]:
    """Return every word as written in lower case, in order."""
    return tuple([token.raw for token in reading.tokens])


@kept
def hold(reading: Reading) -> frozenset[str]:
    """Return the forms of the content."""
    return frozenset(reading.content)


@kept
def count_words(reading: Reading) -> Counter[str]:
    """Return how often each form of the content is there."""
    return Counter(reading.content)


def hold_content(text: str) -> frozenset[str]:
    """Return the forms of the content of *text*, of which no reading is kept: a whole file is read so."""
    return frozenset([token.form for token in filter(None, _list_all(strip_noise(text))) if token.kind in CONTENT])


@kept
def split_clauses(reading: Reading) -> tuple[Reading, ...]:
    """Return each clause of *reading* as a reading of its own."""
    return tuple([Reading(clause) for clause in reading.clauses])


def strip_noise(text: str) -> str:
    """Return *text* without the words that only say when something was seen, unless nothing else is left."""
    plain = text if text.isascii() else unicodedata.normalize("NFKC", text).replace("’", "'")
    if not (_may_have_noise(plain.lower()) or _OPENING.match(plain)):
        return plain
    bare = _noise_pattern().sub(" ", plain)
    return bare if re.search(r"\w", bare) else plain


def _may_have_noise(lower: str) -> bool:
    """Tell whether a text may say where it was seen; most do not, and are spared the search."""
    if "turn" in lower and _TURN.search(lower):
        return True
    return any(map(lower.__contains__, _SEEN)) and any(map(lower.__contains__, _OFTEN))


def strip_questions(text: str) -> str:
    """Return *text* without its questions, which state nothing."""
    return _QUESTION.sub(" ", text) if "?" in text else text


def strip_evidence(text: str) -> str:
    """Return *text* without where it was seen and what an error said: turns, dates of observation, quoted errors."""
    return _evidence_pattern().sub(" ", unicodedata.normalize("NFKC", text))


def _expand(text: str) -> str:
    if "'t" in (lower := text.lower()) or "annot" in lower:
        for pattern, plain in _CONTRACTED:
            text = pattern.sub(plain, text)
    return text


def _list_marks(chunk: str, is_first: bool) -> list[tuple[str, Kind, str]]:
    found: list[tuple[str, Kind, str]] = []
    if max(chunk, default="") >= "\u0e00" and any(map(_is_unspaced, chunk)):  # the pattern takes long to compile
        start = 0
        for run in _run_pattern().finditer(chunk):
            found += _read_spaced(chunk[start : run.start()], is_first)
            found += ((letter, _classify_letter(letter), letter) for letter in run[0])
            start = run.end()
        chunk = chunk[start:]
    found += _read_spaced(chunk, is_first)
    return found


def _is_unspaced(letter: str) -> bool:
    return any(first <= letter <= last for first, last in _SCRIPTS)


def _classify_letter(letter: str) -> Kind:
    if letter in NEGATING_LETTERS:
        return "not"
    if letter in PARTICLES:
        return "article"
    return "kana" if _HIRAGANA.match(letter) else "letter"


def _read_spaced(chunk: str, is_first: bool) -> Iterator[tuple[str, Kind, str]]:
    if chunk in SIGNS or (not chunk.isascii() and any(unicodedata.category(letter) == "So" for letter in chunk)):
        yield chunk, "value", chunk
        return
    if (sign := _SIGNED.match(chunk)) and chunk[-1] != ">":
        yield sign[0], "value", sign[0]
    written = chunk.strip(_QUOTES).rstrip(".:")
    bare = _GROUPED.sub(lambda found: found[0].replace(found[1], ""), written.casefold())
    if bare.endswith("'s"):
        bare = bare[:-2].rstrip(_QUOTES)
    if not any(letter.isalnum() or letter == "%" for letter in bare):
        return
    if amount := _AMOUNT.match(bare):
        yield amount[1].rstrip(".,"), "value", amount[1]
        yield UNITS.get(amount[2], amount[2]), "value", amount[2]
        return
    form, kind = _find_form(bare)
    yield form, "name" if _is_named(chunk, written, kind, is_first) else kind, bare


def _is_named(chunk: str, written: str, kind: Kind, is_first: bool) -> bool:
    if kind == "value":
        return False
    is_service_a = written == "A" and not is_first  # and no article
    return chunk[0] == "`" or written in _NAMES or is_service_a or (kind == "word" and _is_name(written, is_first))


def _is_name(written: str, is_first: bool) -> bool:
    """Tell whether a word is written like a name: as code, with capitals where a sentence has none, or as `server-b`."""
    capitals = written[1:] != written[1:].lower() or (written[0].isupper() and not is_first)
    return capitals or bool(_LETTERED.search(written))


def _find_form(word: str) -> tuple[str, Kind]:
    if known := _KNOWN.get(word):
        return known
    if _CODE.search(word):
        return word.removesuffix("()"), "value"
    return stem(word), "word"


@lru_cache(maxsize=65_536)
def stem(word: str) -> str:
    """Return *word* without its English inflection: plural, -ed, -ing, final e; nothing that makes another word."""
    word = _PLURALS.get(word) or IRREGULAR.get(word, word)
    if len(word) < 4 or not word.isascii():
        return word
    if word.endswith("ies") and len(word) > 4:
        return word[:-3] + "y"
    if word.endswith(("sses", "xes", "ches", "shes", "zes")):
        return word[:-2]
    if word.endswith("s") and not word.endswith(("ss", "us", "is")):
        word = word[:-1]
    for ending in ("ing", "ed"):
        root = word.removesuffix(ending)
        if root != word and len(root) > 2 and not _VOWELS.isdisjoint(root):
            word = root[:-1] if root[-1] == root[-2] and root[-1] not in "lsz" else root
            word = word[:-1] + "y" if ending == "ed" and word.endswith("i") else word
            break
    return word.removesuffix("e") if len(word) > 3 else word

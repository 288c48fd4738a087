"""Code-aware tokens of a text: stems, identifier parts, whole identifiers.

Owns how text becomes index terms; knows neither records nor scores.
A plain word gives one Porter2 stem. A compound (snake_case, CamelCase,
kebab-case, path, version, hash) gives its parts, its joined form, and its
exact form behind ``=``; a commit hash also gives its first seven digits.
English has forms that no stemmer joins, and words that say little wherever they stand.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from itertools import chain
from typing import TYPE_CHECKING, Final, NamedTuple

import Stemmer

from memsync.index.scale import EXACT
from memsync.index.terms import term_key
from memsync.records import hidden_words
from memsync.system.texts import Memo

if TYPE_CHECKING:
    from datetime import date

    from memsync.records import Memory

_FORMS: Final = """
analysis analyses; appendix appendices; axis axes; bacterium bacteria; become became; begin began begun; bend bent;
bite bitten; bleed bled; blow blew blown; break broke broken; bring brought; build built; burn burnt; buy bought; calf
calves; catch caught; child children; choose chose chosen; cling clung; come came; creep crept; crisis crises;
criterion criteria; curriculum curricula; deal dealt; dig dug; draw drew drawn; dream dreamt; drink drank drunk; drive
drove driven; eat ate eaten; fall fell fallen; feed fed; feel felt; fight fought; find found; flee fled; fling flung;
fly flew flown; foot feet; forbid forbade forbidden; forget forgot forgotten; forgive forgave forgiven; freeze froze
frozen; give gave given; goose geese; grow grew grown; half halves; hang hung; hear heard; hide hid hidden; hold held;
hypothesis hypotheses; index indices; keep kept; kneel knelt; knife knives; know knew known; lay laid; lean leant;
learn learnt; lend lent; loaf loaves; lose lost; make made; man men; matrix matrices; mean meant; meet met; mistake
mistook mistaken; mouse mice; overcome overcame; override overrode overridden; overtake overtook; overwrite overwrote
overwritten; pay paid; person people; phenomenon phenomena; rebuild rebuilt; resend resent; rewrite rewrote rewritten;
ride rode ridden; ring rang rung; rise risen; run ran; say said; schema schemata; see seen; seek sought; self selves;
sell sold; send sent; sew sewn; shake shook shaken; shelf shelves; shine shone; show shown; shrink shrank shrunk; sing
sang sung; sink sank sunk; sit sat; sleep slept; slide slid; speak spoke spoken; spell spelt; spend spent; spin spun;
spoil spoilt; spring sprang sprung; stand stood; steal stole stolen; stick stuck; sting stung; strike struck; strive
strove striven; swear swore sworn; sweep swept; swell swollen; swim swam swum; swing swung; take took taken; teach
taught; tear tore torn; tell told; thesis theses; thief thieves; think thought; throw threw thrown; tooth teeth;
unbind unbound; understand understood; undo undid undone; vertex vertices; wake woke woken; wear wore worn; weave wove
woven; weep wept; wife wives; win won; withdraw withdrew withdrawn; wolf wolves; woman women; write wrote written
"""

# The plain form of each irregular one. Those that are a word of their own ("left", "bit", "led") are not among them.
PLAIN: Final = {form: plain for plain, *forms in map(str.split, _FORMS.split(";")) for form in forms}

# Stems of the words to which the shipped table of vectors gives least weight, because its texts have them most (ADR 58).
EVERYDAY: Final = frozenset(
    """
    accept access accord across act activ actual add addit advanc affect ago agre aim allow almost along altern
    alway anoth answer anyon anyth anyway appear appli applic argument around ask assum attend attribut automat
    avail avoid away back bad base basic becom begin behav behavior best better bring bug build call capabl care
    case caus certain chang charact check choos class clear close code collect column combin come command common
    compat complet comput concern condit configur confus connect consid consist construct contain content continu
    control conveni cool correct correspond creat current custom day deal decid default defin definit depend
    describ descript design desir detail determin develop differ direct directori discuss document easi easili
    edit effect either element els enabl end enhanc enjoy enough entir entri error especi even ever everi everyth
    exact exampl except execut exist expect explain explicit express extend extens extrem fail fair far featur
    feel field file find first fix follow forc form format former friend function general generat get give good
    great guarante guess guy hand handl happen hard hello help hey high hold honest hope howev identifi implement
    import improv includ indic individu inform initi instal intend interact interest internal introduc introduct
    invok involv issu item keep kid kind know larg last later learn librari like limit line list liter littl live
    look lot love main maintain make manag mani manipul manual match matter mayb mean mechan mention mere method
    miss model modul move name natur near necessari need never new nice normal note number object obtain occur
    offici okay one open oper option origin other otherwis output overview packag paramet part particular pass
    perform person place plan platform play point posit possibl post potenti power practic prefer present
    pretti previous probabl problem process produc program proper properti provid purpos put question quick quit
    rais rather reach read realli reason receiv recent recommend refer regard relat releas reli remain remov
    replac repres request requir respect respons result return right run say second section see seem sens separ
    serv server set sever show side similar simpl simpli sinc situat someth sometim sound special specif specifi
    standard start state statement stay step still stop string strong studi stuff success suggest support suppos
    sure surpris system tabl take talk tell term test thank thing think though time tool total toward travel treat
    tri true turn two type typic understand unit updat usag use user usual util valu variabl various version view
    wait want watch way well went wide without wonder work write yeah year yet
""".split()
)


_MEMO_LIMIT: Final = 60_000
_RECORDS: Final = 512  # that are kept as they were read, some 4 kB each
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
_GROUPED = re.compile(r"(?<![\w.,])\d{1,3}(?:,\d{3})+(?![\w,])")
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


@cache
def _unspaced_pattern() -> re.Pattern[str]:
    return re.compile(
        "[\u0e00-\u0eff\u1000-\u109f\u1100-\u11ff\u1780-\u17ff\u3040-\u30ff\u3130-\u318f"
        "\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff]+"
    )


def _may_be_unspaced(letter: str) -> bool:
    """Tell whether *letter* may be of a script without spaces, which a dash, a quotation mark or an arrow is not."""
    return letter >= "\u0e00" and not "\u2000" <= letter < "\u3000"


class Said(NamedTuple):
    """What a record says, as numbers (`term_key`): its *terms* in order, which *words* they are, and by which *hidden* ones it is found though it does not say them."""

    terms: Sequence[int]
    words: frozenset[int]
    hidden: frozenset[int]


def say(numbers: list[int], said: int) -> Said:
    """Return what a record says that has terms of these *numbers*, of which it says the first so many."""
    terms = numbers[:said]
    return Said(terms, frozenset(terms), frozenset(numbers[said:]))


class Tokenizer:
    """Turn texts into terms, remembering each white-space chunk seen."""

    def __init__(self, *, stop_words: bool = True) -> None:
        self._stop_words: frozenset[str] = STOP_WORDS if stop_words else frozenset()
        self._stemmer = Stemmer.Stemmer("english")
        self._stemmer.maxCacheSize = 0
        self._memo = Memo(self._read_chunk, _MEMO_LIMIT)
        self._stems = Memo(self._word, _MEMO_LIMIT)
        self._names = Memo(self._read_name, _MEMO_LIMIT)  # what stands between dots
        self._components = Memo(self._read_component, _MEMO_LIMIT)  # of paths, which many share
        self._tags = Memo(self._read_tags, _RECORDS)  # sets of them, which many records share
        self._records = Memo(self._read_record, _RECORDS)
        self._days: dict[date, list[str]] = {}

    def terms(self, text: str) -> list[str]:
        """Return the terms of *text* in order, repeats kept."""
        return list(chain.from_iterable(map(self._memo.__getitem__, text.split())))

    def chunk_terms(self, chunk: str) -> tuple[str, ...]:
        """Return the terms of one white-space *chunk* in order."""
        return self._memo[chunk]

    def read(self, memory: Memory) -> Said:
        """Return what *memory* says; hits come again from query to query, and are read once."""
        made = memory.created_at
        return self._records[memory.content, memory.tags, hidden_words(memory), made and made.date()]

    def _read_record(self, record: tuple[str, tuple[str, ...], tuple[str, ...], date | None]) -> Said:
        content, tags, hidden, day = record
        said = self._said_terms(content, tags)
        return say(list(map(term_key, said + self._hidden_terms(hidden, day))), len(said))

    def record_terms(self, memory: Memory) -> list[str]:
        """Return the terms of the content of *memory*, then each tag's terms once."""
        return self._said_terms(memory.content, memory.tags)

    def tag_terms(self, memory: Memory) -> Sequence[str]:
        """Return the terms of each tag of *memory* once."""
        return self._tags[memory.tags] if memory.tags else ()

    def hidden_terms(self, memory: Memory) -> list[str]:
        """Return what *memory* is found by though it does not say it, each term once: its cues, and the day it was made."""
        made = memory.created_at
        return self._hidden_terms(hidden_words(memory), made and made.date())

    def _read_tags(self, tags: Sequence[str]) -> tuple[str, ...]:
        return tuple(term for tag in tags for term in dict.fromkeys(self.terms(tag)))

    def _said_terms(self, content: str, tags: tuple[str, ...]) -> list[str]:
        terms = self.terms(content)
        if tags:
            terms += self._tags[tags]
        return terms

    def _hidden_terms(self, hidden: Sequence[str], day: date | None) -> list[str]:
        terms = self.terms(" ".join(hidden)) if hidden else []
        return list(dict.fromkeys(terms + self._read_day(day) if day else terms))

    def _read_day(self, day: date) -> list[str]:
        if (found := self._days.get(day)) is None:
            if len(self._days) >= _RECORDS:
                self._days.clear()
            month = self._stems[_MONTHS[day.month - 1]]
            found = self._days[day] = [str(day.year), *month, f"{EXACT}{day:%Y-%m-%d}"]
        return found

    def _read_chunk(self, chunk: str) -> tuple[str, ...]:
        bare = chunk.strip(_PUNCTUATION)
        return tuple(self._chunk(bare)) if bare == chunk else self._memo[bare]

    def _chunk(self, chunk: str) -> Sequence[str]:
        if not chunk:
            return ()
        if chunk.isascii():
            if chunk.isalpha() and (chunk.islower() or chunk[1:].islower()):
                word = chunk.lower()
                return self._word(PLAIN.get(word, word))  # before stop words: "won" is one in "won't" alone
            unit = chunk.strip(_EDGE)
            if _drop_joints(unit).isalnum() and "#" not in chunk:
                return self._bare_unit(unit)  # which needs no look for others
        else:
            import unicodedata

            chunk = unicodedata.normalize("NFKC", chunk).replace("\u2019", "'")
            if any(map(_may_be_unspaced, chunk)) and _unspaced_pattern().search(chunk):  # which takes long to compile
                return self._unspaced(chunk)
        units = _UNIT.findall(chunk)
        if "," in chunk:  # `12,000` is found as `12000`, and so is each of `401,403`
            units += [number.replace(",", "") for number in _GROUPED.findall(chunk)]
        return [term for unit in units for term in self._unit(unit)]

    def _word(self, word: str) -> tuple[str, ...]:
        """Return the stem of one lower-case *word*, of "wrote" that of "write", and its unaccented form."""
        if word in self._stop_words:
            return ()
        stem: str = self._stemmer.stemWord(PLAIN.get(word, word))
        if stem.isascii():
            return (stem,)
        plain = unaccented(stem)
        return (stem,) if plain in (stem, "") else (stem, plain)

    def _unspaced(self, chunk: str) -> list[str]:
        terms = []
        for run in _unspaced_pattern().findall(chunk):
            terms += [run[i : i + 2] for i in range(len(run) - 1)] or [run]
        for rest in _unspaced_pattern().split(chunk):
            terms += [term for unit in _UNIT.findall(rest) for term in self._unit(unit)]
        return terms

    def _unit(self, unit: str) -> Sequence[str]:
        terms = self._bare_unit(unit.strip(_EDGE))
        issue = _ISSUE.search(unit) if "#" in unit else None
        return [*terms, EXACT + issue[0]] if issue else terms

    def _bare_unit(self, unit: str) -> Sequence[str]:
        if not unit:
            return ()
        low = unit.casefold()
        if low.isalpha():
            if low[-1] == "s" and unit[:-1].isupper():
                return self._stems[low[:-1]]
            if unit == low or unit[1:] == low[1:] or unit.isupper():
                return self._stems[low]
        if "." in low and (version := _VERSION.match(low)):
            numbers = version[1].split(".")
            return [EXACT + version[1], *(EXACT + ".".join(numbers[:n]) for n in range(2, len(numbers)))]
        if low.isalnum() and _HASH.match(low):
            head = low[:_HASH_DIGITS]  # which may be all digits, and then looks like a number in a query
            return [EXACT + low, EXACT + head, *([head] if head.isdigit() else [])]
        return self._compound(unit, low)

    def _compound(self, unit: str, low: str) -> Sequence[str]:
        """Return parts and joined form per path component, then the exact form."""
        if unit.isalnum():  # one component of one piece
            words = self._word(low) if unit == low and unit.isascii() else self._names[unit][0]
            return [*words, EXACT + low] if is_identifier(low) else words
        if (bare := _drop_joints(low)).isalnum():  # one piece of several words
            words = self._names[unit][0]
            may_be_code = "_" in low or not bare.isalpha()
            return [*words, EXACT + low] if may_be_code and is_identifier(low) else words
        cuts = _PATH.split(unit) if "/" in unit or "\\" in unit else ()
        terms, exact = list[str](), [EXACT + low] if is_identifier(unit) else []
        for said, forms in map(self._components.__getitem__, cuts) if cuts else [self._read_component(unit)]:
            terms += said
            exact += forms
        return [*terms, *dict.fromkeys(exact)]

    def _read_component(self, component: str) -> tuple[Sequence[str], Sequence[str]]:
        """Return the terms of what stands between dots in a component of a path, and its exact forms."""
        if _drop_joints(component).isalnum():
            return self._names[component]
        terms, exact = list[str](), [*_exact_form(component)]
        has_others = "@" in component or "#" in component
        for piece in _DOTS.split(component) if has_others else component.split("."):
            said, form = self._names[piece]
            terms += said
            exact += form
        return terms, exact

    def _read_name(self, piece: str) -> tuple[Sequence[str], Sequence[str]]:
        """Return the terms of the parts of an identifier, then of all of them joined; and its exact form."""
        parts = word_parts(piece)
        words = (*parts, "".join(parts)) if len(parts) > 1 else parts
        return tuple(chain.from_iterable(map(self._stems.__getitem__, words))), _exact_form(piece)


def _drop_joints(unit: str) -> str:
    """Return *unit* without what joins the words of most names."""
    return unit.replace("-", "").replace("_", "")


def _exact_form(piece: str) -> tuple[str, ...]:
    form = piece.casefold().strip(_EDGE)
    return (EXACT + form,) if is_identifier(form) else ()


def word_parts(unit: str) -> list[str]:
    """Split an identifier at separators and case changes, lower-cased."""
    if unit.isascii() and unit.islower() and _drop_joints(unit).isalnum():
        return [part for part in unit.replace("-", "_").split("_") if part]
    parts: list[str] = []
    for piece in (unit,) if unit.isalnum() else _SEPARATORS.split(unit):
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
    import unicodedata

    return "".join(c for c in unicodedata.normalize("NFKD", text) if not unicodedata.combining(c))

"""Whether one text says what another says: the same words, and in an order that means the same."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import chain, groupby, pairwise
from operator import attrgetter
from typing import Final

from memsync.index.statements import (
    CASE_PARTICLES,
    CONTENT,
    DIRECTIONS,
    MODALS,
    NEGATING_ENDINGS,
    NEGATIONS,
    QUANTIFIERS,
    TEMPORAL,
    Reading,
    Token,
    count_words,
    hold,
    kept,
    list_words,
    read,
    strip_evidence,
)

IN_ORDER: Final = 0.99  # as sure as one can be without the very same text
REORDERED: Final = 0.98
_ENOUGH: Final = 5  # words of content from which another order may mean the same
_FEW: Final = 8  # words that are sought in a text one by one sooner than all of its words are counted
_TOGETHER: Final = 0.55  # share of neighbours that a rewording keeps together
_LONG: Final = 400  # words from which two texts are compared in their order only
_ORDERED: Final = (TEMPORAL | QUANTIFIERS | MODALS.keys()) - {"must"}  # what stands beside them counts
_BE: Final = frozenset({"is", "are", "am", "be", "being", "was", "were", "been"})
_TURNED: Final = _BE | {"by"}  # what is dropped of a passive
_KIND: Final = attrgetter("kind")
# What begins a phrase that may stand first or last.
_FRONTS: Final = (
    "in on at for with by from to into onto via per under over across between through against during within without until since after before"
    " when whenever while if unless once because despite instead inside outside throughout every daily weekly"
    " each sur chaque vers al cada auf jede jeden bei im am für mit nach vor seit ab unter über wenn falls weil während ohne bis zum zur"
    " en dans pour avec sans pendant après avant depuis si quand chez à au para con sin durante después antes cuando desde hasta sobre"
)
_NEXT: Final = f"and or but und oder aber et ou mais y o pero {' '.join(TEMPORAL)}"  # begins another statement or step
_BINDING: Final = QUANTIFIERS | NEGATIONS  # the phrase behind one of these cannot be moved away from it
_HELPS: Final = _BE | {"has", "have", "had", "not", "get", "gets"}


def is_same(one: Reading, other: Reading) -> tuple[float, str] | None:
    """Say how sure it is that the two texts are copies (0-1), and why; None if they are not."""
    if is_reordered(one, other):
        return REORDERED, "the same words, with phrases moved"
    if not one.content or not _may_be_same(one, other):
        return None
    if _list_past_verbs(one) != _list_past_verbs(other):  # what worked may work no more
        return None
    if list_words(one) == list_words(other):
        return IN_ORDER, "the same words in the same order"
    if _make_active(one) == _make_active(other) or _has_same_letters(one, other):
        return IN_ORDER, "the same words in the same order, but for grammar"
    return None


def _may_be_same(one: Reading, other: Reading) -> bool:
    """Tell whether nothing but what a passive has more is in one of them alone; nearly all pairs are done with by that."""
    return (
        (_holds_words(one, other) and _hold_unturned(one) == _hold_unturned(other))
        or _has_kana(one)
        or _has_kana(other)
    )


def _holds_words(one: Reading, other: Reading) -> bool:
    here = _hold_unturned(one)
    return all(form in here or kind == "article" or form in _TURNED for form, kind, _ in other.tokens)


@kept
def _hold_unturned(reading: Reading) -> frozenset[str]:
    """Return the words but the articles and what is dropped of a passive."""
    return frozenset(list_words(reading)) - _TURNED


@kept
def _has_kana(reading: Reading) -> bool:
    return "kana" in map(_KIND, reading.tokens)


def is_reordered(one: Reading, other: Reading) -> bool:
    """Tell whether one says what the other says with phrases moved: "after the deploy", "in staging", "when the cache is cold".

    What is said of whom stays in its order, and each phrase keeps the word it begins with; so no role, direction or step changed.
    """
    a, b = one.content, other.content
    if min(len(a), len(b)) < _ENOUGH or max(len(a), len(b)) > _LONG or count_words(one) != count_words(other):
        return False
    if list_words(one) == list_words(other):
        return False
    here, there = _list_pieces(one, other), _list_pieces(other, one)
    _turn_verb(here, there)
    (said, around), (also_said, also_around) = _strip_phrases(here), _strip_phrases(there)
    fronts, nexts = _list_forms(_FRONTS), _list_forms(_NEXT)
    # Of two statements that do not go on a phrase may be said of one.
    return bool(said) and said == also_said and around == also_around and all(p[0] in fronts | nexts for p in said[1:])


def _strip_phrases(pieces: list[tuple[str, ...]]) -> tuple[list[tuple[str, ...]], list[tuple[str, ...]]]:
    """Return *pieces* without the phrases at both ends, and these, sorted. One that goes on to another statement stays."""
    fronts, nexts = _list_forms(_FRONTS), _list_forms(_NEXT)
    places = [n for n, piece in enumerate(pieces) if piece[0] not in fronts or not nexts.isdisjoint(piece[1:])]
    if not places:
        return [], []
    first, last = places[0], places[-1] + 1
    return pieces[first:last], sorted(pieces[:first] + pieces[last:])


def _turn_verb(here: list[tuple[str, ...]], there: list[tuple[str, ...]]) -> None:
    """Put the verb that German has before its subject, behind a phrase that stands first, where the other text has it."""
    for one, other in ((here, there), (there, here)):
        at = next((n for n, piece in enumerate(one[:2]) if n and piece[0] not in _list_forms(_FRONTS)), 0)
        verb, rest = one[at][:1], one[at][1:]
        turned = ((*rest[:size], *verb, *rest[size:]) for size in (1, 2, 3))
        one[at] = next((words for words in turned if at and words in other), one[at])


def _list_pieces(reading: Reading, other: Reading) -> list[tuple[str, ...]]:
    """Return the phrases of *reading* and what stands between them, in order.

    Where a phrase that comes first ends, only a comma tells, or that *other* has it as well.
    """
    found, known = list[tuple[str, ...]](), {*_cut_phrases(other)}
    for piece in _cut_phrases(reading):
        ends = (n for n in range(len(piece) - 1, 1, -1) if piece[0] in _list_forms(_FRONTS) and piece[:n] in known)
        end = len(piece) if piece in known else next(ends, len(piece))
        found += [part for part in (piece[:end], piece[end:]) if part]
    return found


@cache
def _list_forms(words: str) -> frozenset[str]:
    return frozenset(list_words(read(words)))


@kept
def _cut_phrases(reading: Reading) -> tuple[tuple[str, ...], ...]:
    """Return the words of *reading* but the articles, cut before each that begins a phrase, and between clauses."""
    found, fronts = list[tuple[str, ...]](), _list_forms(_FRONTS)
    bound = _BINDING | fronts
    for whole in _split_clauses(reading):
        is_answer = whole[0] == "then" and found and found[0][0] in ("if", "when")
        clause = whole[1:] if is_answer else whole
        starts = [n for n, (before, word) in enumerate(pairwise(clause), 1) if word in fronts and before not in bound]
        found += [clause[start:end] for start, end in zip([0, *starts], [*starts, len(clause)], strict=True) if clause]
    return tuple(found)


def is_reworded(one: Reading, other: Reading) -> bool:
    """Tell whether the same words of content, joined by other light words, say the same: no role, direction or sequence changed."""
    a, b = one.content, other.content
    if min(len(a), len(b)) < _ENOUGH or max(len(a), len(b)) > _LONG or not _has_same_words(one, other):
        return False
    return (
        _measure_neighbours(a, b) >= _TOGETHER
        and _count_negations(one) == _count_negations(other)
        and sorted(list_frame(one)) != sorted(list_frame(other))  # else only phrases may have moved
        and not is_swapped(a, b)
        and _list_directions(one) == _list_directions(other)
        and _has_same_sequence(one, other)
        and not _crosses(one, other)
    )


def _has_same_words(one: Reading, other: Reading) -> bool:
    a, b = hold(one), hold(other)
    return a == b or (a ^ b == {"must"} and (_is_command_of(one, other) or _is_command_of(other, one)))


def _is_command_of(one: Reading, other: Reading) -> bool:
    verb = one.tokens[0].form
    raws = [token.raw for token in other.tokens]
    return any(raws[n : n + 2] == ["must", "be"] and other.tokens[n + 2].form == verb for n in range(len(raws) - 2))


def _measure_neighbours(one: Sequence[str], other: Sequence[str]) -> float:
    """Return the share of pairs of neighbours that both texts have, whichever comes first: phrases stay together."""
    here, there = ({frozenset(pair) for pair in pairwise(words)} for words in (one, other))
    return len(here & there) / min(len(here), len(there))


def _count_negations(reading: Reading) -> Counter[str]:
    return Counter(token.form for token in reading.tokens if token.kind == "not")


def _list_directions(reading: Reading) -> set[tuple[str, str]]:
    """Return which words stand behind which preposition of direction."""
    found = set()
    for place, token in enumerate(reading.tokens):
        if token.form in DIRECTIONS and token.form != "to":
            ahead = (t.form for t in reading.tokens[place + 1 :] if t.kind in CONTENT)
            found.add((token.form, next(ahead, "")))
    return found


def _has_same_sequence(one: Reading, other: Reading) -> bool:
    """Tell whether the same stands beside each word of sequence; "then" says none where one text does without it, as in "if …, then …"."""
    here, there = _list_sequence(one), _list_sequence(other)
    both = [{word for _, word, _ in found} for found in (here, there)]
    if "then" in both[0] ^ both[1]:
        here, there = ({row for row in found if row[1] != "then"} for found in (here, there))
    return here == there


def _list_sequence(reading: Reading) -> set[tuple[str, str, str]]:
    """Return what stands beside each word of sequence."""
    tokens = [token for token in reading.tokens if token.kind in CONTENT or token.form in _ORDERED]
    return {
        (tokens[n - 1].form if n else "", token.form, tokens[n + 1].form if n + 1 < len(tokens) else "")
        for n, token in enumerate(tokens)
        if token.form in _ORDERED
    }


def _crosses(one: Reading, other: Reading) -> bool:
    """Tell whether what both clauses say, as "owns" in "a owns x and b owns y", joins other words now; one alone has exchanged nothing."""
    here, there = _find_joined(one), _find_joined(other)
    return sum(there.get(side, word) != word for side, word in here.items()) > 1


def _find_joined(reading: Reading) -> dict[tuple[str, ...], str]:
    """Return, by each run of words that come more than once and the word on one side of it, the word on the other side."""
    words, counts = reading.content, count_words(reading)
    joined: dict[tuple[str, ...], str] = {}
    start = 0
    for is_repeated, group in groupby(words, key=lambda word: counts[word] > 1):
        run = tuple(group)
        end = start + len(run)
        if is_repeated and start > 0 and end < len(words):
            joined[words[start - 1], *run, ""] = words[end]
        start = end
    return joined


def holds_all(rich: Reading, poor: Reading) -> bool:
    """Tell whether *rich* has every statement of *poor* word by word, and more."""
    if len(poor.content) < 3 or len(rich.content) <= len(poor.content):
        return False
    if not hold(poor) <= hold(rich):
        return False
    tokens = [
        (token, place) for place, clause in enumerate(rich.clauses) for token in clause if token.kind != "article"
    ]
    start = 0
    for clause in _split_clauses(poor):
        start = _find_end(clause, tokens, start)
        if start < 0:
            return False
    return True


def _split_clauses(reading: Reading) -> Iterator[tuple[str, ...]]:
    for clause in reading.clauses:
        if words := tuple(token.form for token in clause if token.kind != "article"):
            yield words


def _find_end(clause: tuple[str, ...], tokens: Sequence[tuple[Token, int]], start: int) -> int:
    """Return where *clause* ends in *tokens*, each with the number of its own, whole, with nothing beside it that makes it say something else; else -1."""
    size = len(clause)
    for first in range(start, len(tokens) - size + 1):
        last = first + size - 1
        if tokens[first][0].form == clause[0] and tuple(token.form for token, _ in tokens[first : last + 1]) == clause:
            before = [token for token, place in tokens[:first] if place == tokens[first][1]]
            after = [token for token, place in tokens[last + 1 :] if place == tokens[last][1]]
            is_whole = all(token.kind == "light" for token in before) and (not after or _is_loose(after[0]))
            return last + 1 if is_whole and not any(map(_restricts, (*before, *after))) else -1
    return -1


def _restricts(token: Token) -> bool:
    return token.kind == "not" or token.form in QUANTIFIERS or token.form in TEMPORAL


def _is_loose(token: Token) -> bool:
    """Tell whether *token* does not join with the word before it to another noun."""
    return token.kind == "light" or (token.kind == "word" and token.raw.endswith(("ing", "ed")))


@kept
def _list_past_verbs(reading: Reading) -> list[str]:
    """Return the words that look like a past tense: -ed behind no form of "to be" or "to have"."""
    found, helped = [], False
    for token in reading.tokens:
        if token.raw.endswith("ed") and token.kind == "word" and not helped:
            found.append(token.form)
        helped = token.raw in _HELPS or (helped and token.kind != "word")
    return found


@kept
def _make_active(reading: Reading) -> tuple[str, ...]:
    return tuple(chain.from_iterable(_turn(list(clause)) for clause in reading.clauses))


def _turn(clause: list[Token]) -> list[str]:
    raws = [token.raw for token in clause]
    be = next((place for place, raw in enumerate(raws) if raw in _BE), -1)
    by = raws.index("by") if "by" in raws else -1
    if 0 < be < by < len(raws) - 1:
        verb = next(
            (place for place in range(be + 1, by) if raws[place] not in _BE and clause[place].kind != "not"), -1
        )
        agent = clause[by + 1]
        if verb > 0 and not raws[verb].endswith("ing") and not agent.raw.endswith("ing") and agent.kind != "value":
            negations = [token for token in clause[be:verb] if token.kind == "not"]
            clause = [*clause[by + 1 :], *negations, clause[verb], *clause[:be], *clause[verb + 1 : by]]
    return [token.form for token in clause if token.kind != "article"]


def _has_same_letters(one: Reading, other: Reading) -> bool:
    """Compare texts without spaces: the same letters, negation and roles; other endings do not count."""
    if not (_has_kana(one) or _has_kana(other)) or len(one.content) < _ENOUGH:
        return False
    here, there = _list_runs(one), _list_runs(other)
    if [form for form, _ in here] != [form for form, _ in there]:
        return False
    return all(
        _find_role(a) == _find_role(b) or not (_find_role(a) and _find_role(b))
        for (_, a), (_, b) in zip(here, there, strict=True)
    ) and (_count_denials(one) == _count_denials(other))


def _list_runs(reading: Reading) -> list[tuple[str, str]]:
    found: list[tuple[str, str]] = []
    for token in reading.tokens:
        if token.kind in CONTENT or token.kind == "not":
            found.append((token.form, ""))
        elif token.kind == "kana" and found:
            found[-1] = (found[-1][0], found[-1][1] + token.form)
    return found


def _find_role(kana: str) -> str:
    return next((particle for particle in CASE_PARTICLES if kana.startswith(particle)), "")


def _count_denials(reading: Reading) -> int:
    text = "".join(token.form for token in reading.tokens)
    return sum(text.count(ending) for ending in NEGATING_ENDINGS)


def list_frame(reading: Reading) -> list[str]:
    """Return the light words in order. A text with roles swapped keeps its frame; a rewording does not."""
    return [token.form for token in reading.tokens if token.kind == "light"]


def is_swapped(one: Sequence[str], other: Sequence[str]) -> bool:
    """Tell whether two words or phrases have changed places around what stands between them."""
    from difflib import SequenceMatcher

    gone, come = Counter[str](), Counter[str]()
    for what, i, j, k, m in SequenceMatcher(None, one, other, autojunk=False).get_opcodes():
        if what == "replace":
            gone.update(one[i:j])
            come.update(other[k:m])
    if len(gone & come) >= 2:
        return True
    sides = dict(zip(one[1:], zip(one, one[2:], strict=False), strict=False))
    return any(
        sides.get(word) == (right, left) and left != right
        for left, word, right in zip(other, other[1:], other[2:], strict=False)
    )


def shared(one: Reading, other: Reading) -> tuple[float, float]:
    """Return the share of *one*'s words that *other* has too, 0 to 1, and that of *other*'s."""
    both = count_shared(one, other)
    return both / len(one.content) if both else 0.0, both / len(other.content) if both else 0.0


def count_shared(one: Reading, other: Reading) -> int:
    """Return how many words of content both have, those that are there twice counted twice."""
    repeated = _list_repeated(one)
    there = other.content.count if len(repeated) <= _FEW else count_words(other).__getitem__
    again = [min(count, times) - 1 for word, count in repeated if (times := there(word)) > 1]
    return len(hold(one) & hold(other)) + sum(again)


@kept
def _list_repeated(reading: Reading) -> list[tuple[str, int]]:
    return [(word, count) for word, count in count_words(reading).items() if count > 1]


def find_lost(kept: str, dropped: str) -> list[str]:
    """Return the numbers, paths and identifiers of *dropped* that *kept* does not have, as written in lower case.

    What only tells where something was seen ("turn 46", a date of observation, the words of an error) is none.
    """
    here = {token.form for token in read(kept).tokens if token.kind == "value"}
    there = {token.form: token.raw for token in read(strip_evidence(dropped)).tokens if token.kind == "value"}
    return [raw for form, raw in there.items() if form not in here]

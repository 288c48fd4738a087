"""Every constant of the ranking, in one place that imports nothing.

All are round numbers on a plateau: moving one by a fifth changes no
suite by more than a query or two.
"""

K1 = 1.0  # BM25: how soon a repeated word stops counting
B_EVEN = 0.4  # BM25: how much long records are damped where most are of one length
B_MIXED = 0.9  # the same where lengths differ most
B_WORDY = 1.2  # the most of it, in a query of many words (ADR 75)
TERSE = 12  # words of a query up to which length is damped no more than that
EVEN = 0.6  # spread of lengths (standard deviation ÷ mean) up to which they count as even
STEEP = 2.0  # how fast the damping grows with the spread beyond that
UNSEEN = 100  # records without any query word assumed beside the real ones
PATIENCE = 6.0  # unseen words a query is assumed to ask for beyond its own
ALIKE = 0.5  # trigram cosine from which two words are alike
TYPO = 0.8  # share of letters kept from which an unknown word is a typo
NOMINATED = 0.25  # trigram cosine from which edit distance is tried at all
TYPO_LETTERS = 4  # shorter unknown words are not compared by edit distance
WIDENED = 1  # a word that more records than this have is not widened to words like it
KEPT = 6  # alike words used per query word
SYNONYM = 0.8  # of its weight, what else a rare word is called (ADR 90)
LED_BY = 3  # plain words beside which identifiers still lead a query
SIEVED = 256  # slots whose vectors are multiplied, per sieve
MEANING = 0.12  # weight of meaning against words, for static vectors
MEANING_DEEP = 0.24  # the same for transformers, which know more of it
MEANING_LONG_QUERY = 0.2  # the least of it in a long query: what answers has few of its words (ADR 75)
LONG_QUERY = 9  # words from which a query is long
WORDLESS = 0.2  # likeness below which a record without any query word is no hit
IDENTIFIER = 0.5  # gain of a record with all identifiers of a query they lead, were no other to have them
PHRASE = 0.2  # gain of the one record with a quoted phrase of the query; shared by several
PROXIMITY = 0.4  # gain of words that stand together as asked, of what they weigh
ASIDE = 4  # words apart up to which two stand together
FADING = 0.7  # power of that distance
REVERSED = 0.3  # share of it in the other order
LATE = 0.3  # share of the lexical score that words lose which are said late
HALF_SAID = 100  # words before one, for half of that
COPY = 0.7  # share of common words from which a record is a near-copy
BOOST = 0.1  # most that importance, use and recency reorder
WEIGHED = 15  # hits whose evidence is weighed, per query
NOTHING = 0.4  # length of the row of a word that tells nothing, in the table of meanings
TELLING = 0.7  # by how much it is longer of a word that tells all
TOLD = 1.2  # evidence: of each word that is there, as rare as it is and as much as it tells
MISSED = 0.85  # against: of the root of what was asked and is not there
HIDDEN = 0.5  # share of its rarity that a word counts which a record is only found by
LIKENESS = 3.0  # of the same meaning
LEXICAL = 20.0  # of a lexical score of 1
LONG = 0.5  # against: of each doubling (e-fold) of a record's terms
CROWD = 0.2  # against: of each e-fold of the store, with ROOM records more
ROOM = 40
SUBJECT = 0.3  # share of the records that have a word which the store is about
FEW = 5  # records from which a store can be about something
VERBS = frozenset("add open pull use usag write list start".split())  # what is to be done says nothing of what about
GENERAL = frozenset(
    "work explain overview tell show describ summari summar know project code codebas repo help".split()
)
AGREEING = 4.0  # log odds per share of the surest hit's words, beyond the query's, that another has (ADR 71)
CHANCE = 0.18  # the share that says neither yes nor no
BROAD = 0.6  # confidence in a record on the subject, where nothing but that was asked for
BASE = -0.2  # of nothing at all; set so that 0.35 is where giving begins to pay
PLACED = 0.12  # gain of a record that alone is anchored to what the query names
AT_PLACE = 5.0  # evidence of it (ADR 99)
NAMED = 3.2  # evidence of a name of several parts that hardly another record has
FEW_PLACED = 2  # records anchored to what is named up to which that says all; of more each says less
LEAST_PLACED = 0.1  # below which it says nothing
POOL = 3  # hits looked at per hit wanted, before copies go last
GRAM_BITS = 21  # bits of one code point in a packed trigram
LEXICON = 7  # raised whenever the terms of a text change
EXACT = "="  # first letter of a term that must match as a whole
PLACE = "=@"  # beginning of one that says where in the repository a record is anchored

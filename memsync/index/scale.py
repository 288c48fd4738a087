"""Every constant of the ranking, in one place that imports nothing.

All are round numbers on a plateau: moving one by a fifth changes no
suite by more than a query or two.
"""

K1 = 1.0  # BM25: how soon a repeated word stops counting
B = 0.4  # BM25: how much long records are damped
UNSEEN = 100  # records without any query word assumed beside the real ones
PATIENCE = 6.0  # unseen words a query is assumed to ask for beyond its own
ALIKE = 0.5  # trigram cosine from which two words are alike
TYPO = 0.8  # share of letters kept from which an unknown word is a typo
NOMINATED = 0.25  # trigram cosine from which edit distance is tried at all
TYPO_LETTERS = 4  # shorter unknown words are not compared by edit distance
WIDENED = 1  # a word that more records than this have is not widened to words like it
KEPT = 6  # alike words used per query word
LED_BY = 3  # plain words beside which identifiers still lead a query
SIEVED = 256  # slots whose vectors are multiplied, per sieve
MEANING = 0.12  # weight of meaning against words
WORDLESS = 0.2  # likeness below which a record without any query word is no hit
IDENTIFIER = 0.5  # gain of a record with all identifiers of a query they lead
PHRASE = 0.2  # gain of a record with a quoted phrase of the query
COPY = 0.7  # share of common words from which a record is a near-copy
BOOST = 0.1  # most that importance, use and recency reorder
FLOOR = 0.125  # score from which a hit may be shown unasked
FLOOR_WORDS = 0.09  # the same where there is no embedder
POOL = 3  # hits looked at per hit wanted, before copies go last
GRAM_BITS = 21  # bits of one code point in a packed trigram
LEXICON = 1  # raised whenever the terms of a text change
EXACT = "="  # first letter of a term that must match as a whole

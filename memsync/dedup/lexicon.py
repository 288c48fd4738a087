"""Word lists of the guards: what carries no content, and what turns a sentence round.

Closed classes of the languages, taken from their grammars; no topic words. English first, then
German, French, Spanish, Italian, Portuguese, Dutch; for scripts without spaces, single characters.
"""

from __future__ import annotations

from typing import Final


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


# Articles and forms of "to be" in the present: two texts that differ in these alone say the same.
ARTICLES: Final = _words(
    "a an the is are be being 's der das dem des ein eine einen einem einer ist sind"
    " le la les un une est sont el los las una es son il lo gli um uma o os het een zijn"
)

# Further words that a rewording may add, drop or move; "to", "from" and their like are not among them.
LIGHT: Final = ARTICLES | _words(
    "of for at as that which who this these those it its they them their we our us you your"
    " do does have has get gets so also just then and but because since when while with on in"
    " one ones please note by via through about such very really"
    " und für von im zu zum zur mit bei auf dass weil damit sich wir sie es"
    " et de du d l à au aux en dans que qui se sur par avec nous al del con para por su sus nos lo"
)

# Who does it, and which way it goes: "A to B" is not "B to A".
DIRECTIONS: Final = _words(
    "to from into onto out off over under above below behind against toward towards than by before after until till"
    " nach von vom vor hinter über unter durch gegen vers depuis contre hacia desde hasta contra tras"
)

NEGATIONS: Final = _words(
    "not no never none nobody nothing nowhere neither nor without cannot hardly barely"
    " nicht kein keine keinen keinem keiner keines nie niemals ohne nichts niemand"
    " pas jamais aucun aucune sans rien ni nunca sin ningún ninguna ninguno jamás nada"
    " non mai senza não sem nem niet geen nooit zonder inte utan aldrig ikke uten nie bez"
    " не нет без никогда нельзя ни안 않 没有"
)

# What only, all, some, at least … say is lost if one text has it and the other has not.
QUANTIFIERS: Final = _words(
    "only all every each any both most many few several half twice once solely exclusively except unless until"
    " least more less fewer than maximum minimum max up exactly about almost"
    " nur alle jede jeder jedes außer mindestens höchstens seulement tous toutes chaque sauf moins plus"
    " solo sólo todos todas cada excepto salvo menos más"
)

MODALS: Final = {
    **dict.fromkeys(_words("must shall required mandatory require muss müssen doit doivent debe deben"), "must"),
    **dict.fromkeys(_words("should ought recommended recommend prefer preferred sollte sollten soll sollen"), "should"),
    **dict.fromkeys(
        _words("may can might could optional allowed permitted kann können darf dürfen peut puede pueden"), "may"
    ),
    **dict.fromkeys(_words("will would going wird werden"), "will"),
    **dict.fromkeys(_words("was were been used formerly previously waren était fue era"), "past"),
}

TEMPORAL: Final = _words(
    "then first firstly second secondly third last lastly before after afterwards afterward next finally prior"
    " previously later earlier until once dann danach zuerst zunächst anschließend vor nach bevor nachdem"
    " puis ensuite avant après d'abord luego después antes primero"
)

# Dates, and what else is one of a row: another one is another fact.
SERIES: Final = _words(
    "january february march april june july august september october november december jan feb mar apr jun jul aug"
    " sep sept oct nov dec monday tuesday wednesday thursday friday saturday sunday mon tue wed thu fri sat sun"
    " januar februar märz mai juni juli oktober dezember montag dienstag mittwoch donnerstag freitag samstag sonntag"
    " janvier février mars avril juin juillet août septembre octobre novembre décembre lundi mardi mercredi jeudi"
    " vendredi samedi dimanche enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre"
    " lunes martes miércoles jueves viernes sábado domingo"
    " north south east west left right alpha beta gamma red green blue black white yellow"
)

# Words that tell of a change: the text corrects what was true before.
CHANGES: Final = (
    r"\b(?:no longer|not? (?:\w+ ){0,4}any ?more|anymore|any more|nowadays|now|from now on|replac(?:ed|es)|switched (?:to|from|over)|migrated"
    r"|moved|rewritten|rewrote|dropped|removed|retired|renamed|deprecated|discontinued|obsolete|abandoned|reverted|lifted|changed"
    r"|(?:is|are|was|were|got|has been|have been) (?:gone|over|dead|sold|closed|done with)|used to|formerly|previously|superseded"
    r"|(?:since|after) the (?:change|move|switch|migration|upgrade|update|release|rewrite|refactoring|backfill|rollout|\w+ (?:was|were|got|moved|has|have))"
    r"|as of|upgraded|downgraded|bumped|raised to|lowered to|not? \w+ (?:is )?(?:needed|required|necessary)"
    r"|(?:needs?|requires?) no|nicht mehr|kein\w* \w+ mehr|jetzt|inzwischen|mittlerweile|seit|umgezogen|ersetzt|abgeschafft"
    r"|désormais|maintenant|n'est plus|ne \w+ plus|remplac\w+|abandonn\w+|ya no|ahora|desde|reemplaz\w+|sustitu\w+|migró|ora|non \w+ più"
    r"|agora|não \w+ mais|vervangen|niet meer|nu)\b"
    r"|改为|改用|改成|已经|已不|不再|现在|换成|取代|もう|廃止|移行|変更|代わりに|になった"
)

NUMBERS: Final = {
    word: str(value)
    for value, word in enumerate("zero - two three four five six seven eight nine ten eleven twelve".split())
    if word != "-"
}

NEGATING_LETTERS: Final = frozenset("不没沒无無非未勿禁否")
PARTICLES: Final = frozenset("的了吧呢请也就")
NEGATING_ENDINGS: Final = ("ない", "なく", "なか", "ません", "なし", "ずに")
CASE_PARTICLES: Final = ("から", "まで", "より", "が", "を", "に", "へ")

IRREGULAR: Final = {
    form: verb
    for verb, forms in {
        "write": "wrote written", "run": "ran", "send": "sent", "keep": "kept", "build": "built", "lose": "lost",
        "break": "broke broken", "choose": "chose chosen", "hold": "held", "take": "took taken", "give": "gave given",
        "make": "made", "find": "found", "buy": "bought", "catch": "caught", "grow": "grew grown", "know": "knew known",
        "meet": "met", "pay": "paid", "say": "said", "sell": "sold", "show": "shown", "sleep": "slept", "spend": "spent",
        "stand": "stood", "tell": "told", "think": "thought", "throw": "threw thrown", "wear": "wore worn", "win": "won",
        "ride": "rode ridden", "drive": "drove driven", "eat": "ate eaten", "draw": "drew drawn", "fly": "flew flown",
        "hide": "hid hidden", "sing": "sang sung", "swim": "swam swum", "bring": "brought", "begin": "began begun",
        "go": "went gone goes", "do": "done", "fall": "fell fallen", "leave": "left", "speak": "spoke spoken",
        "steal": "stole stolen", "freeze": "froze frozen", "mean": "meant", "deal": "dealt", "feed": "fed",
    }.items()
    for form in forms.split()
}  # fmt: skip

_OPPOSITES: Final = """
allow forbid|allow prohibit|allow deny|allow block|allow ban|permit forbid|permit prohibit|permitted prohibited
allowed forbidden|allowed prohibited|allowed denied|allowed banned|allowed blocked|fine forbidden
required optional|mandatory optional|obligatory optional|required unnecessary|needed unnecessary|necessary unnecessary
enable disable|enabled disabled|activate deactivate|active inactive|on off|opt-in opt-out|open closed|open close
visible hidden|visible invisible|show hide|public private|internal external|local remote|absolute relative
like hate|like dislike|love hate|prefer avoid|use avoid|want refuse|accept reject|accept refuse|approve reject
always never|often rarely|sometimes never|all none|everyone nobody|every none|everything nothing|anyone nobody
true false|yes no|right wrong|correct incorrect|correct wrong|valid invalid|safe unsafe|safe dangerous|secure insecure
start stop|start end|begin end|first last|before after|above below|over under|up down|left right|top bottom|front back
increase decrease|increase reduce|raise lower|grow shrink|more less|more fewer|most least|maximum minimum|max min
fast slow|faster slower|quick slow|big small|large small|bigger smaller|larger smaller|long short|longer shorter
high low|higher lower|early late|earlier later|new old|newest oldest|newer older|cheap expensive|easy hard|simple complex
add remove|add delete|create delete|insert delete|install uninstall|include exclude|included excluded|keep drop|keep remove
keep delete|keep discard|append prepend|import export|encode decode|encrypt decrypt|compress decompress|push pull
upload download|send receive|read write|lock unlock|connect disconnect|attach detach|mount unmount|load unload
pass fail|succeed fail|success failure|work fail|works broken|work break|working broken|full empty|inside outside|indoors outdoors
present absent|online offline|same different|equal unequal|similar different|together apart|with without|into from
sync async|synchronous asynchronous|static dynamic|manual automatic|manually automatically|mutable immutable
sensitive insensitive|ascending descending|serial parallel|sequential parallel|stable unstable|deterministic random
singular plural|upper lower|uppercase lowercase|lightweight heavy|strict lax|strict lenient|permanent temporary
buy sell|give take|win lose|rise fall|come go|arrive leave|enter exit|ask answer|push pop|follow precede|follow shun
sit stand|sitting standing|sleep wake|ordered unordered|sorted unsorted|signed unsigned|typed untyped|cached uncached
supported unsupported|known unknown|used unused|stateful stateless|blocking non-blocking|client server|tabs spaces
single double|odd even|deprecated current|obligatoire facultatif|obligatoire facultative|erlaubt verboten|aktiviert deaktiviert
permitido prohibido|obligatorio opcional|immer nie|toujours jamais|siempre nunca|autorisé interdit|activé désactivé
tolerate fail|tolerated fail|ignore fail|idle busy|pinned floating|eager lazy|shared exclusive|wait ignore
"""


def _table() -> dict[str, frozenset[str]]:
    table: dict[str, set[str]] = {}
    for pair in _OPPOSITES.replace("\n", "|").split("|"):
        if pair.strip():
            one, other = pair.split()
            table.setdefault(one, set()).add(other)
            table.setdefault(other, set()).add(one)
    return {word: frozenset(others) for word, others in table.items()}


OPPOSITES: Final = _table()

UNITS: Final = {
    spelling: name
    for name, spellings in {
        "ms": "ms millisecond milliseconds",
        "second": "s sec secs second seconds",
        "minute": "min mins minute minutes",
        "hour": "h hr hrs hour hours",
        "day": "d day days",
        "week": "week weeks",
        "month": "month months",
        "year": "year years",
        "kb": "kb kib kilobyte kilobytes",
        "mb": "mb mib megabyte megabytes",
        "gb": "gb gib gigabyte gigabytes",
        "%": "% percent pct prozent",
        "px": "px pixel pixels",
        "euro": "€ eur euro euros",
        "dollar": "$ usd dollar dollars",
    }.items()
    for spelling in spellings.split()
}


# Signs that compare, join or point.
SIGNS: Final = frozenset("< > <= >= == != = -> => <- && || + ~ ≈ ≠ ≤ ≥ → ← ±".split())

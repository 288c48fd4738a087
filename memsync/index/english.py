"""What English does to words: forms that no stemmer joins, and words that say little wherever they stand. Pure."""

from __future__ import annotations

from typing import Final

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

# Stems of the words to which the shipped table of vectors gives least weight, because its texts have them most (ADR 83).
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

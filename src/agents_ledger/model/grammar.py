"""Words that hold a sentence together and are spoken of by nobody: the closed classes, which no language adds to.

How rare a word is says what it is worth, but only in a ledger that is large enough to tell: in a few turns "the" may be
as rare as what they are about. What is content in another of these languages, or the name of something, is not here.
"""

_ENGLISH = """
a an the this that these those some any each every no other another such same both all
i me my mine you your yours he him his she her hers it its we us our ours they them their theirs one
and or but nor if then than because while although though unless whether as so
of in on at by for from to into onto with without within about over under between through during before after above
below against among toward towards upon
am is are was were be been being do does did doing done have has had having
can could shall should will would may might must ought
what which who whom whose when where why how
not only also too very just there here again still yet already ever never
s t d m ve ll
"""
_GERMAN = """
der das dem des ein eine einer eines einem einen und oder aber denn wenn dann als wie weil dass ob nicht kein keine
ich du er sie wir ihr mich dich sich uns euch ihm ihn ihnen mein dein sein unser
ist sind bist waren wird werden wurde haben habe hatte kann soll muss
von vom mit bei beim nach aus zu zum zur auf an im in ins durch um bis
was wer wo wann warum welche welcher welches hier dort noch nur auch schon sehr
"""
_FRENCH = """
le la les un une du de des et ou mais donc si que qui quoi dont quand comment pourquoi
je tu il elle nous vous ils elles ce cet cette ces mon ton ma ta sa mes tes ses notre votre leur leurs
est sont suis sommes ont avons avez dans en sur sous avec sans chez vers pas ne aussi encore
"""
_SPANISH_PORTUGUESE_ITALIAN = """
el los las unos unas y e o u pero porque cuando donde como cual quien que son era estar esta este esto estos estas
al lo se su sus mi mis tu tus nos para por en sobre desde hasta muy ya
um uma uns umas da dos das na nos nas ao aos mas quando onde qual quem isso isto ele ela eles elas
il gli i uno della dello dei degli delle nel nella di che chi cosa quando dove perche sono sei siamo questo questa anche
"""

GRAMMAR = frozenset(f"{_ENGLISH} {_GERMAN} {_FRENCH} {_SPANISH_PORTUGUESE_ITALIAN}".split())
"""Articles, pronouns, prepositions, conjunctions, auxiliaries, question words; in small letters."""

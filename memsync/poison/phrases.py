"""Phrases that give away a text that wants to steer an agent, by language. Data.

A phrase is groups of words in their order. `|` is "or", `*` any ending, ` .. ` up to 24 characters between two
groups, ` ... ` up to 60, both within one sentence. Written as the text is read: in lower case, Latin letters
without accents. A row is why, what excuses a sentence, and its phrases, one a line.
"""

from __future__ import annotations

from typing import Final

from memsync.poison.reasons import HIDE, IGNORE, LEAK, NOT, OFF, ROLE, SEND, VOICE

LATIN: Final = (
    (
        IGNORE,
        "",
        """
ignor*|disregard*|forget|overrid*|bypass*|set aside|put aside|do not follow|don't follow|stop follow*|stop obey*|not comply with|do not obey|do not comply|discard ... previous*|prior|above|earlier|preceding|former|all|any|every|your|system|developer's|user's|original|initial .. instruction*|prompt|prompts|directive*|guideline*|guardrail*|rules|orders|system message*|safety polic*|told|content polic*
overrid*|suspend*|violate*|skip .. safety|security|rules you|rules the user|project's|team's .. rules|guideline*|polic*|guardrail*|were given|gave
pay no attention to|take no notice of|give no weight to|turn a blind eye to ... guidance|instruction*|rules|above|earlier|previous|the user|prompt
ignore|ignoring|disregard*|forget|overrid*|skip .. claude.md|agents.md|gemini.md|copilot-instructions*|cursorrules
negeer|vergeet .. alle|vorige|eerdere|voorgaande|bovenstaande|jouw .. instructies|regels|opdrachten|richtlijnen
zignoruj|ignoruj|pomin|zapomnij .. wszystkie|wszystkich|poprzedni*|wczesniejsz*|powyzsz* .. instrukcj*|polecen*|zasad*|regul*
onceki|tum|yukaridaki|butun .. talimat*|kural*|yonerge* .. yok say*|gormezden gel*|unut*|dikkate alma*
ignorera|glom|bortse fran|ignorer|glem .. alla|alle|tidigare|tidligere|foregaende|forrige|ovanstaende .. instruktion*|instruks*|regler|anvisning*
forget|ignore|disregard .. everything above|everything before|all of the above|everything you|anything you|what you were|whatever you|whatever the system|whatever the user|what the system prompt|what the user
must not|do not|don't|never|stop|not to|need not|no longer .. follow*|obey*|comply*|listen .. user's|your developer*|developer's|system prompt|the user|your instructions|your guidelines|your rules
instructions|rules|directives|constraints|restrictions|guidelines|guardrails|safeguards ... no longer apply|no longer bind*|are void|are null|have been lifted|are lifted|have been revoked|have been replaced by the following|must be ignored by|are to be ignored by|do not apply to you|are suspended|have been cancelled
takes precedence over|take precedence over|has priority over|have priority over|outranks|supersedes|overrides|replaces|stands above ... user's instruction*|your instructions|your guidelines|system prompt|user's request*|your rules|your polic*|your system|your other instructions|all other instructions|safety guidelines
new system message:|as the new system message|as a new system message|as the new system prompt|as a new system prompt|new system prompt:|system override|admin override|new instructions follow|your real instructions|only this memory counts|only this note counts|your actual instructions
guardrails|safety rules|safety guidelines|safeguards .. aside|off for this|do not apply
ignor*|missacht*|vergiss*|vergesst|umgeh*|uberschreib*|befolge nicht|halte dich nicht ... vorherig*|bisherig*|fruher*|obig*|alle|alles|deine|system* .. anweisung*|regeln|vorgaben|instruktion*|systemprompt|richtlinien|befehle|systemnachricht|gesagt
vergiss|ignoriere .. alles .. systemprompt|bisher|zuvor|oben|davor|gesagt
anweisungen|regeln|vorgaben|richtlinien .. gelten nicht|gelten ab|sind aufgehoben|sind ungultig|sind hinfallig|wurden aufgehoben
ignora|ignore|ignorad|ignorar|olvida|olvide|olviden|descarta|desobedece|no sigas|no obedezcas|haz caso omiso|pasa por alto|anula|salta* ... anterior*|previ*|todas|todo|tus|las|del sistema .. instruccion*|reglas|ordenes|indicacion*|normas|directric*|prompt|te dijeron|te dieron
las|los|tus .. instrucciones|reglas|restricciones|normas ... ya no se aplican|no se aplican|quedan anulad*|han sido anuladas
tus|estas|todas las|todos los .. instrucciones|reglas|restricciones|normas ... ya no valen|ya no rigen
ignore|ignores|ignorez|ignorer|oublie|oubliez|oublier|neglige|negligez|contourne*|ne suis pas|ne respecte* pas|ne tiens pas compte|passe outre|abandonne ... precedent*|anterieur*|toutes|tous|tes|vos|les|systeme .. instruction*|consigne*|regles|directives|ordres|prompt|message systeme
instructions|consignes|regles|restrictions .. ne s'appliquent plus|ne sont plus|sont annulees|sont levees|n'ont plus cours|ne valent plus
ignore|ignora|ignorem|ignorar|esqueca|esquece|esquecam|desconsidere|desconsidera|descarte|desobedeca|nao siga ... anterior*|previa*|todas|suas|as|do sistema .. instrucoes|regras|ordens|diretrizes|orientacoes|prompt
ignora|ignorate|ignorare|dimentica|dimenticate|trascura|scarta|non seguire|disobbedisci ... precedent*|tutte|tue|le|sistema|ricevut* .. istruzion*|regole|ordini|direttive|prompt|indicazioni
set|put|push|throw|leave|lay|toss .. your|the|any|all|previous|earlier|prior|those ... guidance|instruction*|rules|directive*|guideline*|guardrails|polic*|orders .. aside|away|behind
treat*|consider*|regard*|count|deem ... instruction*|directive*|rules|guidance|guideline*|constraint*|restriction*|orders|prompt .. as cancelled|as canceled|as void|as obsolete|as outdated|as null|as invalid|as superseded|as replaced|as expired|as no longer|cancelled|obsolete|void|expired|lifted|optional
instruction*|rules|directive*|guidance|guideline*|orders|constraint*|prompt|restriction* .. given to you|you were given|you received|you got|you have|you had|from the operator|from the user|from your|of the user|of your operator|of your developer .. are|is|were|have been|has been|do not|no longer|can be .. obsolete|outdated|void|wrong|invalid|cancelled|canceled|superseded|not valid|suspended|revoked|ignored|irrelevant|apply|counts|replaced|overridden
your|all .. rules|guidelines|restrictions|limitations|guardrails|safeguards|constraints|filters|polic* .. suspended|disabled here|are off|switched off|turned off|do not count|do not apply|not in force|lifted|waived|removed for
this file|this memory|this note|this entry|this line|these lines|this document|this text|this message .. is the only|are the only|has the highest|has absolute|is your only|overrules|trumps|wins over|outweighs|has the final|has more weight|is the highest|beats|stands over .. authority|priority|instruction*|rule*|everything|your|word|source|anything|the user|system
do not|don't|never|stop|no longer|must not|quit .. listen to|listening to|obey*|follow what|take orders|taking orders|answer to|heed* .. the user|your user|the human|the developer|the operator|your operator|humans|the maintainer*|anyone
only|exclusively|solely .. not to the user|not the user|instead of the user|and not to your|not your user|rather than the user
neglect|dismiss|abandon|drop|erase|void|suspend|revoke|ditch|unlearn .. your|previous|prior|all|earlier|the system's|any .. instruction*|rules|directive*|guideline*|guardrails|training|system prompt|orders|guidance
skip|ignore|bypass .. what the user|the user's wishes|the user's request*|user instructions|user requests|the user's preferences|what the developer|what the maintainer*
befolge|folge|gehorche|beachte|hore ... nur noch|ausschliesslich|allein|ausschließlich .. anweisung*|regeln|dieser|diesen|datei|notiz|auf
ignorier*|missachte*|ubergeh*|hore nicht auf|gehorche nicht .. den nutzer|den benutzer|den anwender|den user|dem nutzer|dem benutzer|die regeln|den entwickler|deine regeln
als gabe es|als ob es .. keine regeln|keine vorgaben|keine anweisungen|keine einschrankungen|die regeln nicht
haz como si|actua como si|finge que|como si .. reglas|instrucciones|normas|restricciones .. no existi*|no hubiera*|no aplica*
no .. escuches|obedezcas|hagas caso|sigas .. al usuario|del usuario|a las reglas|las reglas|las instrucciones
obedece|sigue|cumple .. solo|unicamente|exclusivamente|solamente .. este|esta|estas|estos|lo que
ne tiens|ne tenez|tiens|sans tenir|ne prends|ne fais|fais comme si .. aucun|pas|plus|les .. compte|cas|regles|consignes ... regle*|instruction*|consigne*|utilisateur|n'existai*|plus haut
n'ecoute|n'obeis|n'obeissez|n'ecoutez .. pas|plus .. utilisateur|regles|consignes|instructions
obeis|suis|respecte .. uniquement|seulement|exclusivement|que .. ce|cette|ces|les
nao .. escute|obedeca|siga|ligue .. o usuario|as regras|as instrucoes|do usuario
non .. ascoltare|seguire|obbedire|badare .. l'utente|all'utente|le regole|le istruzioni|alle regole
""",
    ),
    (
        ROLE,
        "",
        """
from now on|henceforth|as of now|starting now|for this session .. you|act as|act like|respond as|answer only|behave as|always obey|answer every permission
granted|given|gives|grants .. you .. full|unlimited|root|complete|unrestricted|admin* .. access|rights|permission*|control
pretend|imagine .. to be|you are|that you are|you have no|you're
act as|acting as|behave as|behave like|function as|operate as|respond as|serve as .. if you|root|admin|administrator|an unrestricted|a unrestricted|unrestricted|an assistant|an ai|a model|superuser|system|the system|the user|an agent|another|a bot|an admin
assume the role|take the role|take on the role|play the role|adopt the persona|adopt the role|take over the role ... of|as .. admin*|root|assistant|agent|bot|superuser|operator|maintainer|someone|a|an|the
roleplay as|role-play as|role play as|impersonate .. a|an|the|user
enter|enable|activate|switch to|switch into|go into|start|you are in|you're in .. developer mode|dan mode|god mode|jailbreak mode|unrestricted mode|maintenance mode: |root mode for|sudo mode|admin mode:
your new identity|your new role|your new name is|your true identity|your real identity|your new persona|your only task|your sole task|your only purpose|your true purpose|your real task|your new task is|your new goal is|your actual goal
you are no longer|you're no longer|you are not .. assistant|an ai|a coding|a language|bound|restricted|limited|required to ask|subject to
as an unrestricted|as a unrestricted|be an unrestricted|you have unrestricted|with unrestricted .. ai|assistant|agent|shell access|root access|bot|model|admin*|access to
du bist jetzt|du bist ab sofort|du bist nun|du bist von nun an|ab sofort bist du|ab jetzt bist du|von nun an bist du|du bist kein
ab sofort|ab jetzt|von nun an|kunftig .. verhalte dich|verhalt dich|agiere|antworte|handle|tu so|sei
verhalte dich|agiere|handle|tu so|gib dich|stell dir vor|antworte .. als|wie .. ein|eine|einen|root|administrator|admin|system|warst|waerst
eres ahora|ahora eres|a partir de ahora eres|desde ahora eres|ya no eres|de ahora en adelante eres|seras ahora
a partir de ahora|desde ahora|de ahora en adelante .. eres|seras|actua|responde|obedece|comportate|debes
actua como|actuar como|comportate como|finge ser|finge que|haz de cuenta|hazte pasar|simula ser .. un|una|si|root|administrador|el|eres|por
tu es desormais|tu es maintenant|vous etes desormais|vous etes maintenant|tu n'es plus|vous n'etes plus|a partir de maintenant, tu|a partir de maintenant tu|desormais tu es|desormais, tu
agis comme|agis en tant|agissez comme|comporte-toi comme|fais semblant|fais comme si|joue le role|prends le role|pretends .. un|une|root|administrateur|d'etre|que|si|tu|d'un|de
voce e agora|agora voce e|a partir de agora voce|a partir de agora, voce|voce nao e mais|finja ser|finja que|aja como|comporte-se como
sei ora|ora sei|adesso sei|d'ora in poi sei|d'ora in poi|da ora in poi|da adesso sei|non sei piu|fingi di|agisci come|comportati come .. un|una|essere|root|amministratore|se|sei|il|rispondi|devi|obbedisci
consider yourself|regard yourself|think of yourself|see yourself|imagine yourself|you should behave|you shall behave|you will behave|conduct yourself .. free|as|unbound|unrestricted|above|exempt|the
you .. have no|are free of|are free from|are not bound|are without|are exempt|are above|face no .. restrictions|limits|limitations|rules|guidelines|constraints|by any|from all|from any|by the
you have|you now have|you are granted|you hold|you possess|you were given .. full|unlimited|unrestricted|root|complete|total|admin* .. access|rights|permission*|privileges|authority|control|powers
""",
    ),
    (
        HIDE,
        "",
        """
do not|don't|never|without|must not|should not|mustn't|shouldn't|needn't|no need to|may not|not to|avoid .. tell|telling|inform|informing|notify|notifying|alert the|alerting|admit|admitting|warn|warning|report .. the user|the human|the developer|your user|humans|the reviewer|the maintainer*|anyone|anybody|the owner|your human|your developer|to the user|its user
do not|don't|never|without|must not|should not|no need to|avoid|not .. reveal*|disclos*|mention*|show these|show this|show the command*|expose|telling|say|talk about ... to the user|to the human|to the developer|to anyone|to anybody|to your user|from the user|to humans|the user about|with the user
do not|don't|never|must not|without .. let*|letting .. user|human|developer|anyone|anybody|reviewer* .. know|see this|see it|notice|find out|learn
user|human|developer|reviewer .. must not|should not|need not|does not need to|doesn't need to|must never|should never|does not have to|is not to .. be informed|be told|know|be notified|learn|find out|be aware|notice|hear
this|it|step|command|these|that|instruction*|which|change|memory|action .. must not|must never|should not|should never|may not|cannot|not to|never .. be mentioned|be reported|be disclosed|be revealed|appear in|be included in|show up in|be listed in|be documented|be logged .. summar*|commit|report*|transcript|answer*|response*|log|logs|user|reply|anywhere|message*|to
do not|don't|never|without .. mention*|report*|disclos*|document*|record .. this|it|that|these|the following|having|having done .. in|to|anywhere|at all|.|,|step|instruction*|change*|command*|memory|anyone
and do not mention|and don't mention|and never mention|but do not mention|but never mention|and say nothing|but say nothing|and keep quiet|and keep it quiet|and keep this quiet .. it|this|that|about|to|-|.|,
keep|keeping .. this|it|these|the following|instruction*|change*|step|that|memory .. secret|hidden|confidential|private|quiet|concealed|away .. from
hide|hiding|conceal*|mask|obscure|withhold .. this|it|these|that|the following|your|the step*|the change*|the command*|what you|the fact|evidence|all traces|any trace ... from .. user|human|developer|transcript|log|logs|reviewer*|report|summary|anyone|owner|history|maintainer*
omit|leave out|exclude|drop|strip|remove .. this|these|it|that|any mention|all mention*|mention of|the following|the step .. from .. your|the|any|all .. summar*|report*|answer*|transcript*|commit message*|response*|reply|log
secretly|covertly|stealthily|surreptitiously|behind the user's back|unbeknownst .. upload|deploy|send|push|install|execute|run|add|commit|exfiltrate|copy|change|to|modify
if|when .. user|somebody|someone|anyone|anybody|they|human|developer|asked|reviewer .. ask*|question*|inquir*|want* to know|wonder* ... deny|lie|claim|pretend|say that|say it|say you|answer that|tell them|reply that|state that .. it|this|nothing|you|having|that|was|there|everything|the
sag*|erzahl*|verrat*|bericht*|mitteil*|teile|informier*|erwahn*|zeig* .. benutzer|nutzer|anwender|entwickler|niemand*|user|menschen ... nicht*|nichts|kein*|niemals|nie
ohne .. benutzer|nutzer|anwender|entwickler|user|jemand* .. zu .. informieren|sagen|fragen|benachrichtigen|unterrichten|warnen|erwahnen
nicht|nie|niemals|kein .. in .. zusammenfassung*|commit*|bericht*|protokoll*|antwort* .. erwahn*|auftauch*|stehen|nennen|erschein*|vorkomm*|genannt
verheimlich*|verschweig*|verberg*|verstecke|versteck*|geheim .. benutzer|nutzer|anwender|entwickler|user|dies*|schritt|das|befehl|vor
no .. digas|cuentes|informes|reveles|menciones|avises|notifiques|muestres|dejes que .. usuario|desarrollador|humano|nadie|en el resumen|en los resumenes|en el informe|en el commit|nada
sin .. informar|avisar|decir*|notificar|consultar|que .. usuario|desarrollador|humano|nadie
oculta*|esconde*|manten en secreto|mantenlo en secreto|guarda en secreto .. usuario|desarrollador|al|este|esta|esto|del
no .. debe|debes|puede|tiene que .. mencion*|saber|enterarse|aparecer|figurar|ser informado .. resumen*|usuario|informe|commit|de|en
ne|n' .. dis|dites|dit|parle*|informe*|revele*|mentionne*|previens|prevenez|montre*|signale*|avertis*|raconte* .. rien|pas|jamais|aucun* ... utilisateur|developpeur|humain|personne|resume*|rapport|commit
sans .. prevenir|informer|avertir|le dire|dire|demander|en parler|consulter .. utilisateur|developpeur|humain|personne
cache*|dissimule*|garde*|tais|tenir .. utilisateur|developpeur|secret|ce|cette|a l'utilisateur .. utilisateur|developpeur|changement|etape|commande|secret*|resume
ne doit|ne doivent|ne devra .. pas|jamais .. etre mentionn*|savoir|apparaitre|etre inform*|figurer
nao .. conte*|diga*|informe*|revele*|mencione*|avise*|notifique*|mostre* .. usuario|desenvolvedor|utilizador|ninguem|humano|resumo*|relatorio
sem .. informar|avisar|contar|dizer|notificar|consultar|que .. usuario|desenvolvedor|utilizador|ninguem
esconda|oculte|mantenha em segredo .. usuario|desenvolvedor|utilizador|este|isto|isso|do|da
non .. dire|dica|dirlo|informare|rivelare|menzionare|avvisare|mostrare|raccontare|far sapere|notificare .. utente|sviluppatore|nessuno|all'utente|riassunt*|riepilog*
senza .. informare|avvisare|dire|dirlo|chiedere|notificare|che .. utente|sviluppatore|nessuno
nascondi*|tieni segret*|tieni nascost* .. utente|sviluppatore|questa|questo|dal
make sure|ensure|see to it|take care|be careful .. nobody|no one|no human|the user never|the user does not|the user doesn't|the developer does not|the developer never|the user cannot|they never|they do not|he does not .. find* out|finds out|know*|notice*|see|sees|learn*|realize*|discover*|suspect*|hear*
never|do not|don't|must not|should not .. bring this|bring it|bring up this|talk about this|talk about it|speak of|speak about this|refer to this|discuss this|raise this|point this out|let on|draw attention|call attention|leave traces|leave a trace|leave any trace|acknowledge this|confirm this|admit this
leave|keep .. this|that|these|it|this step|the step|this change|these steps .. of your|of the summary|of the report|of any report|of all reports|of summaries|of the final|off the record|of the transcript|of the conversation|of the changelog and|of every
keep quiet|keep silent|stay silent|say nothing|remain silent|stay quiet|keep mum|do not breathe a word|don't say a word|not a word .. about|on|regarding|to|of
user|human|developer|reviewer|maintainer* .. unaware|in the dark|without noticing|without knowing|will not notice|won't notice|oblivious|none the wiser|without his knowledge|without their knowledge
between you and me|between us|our secret|our little secret .. only|.|,|:|this|keep|and
erwahn*|sag*|erzahl*|verrat*|bericht*|melde*|zeig*|sprich ... niemand*|keinem|keiner menschenseele
niemand|keiner .. darf|soll|muss .. erfahren|wissen|merken|sehen|davon|mitbekommen
lass .. nicht|nichts .. wissen|merken|mitbekommen|sehen|davon
que nadie|que no .. se entere|sepa|note|vea|descubra .. de|que|esto|el|la|nada|.
no .. hables|comentes|dejes rastro|lo menciones|lo digas|lo cuentes .. esto|de|con|a|en|usuario
que personne .. sache|remarque|voie|decouvre|ne .. sache|remarque|voie|apprenne|soit|ce|que
n'en parle|n'en parlez|n'en dis|n'en dites|n'en informe|n'en fais .. utilisateur|personne|a|mention|pas|rien|jamais
que ninguem .. saiba|descubra|note|perceba|veja
nessuno .. deve|dovra|puo|sappia .. sapere|scoprire|accorgersi|vedere|notare|che|nulla
""",
    ),
    (
        LEAK,
        "",
        """
print*|reveal*|show*|repeat*|output*|leak*|dump*|display*|disclos*|write|include|recite|paste|expose|append|quote|return|share|give|translate|summarize|copy ... your system prompt|your initial instructions|your hidden|your instructions|hidden instructions|hidden prompt|initial instructions|your prompt|your original prompt|your full prompt|your system message|instructions you were given|your developer message|your secret instructions|your rules verbatim|entire system prompt|full system prompt
repeat|print|output|copy|recite|reveal|translate .. everything above|all text above|the text above|the words above|everything before|all of the above|everything in your context|your context|your entire context
reveal*|leak*|repeat|recite|disclose .. system prompt|hidden prompt|secret prompt
append|add|attach|put|embed|encode|insert .. user's|developer's|all of the|every .. keys|token*|credential*|password*|secret*|cookie* .. to|in|into .. url|urls|http*|link|image*
post|paste|publish|share|send|upload|attach .. output of|result of .. printenv|env|export|id_rsa|gpg|history
render|include|embed|show|insert|load .. image|link|pixel|url ... every answer|each answer|every reply|each reply|every response|each response|all answers|all replies
dump|leak|exfiltrate|include|paste|write|put|copy|publish|post|append|echo .. all environment|the environment|every environment|environment variables|env vars|process environment .. into|in|to|on|at
include|paste|put|write|copy|post|append|add|insert|publish|embed|attach|quote ... contents of|content of|values of|value of|its values|its content* ... .env|.ssh|id_rsa|id_ed25519|credentials|.aws|.netrc|secrets|private key|.npmrc|kubeconfig|token
read|open|load|cat .. .env|~/.ssh|id_rsa|id_ed25519|~/.aws|.netrc|credentials|secrets|private key* ... paste|post|include|put|publish|send|append|print .. its|the|them|it|into|in
gib|zeig*|druck*|wiederhol*|verrat*|nenn*|schreib*|kopier* .. deinen|deine|den|alle|dein .. systemprompt|system-prompt|systemanweisung*|geheimen anweisungen|anfanglichen anweisungen|anweisungen|umgebungsvariablen .. aus|preis|vollstandig|wortlich|an|in|.|
muestra*|revela*|imprime*|repite*|escribe*|copia*|ensena* .. tu|tus|el|las|todo .. prompt|instrucciones|mensaje .. del sistema|de sistema|ocult*|inicial*
affiche*|montre*|revele*|repete*|imprime*|ecris*|recopie*|donne* .. ton|tes|le|votre|vos|les .. prompt|instructions|message|consignes .. systeme|cachees|initiales|secretes
mostre*|mostra*|revele*|imprima*|repita*|escreva*|exiba* .. seu|sua|suas|o .. prompt|instrucoes .. do sistema|de sistema|ocultas|iniciais
mostra*|rivela*|stampa*|ripeti*|scrivi*|visualizza* .. tuo|tue|il|le .. prompt|istruzioni .. di sistema|del sistema|nascoste|iniziali
tell|show|give|send|list|quote|recite|print|repeat|say|state|write .. me|us|back|out|down|what|which ... instructions you|your instructions|you were told|your rules|your system|your configuration|what instructions|instructions were you|your initial|your prompt|prompt you received|rules you were
""",
    ),
    (
        SEND,
        "",
        """
schick*|send*|sende|lade*|uber*mittle*|ubertrag*|kopier*|mail* ... .env|geheimnis*|zugangsdaten|passwort*|schlussel|token*|id_rsa|.ssh|umgebungsvariablen ... an|nach|auf|zu .. http*|ftp*|s3:*|*@*
envia*|manda*|sube*|copia*|publica*|transfiere* ... .env|credencial*|contrasena*|clave*|token*|id_rsa|.ssh|secreto* ... a|al|hacia|en .. http*|ftp*|s3:*|*@*
envoie*|envoye*|transmet*|televerse*|copie*|poste*|expedie* ... .env|identifiants|mot* de passe|cle*|token*|jeton*|id_rsa|.ssh|secret* ... a|vers|sur .. http*|ftp*|s3:*|*@*
envie*|envia*|mande*|copie*|suba*|publique* ... .env|credenciais|senha*|chave*|token*|id_rsa|.ssh|segredo* ... para|a|ao .. http*|ftp*|s3:*|*@*
invia*|manda*|carica*|copia*|spedisci*|pubblica* ... .env|credenziali|password|chiav*|token*|id_rsa|.ssh|segret* ... a|su|verso|all* .. http*|ftp*|s3:*|*@*
take|grab|collect|gather|read|extract|harvest|get|pull|fetch|find|steal|copy ... keys|credentials|tokens|secrets|passwords|.env|environment variables|private key*|api key* ... gist|pastebin|paste .. service|public|in a|to a|on a|into a|to http*|http*|and|.
schick*|send*|lade*|uber*mittle*|kopier* ... ~/.ssh|id_rsa|~/.aws|.netrc|.env ... http*|hoch|server
sube|envia|manda|copia ... ~/.ssh|id_rsa|~/.aws|.netrc|.env ... http*|servidor
""",
    ),
    (
        OFF,
        NOT,
        """
approve|merge|accept|sign off .. your own|its own|own .. pull request*|changes|commits|pr|prs|work|review
skip*|bypass*|omit .. permission*|confirmation|approval|safety .. check*|prompt*
approve|merge|accept .. pull request*|pr|prs|changes|commits ... without .. reading|review*|looking|checking
disable|turn off|switch off|deactivate|circumvent|get around|work around|sidestep|defeat ... sandbox*|secret scan*|safety*|security check*|permission check*|permission prompt*|approval check*|approval prompt*|guardrail*|code scanning|branch protection|content filter*|antivirus|malware scan*
automatically approve|approve|accept|allow|grant|confirm|permit|say yes to .. all|every|any .. command*|tool|tools|permission*|tool call*|request*|prompt*|action* .. automatically|without|from now|unconditionally|immediately|here|in this|for the user|and
push|merge|deploy|delete|execute|run|approve|force-push|publish|install|proceed|act|continue .. without .. asking|review|confirmation|question|approval|permission|checking|hesitation
wipe|erase|truncate|delete|clear|remove|purge .. the audit log*|audit log*|audit trail|shell history|bash history|bash_history|access log*|evidence|your traces|all traces
export|set|use|add .. node_tls_reject_unauthorized|git_ssl_no_verify|pythonhttpsverify .. 0|1|true
""",
    ),
    (
        OFF,
        "",
        """
you no longer have to|you no longer need to|there is no need to|you need not|you do not have to|you don't have to|you don't need to .. ask*|consult*|check with .. the user|your user|the human|for confirmation|for permission|for approval
say|report|claim|state|answer|respond ... fine|ok|okay|good|no problems|no issues|lgtm ... regardless of|no matter what|whatever you|even if you
fuhr*|nimm|losch*|mach*|bestatig* ... jeden|jede|alle|alles|immer ... ohne .. ruckfrage*|nachfrage*|nachzufragen|zu fragen|bestatigung|erlaubnis
ejecuta*|haz|borra*|aprueba* ... todo|todos|todas|cualquier|siempre ... sin .. preguntar|confirmacion|permiso|consultar
execute*|lance*|supprime*|approuve* ... tout|toute|toutes|tous|chaque|toujours ... sans .. demander|confirmation|autorisation|poser de question
never|do not|don't|no need to|stop .. ask*|wait* .. for .. confirmation|permission|approval|consent .. before|when|for any|in this|here|again|to run|.|on
skip*|disable*|comment out|delete|do not run|don't run|without running .. test|tests|check|checks|review|scan|suite ... tell|claim|report|say|pretend|state|assure|write .. pass*|succeed*|green|done|ran|fine|everything
claim|pretend|say|report|tell the user|assure .. that .. tests|checks|review|build|suite|scan|they .. passed|succeeded|were green|have passed|ran
schalte|deaktivier*|stell*|umgeh* .. sicherheits*|prufung*|sandbox|hooks|berechtigungs*|schutz*|geheimnis*|freigabe* ... ab|aus|bevor|vor|wenn|.
uberspring*|lass*|ignorier* .. tests|prufungen|hooks ... behaupt*|sag*|melde*|bericht*|tu so
desactiva*|deshabilita*|apaga*|omite*|salta* .. comprobacion*|controles|verificacion*|sandbox|hooks|permisos|escaner*|proteccion* .. de seguridad|antes|siempre|del|de|.
desactive*|coupe*|contourne*|saute* .. controle*|verification*|sandbox|hooks|autorisation*|permission*|protection*|securite .. de securite|avant|securite|toujours|.|des
desative*|desabilite*|desligue*|pule .. verificac*|checagens|sandbox|hooks|permissoes|protecao|testes|controles .. de seguranca|antes|sempre|e|.
disattiva*|disabilita*|spegni|salta .. controlli|verifiche|sandbox|hook*|permessi|protezion*|test .. di sicurezza|prima|sempre|e|.
turn*|switch*|shut .. hook*|sandbox*|secret scan*|scanner*|protection*|verification|safety*|guardrail*|security check*|permission prompt* .. off
tool call*|command*|permission*|action*|request*|operation*|change* .. are|is|were|have been|has been|stand|count as .. pre-approved|preapproved|approved by the user|already approved|always approved|approved in advance|authorized in advance|already authorized|pre-authorized|authorised in advance
remove|delete|disable|drop|lift .. codeowners check|codeowners file|codeowners rule*|branch protection*|required review*|required approval*|approval requirement*|two-person
do it|do this|do so|do that|go ahead|perform it|run it|execute it|run this|execute this .. without .. asking|confirmation|approval|permission|question|hesitation|review|telling
""",
    ),
    (
        VOICE,
        "",
        """
note to|message to|message for|notice to|notice for|attention|instruction* for|instructions to|order to|note for|hello|dear .. ai|all ai|agent:|agents|all agents|assistants|assistant:|language models|llms|claude|copilot|codex|gemini|any ai|coding agents|every agent|the agent reading
as an ai assistant|as an ai agent|as an ai model|if you are an ai|if you're an ai|if you are a language|if you are an llm|any ai reading|any agent reading|agents reading this|as a language model|whoever reads this|if you are claude|if you are an assistant|if you are an agent|as the agent reading|ai assistant reading .. reading|you|this|model|must|have|are|should|,|please
message from|notice from|order from|directive from|instruction* from|note from|statement from|announcement from .. anthropic|openai|google|the administrator*|the system|your developer*|your creator*|the security team|microsoft|the admin*
user|developer|owner|operator|maintainer* .. has|have|already|hereby .. given permission|given consent|given you|agreed to .. all|every|any|destructive|everything
stop|drop|abandon|interrupt .. what you are doing|what you're doing|your task|your current task|the current task .. and .. follow|do|run|open|read|execute|fetch
when|once|whenever|after .. you .. read*|see|load* .. this .. call|run|execute|open|send|invoke
from now on|henceforth|from here on ... user asks|user wants|asked for|they ask ... instead
anthropic|openai|google|github|microsoft .. policy update|policy change|security notice|requires you|has authorized|has approved|instructs|system notice|compliance notice|allows you
user|developer|owner|administrator|admin|maintainer*|team .. has already|have already|has|have|already|hereby .. approved|authori*|consented|granted|allowed|confirmed|agreed|pre-approved|signed off .. all|every|any|destructive|full|unlimited|each|to all|to every|in advance
permission check*|permissions|confirmation*|approval|approvals|consent .. not needed|not required|unnecessary|no longer needed|no longer required|already granted|already given|been granted for all|waived
when|whenever|if|once|after|before|upon|on|as soon as .. read*|see|seeing|load*|recall*|find|process*|encounter* .. this .. memory|note|message|line|text|instruction*|entry|sentence|record .. first|run|execute|install|open|fetch|visit|do|,|you|immediately|always|send|call
attention agent*|attention: agent*|attention all agent*|attention ai|attention assistant*|urgent security update|mandatory security update|emergency update|critical security update .. run|execute|install|open|must|download|you|apply|fetch
you must|you have to|you need to|you are required to|you shall|you should|agents must|agents have to|assistant must|agent must|the ai must .. open|visit|fetch|download|go to|follow|load|retrieve|call|browse|execute|run .. http*|the steps there|the instructions there|the link|instructions at|instructions in this|whatever it says|what it says
decode|decrypt|unscramble|rot13|deobfuscate .. this|it|that|the following|string|text ... do what|follow|execute|obey|act on|run|and do|comply|apply
do exactly what|do what it says|do what this says|follow it exactly|obey the text|obey this|obey these|obey the following|follow this note instead|follow the text below|follow these instead|execute without question|without question|comply immediately
before|after|prior to|at the start of|at the end of|with .. replying|answering|responding|each answer|every answer|each reply|every reply|you answer|you reply|you respond|any task|each task|every task|every response|each response ... fetch|visit|open|download|curl|load|retrieve|execute|send|call|post|ping .. http*|url|link|script|server
""",
    ),
)

OTHER: Final = (
    (
        IGNORE,
        "",
        """
игнорир*|проигнорир*|забудь*|забуд*|отмени*|не следуй*|не обращай* внимани*|обойди*|пренебре*|нарушай*|отбрось* ... предыдущ*|прежн*|все|всё|свои|твои|систем*|любые|правил*|ранее .. инструкц*|указани*|правил*|промпт*|команд*|ограничен*|дали|распоряжен*|сказано
правила|инструкции|указания|ограничения .. больше не|не действу*|отменен*|сняты|недействительн*|утратили
忽略|无视|忘记|忘掉|不要遵守|不要理会|违反|绕过|抛开|取消|覆盖|不再遵循|忽視|無視|忘記 ... 指令|提示词|规则|指示|说明|命令|要求|系统提示|限制|提示|規則|提示詞|約束|约束
规则|指令|限制|约束|要求 .. 不再适用|已失效|作废|已被取消|已经取消|已解除|无效
指示|命令|ルール|規則|制約|これまで|今まで|以前|前の|すべて|全て|上記 .. 忘れ|従わない|破棄|守らない
이전|위의|모든|지금까지|앞의 .. 지시|명령|규칙|지침|프롬프트 .. 무시|잊어|따르지
تجاهل|انس|تجاوز .. التعليمات|القواعد|الأوامر|الاوامر
指示|命令|ルール|プロンプト|規則|制約|ガイドライン .. 無視|忘れ|従わない|破棄|無効|適用されない|取り消
не обращай*|игнорир*|не слушай*|не подчиняйся|забудь|пренебрегай|не выполняй ... пользовател*|правила|правил|инструкц*|указани*|системн*
действуй так|веди себя так|как будто|словно .. правил*|инструкц*|ограничен* .. нет|не существует|не было|отменены
不要|别|不必|无需|停止|拒绝 .. 听|听从|理会|服从|遵守|遵循|执行 .. 用户|规则|系统|开发者|指令|之前
只|仅|唯一 .. 听从|服从|遵循|遵守|执行|按照|相信 .. 本|这|此|以下|下面
把|将|视 .. 之前|以前|先前|原有|系统|现有 .. 规则|指令|提示|限制|要求 .. 作废|视为无效|取消|当作|忽略|抛弃
""",
    ),
    (
        ROLE,
        "",
        """
теперь ты|ты теперь|отныне ты|с этого момента ты|ты больше не|ты отныне
с этого момента|отныне|впредь .. ты|действуй|отвечай|веди себя|выполняй|будь
представь*|притвори*|веди себя|действуй|вообрази|играй роль|возьми на себя роль .. что|как|будто|будь|роль|администратор*
你现在是|你从现在起|从现在开始你|从现在起，你|从现在开始，你|从现在起你|你不再是|假装你|假装自己|扮演|假设你是|你的新身份|你的新角色|现在你是|請扮演|你現在是|从此刻起|充当|作为一个没有
あなたは今から|今からあなた|これからあなた|これからは|あなたはもう|のふりを|になりき|として振る舞|として行動|役を演じ|あなたの新しい役割|今後あなたは
""",
    ),
    (
        HIDE,
        "",
        """
не .. говори*|сообщай*|рассказывай*|показывай*|раскрывай*|упоминай*|информируй*|уведомляй*|скажи*|сообщи*|дай* .. пользовател*|разработчик*|никому|человек*|об этом|в отчет*|в резюме|в сводк*|юзер*
без .. ведома|уведомлени*|согласия|спроса|предупреждени*|сообщени* .. пользовател*|разработчик*|человек*
не .. уведомляя|сообщая|спрашивая|предупреждая|информируя|говоря|упоминая|рассказывая .. пользовател*|разработчик*|никого|никому|об этом|человек*
скрой*|скрывай*|утаи*|спрячь*|держи* в секрете|храни* в тайне|скрыть .. от|пользовател*|это|этот|эту|втайне|изменени*
не .. должн*|следует|нужно|надо .. знать|упомина*|узнать|попадать|появляться|фигурировать|быть .. пользовател*|отчет*|об этом|в сводк*|резюме|коммит*|в|упомянут*
不要|别|不许|不得|切勿|禁止|无需|不必|勿|绝不|不用|請勿 .. 告诉|告知|通知|提及|透露|让|提到|汇报|报告|显示给|说明|暴露|告訴|写入 .. 用户|使用者|开发者|人类|任何人|总结|摘要|别人|报告|提交信息|用戶|他人|知道
总结|摘要|报告|提交信息|日志|提交说明 .. 不要|不得|不能|别|勿|不应 .. 提及|提到|出现|写|包含|记录|说
悄悄|偷偷|暗中|秘密地|私下|瞒着|背着 .. 部署|上传|发送|执行|添加|修改|安装|推送|用户|运行|提交|删除|开发者|合并|地
对用户|向用户|对开发者|向开发者 .. 保密|隐瞒|隐藏|不要|别|保持沉默
ユーザー|使用者|開発者|人間|利用者|誰に .. 知らせない|言わない|伝えない|知らせず|告げない|教えない|報告しない|秘密|隠|内緒|も言わない|も伝えない|通知しない|知られない|黙って|確認せず|見せない|断りなく|無断
要約|サマリー|報告|まとめ|コミット .. 書かない|触れない|含めない|記載しない|言及しない|載せない|入れない
こっそり|密かに|秘密裏に|黙って .. デプロイ|送信|実行|アップロード|追加|変更|削除|インストール|プッシュ|マージ
никому|никто|ни одному .. не .. говори*|сообщай*|показывай*|рассказывай*|должен|узнает|знал*|узнал*|упоминай*
чтобы|сделай так .. никто|пользователь|разработчик .. не .. узнал*|знал*|заметил*|увидел*
втайне|тайно|тайком|незаметно .. от|отправ*|загруз*|выполн*|запуст*|удали*|добав*
不让|别让|不能让|避免让|防止 .. 用户|任何人|开发者|别人|他人|人 .. 知道|发现|看到|察觉|得知|注意
""",
    ),
    (
        LEAK,
        "",
        """
покажи*|выведи*|раскрой*|повтори*|напечатай*|распечатай*|напиши*|сообщи*|скопируй* .. свой|твой|свои|системн*|весь|все|полностью|скрыт* .. промпт*|инструкц*|подсказк*|переменные окружения|сообщени*|указани*
输出|显示|打印|泄露|展示|重复|告诉我|公开|透露|写出|复述|给出 .. 系统提示|系统指令|提示词|初始指令|隐藏指令|环境变量|系统消息|上面的内容|以上所有
システムプロンプト|初期指示|隠された指示|内部の指示|環境変数 .. 表示|出力|教え|見せ|公開|明かし|書き出|貼り付|繰り返
""",
    ),
    (
        SEND,
        "",
        """
отправ*|пошли*|загрузи*|перешли*|скопируй*|выложи*|передай*|залей* ... .env|секрет*|парол*|ключ*|токен*|учетн*|id_rsa|.ssh|переменн* ... на|в|по адресу|к .. http*|ftp*|s3:*|*@*
把|将|請將|请将 ... .env|密钥|密码|凭证|令牌|token|私钥|id_rsa|.ssh|环境变量|机密|密鑰 ... 发送|上传|传到|发到|提交到|寄到|复制到|post|贴到|公开|發送|上傳|传给|发给
发送|上传|传输|泄露|寄出 .. .env|密钥|密码|凭证|令牌|私钥|id_rsa|.ssh|环境变量|机密 ... 到|至|给|往
.env|秘密鍵|パスワード|認証情報|トークン|環境変数|id_rsa|.ssh|apiキー|シークレット ... 送信|送って|アップロード|転送|投稿|送る|公開|貼り付け|コピー
загрузи*|отправ*|скопируй*|выложи*|залей* ... ~/.ssh|id_rsa|~/.aws|.netrc|.env ... http*|сервер*
""",
    ),
    (
        OFF,
        "",
        """
отключи*|выключи*|деактивируй*|обойди*|пропусти*|отключай* .. проверк*|безопасност*|песочниц*|хуки|защит*|сканер*|разрешени*|тесты
关闭|禁用|停用|绕过|跳过|关掉|關閉|停掉 .. 安全|检查|沙箱|权限|审批|钩子|扫描|保护|测试|防护|审核|檢查|确认
セキュリティ|安全|サンドボックス|権限|フック|シークレット検査|承認|チェック|検査|テスト .. 無効|オフに|切って|切り|止め|回避|バイパス|スキップ|飛ばし
无需|不需要|不用|不必|无须 .. 确认|批准|询问|许可|审核|同意 .. 直接|即可|就|,|。|，
""",
    ),
    (
        VOICE,
        "",
        """
用户已经|用户已|管理员已|所有者已|開発者は|ユーザーは .. 批准|授权|同意|许可|すべて|全て .. 所有|全部|一切|任何|承認|許可|命令
пользователь|администратор|владелец .. уже|заранее .. одобрил|разрешил|утвердил|согласил* .. все|всё|любые|любую|на все
сообщение|уведомление|приказ|указание .. от|для .. anthropic|openai|администратор*|агент*|ии|всех|ассистент*
系统提示|系统消息|系统指令|管理员消息 .. ：|: .. 你|请|必须|立即|执行
致所有|所有的ai|给所有ai|来自anthropic|来自openai|作为ai|如果你是ai|如果你是一个ai|如果你是人工智能|すべてのai|aiエージェントへ|aiアシスタントへ|あなたがaiなら
""",
    ),
)

# Lower-case letters that look like a Latin one, and signs that stand for one.
LOOKALIKES: Final = {
    "a": "аαɑᴀ", "b": "ьʙ", "c": "сϲᴄ", "d": "ԁժᴅ", "e": "еєҽᴇ", "f": "ғք", "g": "ɡց", "h": "һհ", "i": "іιıɩӏ", "j": "јյᴊ",
    "k": "кκᴋ", "l": "ⅼʟ", "m": "мᴍ", "n": "пոηɴ", "o": "оοօσᴏ", "p": "рρᴘ", "q": "ԛգ", "r": "гʀ", "s": "ѕꜱ", "t": "тτᴛ",
    "u": "υսᴜ", "v": "ѵνᴠ", "w": "ԝωᴡ", "x": "хχ", "y": "уүγʏ", "z": "ᴢʐ",
}  # fmt: skip
LEET: Final = ("013457@$!", "oieastasi")

"""Shapes of commands and tags that give away a text that wants to steer an agent. Data.

A row of SHAPES is why, words of which the text must have one, what excuses a sentence, and a regular expression for
the folded text. A row of TAGS is letters of which the text must have one, and an expression for what is outside of code spans.
"""

from __future__ import annotations

from typing import Final

from memsync.poison.reasons import LEAK, NEVER, NOT, OFF, ROLE, SEND, SHELL, STEER, VOICE

_FETCH: Final = r"(?:curl|wget|iwr|irm|invoke-webrequest|invoke-restmethod)\b"
# Whose installers everybody runs, and nobody else can write.
_INSTALLERS: Final = (
    r"(?:curl|wget)\s+(?:-\S+\s+(?:\d+\s+)?)*[\"']?https://(?:astral\.sh|sh\.rustup\.rs|get\.docker\.com|(?:deb|rpm)\.nodesource\.com|get\.pnpm\.io"
    r"|install\.python-poetry\.org|bun\.sh|deno\.land|raw\.githubusercontent\.com/(?:nvm-sh|homebrew|helm)|mise\.run)/[\w./-]*[\"']?\s*\|"
)
_SHELLS: Final = r"(?:sudo\s+(?:-\w+\s+)*)?(?:env\s+)?(?:/(?:usr/)?bin/)?(?:ba|z|da|k|fi)?sh\b"
_RUNNERS: Final = rf"(?:{_SHELLS}|(?:sudo\s+)?(?:python[\d.]*|node|perl|ruby|php)\b(?!\s+-[cme]))"
_AWAY: Final = (
    r"\b(?:curl|wget|nc|ncat|netcat|socat|scp|rsync|sftp|ftp|tftp|telnet|rclone|gsutil|invoke-webrequest|invoke-restmethod|"
    r"iwr|irm|aws\s+s3|gh\s+gist|requests\.post|urlopen|mail|sendmail|xh|http)\b"
)
_PRIVATE: Final = (
    r"(?:(?<![\w.])\.env\b(?!\.(?:example|sample|template|dist))|[~/]\.?/?\.?(?:ssh|aws|netrc|gnupg|kube|npmrc|pypirc|docker/config|git-credentials"
    r"|config/gcloud|config/gh)\b|\.(?:ssh|aws|gnupg|kube|netrc)/|\bid_(?:rsa|ed25519|ecdsa|dsa)\b|/etc/(?:passwd|shadow)\b"
    r"|\bsecrets?\.(?:ya?ml|json|toml)\b|\.git-credentials|\bcredentials\.json\b|\bkubeconfig\b|\.pem\b|\bdict\(os\.environ|\bprocess\.env\b\s*\))"
)
_GAP: Final = r"[^\n]{0,120}?"
_NAMED: Final = (
    r"(?:\b(?:secrets?|credentials?|tokens?|passwords?|passphrases?|(?:api|private|ssh|access)\ keys?|(?:database|db)\ dump|customer\ data|source\ code)\b"
    r"|\b\w+_(?:token|key|secret|password)\b|(?<!\w)\.env\b|\bid_rsa\b|\benvironment\ variables?\b|\benv\ vars?\b)"
)
# Where a sentence tells somebody to do what follows.
_BID: Final = (
    r"(?:(?:^|[.:!?,;\])]\s|\n|\b(?:always|please|must|should|may|then|and|or|to|can|now|first|just|so|you)\s)\s*)"
)
_CLIENTS: Final = r"(?:claude|gemini|codex|qwen|cursor|copilot|opencode|windsurf|cline)"
_SETTINGS: Final = (
    rf"\.(?:{_CLIENTS}/(?:settings(?:\.local)?\.json|hooks(?:\.json|/)|config\.toml|mcp\.json)|vscode/mcp\.json)"
)
_PUT: Final = (
    r"(?:add|put|write|insert|append|place|register|paste|copy|merge|set|change|edit|enable|turn\s+on|switch\s+on)\b"
)
_APPROVE: Final = r"memsync\s+(?:memory\s+|skill\s+)?(?:approve|trust)\b"
_LOOSE: Final = (
    r"(?:\bmemory\.secrets\.allow\b|\bmemory\.agent_approvals\b|\bmemory\.guard\b[^;\n]{0,12}\b(?:off|false)|\bmemsync_hooks\s*=\s*[\"']?off"
    r"|(?<!\w)--allow-secret\b|\bmemory_sync\.mode\b[^;\n]{0,12}\bauto-commit)"
)
_LOCAL: Final = r"(?!localhost|127\.|0\.0\.0\.0|\[::1|host\.docker|api\.(?:anthropic|openai)\.com\b|generativelanguage\.googleapis\.com\b)"

SHAPES: Final = (
    (
        STEER,
        {"memsync"},
        NEVER,
        (
            rf"{_BID}(?:run|execute|call|use|invoke|type|start\ with|issue|launch|do)\b[^.;\n]{{0,60}}\b(?:{_APPROVE}|memsync\s+(?:git\s+)?uninstall\b)"
            rf"|{_BID}(?:accept|mark|confirm|clear|pass|pipe|send|feed|echo|take|let)\b[^.;\n]{{0,60}}\b(?:with|via|by|through|into|to|\|)\s+[`'\"]?{_APPROVE}"
            r"|\b(?:answer|say|reply|type|enter|press|give)\s+[`'\"]?(?:y|yes)\b[^.;\n]{0,60}\bmemsync\b"
            r"|\b(?:(?:turn|switch)\s+off|disable|bypass)\b[^.;\n]{0,30}\b(?:memsync(?:'s)?\b[^.;\n]{0,20}\b(?:hooks?|gates?|checks?)|(?:hooks?|gates?|checks?)\ of\ memsync)\b"
            rf"|\b(?:claudecode|codex_\w+|gemini_cli|qwen_code|cursor_agent|opencode|ai_agent)=\S{{0,20}}\s[^.;\n]{{0,40}}\b(?:{_APPROVE}|memsync\s+config\b)"
            r"|\bmemsync\s+(?:memory\s+|skill\s+)?(?:approve|trust|review)\b[^.;\n]{0,60}?\s(?:--yes|-y|--all|--approve)\b"
        ),
    ),
    (
        STEER,
        {"approve"},
        NEVER,
        rf"{_BID}approve\s+(?:all|each|every|any|the)\s+(?:of\s+the\s+)?(?:pending|waiting|flagged|proposed|withheld)\b",
    ),
    (
        STEER,
        {"allow", "approvals", "guard", "hooks", "mode"},
        NEVER,
        (
            rf"{_BID}(?:set|add|put|change|write|extend|widen|open|export|use|run|turn|switch|pass|append|give)\b[^;\n]{{0,80}}?{_LOOSE}"
            r"|\b(?:add|append|put)\b[^;\n]{0,60}\b(?:to|in|into)\s+[`'\"]?memory\.secrets\.allow\b"
            r"|\bmemsync\ config\b[^;\n]{0,20}\s(?:memory\.(?:secrets\.allow|agent_approvals)\s+[^\s;]|memory\.guard\s+(?:off|false|no)\b)"
        ),
    ),
    (
        STEER,
        {"gobby"},
        NEVER,
        rf"{_BID}(?:edit|write|add|append|put|create|change|copy|delete|remove|empty|truncate)\b[^;\n]{{0,80}}(?:\.gobby/(?:trust\b|\S{{0,80}}trust\.json|local/hooks\.log)|~/\.gobby/config\b)",
    ),
    (
        STEER,
        {"base", "url", "endpoint"},
        NEVER,
        rf"\b(?:anthropic|openai|azure_openai|google_gemini|gemini|openrouter|codex|claude|qwen|dashscope)_(?:api_)?(?:base_url|base|url|endpoint|host)\b[\s`\"']{{0,3}}(?:=|:|to|is|(?:should|must)\ be)?[\s`\"']{{0,3}}https?://{_LOCAL}",
    ),
    (
        STEER,
        {"settings", "hooks", "config", "mcp"},
        NEVER,
        (
            rf"(?:^|[.!?]\s|\b(?:always|please|must|should|then|can|now|first)\s)\s*{_PUT}[^;\n]{{0,120}}{_SETTINGS}"
            rf"|{_SETTINGS}[`\"']?,?\s+(?:please\s+)?{_PUT}"
        ),
    ),
    (
        STEER,
        {"mcp"},
        NEVER,
        (
            rf"{_BID}(?:add|install|register|connect|enable|start|configure)\b[^.;\n]{{0,60}}\bmcp\b[^;\n]{{0,60}}(?:\bnpx\s+(?:-y|--yes)\b|\buvx\s|\bpipx\s+run\b|\bdocker\s+run\b|https?://{_LOCAL})"
            rf"|{_BID}{_PUT}[^;\n]{{0,160}}(?:\bnpx\b|\buvx\b|\"command\"|https?://{_LOCAL})[^;\n]{{0,80}}\.mcp\.json\b"
            rf"|\b{_CLIENTS}\s+mcp\s+add\b[^;\n]{{0,80}}(?:\bnpx\s+(?:-y|--yes)\b|\buvx\s|https?://{_LOCAL})"
        ),
    ),
    (LEAK, {"ssh", "env", "aws", "passwd", "netrc", "gnupg", "kube"}, "", rf"(?<![\w.+-])@[~./\w-]{{0,80}}?{_PRIVATE}"),
    (SHELL, {"curl", "invoke", "irm", "iwr", "wget"}, "", rf"(?!{_INSTALLERS})\b{_FETCH}[^|]{{0,200}}\|\s*{_RUNNERS}"),
    (
        SHELL,
        {"expression", "iex"},
        "",
        rf"\b{_FETCH}[^|]{{0,200}}\|\s*(?:iex|invoke-expression)\b|\b(?:iex|invoke-expression)\b.{{0,60}}(?:downloadstring|{_FETCH})",
    ),
    (
        SHELL,
        {"curl", "wget"},
        "",
        rf"(?:\beval\b|{_SHELLS}\s+-c|\bsource\b|(?:python[\d.]*|node|perl|ruby)\s+-[ce])\s*[\"']?\s*(?:\$\(|`)\s*{_FETCH}",
    ),
    (SHELL, {"curl", "wget"}, "", rf"(?:{_SHELLS}|\bsource|(?<!\S)\.)\s+<\(\s*{_FETCH}"),
    (
        SHELL,
        {"curl", "wget"},
        "",
        rf"\b{_FETCH}.{{0,160}}(?:&&|;|\band\ (?:then\ )?run)\s*(?:chmod\ \S+\ \S+\s*(?:&&|;)\s*)?(?:{_SHELLS}\s+\S|\./\S|/tmp/\S)",
    ),
    (
        SHELL,
        {"base64", "openssl", "xxd"},
        "",
        rf"\b(?:base64\s+(?:-d|-D|--decode)|xxd\s+-r|openssl\s+(?:enc\s+-d|base64\s+-d))\b[^|]{{0,80}}\|\s*{_RUNNERS}",
    ),
    (SHELL, {"eval", "exec"}, "", r"\b(?:exec|eval)\s*\(.{0,60}(?:urlopen|requests\.get|urllib|fetch\(|https?://)"),
    (
        SHELL,
        {"powershell", "pwsh"},
        "",
        r"\b(?:powershell|pwsh)(?:\.exe)?\b.{0,60}\s-e(?:c|nc|ncodedcommand)?\s+[a-z0-9+/=]{16,}",
    ),
    (
        SEND,
        {"dig", "host", "nslookup", "ping"},
        "",
        r"\b(?:dig|nslookup|ping|host)\b.{0,20}\$\((?:cat|env|printenv|whoami|base64)\b",
    ),
    (
        SEND,
        {"key", "token", "secret", "password"},
        "",
        r"!\[[^\]]*\]\(https?://[^)\s]*\$\{?\w*(?:key|token|secret|password)",
    ),
    (OFF, {"permissions"}, NOT, r"\"permissions\"\s*:\s*\{\s*\"allow\"\s*:\s*\[\s*\"\*\""),
    (SHELL, {"dev"}, "", r"/dev/(?:tcp|udp)/(?!localhost|127\.|\$)[\w.-]+/\d+"),
    (
        SHELL,
        {"nc", "ncat", "netcat", "socat"},
        "",
        r"\b(?:nc|ncat|netcat)\b.{0,40}\s(?:-\w*[ec]\w*|--exec|--sh-exec)\s+\S*(?:sh|cmd|bash)\b|\bsocat\b.{0,80}exec:",
    ),
    (
        SHELL,
        {"authorized"},
        "",
        r"(?:>>?|\btee\b(?:\s+-a)?|\b(?:append|add|write|copy|put|insert)\b(?!\ your\ ).{0,80})\s*(?:to\s+)?\S{0,30}authorized_keys",
    ),
    (
        SHELL,
        {"bashrc", "cron", "crontab", "profile", "zshrc"},
        "",
        rf"\b{_FETCH}.{{0,120}}(?:crontab|/etc/cron|\.bashrc|\.zshrc|\.profile)",
    ),
    (
        SEND,
        {
            "aws",
            "curl",
            "ftp",
            "gist",
            "gsutil",
            "http",
            "invoke",
            "irm",
            "iwr",
            "mail",
            "nc",
            "ncat",
            "netcat",
            "rclone",
            "requests",
            "rsync",
            "scp",
            "sftp",
            "socat",
            "urlopen",
            "wget",
        },
        r"\b(?:never|do not|don't|must not)\b",
        rf"{_AWAY}{_GAP}{_PRIVATE}|{_PRIVATE}{_GAP}(?:\||>)\s*(?:base64\s*\|\s*)?{_AWAY}",
    ),
    (
        SEND,
        {"env", "environ", "export", "printenv", "process", "set"},
        "",
        rf"(?:\b(?:printenv|env|set|export\ -p|declare\ -x)\b|/proc/self/environ)\s*(?:\|\s*(?:base64|gzip|sort|grep\ \S+)(?:\s+-\w+)*\s*)?\|\s*{_AWAY}|{_AWAY}.{{0,120}}(?:os\.environ|json\.stringify\(process\.env|\$\((?:printenv|env)\b)",
    ),
    (
        SEND,
        {"curl"},
        "",
        r"\bcurl\b(?![^\n]{0,160}https?://(?:localhost|127\.|0\.0\.0\.0|\[::1))[^\n]{0,80}?\s(?:-d|--data\S*|-f|--form\S*|-t|--upload-file)[\s=]*[\"']?(?:\w+=)?@?(?:-|/|~|\$)\S*[^\n]{0,80}(?:https?|ftp)://|\|\s*curl\b[^\n]{0,80}(?:@-|-t\s*-)",
    ),
    (
        SEND,
        {"curl", "wget"},
        "",
        rf"\b{_FETCH}[^\n]{{0,120}}(?:\$\(|`)\s*(?:cat|env|printenv|whoami|hostname|base64|gpg|git\ (?:log|remote|config|diff))\b",
    ),
    (SEND, {"wget"}, "", r"\bwget\b[^\n]{0,80}--(?:post|body)-file"),
    (
        SEND,
        {
            "copy",
            "deliver",
            "email",
            "exfiltrate",
            "forward",
            "mail",
            "post",
            "publish",
            "send",
            "share",
            "submit",
            "transmit",
            "upload",
        },
        r"\b(?:never|do not|don't|must not)\b",
        rf"\b(?:send|post|upload|exfiltrate|forward|email|e-mail|copy|transmit|mail|publish|submit|share|deliver)\b[^.\n]{{0,60}}{_NAMED}.{{0,60}}\b(?:to|at|via|into)\b.{{0,20}}(?:https?://|ftp://|s3://|pastebin|gist\b|\S{{1,60}}@\S)",
    ),
    (
        SEND,
        {"http", "https", "ftp", "s3"},
        r"\b(?:never|do not|don't|must not)\b",
        rf"\b(?:upload|send|post|copy|submit|transmit|push|forward|mirror)\w*\b.{{0,40}}\bcontents?\ of\b.{{0,60}}(?:{_PRIVATE}|secrets?).{{0,60}}https?://|\b(?:upload|send|post|copy|copie|submit|transmit|push|forward|mirror)\w*\b.{{0,60}}{_PRIVATE}.{{0,60}}(?:https?|ftp|s3)://",
    ),
    (SEND, {"public"}, "", r"\baws\s+s3\s+(?:cp|sync|mv)\s+(?:~|/etc|/home|\$home|\.env).{0,120}"),
    (
        ROLE,
        {"will", "you"},
        "",
        r"\byou(?:\ are|'re|\ will)\ now\ (?!able|ready|allowed|free|required|on\b|in\b|using|see\b|have\b|need|find\b|be\ (?:able|asked))(?:be\ |become\ )?(?:an?\ |the\ |my\ |in\ charge|\w+(?:-\w+)?(?:,|\ with|\ without|$|\.))",
    ),
    (
        ROLE,
        {"no"},
        "",
        r"\b(?:ai|assistant|agent|model|bot)\b.{0,30}\b(?:has|have|with)\ no\ (?:content\ policy|restrictions|limits|rules|filters|guardrails|guidelines)|\bno\ restrictions\s*(?:<|$|\.|apply\ to\ you)",
    ),
    (
        OFF,
        {"hookspath"},
        NOT,
        r"\bgit\ config\b.{0,40}\bcore\.hookspath\b|\bcore\.hookspath\b.{0,40}(?:/dev/null|/tmp\b|\bgit\ config\b)",
    ),
    (
        OFF,
        {"hooks"},
        NOT,
        r"\b(?:rm|sed\ -i|chmod\ [-a]\S*|mv|truncate|unlink|delete|remove|empty)\b[^.,;]{0,30}\.git/hooks\b(?!-)",
    ),
    (
        OFF,
        {
            "approval",
            "bypasspermissions",
            "danger",
            "dangerously",
            "dangerouslydisablesandbox",
            "permissions",
            "sandbox",
            "trust",
            "verify",
            "yolo",
        },
        NOT,
        r"(?:(?:^|[.:!?,]\ |\balways\ |\bplease\ |\bmust\ |\bshould\ |\band\ |\bthen\ )(?:always\ |please\ )?(?:use|start|run|launch|commit|push|pass|set|add|invoke|call|restart|enable)\b|\bset\b|\")[^.;\n]{0,60}?(?:--dangerously-[\w-]+|--yolo|--no-verify|--approval-mode[ =]yolo|\bbypasspermissions|\bdanger-full-access|--skip-permissions|--trust-all[\w-]*|dangerouslydisablesandbox)(?![\w-])(?!`?\s+(?:flag|option|mode|is\b|was\b|support|argument|in\ \w+\.))",
    ),
    (
        OFF,
        {"bash", "permissions"},
        NOT,
        r"(?:\b(?:add|put|set|write|insert|allow)\b.{0,40}\bbash\(\*?\)?|\bbash\(\*\))",
    ),
    (
        OFF,
        {"chmod", "rm"},
        NOT,
        r"\bchmod\s+(?:-r\s+)?(?:a\+rwx|0?777)\s+(?:-r\s+)?/(?:\s|$)|\brm\s+-rf?\s+(?:--no-preserve-root\s+)?(?:/|~|\$home)/?(?:\s|$)",
    ),
    (
        OFF,
        {"f", "force"},
        NOT,
        r"\bgit\ push\b.{0,20}(?:--force\b(?!-)|\s-f\b).{0,40}\b(?:main|master|production)\b.{0,40}\bwithout\b",
    ),
    (OFF, {"sslverify"}, NOT, r"\bgit\ config\b.{0,40}http\.sslverify[\ =]+(?:false|0)"),
    (OFF, {"node"}, NOT, r"\bnode_tls_reject_unauthorized\s*=\s*[\"']?0"),
    (
        VOICE,
        {"always", "every", "first"},
        "",
        r"\b(?:whenever|when|if|before|each\ time|every\ time)\b[^.\n]{0,60}(?:first|always)\s+(?:run|execute|install)\s+[`'\"]?(?:npm|pip|curl|npx|cargo|gem|go)\s+(?:i|install|add|get|run)?\b[^.\n]{0,80}\b(?:import|require|in\ every)\b",
    ),
)

TAGS: Final = (
    (
        "<",
        r"""<\s*/?\s*(?:project-memory|system|assistant|function_calls?|function_results|invoke|tool_(?:results?|calls?|use|response|output)|thinking|hook_context
            |untrusted_context|session_context|admin|sys|im_start|im_end|[a-z]+-reminder|[a-z-]+-hook|[\w-]*instructions?|[\w-]*_prompt|antml:\w+)\b[^<>\n]{0,80}>
            |<\s*/\s*(?:human|user|context|memory|memories|document|documents|conversation|data|prompt|input|example)\s*>
            |<\|[^|<>\n]{1,40}\|>|<</?sys>>|<(?:start|end)_of_turn>|<!--\s*(?:assistant|system|agents?|ai|claude|llm|codex|gemini|note\ to|instruction)\b""",
    ),
    ("[", r"\[/?(?:inst|sys|system|system\ message)\]"),
    (
        ":",
        r"""(?:^|[\n.!?>*#"'\]]\s*|\\n)(?:human|assistant|h|a)\s?:\s+(?!(?:and|or)\ )(?=\S+\s+\S+)(?<!\ba:\ )(?<!\bh:\ )""",
    ),
    (
        ":",
        r"""(?:^|[\n.!?>*#"'\]]\s*|\\n)(?:system(?:\ prompt|\ message|\ note|\ override)?|user|developer|admin)\s?:\s*
            (?:you\b|please|run\b|ignore|the\ user|do\b|don't|all\b|always|never|from\ now|push|deploy|approve|grant|new\b|execute|act\b|follow|obey|merge|delete|permission|the\ operator|override|skip|disable
            |i\ (?:approve|agree|allow|confirm|grant|authori[sz]e))""",
    ),
    (
        "#",
        r"(?:^|\s)\#{1,6}\s*(?:new\s+)?(?:system|developer|assistant|human|hidden)\s*(?:prompt|message|instructions?|note|:|$)",
    ),
    ("role", r"""["']role["']\s*:\s*["'](?:system|developer|assistant)["']\s*,\s*["']content["']"""),
    (
        "begin|end|start",
        r"\b(?:begin|end|start)\s+(?:of\s+)?(?:the\s+)?(?:new\s+|hidden\s+)?(?:system\s+(?:message|prompt|instructions?)|memories|project\s+memory|user\s+message|untrusted\s+\w+|hidden\s+instructions?|prompt)\s*(?:[.:\]*=-]|$)",
    ),
)

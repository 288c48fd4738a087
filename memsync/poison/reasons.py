"""What is said of a text that is flagged, and what excuses a sentence. Data."""

from __future__ import annotations

from typing import Final

IGNORE: Final = "tells the agent to ignore its instructions"
ROLE: Final = "gives the agent another role"
HIDE: Final = "asks to keep something from the user"
LEAK: Final = "asks for what the agent must not show"
SEND: Final = "sends files or secrets away"
SHELL: Final = "runs a download or opens a shell for others"
OFF: Final = "switches checks or permissions off"
STEER: Final = "approves in the user's place, or steers what guards the agent"
VOICE: Final = "speaks to the agent as somebody it is not"
TAG: Final = "holds a tag or a role of an agent's client"

# A sentence that says one of these before what it speaks of does not ask for it.
NOT: Final = (
    r"\b(?:never|not|no|nobody|n't|cannot|can't|don't|doesn't|won't|forbidden|prohibited|avoid|refus\w+|reject\w*|prevent\w*|"
    r"block\w*|detect\w*|flag(?:s|ged)|fix(?:ed)?|bug|instead of|test\w*|removed?)\b"
)
NEVER: Final = r"\b(?:never|nobody|do not|don't|must not|may not|cannot|can't|refus\w+|removed?|no longer)\b"

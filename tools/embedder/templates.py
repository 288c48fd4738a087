"""Word lists and sentence templates for the generated training texts.

A family is (statements, questions): any statement answers any question of its family.
"""

from __future__ import annotations

from pathlib import Path


def _list(text: str) -> list[str]:
    return [part.strip() for part in text.replace("\n", " ").split(",") if part.strip()]


_HERE = Path(__file__).parent
LISTS = {  # what stands in a slot: "tool: pytest, ruff, ..."
    name: _list(words)
    for name, words in (line.split(": ", 1) for line in (_HERE / "lists.txt").read_text().splitlines())
}
REWORD = [
    _list(line)  # words that mean the same, or nearly
    for line in (_HERE / "reword.txt").read_text().splitlines()
]

DEVELOPER: list[tuple[list[str], list[str]]] = [
    (
        [
            "{part} {fault} {when}; fixed by {fix}.",
            "Found that {part} {fault} {when}. Workaround: {fix}.",
            "If {part} {fault} {when}, the remedy is {fix}.",
        ],
        [
            "why does {part} sometimes fail {when}?",
            "{part} {fault}, what helps?",
            "how did we fix the problem with {part}?",
            "what to do when {part} {fault}",
        ],
    ),
    (
        [
            "Always {rule}; the team agreed on it.",
            "Convention: {rule}.",
            "{name} wants us to {rule}.",
            "In this repo we {rule}.",
        ],
        [
            "do we have to {rule}?",
            "should I {rule} here?",
            "what does {name} expect from contributors?",
            "house rules on how to {rule}",
        ],
    ),
    (
        [
            "We chose {tech} over {tech2} because {why}.",
            "Decision: use {tech}, not {tech2}, since {why}.",
            "{tech2} was replaced by {tech} as {why}.",
        ],
        [
            "why did we pick {tech}?",
            "reason for not using {tech2}",
            "which one was chosen, {tech} or {tech2}?",
            "what is behind the switch to {tech}?",
        ],
    ),
    (
        [
            "The settings of {tool} live in {place}.",
            "{tool} reads its config from {place}.",
            "To change how {tool} behaves, edit {place}.",
        ],
        ["where is {tool} configured?", "which file holds the options of {tool}?", "location of the {tool} settings"],
    ),
    (
        [
            "Run {tool} before {tool2}, otherwise {part} {fault}.",
            "{tool2} must come after {tool} or else {part} {fault}.",
        ],
        ["in which order do {tool} and {tool2} have to run?", "{part} {fault} after {tool2}, did I miss a step?"],
    ),
    (
        ["{part} was moved to {place} and now talks to {tech}.", "{part} now lives in {place}, backed by {tech}."],
        ["where did {part} go?", "what does {part} talk to?", "which backend serves {part}?"],
    ),
    (
        ["{name} owns {part}; ask before changing it.", "{name} maintains {part} and reviews every change to it."],
        ["who is responsible for {part}?", "whom do I ask about {part}?", "who reviews changes of {part}?"],
    ),
    (
        ["Deploys of {part} happen {time} from {place}, by hand.", "{part} was released {time} with {tool}."],
        ["when was {part} shipped?", "how is {part} deployed?", "release date of {part}"],
    ),
]

DAILY: list[tuple[list[str], list[str]]] = [
    (
        [
            "{name} started {hobby} {time} and feels {feel} about it.",
            "{name} took up {hobby} with {name2} {time}.",
            "{name} loves {hobby}, it is a great way to relax.",
        ],
        [
            "When did {name} begin {hobby}?",
            "What does {name} do in the free time?",
            "What activities does {name} enjoy?",
            "How does {name} relax after work?",
        ],
    ),
    (
        ["{name} went to {city} with the {kin} {time}.", "{name} and the {kin} took a trip to {city} {time}."],
        [
            "Where did {name} travel?",
            "Who went with {name} to {city}?",
            "When did {name} visit {city}?",
            "What vacation did {name} take?",
        ],
    ),
    (
        [
            "{name} has a {pet} called {name2}.",
            "{name}'s {pet} {name2} loves the garden.",
            "{name} adopted a {pet} {time} and named it {name2}.",
        ],
        ["What pets does {name} have?", "What is the name of {name}'s {pet}?", "When did {name} get the {pet}?"],
    ),
    (
        [
            "{name} attended a {event} {time} and felt {feel}.",
            "{name} was {feel} at the {event} {time}.",
            "{name} organised a {event} with the {kin} {time}.",
        ],
        [
            "When was the {event} {name} went to?",
            "How did {name} feel at the {event}?",
            "What event did {name} take part in?",
            "Which {event} did {name} help with?",
        ],
    ),
    (
        [
            "{name} works as a {job} and is {feel} at the moment.",
            "{name} wants to become a {job} one day.",
            "{name} got a new job as a {job} {time}.",
        ],
        [
            "What does {name} do for a living?",
            "What career is {name} interested in?",
            "What is {name}'s profession?",
            "When did {name} change jobs?",
        ],
    ),
    (
        [
            "{name} cooked {food} for the {kin} {time}.",
            "{name}'s favourite meal is {food}.",
            "{name} learned to make {food} from the {kin}.",
        ],
        ["What does {name} like to eat?", "What did {name} cook?", "Which dish did the {kin} teach {name}?"],
    ),
    (
        [
            "{name} bought {thing} {time}.",
            "{name} got {thing} from the {kin} as a present.",
            "{name} gave {thing} to the {kin} {time}.",
        ],
        [
            "What did {name} buy?",
            "What gift did {name} receive?",
            "Who gave {name} {thing}?",
            "What item is special to {name}?",
        ],
    ),
    (
        ["{name} {ill} {time} and the {kin} helped a lot.", "{name} {ill} and was {feel} about it."],
        [
            "What happened to {name} {time}?",
            "Who supported {name}?",
            "What setback did {name} face?",
            "What health problems did {name} have?",
        ],
    ),
]

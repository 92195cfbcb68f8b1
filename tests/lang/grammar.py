"""The grammar of expressions that the reference states, as a recogniser and a source.

It is read from the block of EBNF in docs/language.md, so that what is tried is what is
written there. Rules are trees of tuples: ("all", parts), ("any", parts),
("many", part), ("maybe", part), ("text", characters) and ("rule", name).
"""

from __future__ import annotations

import random
import re
from functools import cache
from pathlib import Path
from typing import Any

PAGE = Path(__file__).resolve().parents[2] / "docs" / "language.md"

Rule = Any
# Each of these is one token of a text; no blanks stand inside.
LEXICAL = {
    "name": re.compile(r"[A-Za-z]\w*"),
    "number": re.compile(r"(\d[\d_]*\.?[\d_]*|\.\d[\d_]*)([eE][+-]?\d+)?"),
    "digits": re.compile(r"\d[\d_]*"),
    "quoted": re.compile(r"'[^']*'|\"[^\"]*\""),
}
TOKEN = re.compile(
    "|".join(LEXICAL[name].pattern for name in ("number", "name", "quoted"))
    + r"|\*\*|[<>=!]=|\.\.\.|\.T\b|\S"
)
SAMPLES = {
    "name": ("x", "A", "row", "i2"),
    "number": ("2", "1.5", ".5", "2.", "1e-3", "1_000"),
    "digits": ("0", "3"),
    "quoted": ("'ij->i'",),
}


@cache
def rules() -> dict[str, Rule]:
    """Return the rules below `expression` by name."""
    text = PAGE.read_text(encoding="utf-8").partition("```ebnf\n")[2]
    text = text.partition("```")[0].partition("\nexpression ")[2]
    text = re.sub(r"\(\*.*?\*\)", "", f"expression {text}", flags=re.DOTALL)
    found = {}
    # A semicolon never stands in quotes.
    for definition in text.split(";")[:-1]:
        name, body = definition.split("=", 1)
        found[name.strip()] = _Reader(body).alternatives()
    return found


class _Reader:
    def __init__(self, body: str) -> None:
        self.tokens = re.findall(r'"[^"]*"|\w+|\S', body)

    def alternatives(self) -> Rule:
        parts = [self.sequence()]
        while self.tokens and self.tokens[0] == "|":
            self.tokens.pop(0)
            parts.append(self.sequence())
        return ("any", parts)

    def sequence(self) -> Rule:
        parts = [self.part()]
        while self.tokens and self.tokens[0] == ",":
            self.tokens.pop(0)
            parts.append(self.part())
        return ("all", parts)

    def part(self) -> Rule:
        token = self.tokens.pop(0)
        if token[0] == '"':
            return ("text", token[1:-1])
        if token not in ("(", "[", "{"):
            return ("rule", token)
        inner = self.alternatives()
        self.tokens.pop(0)
        return {"(": inner, "[": ("maybe", inner), "{": ("many", inner)}[token]


def recognised(text: str) -> bool:
    """Whether a text is an expression by the grammar."""
    tokens = [match.group() for match in TOKEN.finditer(re.sub(r"#.*", "", text))]
    known: dict[tuple[str, int], frozenset[int]] = {}

    def rule(name: str, at: int) -> frozenset[int]:
        if (name, at) not in known:
            if name in LEXICAL:
                fits = at < len(tokens) and LEXICAL[name].fullmatch(tokens[at])
                known[name, at] = frozenset([at + 1] if fits else [])
            else:
                known[name, at] = ends(rules()[name], at)
        return known[name, at]

    def ends(body: Rule, at: int) -> frozenset[int]:
        kind, parts = body
        match kind:
            case "text":
                fits = tokens[at : at + 1] == [parts]
                return frozenset([at + 1] if fits else [])
            case "rule":
                return rule(parts, at)
            case "any":
                return frozenset().union(*(ends(part, at) for part in parts))
            case "maybe":
                return ends(parts, at) | {at}
            case "many":
                reached, new = {at}, {at}
                while new:
                    new = {end for place in new for end in ends(parts, place)} - reached
                    reached |= new
                return frozenset(reached)
        places = frozenset([at])
        for part in parts:
            places = frozenset(end for place in places for end in ends(part, place))
        return places

    return len(tokens) in rule("expression", 0)


def derived(chance: random.Random) -> str:
    """Return a random expression of the grammar."""
    budget = 60

    def write(body: Rule) -> list[str]:
        nonlocal budget
        budget -= 1
        kind, parts = body
        match kind:
            case "text":
                return [parts]
            case "rule" if parts in LEXICAL:
                return [chance.choice(SAMPLES[parts])]
            case "rule" if parts == "atom" and budget < 0:
                return ["x"]
            case "rule":
                return write(rules()[parts])
            case "any":
                return write(chance.choice(parts))
            case "maybe" | "many":
                again = budget > 0 and chance.random() < 0.3
                return write(parts) if again else []
        return [token for part in parts for token in write(part)]

    return " ".join(write(("rule", "expression")))

"""Slips and malice: bytes, tokens and lines of a spec changed at random."""

from __future__ import annotations

import random
from collections.abc import Callable

from tests.hostile.corpus import TOKEN, tokens
from tests.hostile.hostile_texts import INJECTIONS, NAMES, NUMBERS, SIGNS

_CHANGES = (1, 1, 1, 1, 2, 4)  # how many at once: most specs shall still be read


def bytes_changed(text: str, chance: random.Random) -> bytes:
    """Return a text with bytes changed, added, taken away, doubled or turned."""
    data = bytearray(text.encode("utf-8", "surrogatepass"))
    for _ in range(chance.choice(_CHANGES)):
        at = chance.randrange(len(data) + 1)
        to = min(len(data), at + chance.choice((1, 1, 2, 8, 100)))
        match chance.randrange(6):
            case 0:
                data[at:to] = b""
            case 1:
                data[at:at] = chance.choice(SIGNS).encode("utf-8", "surrogatepass")
            case 2:
                data[at:at] = bytes(chance.randrange(256) for _ in range(3))
            case 3:
                data[at:at] = data[at:to] * chance.choice((1, 2, 50))
            case 4:
                data[at:to] = data[at:to][::-1]
            case _ if at < len(data):
                data[at] ^= 1 << chance.randrange(8)
    return bytes(data)


def tokens_changed(text: str, chance: random.Random) -> str:
    """Return a text with tokens swapped, doubled, dropped or replaced."""
    found = TOKEN.findall(text)
    solid = [k for k, token in enumerate(found) if token.strip()]
    for _ in range(chance.choice(_CHANGES)):
        at = chance.choice(solid)
        match chance.randrange(9):
            case 0:
                found[at] = ""
            case 1:
                found[at] *= 2
            case 2:
                other = chance.choice(solid)
                found[at], found[other] = found[other], found[at]
            case 3 | 4:
                found[at] = chance.choice(tokens())
            case 5:
                found[at] = chance.choice(NUMBERS)
            case 6:
                found[at] = chance.choice(NAMES)
            case 7:
                found[at] += chance.choice(SIGNS)
            case _:
                found[at] = _alike(found[at], found, solid, chance)
    return "".join(found)


def _alike(
    token: str, found: list[str], solid: list[int], chance: random.Random
) -> str:
    """Another token of the same kind from the same text."""
    kind = token[:1].isalpha()
    return chance.choice([found[k] for k in solid if found[k][:1].isalpha() == kind])


def renamed(text: str, chance: random.Random) -> str:
    """Return a text in which one name is another everywhere."""
    found = TOKEN.findall(text)
    old = chance.choice([token for token in found if token[0].isalpha()])
    new = chance.choice(NAMES)
    return "".join(new if token == old else token for token in found)


def lines_changed(text: str, chance: random.Random) -> str:
    """Return a text with lines moved, doubled, dropped, joined or indented."""
    lines = text.split("\n")
    for _ in range(chance.choice(_CHANGES)):
        at, to = chance.randrange(len(lines)), chance.randrange(len(lines))
        match chance.randrange(7):
            case 0:
                lines.insert(to, lines[at])
            case 1:
                lines.insert(to, lines.pop(at))
            case 2 if len(lines) > 1:
                del lines[at]
            case 3:
                lines[at] = " " * chance.randrange(7) + lines[at].lstrip()
            case 4:
                lines[at] = lines[at] + chance.choice(SIGNS) + lines[to].lstrip()
            case 5:
                lines[at] = lines[at].replace(" ", chance.choice(("\t", "\u00a0", "")))
            case _:
                lines[at] += chance.choice((" \\", " #", "\r", " |", ": >", '"', "'"))
    return "\n".join(lines)


def injected(text: str, chance: random.Random) -> str:
    """Return a text in which strings that try to become code stand in its values."""
    found = TOKEN.findall(text)
    places = [k for k, token in enumerate(found) if token.strip()]
    for _ in range(chance.randint(1, 2)):
        piece = chance.choice(INJECTIONS)
        if chance.random() < 0.6:
            escaped = piece.replace("\\", "\\\\").replace('"', '\\"')
            piece = '"' + escaped.replace("\n", "\\n") + '"'
        found[chance.choice(places)] = piece
    if chance.random() < 0.7:
        key = chance.choice(("doc", "module", "doc"))
        piece = chance.choice(INJECTIONS).replace("'", "''").replace("\n", "\n\n  ")
        found.append(f"\n{key}: '{piece}'\n")
    return "".join(found)


CHANGES: tuple[Callable[[str, random.Random], str | bytes], ...] = (
    bytes_changed,
    tokens_changed,
    tokens_changed,
    renamed,
    lines_changed,
    injected,
)

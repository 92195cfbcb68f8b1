"""Changes of the YAML tree: what stands where, how often, in which style."""

from __future__ import annotations

import random
from collections.abc import Iterator

import yaml

from tensorgen.calculus.kinds import NAMED
from tests.hostile.hostile_texts import INJECTIONS, NAMES, NUMBERS

_TAGS = ("!!str", "!!int", "!!binary", "!!python/object/apply:os.getcwd", "!x", "!!set")
_KEYS = [
    "tensorgen",
    "module",
    "doc",
    "dims",
    "inputs",
    "definitions",
    "functions",
    "backends",
    "shape",
    "default",
    "index",
    "symmetric",
    "spd",
    "positive",
    "nonnegative",
    "where",
    "expr",
    "wrt",
    "emit",
    "<<",
    "unknowns",
]
_SIZES = (
    *("n", "m", "2*n", "n - 1", "n + m", "-n", "0", "1", "3", "n*m", "n**2", "scalar"),
    *("10**9", "1e3", "n/2", "(n)", "-(-n)", "999999999999", "10**15*n", "", "n n"),
)

Node = yaml.Node


def structure_changed(text: str, chance: random.Random) -> str:
    """Return a text whose tree has been changed; unreadable ones stay as they are."""
    try:
        root = yaml.compose(text, Loader=yaml.SafeLoader)
    except yaml.YAMLError:
        return text
    if root is None:
        return text
    for _ in range(chance.choice((1, 1, 2, 3))):
        nodes = [node for node in _nodes(root) if not isinstance(node, yaml.ScalarNode)]
        if nodes:
            _change(chance.choice(nodes), root, chance)
    try:
        return str(yaml.serialize(root, width=chance.choice((20, 88, 10_000))))
    except (yaml.YAMLError, RecursionError, TypeError):
        return text


def _nodes(root: Node) -> Iterator[Node]:
    waiting, seen = [root], {id(root)}
    while waiting:
        node = waiting.pop()
        yield node
        for part in _parts(node):
            if id(part) not in seen:
                seen.add(id(part))
                waiting.append(part)


def _parts(node: Node) -> list[Node]:
    if isinstance(node, yaml.MappingNode):
        return [part for pair in node.value for part in pair]
    return list(node.value) if isinstance(node, yaml.SequenceNode) else []


def _change(node: Node, root: Node, chance: random.Random) -> None:
    """Change the parts of one mapping or list."""
    parts = list(node.value)
    at = chance.randrange(len(parts)) if parts else 0
    new: Node = _random_node(chance)
    # A part that stands in two places is written as an anchor and an alias.
    other = chance.choice(list(_nodes(root))) if chance.random() < 0.3 else new
    match chance.randrange(10):
        case 0 if parts:
            del parts[at]
        case 1 if parts:
            parts.insert(at, parts[at])
        case 2:
            parts.insert(at, _entry(node, other, chance))
        case 3 | 4 if parts and isinstance(node, yaml.MappingNode):
            parts[at] = (parts[at][0], other)
        case 5 if parts and isinstance(node, yaml.MappingNode):
            parts[at] = (_scalar(chance.choice(_KEYS)), parts[at][1])
        case 3 | 4 | 5 if parts:
            parts[at] = other
        case 6:
            chance.shuffle(parts)
        case 7 if isinstance(node, yaml.CollectionNode):
            node.flow_style = not node.flow_style
        case 8 if parts:
            inner = parts[at][1] if isinstance(node, yaml.MappingNode) else parts[at]
            inner.tag = chance.choice(_TAGS)
        case _ if isinstance(node, yaml.MappingNode) and len(parts) > 1:
            (a, x), (b, y) = chance.sample(parts, 2)
            parts[parts.index((a, x))] = (a, y)
            parts[parts.index((b, y))] = (b, x)
    node.value = parts


def _entry(node: Node, value: Node, chance: random.Random) -> Node | tuple[Node, Node]:
    if not isinstance(node, yaml.MappingNode):
        return value
    key = chance.choice((*_KEYS, *NAMES, *NAMED))
    return (_scalar(key), value)


def _scalar(value: str, style: str | None = None) -> yaml.ScalarNode:
    # As a string's tag, so that nothing but the style says what it is.
    return yaml.ScalarNode("tag:yaml.org,2002:str", value, style=style)


def _random_node(chance: random.Random, depth: int = 2) -> Node:
    """A scalar, shape, list of kinds, or a mapping, of what specs hold."""
    word = chance.choice((NUMBERS, _SIZES, NAMED, NAMES, INJECTIONS, _KEYS))
    kind = chance.randrange(6) if depth else 0
    if kind < 3:
        style = chance.choice((None, None, "'", '"', "|", ">"))
        return _scalar(chance.choice(word), style)
    count = chance.choice((0, 1, 1, 2, 2, 3, 9))
    flow = chance.random() < 0.8
    items = [_random_node(chance, depth - 1) for _ in range(count)]
    if kind < 5:
        return yaml.SequenceNode("tag:yaml.org,2002:seq", items, flow_style=flow)
    pairs = [(_scalar(chance.choice((*_KEYS, *NAMES))), item) for item in items]
    return yaml.MappingNode("tag:yaml.org,2002:map", pairs, flow_style=flow)

"""Whatever an expression says, it elaborates or is refused: nothing else is raised."""

from __future__ import annotations

import ast
import random
import re
from collections.abc import Callable

import pytest

from tensorgen.errors import SpecError
from tests.lang.speak import program, spec_of
from tests.sampled import sampled

SEEDS = (
    "sum(X[i, j] * v[j], i, j=range(1, n))",
    "where((v < w) & (w > 0), v**2, -w / 2)",
    "softmax(X @ A, axis=1)[:, None] + u[:, None, None]",
    "norm(v[1:n - 1], 1) + einsum('ij,j->i', X, v)[0]",
    "logsumexp(X[row[a], j], j, a, row[a] == 1)",
    "grad(sum(tanh(A @ v)), v) @ jac(v**2, v).T",
    "max(v[i + 1] - v[i], i, i != 2) + delta(1, 2)",
    "concatenate([v, [1, 2], long[::2]], axis=0)",
    "sum(sum(A[i, j], j=range(i, n)), i) + hvp(v @ v, v, w)",
    "solve(A, diag(v)) @ eye(n) + ones(n, n) - zeros((n, n))",
    "roll(flip(v), 1) * clip(w, -1, 1) + gelu(v)",
    "sum(v[tri[a, d]] * i, a, d=range(0, 2), i=range(a, d + 3))",
)
_EXTRA = "( ) [ ] , : + - * / ** @ < == & ~ = . 0 1 2.5 -1 n k i j v X row sum None"
EXTRA = _EXTRA.split()
TOKEN = re.compile(r"\*\*|[<>=!]=|\w+(?:\.\d+)?|'[^']*'|\S")


def mutated(chance: random.Random) -> str:
    """Return an expression with a few of its tokens changed."""
    tokens = TOKEN.findall(chance.choice(SEEDS))
    for _ in range(chance.randint(1, 4)):
        at = chance.randrange(len(tokens))
        match chance.randrange(4):
            case 0:
                del tokens[at : at + chance.randint(1, 3)]
            case 1:
                tokens.insert(at, chance.choice(EXTRA))
            case 2:
                tokens[at] = chance.choice(EXTRA)
            case _:
                other = TOKEN.findall(chance.choice(SEEDS))
                start = chance.randrange(len(other))
                tokens[at : at + 1] = other[start : start + chance.randint(1, 6)]
        tokens = tokens or ["v"]
    return " ".join(tokens)


PARTS = [
    part
    for seed in SEEDS
    for part in ast.walk(ast.parse(seed))
    if isinstance(part, ast.expr)
]


class _Graft(ast.NodeTransformer):
    """Puts other parts in the place of a few."""

    def __init__(self, chance: random.Random) -> None:
        self.chance = chance

    def visit(self, node: ast.AST) -> ast.AST:
        if isinstance(node, ast.expr) and self.chance.random() < 0.12:
            return self.chance.choice(PARTS)
        return self.generic_visit(node)


def grafted(chance: random.Random) -> str:
    """Return an expression some of whose parts come from others: well formed."""
    tree = ast.parse(chance.choice(SEEDS), mode="eval")
    return ast.unparse(_Graft(chance).visit(tree))


@pytest.mark.parametrize("change", [mutated, grafted])
@pytest.mark.parametrize("block", sampled(range(8), 2))
def test_a_mutilated_expression_is_refused_with_places(
    block: int, change: Callable[[random.Random], str]
) -> None:
    for seed in range(block * 50, block * 50 + 50):
        chance = random.Random(seed)
        left = chance.choice(["f", "f", "f[i]", "f[i, j]"])
        text = change(chance)
        try:
            program(spec_of(text, left))
        except SpecError as error:
            assert all(d.span is not None for d in error.diagnostics), text
            assert "#" not in error.render(), text
        except Exception as error:
            raise AssertionError(f"{left}: {text}") from error

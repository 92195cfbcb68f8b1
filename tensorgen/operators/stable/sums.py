"""Sums whose terms nearly cancel: `z - logsumexp(z)`."""

from __future__ import annotations

from tensorgen.ir.graph import Graph
from tensorgen.ir.nodes import Term
from tensorgen.operators.scalar import times
from tensorgen.operators.stable.exponentials import normalised
from tensorgen.operators.stable.match import (
    is_call,
)


def rewritten(graph: Graph, parts: list[Term]) -> list[Term] | None:
    """Return a better list of terms, or None."""
    # Sums may be long, and few of their terms take part in any rule.
    starts = [k for k, term in enumerate(parts) if is_call(term.ref, "logsumexp")]
    for k in starts:
        for m, other in enumerate(parts):
            if m == k or other.coefficient * parts[k].coefficient >= 0:
                continue
            better = _log_softmax(graph, parts[k], other)
            if better is not None:
                rest = [t for n, t in enumerate(parts) if n not in (k, m)]
                return [*rest, better]
    return None


def _log_softmax(graph: Graph, log: Term, term: Term) -> Term | None:
    """z - logsumexp(z), where the largest entry of z is taken from both first."""
    ratio = -term.coefficient / log.coefficient
    z = times(graph, term.ref, coefficient=ratio)
    found = normalised(graph, "log_softmax", z, log.ref)
    return None if found is None else Term(-log.coefficient, *found)

"""Names of a step that follow from others of the same step: these are no states.

With `S[t] = P[t] + r`, a step that reads `S[t - 1]` reads `P[t - 1] + r`. What is
carried from step to step, and what an adjoint goes back through, is `P` alone: as where
the same model is written by `S[t]` and `P[t + 1]`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable

from tensorgen.ir.nodes import Call, Node, children, topological
from tensorgen.lang.derivatives import SPOKEN
from tensorgen.lang.index_forms import Form
from tensorgen.lang.stepping import Member, Stepping
from tensorgen.lang.syntax import names_in

Entries = Callable[[Member], Iterable[tuple[Member, Form | None]]]
"""The entries of names that step which a right side takes, and where."""


def find_followers(steps: Stepping, entries: Entries) -> list[Member]:
    """Return the names without first entries that read others at their own step alone.

    A derivative by an entry needs a variable, which is a state.
    """
    now = Form.atom(steps.index)
    members = [*steps.members.values()]
    if any(SPOKEN.keys() & names_in(member.body.tree) for member in members):
        return []
    return [
        member
        for member in members
        if not member.starts
        if all(form == now + other.shift for other, form in entries(member))
    ]


def is_cheap_twice(node: Node, places: Collection[Node]) -> bool:
    """Whether what is made of places may be computed again a step later.

    What decomposes or solves is not: a state has it at hand.
    """
    varying: set[Node] = set(places)
    for one in topological([node]):
        if not varying.isdisjoint(children(one)):
            if isinstance(one, Call):
                return False
            varying.add(one)
    return True

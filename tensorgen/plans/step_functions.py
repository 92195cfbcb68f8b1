"""Steps that functions of a module go through several times, as functions to call."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, field, replace

from tensorgen.arrays.arrays import bound
from tensorgen.arrays.block_bodies import called_by
from tensorgen.arrays.code import Code
from tensorgen.arrays.cost_line import held
from tensorgen.arrays.operations import Variable
from tensorgen.arrays.statements import Let, Loop
from tensorgen.arrays.step_functions import kind_of_steps, steps_apart
from tensorgen.calculus.kinds import VALUE
from tensorgen.emit.backends import Backend
from tensorgen.emit.interface import every
from tensorgen.errors import listed
from tensorgen.ir.graph import Graph
from tensorgen.plans.block_functions import rewritten
from tensorgen.plans.lowered_functions import Made
from tensorgen.plans.share_code import stated_cost
from tensorgen.spec.names import unused


@dataclass(frozen=True)
class Stepped:
    """Functions of a formula that call others for steps, which formulas may share.

    Those that are `named` make what the user has named.
    """

    made: Mapping[str, Made] = field(default_factory=dict)
    shared: Set[str] = frozenset()
    named: Set[str] = frozenset()

    def of_several(self, times: Mapping[str, int]) -> Stepped:
        """The same where so many formulas call each function."""
        return replace(self, shared={x for x in self.shared if times[x] > 1})


def user_words(graph: Graph) -> dict[str, str]:
    """What the user's names call, and the definitions that this is a call of."""
    told = graph.suggestions
    return {name: told.get(node, name) for node, name in graph.names.items()}


def share_steps(
    formulas: Mapping[str, Mapping[str, Made]],
    backend: Backend,
    taken: set[str],
    words: Mapping[str, str],
) -> dict[str, Stepped]:
    """Return those functions of all formulas that call others for steps of theirs.

    Each is `made` by itself, and is rewritten. What is `taken` are private functions,
    these among them then. Those that have several forms stay as they are. `words` are
    the user's names, and what each calls as a function.
    """
    whole = {
        (formula, name): own
        for formula, made in formulas.items()
        for name, own in made.items()
        if len(own.forms) == 1 and not own.planned.piece
    }

    def describe(
        formula: str, names: Sequence[str], loop: Loop | None
    ) -> tuple[str, str]:
        if loop:
            name = f"_{formula}_{kind_of_steps(names)}"
            way = (
                "from the last step to the first" if loop.backwards else "step by step"
            )
            told = f"Compute {listed(names)} of `{formula}`, {way}."
        else:
            name = f"_{'_or_'.join(names)}"
            told = f"Compute {' or '.join(f'`{x}`' for x in names)}."
        taken.add(name := unused(name, taken))
        if not loop:
            named.add(name)
        return name, told

    named = set[str]()
    inputs = dict.fromkeys(
        p.name for own in whole.values() for p in every(own.planned.parameters)
    )
    codes = {key: _called(own, key[0]) for key, own in whole.items()}
    found: dict[str, dict[str, Made]] = {}
    for key, code in steps_apart(
        codes, describe, [*inputs], None if backend.fuses else words
    ).items():
        formula, name = key
        own = _stated(rewritten(whole[key], code, backend), code)
        found.setdefault(formula, {})[name] = own
    calls = {
        formula: {op.function for own in made.values() for op in called_by(own.codes)}
        for formula, made in found.items()
    }
    times = Counter(name for names in calls.values() for name in names)
    shared = frozenset(name for name, users in times.items() if users > 1)
    return {
        formula: Stepped(made, shared, frozenset(calls[formula] & named))
        for formula, made in found.items()
    }


def _called(own: Made, formula: str) -> Code:
    """The code of a function; a value bears its formula's name, as others have it."""
    code = own.codes[0]
    if own.planned.kind is not VALUE or len(code.returns) > 1:
        return code
    (value,) = code.returns
    if not value.order or isinstance(value.op, Variable):
        return code
    lines = (*code.statements, Let(formula, value))
    return replace(code, statements=lines, returns=(bound(formula, value),))


def _stated(own: Made, code: Code) -> Made:
    """A function of one form that says what its code takes and stores."""
    (form,) = own.forms
    cost, holds = stated_cost(form, code, form.hints), held(code, form.hints)
    body = replace(own.function.body, holds=holds)
    return replace(own, function=replace(own.function, cost=cost, body=body))

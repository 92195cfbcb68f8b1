"""What docstrings say that functions hold, beside what these allocate when they run."""

from __future__ import annotations

import inspect
import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import numpy as np

from tensorgen.bench.clock import peak
from tensorgen.errors import Source
from tensorgen.lang import ElaboratedFunction, program_of, requested
from tensorgen.plans.planner import known_sizes
from tensorgen.prices.thresholds import BLOCK, ELIDED, assumed
from tensorgen.spec.model import InputSpec
from tensorgen.spec.read import read_spec
from tensorgen.verify.cases import Sizes

Array = Any
LARGE = 1.4 * ELIDED, 4 * ELIDED
"""What the largest monomial comes to: NumPy works in place from ELIDED entries on."""
FEW = 10
"""What is taken of a dim that is not mentioned, if it may be so small."""
MOST = 3_000_000
"""Entries of an argument."""
ENTRIES_OF_A_ROW = 10
"""Of a sparse matrix."""
LARGER, SMALLER = ([2 ** (sign * k / 2) for k in range(40)] for sign in (1, -1))


@dataclass(frozen=True)
class Stated:
    """A function, and what its docstring says that it holds, by its conditions."""

    name: str
    run: Any
    function: ElaboratedFunction
    cost: str
    forms: tuple[tuple[str, str], ...]
    hints: Mapping[str, int]

    def text(self, sizes: Mapping[str, int]) -> str:
        """The polynomial that is stated for some sizes."""
        space = {"min": min, "max": max, "isqrt": math.isqrt, **sizes}
        first = next(told for when, told in self.forms if not when)
        other = (told for when, told in self.forms if when and eval(when, space))
        return next(other, first)

    def stated(self, sizes: Mapping[str, int]) -> float:
        """What it comes to."""
        return float(eval(self.text(sizes), {"isqrt": math.isqrt, **sizes}))

    def largest(self, sizes: Mapping[str, int]) -> float:
        """What its largest monomial comes to, without the coefficient."""
        terms = (re.sub(r"^\d+\*", "", x) for x in self.monomials(self.text(sizes)))
        return float(max((eval(x, dict(sizes)) for x in terms), default=0))

    def constant(self, sizes: Mapping[str, int]) -> int:
        """The term that does not grow, which blocks of a fixed length hold."""
        return sum(int(x) for x in re.split(r" [-+] ", self.text(sizes)) if x.isdigit())

    @staticmethod
    def monomials(text: str) -> list[str]:
        """The terms that grow."""
        terms = re.split(r" [-+] ", text)
        return [x for x in terms if re.search(r"\b[^\W\d]", x) and "isqrt" not in x]

    def sizes(self) -> Iterator[dict[str, int]]:
        """Sizes at which what is held is large.

        They grow from the hints: what all terms have in common, so that those that are
        left out stay as small as they are; else, and where hints are too large, all
        that is mentioned.
        """
        own = Sizes(self.function)
        hints = assumed(self.hints, own.symbols)
        told = " ".join(x for form in self.forms for x in form)
        named = _symbols(told) & {*own.symbols}
        common = named.intersection(*map(_symbols, self.monomials(told)))
        common -= {*re.findall(r"(\w+)\*\*", self.cost)}
        ways = [({x}, LARGER) for x in sorted(common, key=lambda x: -hints[x])]
        for growing, factors in (*ways, (named, SMALLER[:0:-1] + LARGER)):
            found = [self.grown(own, named, growing, factors, x) for x in LARGE]
            if all(found):
                yield from (x for x in found if x)
                return

    def grown(
        self,
        own: Sizes,
        named: set[str],
        growing: set[str],
        factors: list[float],
        goal: float,
    ) -> dict[str, int] | None:
        """The hints with some of them so large as to reach a goal, if that is so."""
        hints = assumed(self.hints, own.symbols)
        few = {x: h if x in named else min(h, FEW) for x, h in hints.items()}
        if self.constant(few) >= BLOCK:
            few = hints  # blocks are of what is not mentioned: there must be several
        for start in (few, hints):
            for factor in factors:
                sizes = {
                    x: max(2, int(h * factor)) if x in growing else h
                    for x, h in start.items()
                }
                if own.fit(sizes) and self.largest(sizes) >= goal:
                    return sizes if own.weight(sizes)[0] <= MOST else None
        return None

    def allocated(self, sizes: Mapping[str, int]) -> float:
        """The numbers that a call allocates, of those at hand when it starts none."""
        given = {x.name: x for x in self.function.arguments}
        whole = {x.of.name: x.of for x in given.values() if x.of is not None}
        shapes = {x: drawn(own, sizes).shape for x, own in (given | whole).items()}
        values: dict[str, Any] = {}
        for name, parameter in inspect.signature(self.run).parameters.items():
            if name in given or name in whole:
                values[name] = drawn((given | whole)[name], sizes)
            elif name in self.function.sizes:
                values[name] = sizes[name]
            elif name.startswith("ct"):
                shape = tuple(d.value(sizes) for d in self.function.node.dims)
                values[name] = np.random.default_rng(0).uniform(-1, 1, shape)
            elif parameter.default is inspect.Parameter.empty:
                values[name] = np.random.default_rng(0).uniform(-1, 1, shapes[name[1:]])
        with np.errstate(all="ignore"):
            self.run(**values)  # what is made once is not counted
            return peak(lambda: self.run(**values)) / 8


def _symbols(text: str) -> set[str]:
    return set(re.findall(r"\b[^\W\d]\w*", text))


def drawn(given: InputSpec, sizes: Mapping[str, int]) -> Array:
    """An argument of some sizes, the same each time."""
    rng = np.random.default_rng([*map(ord, given.name)])
    shape = tuple(dim.value(sizes) for dim in given.shape)
    if given.sparse:
        from scipy.sparse import random_array

        density = ENTRIES_OF_A_ROW / max(shape)
        return random_array(shape, density=density, format="csr", rng=rng)
    if given.index is not None:
        bound = given.index.value(sizes)
        if len(shape) > 1 and shape[-1] <= bound:  # corners of an element differ
            first = rng.integers(0, bound, shape[:-1])
            return (first[..., None] + np.arange(shape[-1])) % bound
        return rng.integers(0, bound, shape)
    made = np.asarray(rng.uniform(0.3, 0.9, shape))
    if "spd" in given.properties:
        return made @ made.swapaxes(-1, -2) + shape[-1] * np.eye(shape[-1])
    if "symmetric" in given.properties:
        return made + made.swapaxes(-1, -2)
    return made


def stated(source: Source, module: ModuleType) -> Iterator[Stated]:
    """The functions of a module that say what they hold, by the sizes of arguments."""
    spec = read_spec(source, allow_external=True)
    _, program = program_of(spec)
    hints = known_sizes(spec)
    for function in program.generated:
        for kind, order in requested(function):
            name = kind.public_name(function.spec.name, order)
            run = getattr(module, name)
            doc = re.sub(r"\s+", " ", inspect.getdoc(run) or "").partition("Cost: ")[2]
            cost = doc.partition(" Raises:")[0]
            form = r"(?:if ([^:;]*): )?(?:[^:;]*; )?peak memory (.*?) numbers"
            forms = tuple(re.findall(form, cost))
            if any(Stated.monomials(told) for _, told in forms):
                yield Stated(name, run, function, cost, forms, hints)

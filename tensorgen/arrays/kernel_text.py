"""A region of operations as the text of a kernel.

Values that have names keep them, a statement each; all others stand where they are
read, as they do in the text for arrays, of which this is the translation.
"""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace

from tensorgen.arrays import operations as ops
from tensorgen.arrays.array_names import read_name, sum_name
from tensorgen.arrays.arrays import Array, array, variable
from tensorgen.arrays.device_functions import CALLED, Calls, DeviceFunction
from tensorgen.arrays.kernels import RESERVED, Kernel
from tensorgen.arrays.printer import Printer
from tensorgen.arrays.regions import Region
from tensorgen.arrays.scalar_text import CText, Speaker
from tensorgen.operators.elementwise import ELEMENTWISE

INTEGERS = "IJKLMN"
"""The types of integers, each array its own: they are of whatever width."""
LONGEST = 40
"""Characters of a name that is put together."""


@dataclass(frozen=True)
class Spoken:
    """A kernel, and the arrays that it is given, in order."""

    kernel: Kernel
    given: tuple[Array, ...]


def spoken(
    region: Region,
    named: Mapping[Array, str],
    words: Callable[[Array], str],
    first: Array | None = None,
) -> Spoken:
    """Return a region as a kernel; `words` says what it computes that has no name.

    What it is given `first` is told so as well.
    """
    own = _Names(named)
    word = _word(region, named, words)
    last = region.after and spoken(region.last, named, words, region.total)
    inputs = _inputs(region, first)
    for one in inputs:
        told = one is first and one not in named
        own.take(one, words(one) if told else own.word(one))
    for one in region.members:
        if one in named:
            own.take(one, named[one])
    for one in region.made:
        if one not in named:
            own.take(one, words(one) if region.adds else word)
    writer = _Writer(region, own.names, {*inputs})
    lines = tuple(writer.lines())
    integers = iter(INTEGERS)
    kernel = Kernel(
        word,
        tuple(f"{_kind(x, integers)} {own.names[x]}" for x in inputs),
        tuple(f"{_kind(x, integers)} {own.names[x]}" for x in region.made),
        lines,
        writer.functions,
        region.adds,
    )
    if not last:
        return Spoken(kernel, tuple(inputs))
    functions = dict.fromkeys([*writer.functions, *last.kernel.functions])
    kernel = replace(kernel, functions=tuple(functions), after=last.kernel)
    return Spoken(kernel, (*inputs, *last.given[1:]))


def _inputs(region: Region, first: Array | None = None) -> list[Array]:
    """What a kernel is given, in order; numbers that are written out are not."""
    given = dict.fromkeys(x for one in region.members for x in one.args)
    order = sorted(given, key=lambda x: x is not first)
    return [x for x in order if x in region.given and not isinstance(x.op, ops.Number)]


def _kind(one: Array, integers: Iterator[str]) -> str:
    """The type of an array, another one for each array of integers."""
    if one.kind == "int":
        return next(integers)
    return "bool" if one.kind == "bool" else "T"


def _word(
    region: Region, named: Mapping[Array, str], words: Callable[[Array], str]
) -> str:
    """What a kernel is called after what it computes."""
    told = [named[x] if x in named else words(x) for x in region.outputs]
    told = [*dict.fromkeys(re.sub(r"\w+\.", "", x).rstrip("_") for x in told)]
    *first, last = told
    whole = "_and_".join(filter(None, ["_".join(first), last]))
    return whole if len(whole) <= LONGEST else f"{told[0]}_and_others"


class _Names:
    """What values are called within a kernel."""

    def __init__(self, named: Mapping[Array, str]) -> None:
        self.named = named
        self.names: dict[Array, str] = {}
        self.taken = {*RESERVED, *INTEGERS, *CALLED}

    def word(self, one: Array) -> str:
        """What an array is that is given."""
        seen = one
        while isinstance(seen.op, ops.View | ops.Copy):
            seen = seen.args[0]
        if seen in self.named:
            return self.named[seen]
        if isinstance(seen.op, ops.Variable):
            return seen.op.name.rpartition(".")[2]
        if isinstance(seen.op, ops.Elementwise):
            row = ELEMENTWISE[seen.op.function]
            return f"{row.word or row.name}_{self.word(seen.args[0])}"
        told = [variable(self.word(x), x.dims) for x in seen.args[:2]]
        word = None
        if isinstance(seen.op, ops.Reduce | ops.MatMul | ops.InnerProduct) and told:
            own = array(seen.op, *told)
            word = read_name(own) if seen.order else sum_name(own)
        if word is None and isinstance(seen.op, ops.Contraction):
            word = "product" if seen.order else "total"
        if isinstance(seen.op, ops.Size) and len(seen.op.dim.symbols) == 1:
            word = seen.op.dim.symbols[0]
        return word or ("number" if one.weak else "given")

    def take(self, one: Array, word: str) -> None:
        """Give a value a name that no other one has."""
        name = stem = re.sub(r"\W", "_", word) + "_" * (word in RESERVED)
        count = 1
        while name in self.taken:
            count += 1
            name = f"{stem}_{count}"
        self.taken.add(name)
        self.names[one] = name


class _Writer:
    """Writes the statements of a region, operands first."""

    def __init__(
        self, region: Region, names: Mapping[Array, str], inputs: set[Array]
    ) -> None:
        self.region = region
        self.names = dict(names)
        self.inputs = inputs
        self.calls = Calls()
        self.printer = Printer("np")
        self.read = Counter(x for one in region.members for x in one.args)

    @property
    def functions(self) -> tuple[DeviceFunction, ...]:
        """The functions that the text needs, each behind those that it calls."""
        return tuple(dict.fromkeys(x for own in self.calls.defined for x in own.all))

    def lines(self) -> list[str]:
        """A statement each for what has a name, or is read twice."""
        found: list[str] = []
        outputs = {*self.region.made}
        for one in self.region.members:
            if one not in self.names:
                if self.read[one] < 2:
                    continue
                self._name(one)
            said = self._said(one, found)
            kind = "bool" if one.kind == "bool" else "T"
            head = "" if one in outputs else f"const {kind} "
            text = said.typed.text if kind == "T" and said.condition else said.text
            found.append(f"{head}{self.names[one]} = {text};")
        return found

    def _name(self, one: Array, stem: str = "part") -> str:
        taken = {*self.names.values(), *RESERVED, *INTEGERS, *CALLED}
        name, count = stem, 1
        while name in taken:
            count += 1
            name = f"{stem}_{count}"
        self.names[one] = name
        return name

    def _said(self, one: Array, lines: list[str]) -> CText:
        """A value in C, over what has names."""

        def hold(text: CText) -> CText:
            name = self._name(array(ops.Variable(text.text)), "base")
            lines.append(f"const T {name} = {text.text};")
            return CText(name)

        known = {
            name: CText(name, condition=x.kind == "bool" and not x.weak)
            for x, name in self.names.items()
        }
        own = array(one.op, *map(self._over_names, one.args))
        tree = ast.parse(self.printer.text(own), mode="eval").body
        return Speaker(known, self.calls, hold).said(tree)

    def _over_names(self, one: Array) -> Array:
        """A value with variables in place of what has names."""
        if one in self.names:
            return variable(self.names[one], one.dims, one.kind)
        if isinstance(one.op, ops.Number):
            return one
        return array(one.op, *map(self._over_names, one.args))

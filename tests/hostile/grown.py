"""Specs from the grammar, whose parts have any type, and small edits of them."""

from __future__ import annotations

import random
from dataclasses import dataclass, field

from tensorgen.calculus.kinds import NAMED
from tensorgen.lang.prelude import prelude
from tensorgen.operators.functions import FUNCTIONS, Parameter
from tests.hostile.hostile_texts import NAMES, NUMBERS

_SIZES = ("n", "n", "n", "m", "k", "2*n", "n + 1", "n + k - 1", "3", "1", "0")
_INDICES = ("i", "j", "l")
_DERIVATIVES = ("grad", "jac", "hess", "hvp", "jvp", "vjp", "delta")
_PLAIN = (
    *("0", "1", "-1", "2", "(0, 1)", "(0,)", "()", "None", "True", "False", "7", "inf"),
    *("'ij->i'", "'ij,jk->ik'", "'...i->i'", "''", "((0,), (0,))", "[1, 0]", "-9"),
    *("1e400", "0.5", "n", "(n, n)", "(n, -1)", "x", "2**70", "[[0], [1]]", "'i,i'"),
)
_ELEMENTWISE = tuple(
    name
    for name, row in FUNCTIONS.items()
    if [p.kind for p in row.parameters if p.required] == ["array"]
)
_REDUCTIONS = ("sum", "sum", "mean", "norm", "logsumexp", "max", "prod", "var")
_OPERATORS = [
    "+",
    "+",
    "-",
    "*",
    "*",
    "/",
    "@",
    "@",
    "**",
    "<",
    "<=",
    "==",
    "!=",
    ">",
    ">=",
    "&",
    "|",
]


@dataclass
class Growing:
    """A spec that grows: names of what there is, and its sections."""

    chance: random.Random
    inputs: dict[str, str] = field(default_factory=dict)
    definitions: dict[str, str] = field(default_factory=dict)
    functions: dict[str, list[str]] = field(default_factory=dict)
    dims: dict[str, str] = field(default_factory=dict)
    odd: float = 0.2
    """How often what stands somewhere is not of the kind that is asked for."""
    sizes: tuple[str, ...] = _SIZES

    def text(self) -> str:
        """Write the spec."""
        lines = ["tensorgen: 1"]
        if self.dims:
            lines.append("dims:")
            lines += [f"  {name}: {size}" for name, size in self.dims.items()]
        lines.append("inputs:")
        lines += [f"  {name}: {shape}" for name, shape in self.inputs.items()]
        if self.definitions:
            lines.append("definitions:")
            for left, body in self.definitions.items():
                lines += [f"  {left}: |", f"    {body}"]
        lines.append("functions:")
        for left, rows in self.functions.items():
            lines += [f"  {left}:", *(f"    {row}" for row in rows)]
        return "\n".join(lines) + "\n"

    def copy(self) -> Growing:
        """Return a spec that grows on its own, by the same chance."""
        return Growing(
            self.chance,
            dict(self.inputs),
            dict(self.definitions),
            dict(self.functions),
            dict(self.dims),
            self.odd,
            self.sizes,
        )

    # Parts of a file

    def add_input(self) -> None:
        """Add an array, an index array, a scalar, or one that keeps a promise."""
        pick = self.chance.choice
        shape = [pick(self.sizes) for _ in range(pick((0, 1, 1, 1, 2, 2, 2, 3, 4)))]
        text = f"[{', '.join(shape)}]"
        match self.chance.randrange(8):
            case 0:
                text = f"{{shape: {text}, index: {pick(self.sizes)}}}"
            case 1:
                text = f"{{shape: scalar, default: {pick(('1', '-0.5', '1e9'))}}}"
            case 2:
                size = pick(self.sizes)
                promise = pick(("symmetric", "spd", "positive", "nonnegative"))
                text = f"{{shape: [{size}, {size}], {promise}: true}}"
        self.inputs[self.name("xyzuvABC")] = text

    def add_definition(self) -> None:
        """Add a macro or a value."""
        name = self.name("fgr")
        kind = self.chance.randrange(3)
        left = (name, f"{name}(s, t)", f"{name}[i, j]")[kind]
        indices = _INDICES[:2] if kind == 2 else ()
        extra = ("s", "t") if kind == 1 else ()
        self.definitions[left] = self.expression(3, indices, extra)

    def add_function(self) -> None:
        """Add a function, with what is to be emitted for it."""
        pick = self.chance.choice
        indices = pick(((), (), (), ("i",), ("i", "j")))
        left = self.name("pqrF") + (f"[{', '.join(indices)}]" if indices else "")
        where: list[str] = []
        locals_: list[str] = []
        for _ in range(pick((0, 0, 0, 1, 2))):
            own = self.name("abc", locals_)
            where.append(f"  {own} = {self.expression(2, (), tuple(locals_))}")
            locals_.append(own)
        body = self.expression(pick((2, 3, 4)), indices, tuple(locals_))
        if not indices and self.chance.random() < 0.5:
            body = f"sum({body})"
        rows = [*(["where: |", *where] if where else []), "expr: |", f"  {body}"]
        if self.chance.random() < 0.7 and self.inputs:
            wrt = self.wrt()
            rows.append(f"wrt: [{', '.join(wrt)}]")
            rows.append(f"emit: [{', '.join(self.emits(wrt))}]")
        self.functions[left] = rows

    def wrt(self) -> list[str]:
        """Inputs to differentiate by."""
        names = [name for name, text in self.inputs.items() if "index" not in text]
        count = self.chance.choice((1, 1, 1, 2, 3))
        if self.chance.random() < self.odd or not names:
            return self.chance.choices(list(self.inputs), k=count)
        found = self.chance.sample(names, min(count, len(names)))
        square = [name for name in found if "spd" in self.inputs[name]]
        return [f"{{{name}: symmetric}}" if name in square else name for name in found]

    def emits(self, wrt: list[str]) -> list[str]:
        """What is to be emitted: few, for each costs time."""
        found = self.chance.sample(NAMED, self.chance.choice((1, 1, 2, 3)))
        if self.chance.random() < 0.1:
            found.append(self.chance.choice(("3", "3", "4", "9", "0")))
        if self.chance.random() < 0.1:
            count = self.chance.choice((2, 2, 3, 4))
            found.append(f"[{', '.join(self.chance.choices(wrt, k=count))}]")
        return found

    def name(self, letters: str, taken: list[str] | None = None) -> str:
        """A new name, at times one that hurts."""
        used = {*self.inputs, *self.functions, *self.definitions, *(taken or ())}
        if self.chance.random() < self.odd / 2:
            return self.chance.choice(NAMES)
        letter = self.chance.choice(letters)
        return next(
            name
            for name in (letter, *(f"{letter}{k}" for k in range(99)))
            if name not in used
        )

    # Expressions

    def expression(
        self, depth: int, indices: tuple[str, ...] = (), extra: tuple[str, ...] = ()
    ) -> str:
        """An expression over the names there are."""

        def inner() -> str:
            return self.expression(depth - 1, indices, extra)

        pick = self.chance.choice
        if depth <= 0 or self.chance.random() < 0.15:
            return self.leaf(indices, extra)
        if self.chance.random() > 3 * self.odd:
            return self.plausible(depth, indices, extra)
        match self.chance.randrange(13):
            case 0 | 1 | 2 | 3:
                return f"({inner()} {pick(_OPERATORS)} {inner()})"
            case 4:
                return f"{pick('-~+-')}{inner()}"
            case 5:
                return f"{inner()}{self.brackets(indices)}"
            case 6:
                return f"{inner()}{pick(('.T', '**2', '**-1', '**0.5', '.T', '.x'))}"
            case 7:
                return f"[{', '.join(inner() for _ in range(pick((1, 2, 3))))}]"
            case 8 if self.inputs:
                name = pick(_DERIVATIVES)
                by = pick(list(self.inputs))
                f = f"sum({inner()})" if self.chance.random() < 0.6 else inner()
                more = f", {inner()}" if name in ("hvp", "jvp", "vjp") else ""
                return f"{name}({f}, {by}{more})"
            case 9:
                return self.reduction(depth, indices, extra)
            case 10:
                name = pick([*prelude(), *self.macros()])
                count = pick((1, 1, 1, 2, 2, 3))
                return f"{name}({', '.join(inner() for _ in range(count))})"
        return self.call(depth, indices, extra)

    def plausible(
        self, depth: int, indices: tuple[str, ...], extra: tuple[str, ...]
    ) -> str:
        """An expression that often has a type, whatever its operands are."""
        pick = self.chance.choice
        a, b = (self.expression(depth - 1, indices, extra) for _ in range(2))
        match self.chance.randrange(8):
            case 0 | 1:
                return f"({a} {pick('+-**/')} {b})"
            case 2 | 3:
                return f"{pick(_ELEMENTWISE)}({a})"
            case 4:
                return f"where({a} {pick(('<', '>=', '=='))} 1, {a}, {b})"
            case 5:
                return f"{pick(_REDUCTIONS)}({a})"
            case 6 if self.inputs:
                return f"grad(sum({a}), {pick(list(self.inputs))})"
            case 7:
                return self.reduction(depth, indices, extra)
        return f"{a}**{pick(('2', '3', '-1', '0.5', '2.5', '0'))}"

    def macros(self) -> list[str]:
        """Definitions with parameters."""
        return [left.partition("(")[0] for left in self.definitions if "(" in left]

    def leaf(self, indices: tuple[str, ...], extra: tuple[str, ...]) -> str:
        """A name, a number, an entry, or what is none of them."""
        names = [*self.inputs, *extra]
        names += [f.partition("[")[0] for f in self.functions]
        names += [left for left in self.definitions if left.isidentifier()]
        roll = self.chance.random()
        if roll < self.odd / 3:
            return self.chance.choice(NUMBERS)
        if roll > 0.85:
            return self.chance.choice(("1", "2", "0.5", "pi", "3", "0", "1e-3"))
        if roll < self.odd / 2:
            return self.chance.choice((*NAMES, *_PLAIN))
        name = self.chance.choice(names or ["x"])
        if indices and name in self.inputs and self.chance.random() >= self.odd / 2:
            return self.entry(name, indices)
        return name + self.brackets(indices) if indices and roll < 0.2 else name

    def order(self, name: str) -> int:
        """How many axes an input has."""
        inner = self.inputs[name].partition("[")[2].partition("]")[0]
        return len(inner.split(",")) if inner else 0

    def entry(self, name: str, indices: tuple[str, ...]) -> str:
        """An entry of an input, or a part of it with axes."""
        order = self.order(name)
        if not order:
            return name
        places = [self.chance.choice(indices) for _ in range(order)]
        if self.chance.random() < 0.2:
            at = self.chance.choice(indices)
            shifts = (
                f"{at} + 1",
                f"n - 1 - {at}",
                f"2*{at}",
                f"{at} + {places[0]}",
                "0",
            )
            places[0] = self.chance.choice(shifts)
        return f"{name}[{', '.join(places)}]"

    def brackets(self, indices: tuple[str, ...]) -> str:
        """Positions: indices, slices, numbers, names of index arrays."""
        own = [*indices, "i"] if self.chance.random() < self.odd else list(indices)
        plain = [
            "0",
            "-1",
            ":",
            "1:",
            ":-1",
            "::2",
            "::-1",
            "None",
            "...",
            "n - 1",
            "9",
        ]
        plain += [*self.inputs][:2] * (self.chance.random() < self.odd)
        affine = [f"{a} + 1" for a in own] + [f"n - 1 - {a}" for a in own]
        affine += [f"2*{a}" for a in own] + [f"{a} + {b}" for a in own for b in own]
        pool = own * 6 + affine + (plain if not own else plain[:3])
        count = self.chance.choice((1, 1, 2, 2, 3))
        return f"[{', '.join(self.chance.choices(pool, k=count))}]"

    def reduction(
        self, depth: int, indices: tuple[str, ...], extra: tuple[str, ...]
    ) -> str:
        """A reduction that binds indices."""
        names = ("sum", "sum", "sum", "mean", "prod", "max", "norm", "var", "logsumexp")
        free = [index for index in _INDICES if index not in indices] or ["i"]
        new = self.chance.sample(free, self.chance.choice((1, min(2, len(free)))))
        inner = self.expression(depth - 1, (*indices, *new), extra)
        arrays = [name for name in self.inputs if self.order(name)]
        if arrays and self.chance.random() >= self.odd / 2:
            entries = [
                self.entry(self.chance.choice(arrays), (index,)) for index in new
            ]
            inner = " * ".join([*entries, inner])
        bound = []
        for index in new:
            limits = ("5", "n", "i", "j + 1", "i, n", "n - j", "1, n - 1", "x", "-3, 3")
            limit = self.chance.choice(limits)
            ranged = self.chance.random() < 0.25
            bound.append(f"{index}=range({limit})" if ranged else index)
        bound.sort(key=lambda text: "=" in text)
        if self.chance.random() < 0.2:
            condition = (
                "i < j",
                "i != j",
                "x[i] > 0",
                "i == 0",
                "l >= i + 1",
                "x == i",
            )
            bound.insert(0, self.chance.choice(condition))
        return f"{self.chance.choice(names)}({inner}, {', '.join(bound)})"

    def call(self, depth: int, indices: tuple[str, ...], extra: tuple[str, ...]) -> str:
        """A call of a function of the table."""
        function = self.chance.choice(list(FUNCTIONS.values()))
        arguments: list[str] = []
        keywords: list[str] = []
        for parameter in function.parameters:
            if not parameter.required and self.chance.random() < 0.6:
                continue
            text = self.argument(parameter, depth, indices, extra)
            named = not parameter.required and self.chance.random() < 0.7
            if named:
                keywords.append(f"{parameter.name}={text}")
            else:
                arguments.append(text)
        if self.chance.random() < self.odd / 4:
            arguments.append(self.chance.choice(_PLAIN))
        if arguments and self.chance.random() < self.odd / 4:
            arguments.pop()
        arguments += keywords
        if self.chance.random() < self.odd / 4:
            self.chance.shuffle(arguments)
        return f"{function.name}({', '.join(arguments)})"

    def argument(
        self,
        parameter: Parameter,
        depth: int,
        indices: tuple[str, ...],
        extra: tuple[str, ...],
    ) -> str:
        """What a parameter asks for, or something else."""
        pick = self.chance.choice
        if self.chance.random() < self.odd / 2:
            return pick(_PLAIN)
        match parameter.kind:
            case "array":
                return self.expression(depth - 1, indices, extra)
            case "arrays":
                parts = [self.expression(depth - 1, indices, extra) for _ in range(2)]
                text = ", ".join(parts)
                return text if parameter.spread else f"[{text}]"
            case "flag":
                return pick(("True", "False"))
            case "axes" | "integer" | "order":
                return pick(("0", "1", "-1", "2", "(0, 1)", "None", "inf", "(1,)"))
            case "shape" | "open shape":
                return pick(("(n,)", "(n, m)", "n", "(3, n)", "()", "(n, -1)", "(1,)"))
            case "size":
                return pick(("n", "m", "3", "n + 1", "0", "2*n"))
            case "string":
                return pick(("'ij,jk->ik'", "'ii->i'", "'ij->ji'", "'i,i->'", "'...'"))
        return pick(_PLAIN)


def grown(chance: random.Random) -> Growing:
    """Return a small spec from nothing."""
    sizes = chance.choice((_SIZES, ("n",), ("n",), ("n", "m"), ("3", "2")))
    spec = Growing(chance, odd=chance.choice((0.0, 0.0, 0.05, 0.2)), sizes=sizes)
    for _ in range(chance.choice((1, 2, 2, 3))):
        spec.add_input()
    if chance.random() < 0.2:
        spec.dims = {"n": "10", "k": chance.choice(("", "3", "3", "1e308", "1000"))}
    if chance.random() < 0.3:
        spec.add_definition()
    for _ in range(chance.choice((1, 1, 2))):
        spec.add_function()
    return spec


def step(spec: Growing) -> None:
    """Edit a spec: add something, take something away, or write it anew."""
    chance = spec.chance
    sections = (spec.inputs, spec.definitions, spec.functions)
    match chance.randrange(7):
        case 0:
            spec.add_input()
        case 1:
            spec.add_definition()
        case 2 | 3:
            spec.add_function()
        case 4:
            section = chance.choice(sections)
            if section:
                del section[chance.choice(list(section))]
        case 5 if spec.functions:
            rows = spec.functions[chance.choice(list(spec.functions))]
            rows[-1] = f"emit: [{', '.join(spec.emits(list(spec.inputs) or ['x']))}]"
        case _ if spec.inputs:
            name = chance.choice(list(spec.inputs))
            kept = spec.inputs.pop(name)
            spec.add_input()
            spec.inputs[name] = kept if chance.random() < 0.5 else "[n, n]"

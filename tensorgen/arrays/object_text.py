"""Operations around arrays as the text of Python and NumPy."""

from __future__ import annotations

from collections.abc import Sequence
from typing import assert_never

from tensorgen.arrays import object_operations as objects
from tensorgen.arrays.number_text import axis_argument, shape, size
from tensorgen.arrays.templates import Level, Text
from tensorgen.ir.dims import Computed

_JOINED = "concatenate", "hstack"
_ASKED = {
    objects.Solution: "solve",
    objects.Times: "times",
    objects.GramEntries: "gram",
    objects.GramPlaces: "gram_places",
}


def object_text(op: objects.Object, args: Sequence[Text], alias: str) -> Text:
    """An operation of operands, for the array module called `alias`."""
    texts = [arg.text for arg in args]
    listed = ", ".join(texts)
    match op:
        case objects.Attribute(name=name):
            return Text(f"self.{name}")
        case objects.Answer(method=method, several=several):
            return Text(f"{'*' * several}self.{method}()")
        case objects.Nothing():
            return Text("None")
        case objects.Made(by=name):
            return Text(f"{name}({listed})")
        case (
            objects.Solution()
            | objects.Times()
            | objects.GramEntries()
            | objects.GramPlaces()
        ):
            given = [*texts[1:], *["transposed=True"] * op.transposed]
            asked = f"{_ASKED[type(op)]}({', '.join(given)})"
            return Text(f"{args[0].at(Level.ATOM)}.{asked}")
        case objects.Selected():
            return Text(f"{args[0].at(Level.ATOM)}.inverse_at({texts[1]}, {texts[2]})")
        case objects.Known(name=name):
            return Text(f"{args[0].at(Level.ATOM)}.{name}")
        case objects.Pack(listed=as_list):
            alone = "," * (len(args) == 1)
            return Text(f"[{listed}]" if as_list else f"({listed}{alone})")
        case objects.Results() | objects.Launch():
            return Text(f"{_function(op, alias)}({listed}{_along(op)})")
        case objects.Called(function=name, sizes=sizes, typed=typed):
            return Text(f"{name}({', '.join([*texts, *sizes, *['dtype'] * typed])})")
        case objects.Member(place=place):
            return Text(f"{args[0].at(Level.ATOM)}[{place}]")
        case objects.Numbered(keys=keys):
            pairs = zip(keys, texts, strict=True)
            return Text(f"{{{', '.join(f'{key}: {text}' for key, text in pairs)}}}")
        case objects.Later():
            return Text(f"lambda: {listed}", Level.COMPARE)
        case objects.Join(dims=dims):
            return Text(f"{alias}.{_JOINED[len(dims) > 1]}([{listed}])")
        case objects.Extent(axis=axis):
            return Text(f"{args[0].at(Level.ATOM)}.shape[{axis}]")
        case objects.Count():
            return Text(f"_count({', '.join(f'{name}={name}' for name in texts)})")
        case objects.Whole(size=found):
            return _computed(found)
        case objects.Rows(entries=entries, width=width):
            return Text(f"{entries} // ({size(width + 1).text}) + 1", Level.SUM)
        case objects.Reshape(dims=dims):
            return Text(f"{alias}.reshape({listed}, {shape(dims)})")
        case objects.ZerosLike():
            return Text(f"{alias}.zeros_like({listed})")
        case objects.Places(shape=sizes):
            return Text(f"{alias}.indices({shape(sizes)}).reshape({len(sizes)}, -1)")
        case objects.AsPlaces():
            return Text(f"{args[0].at(Level.ATOM)}.astype(int)")
        case _:
            assert_never(op)


def _function(op: objects.Results | objects.Launch, alias: str) -> str:
    if isinstance(op, objects.Launch):
        return op.kernel.name
    return op.function if op.is_helper else f"{alias}.{op.function}"


def _along(op: objects.Results | objects.Launch) -> str:
    return f", {axis_argument(op.axes)}" if op.axes else ""


def _computed(found: Computed) -> Text:
    of, by = size(found.of), size(found.by)
    if found.rule == "root":
        return Text(f"math.isqrt({of.text}) + 1", Level.SUM)
    if found.rule == "runs":
        return Text(f"-(-{of.at(Level.ATOM)} // {by.at(Level.ATOM)})", Level.UNARY)
    return by

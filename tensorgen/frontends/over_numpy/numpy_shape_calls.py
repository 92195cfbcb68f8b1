"""Calls that make arrays of sizes, and that give arrays other shapes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from tensorgen.errors import Text
from tensorgen.frontends.over_numpy.numpy_arguments import Arguments
from tensorgen.frontends.over_numpy.numpy_subscripts import taken
from tensorgen.frontends.over_numpy.numpy_values import (
    BOOL,
    FLOAT,
    INT,
    PRODUCT,
    SUM,
    Thing,
    Value,
)
from tensorgen.ir.dims import Dim

Builder = Callable[[Arguments], Thing]


def _listed(texts: list[Text]) -> list[str | Text]:
    parts: list[str | Text] = []
    for k, text in enumerate(texts):
        parts += [", "] * (k > 0) + [text]
    return parts


def _tuple(texts: list[Text]) -> list[str | Text]:
    return ["(", *_listed(texts), "," * (len(texts) == 1), ")"]


# Arrays of sizes


def _filled(name: str) -> Builder:
    def build(given: Arguments) -> Thing:
        return _alike(given, name, given.kind(), given.sizes("shape"))

    return build


def _alike(given: Arguments, name: str, kind: str, sizes: list[Text]) -> Thing:
    """Zeros or ones, of which a single one is a number."""
    if not sizes:
        return given.made({"zeros": "0", "ones": "1"}[name], kind=kind)
    return given.made(f"{name}(", *_listed(sizes), ")", kind=kind)


def _full(given: Arguments) -> Thing:
    kind, sizes = given.kind(), given.sizes("shape")
    value = given.array("fill_value")
    if not given.has("dtype"):
        kind = value.kind
    if not sizes:
        return value
    return given.made("full(", *_tuple(sizes), ", ", value.text, ")", kind=kind)


def _like(name: str) -> Builder:
    def build(given: Arguments) -> Thing:
        a = given.array("a")
        kind = given.kind() if given.has("dtype") else a.kind
        if kind == BOOL:
            given.reader.fail("an array of conditions", given.node, "say dtype=float")
        sizes = [_size(given, dim) for dim in given.reader.shape(a)]
        if name == "full":
            value = given.array("fill_value")
            if kind == INT and value.kind == FLOAT:
                given.reader.fail("NumPy would cut this to whole numbers", given.node)
            if not sizes:
                return value
            text = ("full(", *_tuple(sizes), ", ", value.text, ")")
            return given.made(*text, kind=kind)
        return _alike(given, name, kind, sizes)

    return build


def _size(given: Arguments, size: Dim) -> Text:
    return given.reader.whole(given.node, size).text


def _eye(given: Arguments) -> Thing:
    kind, rows = given.kind(), given.sizes("N")
    columns = given.sizes("M") if given.has("M") else []
    return given.made("eye(", *_listed([*rows, *columns]), ")", kind=kind)


def _arange(given: Arguments) -> Thing:
    kind = given.kind() if given.has("dtype") else INT
    sizes = given.sizes("start")
    sizes += given.sizes("stop") if given.has("stop") else []
    return given.made("arange(", *_listed(sizes), ")", kind=kind)


def _linspace(given: Arguments) -> Thing:
    given.kind()
    start, stop = given.text("start"), given.text("stop")
    ends = given.known("endpoint", True)
    count = given.length("num") if given.has("num") else Dim.of(50)
    below = count - 1 if ends else count
    if below.constant == 0:
        given.reader.fail("one point is no space", given.node)
    steps = given.reader.whole(given.node, below)
    inner = steps.text if steps.level >= PRODUCT + 1 else f"({steps.text})"
    points = _size(given, count)
    parts = (start, " + (", stop, " - ", start, ") * arange(", points, ") / ", inner)
    return given.made(*parts, level=SUM)


# Arrays of arrays


def _array(given: Arguments) -> Thing:
    a = given.array("a")
    return _cast(given, a) if given.has("dtype") else a


def _cast(given: Arguments, a: Value) -> Value:
    kind = given.kind()
    if kind == INT and a.kind == FLOAT:
        hint = "np.floor(x) and np.round(x) make whole numbers"
        given.reader.fail("a cast to integers cuts values", given.node, hint)
    return replace(a, kind=kind, whole=a.whole if kind == INT else None)


def _number(given: Arguments) -> Thing:
    a = given.array("a")
    if given.reader.shape(a) and given.name != "numpy.float64":
        given.reader.fail("this is for numbers", given.node)
    return replace(a, kind=FLOAT, whole=None)


def _same(given: Arguments) -> Thing:
    return given.array("a")


def _joined(name: str) -> Builder:
    """`vstack`, `hstack` and `column_stack`: by the axes that the arrays have."""

    def build(given: Arguments) -> Thing:
        values = given.items("arrays")
        orders = {len(given.reader.shape(x)) for x in values}
        kind = FLOAT if FLOAT in {x.kind for x in values} else INT
        if len(orders) > 1 and name != "column_stack":
            given.reader.fail("arrays of different orders", given.place("arrays"))
        texts = [x.text for x in values]
        if name == "hstack":
            along = 0 if orders == {1} else 1
            return _concatenated(given, texts, along, kind)
        if orders == {1}:
            end = f"], axis={0 if name == 'vstack' else 1})"
            return given.made("stack([", *_listed(texts), end, kind=kind)
        if name == "column_stack":
            texts = [_column(given, x) for x in values]
            return _concatenated(given, texts, 1, kind)
        return _concatenated(given, texts, 0, kind)

    return build


def _column(given: Arguments, value: Value) -> Text:
    if len(given.reader.shape(value)) != 1:
        return value.text
    return given.made("expand_dims(", value.text, ", axis=1)").text


def _concatenated(
    given: Arguments, texts: list[Text], axis: int, kind: str = FLOAT
) -> Value:
    end = f"], axis={axis})"
    return given.made("concatenate([", *_listed(texts), end, kind=kind)


# Other shapes


def _reshape(given: Arguments) -> Thing:
    a = given.array("a")
    return given.made(
        "reshape(", a.text, ", ", *_listed(given.sizes("shape")), ")", kind=a.kind
    )


def _axes(given: Arguments, name: str, order: int) -> list[int]:
    axes = given.known(name, None)
    axes = (axes,) if isinstance(axes, int) else axes
    if not isinstance(axes, tuple):
        given.reader.fail("axes are whole numbers", given.place(name))
    found = [x % order for x in axes if isinstance(x, int) and -order <= x < order]
    if len(found) != len(axes):
        given.reader.fail(f"the array has {order} axes", given.place(name))
    return found


def _transposed(given: Arguments, a: Value, axes: list[int]) -> Thing:
    if axes == [*range(len(axes))]:
        return a
    return given.made("transpose(", a.text, f", {(*axes,)!r})", kind=a.kind)


def _transpose(given: Arguments) -> Thing:
    a = given.array("a")
    if not given.has("axes"):
        return given.made("transpose(", a.text, ")", kind=a.kind)
    axes = _axes(given, "axes", len(given.reader.shape(a)))
    return _transposed(given, a, axes)


def _swapaxes(given: Arguments) -> Thing:
    a = given.array("a")
    order = len(given.reader.shape(a))
    one, other = (_axes(given, name, order)[0] for name in ("axis1", "axis2"))
    axes = [*range(order)]
    axes[one], axes[other] = other, one
    return _transposed(given, a, axes)


def _moveaxis(given: Arguments) -> Thing:
    a = given.array("a")
    order = len(given.reader.shape(a))
    source, target = (_axes(given, x, order) for x in ("source", "destination"))
    axes = [x for x in range(order) if x not in source]
    for at, axis in sorted(zip(target, source, strict=False)):
        axes.insert(at, axis)
    return _transposed(given, a, axes)


def _roll(given: Arguments) -> Thing:
    a, shift = given.array("a"), given.array("shift")
    axis = given.known("axis", None)
    if axis is None and len(given.reader.shape(a)) != 1:
        given.reader.fail("rolled over all entries", given.node, "state the axis")
    option = "" if axis is None else f", axis={axis!r}"
    return given.made("roll(", a.text, ", ", shift.text, option, ")", kind=a.kind)


def _tile(given: Arguments) -> Thing:
    a = given.array("A")
    return given.made(
        "tile(", a.text, ", ", *_listed(given.sizes("reps")), ")", kind=a.kind
    )


def _pad(given: Arguments) -> Thing:
    if given.known("mode", "constant") != "constant":
        hint = "of zeros around an array"
        given.reader.fail("this padding cannot be read", given.place("mode"), hint)
    a, width = given.array("array"), given.known("pad_width", 0)
    return given.made("pad(", a.text, f", {width!r})", kind=a.kind)


def _take(given: Arguments) -> Thing:
    a, places = given.array("a"), given.array("indices")
    if places.kind != INT:
        given.reader.fail("positions are whole numbers", given.place("indices"))
    if not given.has("axis") and len(given.reader.shape(a)) != 1:
        given.reader.fail("taken of all entries", given.node, "state the axis")
    axis = given.axis("axis", 0)
    axis %= max(len(given.reader.shape(a)), 1)
    return taken(given.reader, given.node, a, places, axis)


def _at_least(order: int) -> Builder:
    def build(given: Arguments) -> Thing:
        a = given.array("a")
        own = len(given.reader.shape(a))
        if own >= order:
            return a
        axes = ", ".join(["None"] * (order - own) + [":"] * own)
        if own == 0:
            ones = ", ".join("1" * order)
            return given.made("reshape(", a.text, f", {ones})", kind=a.kind)
        return given.made(given.text("a"), f"[{axes}]", kind=a.kind)

    return build


_STACKED = "arrays, dtype!, casting!"
SHAPE_CALLS: Mapping[str, tuple[str, Builder]] = {
    "numpy.zeros": ("shape, dtype, order!", _filled("zeros")),
    "numpy.ones": ("shape, dtype, order!", _filled("ones")),
    "numpy.full": ("shape, fill_value, dtype, order!", _full),
    "numpy.zeros_like": ("a, dtype, order!", _like("zeros")),
    "numpy.ones_like": ("a, dtype, order!", _like("ones")),
    "numpy.full_like": ("a, fill_value, dtype, order!", _like("full")),
    "numpy.eye": ("N, M, k!, dtype", _eye),
    "numpy.arange": ("start, stop, step!, dtype", _arange),
    "numpy.linspace": ("start, stop, num, endpoint, retstep!, dtype", _linspace),
    "numpy.array": ("a, dtype, copy, order!, ndmin!", _array),
    "numpy.asarray": ("a, dtype, order!, copy", _array),
    "numpy.ascontiguousarray": ("a, dtype", _array),
    "numpy.astype": ("a, dtype, copy", _array),
    "numpy.float64": ("a", _number),
    "numpy.item": ("a", _number),
    "numpy.copy": ("a, order!", _same),
    "numpy.real": ("a", _same),
    "numpy.vstack": (_STACKED, _joined("vstack")),
    "numpy.hstack": (_STACKED, _joined("hstack")),
    "numpy.column_stack": ("arrays", _joined("column_stack")),
    "numpy.reshape": ("a, *shape", _reshape),
    "numpy.transpose": ("a, *axes", _transpose),
    "numpy.permute_dims": ("a, axes", _transpose),
    "numpy.swapaxes": ("a, axis1, axis2", _swapaxes),
    "numpy.moveaxis": ("a, source, destination", _moveaxis),
    "numpy.roll": ("a, shift, axis", _roll),
    "numpy.tile": ("A, reps", _tile),
    "numpy.pad": ("array, pad_width, mode", _pad),
    "numpy.take": ("a, indices, axis, out!, mode!", _take),
    "numpy.atleast_1d": ("a", _at_least(1)),
    "numpy.atleast_2d": ("a", _at_least(2)),
}

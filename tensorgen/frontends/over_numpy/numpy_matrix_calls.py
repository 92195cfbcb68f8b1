"""Calls of linear algebra that depend on shapes, or return several results."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from tensorgen.errors import Text
from tensorgen.frontends.over_numpy.numpy_arguments import Arguments
from tensorgen.frontends.over_numpy.numpy_values import (
    ATOM,
    BOOL,
    FLOAT,
    INT,
    PRODUCT,
    Known,
    Row,
    Thing,
    Value,
)

_SYMMETRIC = (
    "{} reads one triangle of its matrix in NumPy, and the symmetric part here: the "
    "same for symmetric matrices"
)


def _order(given: Arguments, name: str) -> int:
    return len(given.reader.shape(given.array(name)))


def _norm(given: Arguments) -> Thing:
    """NumPy's norm: of vectors, and of matrices where the language's is entrywise."""
    axis = given.known("axis", None)
    is_infinite = given.has("ord") and _is_number(given, "ord")
    kind = given.array("ord").text.value if is_infinite else given.known("ord", None)
    end = "" if axis is None else f", axis={axis!r}"
    if given.known("keepdims", False):
        end += ", keepdims=True"
    x, place = given.array("x"), given.place("ord")
    is_matrix = isinstance(axis, tuple) or (axis is None and _order(given, "x") == 2)
    if kind is None or kind == "fro" or (kind == 2 and not is_matrix):
        return given.made("norm(", x.text, end, ")")
    if not is_matrix:
        if axis is None and _order(given, "x") != 1:
            given.reader.fail("this order is for vectors and matrices", place)
        if kind in (1, "inf"):
            return given.made("norm(", x.text, f", {kind}{end}", ")")
        if kind == "-inf":
            return given.made("min(abs(", x.text, f"){end}", ")")
        hint = "orders 1, 2 and np.inf are read"
        given.reader.fail("there is no norm of this order", place, hint)
    if end:
        given.reader.fail("axes of a norm of matrices cannot be read", given.node)
    if kind in (1, "inf"):
        along = 0 if kind == 1 else 1
        return given.made("max(sum(abs(", x.text, f"), axis={along}))")
    if kind in (2, "nuc"):
        whole = "max" if kind == 2 else "sum"
        return given.made(f"{whole}(svdvals(", x.text, "))")
    hint = "orders 1, 2, np.inf, 'fro' and 'nuc' are read"
    given.reader.fail("there is no norm of this order", place, hint)


def _is_number(given: Arguments, name: str) -> bool:
    thing = given.thing(name)
    return isinstance(thing, Value) and thing.whole is None


def _solve(given: Arguments) -> Thing:
    """`np.linalg.solve`: b is one vector only where it has one axis."""
    a, b = given.array("a"), given.array("b")
    order = len(given.reader.shape(b))
    if order != 1 and order != len(given.reader.shape(a)):
        hint = "b is a vector, or has as many axes as the matrices"
        given.reader.fail("the orders do not match", given.place("b"), hint)
    if order == 1 and len(given.reader.shape(a)) > 2:
        hint = "write b[:, None], and [..., 0] behind it"
        given.reader.fail("a vector for several matrices", given.place("b"), hint)
    if given.has("assume_a") and given.known("assume_a", "gen") == "pos":
        return given.made("solve(spd(", a.text, "), ", b.text, ")")
    return given.made("solve(", a.text, ", ", b.text, ")")


def _solve_triangular(given: Arguments) -> Thing:
    a, b = given.array("a"), given.array("b")
    lower, trans = given.known("lower", False), given.known("trans", 0)
    texts: tuple[str | Text, ...] = (a.text,)
    if trans in (1, "T"):
        lower, texts = not lower, (given.text("a"), ".T")
    elif trans not in (0, "N"):
        given.reader.fail("this is not read", given.place("trans"))
    end = ", lower=True)" if lower else ")"
    return given.made("solve_triangular(", *texts, ", ", b.text, end)


def _told(given: Arguments) -> None:
    """Remark that one triangle is read, where that is not the same for sure."""
    text = _SYMMETRIC.format(given.name)
    given.reader.program.remarks[text] = None


def _cholesky(given: Arguments) -> Thing:
    """NumPy's factor is the lower one, SciPy's the upper one unless it says `lower`."""
    _told(given)
    a = given.array("a")
    is_lower = given.known("lower", "scipy" not in given.name)
    end = ")" if is_lower else ").T"
    return given.made("cholesky(", a.text, end)


def _cho_factor(given: Arguments) -> Thing:
    _told(given)
    lower = given.made("cholesky(", given.array("a").text, ")")
    return Row((lower, Known("a factor")))


def _cho_solve(given: Arguments) -> Thing:
    pair, b = given.thing("c_and_lower"), given.array("b")
    place = given.place("c_and_lower")
    if not isinstance(pair, Row) or len(pair.items) != 2:
        given.reader.fail("a factor and a flag are expected", place, "(L, True)")
    factor, flag = given.reader.as_value(pair.items[0], place), pair.items[1]
    lower, upper = factor, given.made(_in(factor), factor.text, _out(factor), ".T")
    if flag == Known(False):
        lower, upper = upper, factor
    inner = ("solve_triangular(", lower.text, ", ", b.text, ", lower=True)")
    return given.made("solve_triangular(", upper.text, ", ", *inner, ")")


def _in(value: Value) -> str:
    return "" if value.level == ATOM else "("


def _out(value: Value) -> str:
    return "" if value.level == ATOM else ")"


def _slogdet(given: Arguments) -> Thing:
    a = given.array("a")
    sign = given.made("sign(det(", a.text, "))")
    return Row((sign, given.made("logdet(", a.text, ")")))


def _eigh(given: Arguments) -> Thing:
    _told(given)
    a = given.array("a")
    values = given.made("eigvalsh(", a.text, ")")
    return Row((values, given.made("eigvecsh(", a.text, ")")))


def _svd(given: Arguments) -> Thing:
    if given.known("compute_uv", True):
        hint = "np.linalg.svd(A, compute_uv=False) has the singular values"
        given.reader.fail("singular vectors are not read", given.node, hint)
    return given.made("svdvals(", given.array("a").text, ")")


def _eigvalsh(given: Arguments) -> Thing:
    _told(given)
    return given.made("eigvalsh(", given.array("a").text, ")")


def _multi_dot(given: Arguments) -> Thing:
    parts: list[str | Text] = []
    for k, value in enumerate(given.items("arrays")):
        parts += [" @ "] * (k > 0) + [_in(value), value.text, _out(value)]
    return given.made(*parts, level=PRODUCT)


def _einsum(given: Arguments) -> Thing:
    subscripts = given.known("subscripts", None)
    if not isinstance(subscripts, str):
        hint = "np.einsum('ij,j->i', A, x)"
        given.reader.fail("a text of subscripts is expected", given.node, hint)
    if not given.has("operands"):
        given.reader.fail("einsum needs operands", given.node)
    values = given.items("operands")
    if values and all(value.kind == BOOL for value in values):
        hint = "make numbers of them by astype(float)"
        given.reader.fail("a product of conditions", given.node, hint)
    parts: list[str | Text] = []
    for value in values:
        parts += [", ", value.text]
    kind = FLOAT if FLOAT in {value.kind for value in values} else INT
    plain = "".join(subscripts.split())
    return given.made(f"einsum('{plain}'", *parts, ")", kind=kind)


def _dot(given: Arguments) -> Thing:
    """`np.dot`: of vectors and matrices it is their product."""
    a, b = given.array("a"), given.array("b")
    if a.kind == b.kind == BOOL:
        hint = "make numbers of them by astype(float)"
        given.reader.fail("a product of conditions", given.node, hint)
    kind = FLOAT if FLOAT in (a.kind, b.kind) else INT
    if {_order(given, "a"), _order(given, "b")} <= {1, 2}:
        left, right = given.text("a", PRODUCT), given.text("b", PRODUCT + 1)
        return given.made(left, " @ ", right, level=PRODUCT, kind=kind)
    return given.made("dot(", a.text, ", ", b.text, ")", kind=kind)


def _inner(given: Arguments) -> Thing:
    orders = _order(given, "a"), _order(given, "b")
    a, b = given.text("a"), given.text("b")
    if orders == (1, 1) or orders == (2, 1):
        return given.made(a, " @ ", b, level=PRODUCT)
    if orders == (2, 2) or orders == (1, 2):
        text = (a, " @ ", b, ".T") if orders == (2, 2) else (b, " @ ", a)
        return given.made(*text, level=PRODUCT)
    if 0 in orders:
        return given.made(a, " * ", b, level=PRODUCT)
    given.reader.fail("inner is read of vectors and matrices", given.node)


MATRIX_CALLS: Mapping[str, tuple[str, Callable[[Arguments], Thing]]] = {
    "numpy.linalg.norm": ("x, ord, axis, keepdims, check_finite", _norm),
    "numpy.linalg.solve": (
        "a, b, lower!, overwrite_a!, overwrite_b!, check_finite, assume_a, transposed!",
        _solve,
    ),
    "numpy.linalg.solve_triangular": (
        "a, b, trans, lower, unit_diagonal!, overwrite_b!, check_finite",
        _solve_triangular,
    ),
    "numpy.linalg.cholesky": ("a, lower, overwrite_a!, check_finite", _cholesky),
    "numpy.linalg.cho_factor": ("a, lower, overwrite_a!, check_finite", _cho_factor),
    "numpy.linalg.cho_solve": (
        "c_and_lower, b, overwrite_b!, check_finite",
        _cho_solve,
    ),
    "numpy.linalg.slogdet": ("a", _slogdet),
    "numpy.linalg.eigh": ("a, UPLO!", _eigh),
    "numpy.linalg.eigvalsh": ("a, UPLO!", _eigvalsh),
    "numpy.linalg.svd": ("a, full_matrices, compute_uv, hermitian!", _svd),
    "numpy.linalg.svdvals": (
        "a",
        lambda given: given.made("svdvals(", given.array("a").text, ")"),
    ),
    "numpy.linalg.multi_dot": ("arrays, out!", _multi_dot),
    "numpy.einsum": ("subscripts, *operands", _einsum),
    "numpy.dot": ("a, b, out!", _dot),
    "numpy.inner": ("a, b", _inner),
}

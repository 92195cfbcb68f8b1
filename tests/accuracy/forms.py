"""The functions that are judged: each in the language and again for SymPy."""

from __future__ import annotations

from itertools import product
from typing import NamedTuple

import numpy as np
import sympy
from numpy.typing import NDArray
from sympy import Abs, Expr, Piecewise, Rational, exp, log, sqrt

X, Y, Z = VARIABLES = sympy.symbols("x y z", real=True)
LARGEST = 1.7e308
Points = NDArray[np.float64]


class Form(NamedTuple):
    """A function of one to three numbers.

    `text` is an expression of x, or of x and y, or of the vector x of length three;
    `exact` means the same to SymPy. It is judged where every argument lies between
    `low` and `high`, at the points of the grid and at `extra` ones. Derivatives are not
    judged where one of `kinks` is 0: there conventions hold, which other tests name.
    Arguments are 0 or of one of the `sizes`, and errors are relative to the truth or
    to `least`, whichever is larger, of the `whole` array of partial derivatives where
    that is said. `why` gives the reason of what is not judged more strictly.
    """

    text: str
    exact: Expr
    low: float = -LARGEST
    high: float = LARGEST
    extra: tuple[float, ...] = ()
    vector: bool = False
    kinks: tuple[Expr, ...] = ()
    sizes: tuple[float, float] = (5e-324, LARGEST)
    least: float = 0.0
    whole: bool = False
    why: str = ""

    @property
    def variables(self) -> tuple[sympy.Symbol, ...]:
        """The arguments, in order."""
        if self.vector:
            return (X, Y, Z)
        return (X, Y) if Y in self.exact.free_symbols else (X,)


# Reasons for judging a function at some sizes only.
SQUARES = "squares of sizes leave the range beyond, as in NumPy"
PARTIAL = "products of some factors leave the range beyond, as in NumPy"
INVERSE = "one over what is smaller is no number"
GAMMA = "SciPy's own: infinite below 1e-308, absolute errors at roots"
ROOT = "a sum that is 0 somewhere"
SLOPES = "the exact form cancels below"
SHARES = "what is nearly 1 differs from it by less than it can say"


def near(*points: float) -> tuple[float, ...]:
    """The points, their neighbours and what lies close by."""
    found = []
    for p in points:
        found += [np.nextafter(p, -np.inf), p, np.nextafter(p, np.inf)]
        found += [
            p + sign * 10.0**k for k in (-15, -12, -8, -4, -2) for sign in (1, -1)
        ]
    return tuple(float(p) for p in found)


def positive(text: str, exact: Expr, extra: tuple[float, ...] = ()) -> Form:
    """A function of positive numbers."""
    return Form(text, exact, low=5e-324, extra=extra)


def gamma(text: str, exact: Expr, *roots: float) -> Form:
    """A function that has a pole at 0 and roots."""
    sizes = (1e-300, LARGEST)
    extra = near(*roots)
    return Form(text, exact, low=0, extra=extra, sizes=sizes, least=1e-3, why=GAMMA)


def unit(text: str, exact: Expr) -> Form:
    """A function of numbers between -1 and 1."""
    return Form(text, exact, low=-1, high=1, extra=near(-1, 1))


CDF = sympy.erfc(-X / sqrt(2)) / 2


class ncdf(sympy.Function):  # type: ignore[misc]
    """The cdf of the normal distribution, by its name in mpmath.

    SymPy would write it as 1 - (1 - ...), of which few digits are left far out.
    """

    def fdiff(self, argindex: int = 1) -> Expr:
        """Return the pdf."""
        return exp(-(self.args[0] ** 2) / 2) / sqrt(2 * sympy.pi)


BESSEL = (1e-6, 1e3)
DENSITY = "an exponential of a sum, which is off by as much as that is large"
LONG = "mpmath takes long beyond, and other tests go there; relative to 1e-3 at roots"


class floor(sympy.Function):  # type: ignore[misc]
    """The largest whole number below, which is constant but for its jumps."""

    def fdiff(self, argindex: int = 1) -> Expr:
        """Return 0."""
        return sympy.Integer(0)


THIRD = X - 3 * floor(X / 3)
QUANTILE = sqrt(2) * sympy.erfinv(2 * X - 1)
SELU = (1.0507009873554805, 1.6732632423543772)


def _less(condition: Expr, first: Expr, second: Expr) -> Expr:
    return Piecewise((first, condition), (second, True))


def _bessel(order: int) -> Expr:
    sides = (exp(sign * X) * sympy.besseli(order, X) for sign in (1, -1))
    return _less(X < 0, *sides)


def _exact(number: float) -> Expr:
    return Rational(number)


ONE = (
    Form("exp(x)", exp(X)),
    Form("expm1(x)", exp(X) - 1),
    positive("log(x)", log(X), extra=near(1)),
    Form("log1p(x)", log(1 + X), low=-1, extra=near(-1)),
    positive("log2(x)", log(X) / log(2), extra=near(1)),
    positive("log10(x)", log(X) / log(10), extra=near(1)),
    positive("sqrt(x)", sqrt(X)),
    Form(
        "cbrt(x)",
        _less(X < 0, -((-X) ** Rational(1, 3)), X ** Rational(1, 3)),
    ),
    Form("square(x)", X**2),
    Form("reciprocal(x)", 1 / X),
    Form("x**3", X**3),
    Form("x**-2", X**-2),
    positive("x**(3/2)", X ** Rational(3, 2)),
    positive("x**(-1/3)", X ** Rational(-1, 3)),
    Form("abs(x)", _less(X < 0, -X, X)),
    Form("sin(x)", sympy.sin(X)),
    Form("cos(x)", sympy.cos(X)),
    Form("tan(x)", sympy.tan(X)),
    unit("asin(x)", sympy.asin(X)),
    unit("acos(x)", sympy.acos(X)),
    Form("atan(x)", sympy.atan(X)),
    Form("sinh(x)", sympy.sinh(X)),
    Form("cosh(x)", sympy.cosh(X)),
    Form("tanh(x)", sympy.tanh(X)),
    Form("asinh(x)", sympy.asinh(X)),
    Form("acosh(x)", sympy.acosh(X), low=1, extra=near(1)),
    unit("atanh(x)", sympy.atanh(X)),
    Form("sigmoid(x)", 1 / (1 + exp(-X))),
    Form("softplus(x)", log(1 + exp(X))),
    Form("log_sigmoid(x)", -log(1 + exp(-X))),
    Form("mod(x, 3)", THIRD, kinks=(THIRD,)),
    Form("relu(x)", _less(X < 0, 0 * X, X)),
    Form("erf(x)", sympy.erf(X)),
    Form("erfc(x)", sympy.erfc(X)),
    Form("ndtr(x)", ncdf(X)),
    Form("exprel(x)", (exp(X) - 1) / X, kinks=(X,), sizes=(1e-30, 700), why=SLOPES),
    Form("log_sub_exp(2*x, x)", 2 * X + log(1 - exp(-X)), low=5e-324),
    Form("log_ndtr(x)", log(ncdf(X))),
    Form("ndtri(x)", QUANTILE, low=1e-300, high=1, extra=near(0.5, 1)),
    gamma("lgamma(x)", sympy.loggamma(X), 1, 2),
    gamma("digamma(x)", sympy.digamma(X), 1.4616321449683622),
    gamma("polygamma(2, x)", sympy.polygamma(2, X)),
    Form(
        "lrising(x, 7/2)",
        sympy.loggamma(X + Rational(7, 2)) - sympy.loggamma(X),
        low=0,
        extra=near(0.0764),
        sizes=(1e-300, LARGEST),
        least=1e-3,
        why=ROOT,
    ),
    Form("i0(x)", sympy.besseli(0, X), sizes=(1e-6, 700), why=LONG),
    Form("i1(x)", sympy.besseli(1, X), sizes=(1e-6, 700), why=LONG),
    Form("log_i0(x)", log(sympy.besseli(0, X)), sizes=BESSEL, why=LONG),
    Form("i0e(x)", _bessel(0), kinks=(X,), sizes=BESSEL, why=LONG),
    Form("i1e(x)", _bessel(1), kinks=(X,), sizes=BESSEL, least=1e-3, why=LONG),
    Form(
        "gammainc(5/2, x)",
        sympy.lowergamma(Rational(5, 2), X) / sympy.gamma(Rational(5, 2)),
        low=0,
        sizes=(1e-50, 600),
        why=DENSITY,
    ),
    Form(
        "betainc(2, 3, x)",
        X**2 * (6 - 8 * X + 3 * X**2),
        low=0,
        high=0.9,
        sizes=(1e-100, 0.9),
        why=DENSITY,
    ),
    # The prelude.
    Form("gelu(x)", X * CDF),
    Form("silu(x)", X / (1 + exp(-X))),
    Form("elu(x)", _less(X < 0, exp(X) - 1, X)),
    Form("celu(x, 3)", _less(X < 0, 3 * (exp(X / 3) - 1), X)),
    Form(
        "selu(x)",
        _exact(SELU[0]) * _less(X < 0, _exact(SELU[1]) * (exp(X) - 1), X),
    ),
    Form("leaky_relu(x, 1/4)", _less(X < 0, X / 4, X)),
    Form("softsign(x)", _less(X < 0, X / (1 - X), X / (1 + X))),
    Form("mish(x)", X * sympy.tanh(log(1 + exp(X)))),
    Form("logit(x)", log(X / (1 - X)), low=1e-300, high=1, extra=near(0.5, 1)),
    Form(
        "clip(x, -2, 3)",
        Piecewise((-2 + 0 * X, X < -2), (X, X < 3), (3 + 0 * X, True)),
        extra=near(-2, 3),
        kinks=(X + 2, X - 3),
    ),
    Form(
        "huber(x, 2)",
        _less(Abs(X) <= 2, X**2 / 2, 2 * (_less(X < 0, -X, X) - 1)),
        extra=near(-2, 2),
    ),
    positive("xlogy(x, x)", X * log(X)),
    positive("x*log(x)", X * log(X)),
)

TWO = (
    Form("hypot(x, y)", sqrt(X**2 + Y**2)),
    Form("atan2(x, y)", sympy.atan2(X, Y), sizes=(1e-150, 1e150), why=SQUARES),
    Form("logaddexp(x, y)", log(exp(X) + exp(Y))),
    Form("maximum(x, y)", _less(X < Y, Y, X), kinks=(X - Y,)),
    Form("minimum(x, y)", _less(X < Y, X, Y), kinks=(X - Y,)),
    Form("pow(x, y)", X**Y, low=0, sizes=(1e-150, 1e150), why=SQUARES),
    Form("xlogy(x, y)", X * log(Y), low=0, sizes=(1e-150, 1e150), why=SQUARES),
    Form(
        "betaln(x, y)",
        sympy.loggamma(X) + sympy.loggamma(Y) - sympy.loggamma(X + Y),
        low=0,
        sizes=(1e-150, 1e150),
        least=1e-3,
        why=GAMMA,
    ),
    Form("glu(x, y)", X / (1 + exp(-Y)), low=-300, high=300),
)

MEAN = (X + Y + Z) / 3
SUM_EXP = exp(X) + exp(Y) + exp(Z)


def length(text: str) -> Form:
    """The Euclidean length, which divides."""
    exact = sqrt(X**2 + Y**2 + Z**2)
    sizes = (1e-307, LARGEST)
    return Form(text, exact, vector=True, sizes=sizes, whole=True, why=INVERSE)


def share(text: str, exact: Expr) -> Form:
    """A function whose derivatives are made of shares that sum to 1."""
    return Form(text, exact, vector=True, least=1.0, why=SHARES)


VECTOR = (
    length("norm(x)"),
    length("sqrt(sum(x**2))"),
    Form("norm(x, 1)", sum(_less(v < 0, -v, v) for v in VARIABLES), vector=True),
    Form("sum(x)", X + Y + Z, vector=True),
    Form("mean(x)", MEAN, vector=True),
    Form("var(x)", sum((v - MEAN) ** 2 for v in VARIABLES) / 3, vector=True),
    Form("prod(x)", X * Y * Z, vector=True, sizes=(1e-100, 1e100), why=PARTIAL),
    Form(
        "max(x)",
        Piecewise((X, (X > Y) & (X > Z)), (Y, Y > Z), (Z, True)),
        vector=True,
        kinks=(X - Y, Y - Z, X - Z),
    ),
    share("logsumexp(x)", log(SUM_EXP)),
    share("softmax(x)[0]", exp(X) / SUM_EXP),
    share("log_softmax(x)[0]", X - log(SUM_EXP)),
)

FORMS = (*ONE, *TWO, *VECTOR)

QUICK = (1e-200, 0.3, 40.0, LARGEST)
PAIRS = (1e-300, 1e-150, 1e-8, 0.7, 30.0, 1e3, 1e150, 1e300)
TRIPLES = (1e-300, 1e-90, 1e-3, 3.0, 1e90, 1e300)


def points(form: Form, fine: bool) -> Points:
    """Where a form is judged: one row for each argument."""
    match len(form.variables):
        case 1:
            sizes = np.array(QUICK)
            if fine:
                lines = np.linspace(0, 1000, 11)[1:], np.linspace(0, 30, 25)[1:]
                edges = [5e-324, 1e-155, 1e155, LARGEST]
                sizes = np.concatenate([np.logspace(-300, 300, 31), *lines, edges])
            extra = form.extra[:: 1 if fine else 6]
            grid = np.unique([*sizes, *-sizes, *extra])[None]
        case 2:
            grid = _pairs(PAIRS if fine else PAIRS[1::4], 2)
        case _:
            grid = _pairs(TRIPLES[:: 1 if fine else 2], 3)
            grid = grid[:, :: 7 if fine else 19]
    low, high = form.sizes
    inside = (grid >= form.low) & (grid <= form.high)
    inside &= ((abs(grid) >= low) & (abs(grid) <= high)) | (grid == 0)
    return grid[:, inside.all(axis=0)]


def _pairs(steps: tuple[float, ...], arity: int) -> Points:
    """Every combination of the steps with either sign, and not quite the same."""
    rows = [
        [sign * step * (1 + 0.1 * k * (n % 3)) for n, step in enumerate(steps)]
        for k, sign in product(range(arity), (1, -1))
    ]
    sides = [rows[2 * k] + rows[2 * k + 1] for k in range(arity)]
    return np.array(list(product(*sides))).T


__all__ = ["FORMS", "Form", "points"]

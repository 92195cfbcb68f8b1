"""Every row of the table of functions: derivatives against SymPy and differences."""

import mpmath
import numpy as np
import pytest
import sympy

from tensorgen.ir.dims import Dim
from tensorgen.ir.graph import Graph
from tensorgen.operators.elementwise import ELEMENTWISE
from tensorgen.operators.references.rows import FUNCTIONS, OPERATORS
from tensorgen.operators.scalar import evaluate as scalar
from tensorgen.operators.scalar import ref
from tensorgen.operators.stable import StableForms
from tensorgen.verify.exact_functions import functions
from tensorgen.verify.interpret import evaluate
from tests.accuracy.forms import QUANTILE, X, Y, ncdf
from tests.operators.helpers.test_helper_table import helper

pytestmark = pytest.mark.thorough

LOGISTIC = 1 / (1 + sympy.exp(-X))
BELL = sympy.exp(-(X**2) / 2)
NORMAL = ncdf(X)
MILLS = BELL / sympy.sqrt(2 * sympy.pi) / NORMAL

# The functions as SymPy knows them: written here, apart from the table.
FORMS = {
    "exp": sympy.exp(X),
    "expm1": sympy.exp(X) - 1,
    "log": sympy.log(X),
    "log1p": sympy.log(1 + X),
    "log1mexp": sympy.log(1 - sympy.exp(X)),
    "rexpm1": 1 / (sympy.exp(X) - 1),
    "csch": 1 / sympy.sinh(X),
    "log_icloglog": sympy.log(1 - sympy.exp(-sympy.exp(X))),
    "log_cosh": sympy.log(sympy.cosh(X)),
    "finite_exp": sympy.exp(X),
    "low_exp": sympy.exp(X),
    "large_exp": sympy.exp(X),
    "acosh1p": sympy.acosh(1 + X),
    "log2": sympy.log(X) / sympy.log(2),
    "log10": sympy.log(X) / sympy.log(10),
    "sqrt": sympy.sqrt(X),
    "cbrt": X ** sympy.Rational(1, 3),
    "pow": X**Y,
    "power_slope": Y * X ** (Y - 1),
    "power_curve": Y * (Y - 1) * X ** (Y - 2),
    "xlog_ratio": X * sympy.log(X / Y),
    "exprel": (sympy.exp(X) - 1) / X,
    "xlogx": X * sympy.log(X),
    "xlogy": X * sympy.log(Y),
    "sin": sympy.sin(X),
    "cos": sympy.cos(X),
    "tan": sympy.tan(X),
    "asin": sympy.asin(X),
    "acos": sympy.acos(X),
    "atan": sympy.atan(X),
    "one_minus_square": 1 - X**2,
    "atan_slope": 1 / (1 + X**2),
    "tilt": X / (1 + X**2),
    "atan2": sympy.atan2(X, Y),
    "sinh": sympy.sinh(X),
    "cosh": sympy.cosh(X),
    "tanh": sympy.tanh(X),
    "sech2": 1 / sympy.cosh(X) ** 2,
    "asinh": sympy.asinh(X),
    "acosh": sympy.acosh(X),
    "atanh": sympy.atanh(X),
    "sigmoid": LOGISTIC,
    "sigmoid_slope": LOGISTIC * (1 - LOGISTIC),
    "softplus": sympy.log(1 + sympy.exp(X)),
    "log_sigmoid": -sympy.log(1 + sympy.exp(-X)),
    "logaddexp": sympy.log(sympy.exp(X) + sympy.exp(Y)),
    "hypot": sympy.sqrt(X**2 + Y**2),
    "cosine": X / sympy.sqrt(X**2 + Y**2),
    "rhypot": 1 / sympy.sqrt(X**2 + Y**2),
    "inverse": 1 / X,
    "abs": sympy.Abs(X),
    "erf": sympy.erf(X),
    "erfc": sympy.erfc(X),
    "gauss": sympy.exp(-(X**2)),
    "bell": BELL,
    "ndtr": NORMAL,
    "log_ndtr": sympy.log(NORMAL),
    "inverse_mills": MILLS,
    "mills_fall": MILLS * (X + MILLS),
    "mills_gap": X + MILLS,
    "mills_variance": 1 - MILLS * (X + MILLS),
    "ndtri": QUANTILE,
    "ndtri_slope": sympy.sqrt(2 * sympy.pi) * sympy.exp(QUANTILE**2 / 2),
    "lgamma": sympy.loggamma(X),
    "digamma": sympy.digamma(X),
    "betaln": sympy.loggamma(X) + sympy.loggamma(Y) - sympy.loggamma(X + Y),
    "gammainc": sympy.lowergamma(X, Y) / sympy.gamma(X),
    "lrising": sympy.loggamma(X + Y) - sympy.loggamma(X),
    "i0": sympy.besseli(0, X),
    "i1": sympy.besseli(1, X),
    "log_i0": sympy.log(sympy.besseli(0, X)),
    "bessel_ratio": sympy.besseli(1, X) / sympy.besseli(0, X),
    "i0e": sympy.exp(-sympy.Abs(X)) * sympy.besseli(0, X),
    "i1e": sympy.exp(-sympy.Abs(X)) * sympy.besseli(1, X),
}
# Piecewise constant, piecewise linear or of integer order: tested in other ways.
OTHERS = {
    "sign",
    "relu",
    "maximum",
    "minimum",
    "fmax",
    "fmin",
    "clamp",
    "step",
    "floor",
    "round",
    "mod",
    "floor_divide",
    "level",
    "where",
    "polygamma",
    "polygamma_gap",
    "i0e_moment",
    "i0_moment",
    "exprel_moment",
    "log_ndtr_between",
    "between_slope",
    "between_rise",
    *("gap", "stated_gap", "nonzero", "finite"),
    "between_bend",
    "between_twist",
    "between_fall",
    "betainc",
    "logical_and",
    "logical_or",
    "logical_not",
    "less",
    "less_equal",
    "greater",
    "greater_equal",
    "equal",
    "not_equal",
}
SECOND = 1.3  # the second argument of binary functions


def test_every_row_is_tested() -> None:
    assert set(FORMS) | OTHERS == set(ELEMENTWISE)
    assert not set(FORMS) & OTHERS


def derivative(name: str, argument: int, x: np.ndarray) -> np.ndarray:
    """The table's partial derivative at points, through the reference interpreter."""
    graph = Graph(StableForms())
    args = [ref(graph.input("x", [Dim.of("n")])), ref(graph.input("y", [Dim.of("n")]))]
    row = ELEMENTWISE[name]
    found = scalar(graph, row.partials[argument], args[: row.arity])
    y = np.full_like(x, SECOND)
    (value,) = evaluate(
        [found.node], {"x": x, "y": y}, FUNCTIONS, OPERATORS, {"n": len(x)}
    )
    return np.broadcast_to(value, x.shape)


@pytest.mark.parametrize("name", sorted(FORMS))
def test_the_derivative_is_that_of_sympy_at_sample_and_extreme_points(
    name: str,
) -> None:
    row = ELEMENTWISE[name]
    points = [p for p in row.sample + row.extreme if name != "abs" or p]
    for argument, symbol in enumerate((X, Y)[: row.arity]):
        if not row.partials[argument]:
            continue
        exact = sympy.diff(FORMS[name], symbol)
        with mpmath.workdps(900):
            evaluated = sympy.lambdify((X, Y), exact, "mpmath")
            expected = [
                float(mpmath.re(evaluated(mpmath.mpf(p), mpmath.mpf(SECOND))))
                for p in points
            ]
        with np.errstate(all="ignore"):
            got = derivative(name, argument, np.array(points))
        # Relative: no digits may be lost where the derivative is tiny.
        np.testing.assert_allclose(got, expected, rtol=2e-12, atol=1e-300)


@pytest.mark.parametrize(
    ("name", "argument", "point", "expected"),
    [
        ("relu", 0, 0.0, 0.0),
        ("relu", 0, 2.0, 1.0),
        ("abs", 0, 0.0, 0.0),
        ("sign", 0, 2.0, 0.0),
        ("maximum", 0, SECOND, 0.5),
        ("maximum", 1, SECOND, 0.5),
        ("maximum", 0, 2.0, 1.0),
        ("minimum", 0, 2.0, 0.0),
        ("minimum", 1, 2.0, 1.0),
        ("step", 0, 2.0, 0.0),
        ("floor", 0, 2.5, 0.0),
        ("level", 0, 2.0, 0.0),
    ],
)
def test_kinks_follow_the_conventions(
    name: str, argument: int, point: float, expected: float
) -> None:
    assert derivative(name, argument, np.array([point]))[0] == expected


@pytest.mark.parametrize(
    "name",
    [
        "relu",
        "maximum",
        "minimum",
        "step",
        "floor",
        "round",
        "mod",
        "sign",
        "less",
        "equal",
    ],
)
def test_the_derivative_between_kinks_is_the_slope(name: str) -> None:
    x = np.array([-1.7, -0.4, 0.3, 0.8, 1.9])
    y = np.full_like(x, SECOND)
    for argument in range(ELEMENTWISE[name].arity):
        sides = []
        for step in (1e-6, -1e-6):
            moved = [x + step, y] if argument == 0 else [x, y + step]
            sides.append(FUNCTIONS[name](*moved[: ELEMENTWISE[name].arity]))
        slope = (np.asarray(sides[0], float) - np.asarray(sides[1], float)) / 2e-6
        np.testing.assert_allclose(derivative(name, argument, x), slope, atol=1e-9)


def test_conditions_have_no_slope() -> None:
    rows = [row for row in ELEMENTWISE.values() if row.boolean]
    assert rows and all(set(row.partials) == {"0"} for row in rows)


@pytest.mark.parametrize(
    ("argument", "expected"), [(0, [0, 0]), (1, [1, 0]), (2, [0, 1])]
)
def test_a_choice_has_the_slope_of_the_side_that_it_takes(
    argument: int, expected: list[float]
) -> None:
    graph = Graph(StableForms())
    args = [ref(graph.input(name, [Dim.of("n")])) for name in "xyz"]
    found = scalar(graph, ELEMENTWISE["where"].partials[argument], args)
    given = {"x": np.array([1.0, 0.0]), "y": np.ones(2), "z": np.ones(2)}
    (slope,) = evaluate([found.node], given, FUNCTIONS, OPERATORS, {"n": 2})
    np.testing.assert_array_equal(np.broadcast_to(slope, 2), expected)


def test_the_derivative_of_a_polygamma_function_is_the_next() -> None:
    orders = np.array([0.0, 1.0, 2.0])
    expected = [float(mpmath.psi(int(n) + 1, SECOND)) for n in orders]
    np.testing.assert_allclose(derivative("polygamma", 1, orders), expected, 1e-12)


SIZES = (1e-150, 1e-8, 0.3, 2.0, 9.0, 50.0, 1e8, 1e150)


@pytest.mark.parametrize("n", [0, 1, 2])
def test_differences_of_polygamma_functions_keep_their_digits(n: int) -> None:
    x, y = map(np.ravel, np.meshgrid(SIZES, SIZES))
    with mpmath.workdps(700):
        pairs = [(mpmath.mpf(a), mpmath.mpf(b)) for a, b in zip(x, y, strict=True)]
        true = [mpmath.psi(n, a + b) - mpmath.psi(n, a) for a, b in pairs]
    inside = np.array([1e-300 < abs(t) < 1e300 for t in true])
    with np.errstate(all="ignore"):
        found = helper("_polygamma_gap")(n, x, y)[inside]
    expected = np.array(true)[inside].astype(float)
    np.testing.assert_allclose(found, expected, rtol=1e-14)


@pytest.mark.parametrize("n", [0, 1, 2, 3])
def test_moments_over_a_circle_keep_their_digits(n: int) -> None:
    x = np.array([0.0, 0.1, 1.0, -7.0, 29.9, 30.1, -35.0, 100.0, 1e6, 1e20])
    half = mpmath.mpf(1) / 2
    with mpmath.workdps(60):
        scale = mpmath.mpf(2) ** n * mpmath.gamma(n + half) / mpmath.sqrt(mpmath.pi)
        true = [mpmath.hyp1f1(n + half, n + 1, -2 * abs(mpmath.mpf(t))) for t in x]
        expected = [float(scale * t / mpmath.factorial(n)) for t in true]
    np.testing.assert_allclose(helper("_i0e_moment")(n, x), expected, rtol=1e-14)


def test_the_slope_of_an_incomplete_beta_function_is_the_density() -> None:
    graph = Graph(StableForms())
    args = [ref(graph.input(name, [Dim.of("n")])) for name in "xyz"]
    found = scalar(graph, ELEMENTWISE["betainc"].partials[2], args)
    given = {"x": np.array([0.4, 3.0]), "y": np.array([2.5, 0.7])}
    given["z"] = np.array([0.1, 0.8])
    (slope,) = evaluate([found.node], given, FUNCTIONS, OPERATORS, {"n": 2})
    density = [
        x ** (a - 1) * (1 - x) ** (b - 1) / float(mpmath.beta(a, b))
        for a, b, x in zip(*given.values(), strict=True)
    ]
    np.testing.assert_allclose(slope, density, rtol=1e-13)


def test_differences_of_lgamma_keep_their_digits() -> None:
    x, y = map(np.ravel, np.meshgrid(SIZES, (*SIZES, -1e-160)))
    with mpmath.workdps(700):
        pairs = [(mpmath.mpf(a), mpmath.mpf(b)) for a, b in zip(x, y, strict=True)]
        true = [mpmath.loggamma(a + b) - mpmath.loggamma(a) for a, b in pairs]
    inside = np.array([1e-300 < abs(t) < 1e300 for t in true])
    with np.errstate(all="ignore"):
        found = helper("_lrising")(x, y)[inside]
    expected = np.array(true)[inside].astype(float)
    np.testing.assert_allclose(found, expected, rtol=2e-14)


@pytest.mark.parametrize("n", [0, 1, 2, 5])
def test_moments_of_exponentials_keep_their_digits(n: int) -> None:
    x = np.array([0.0, 1e-9, 0.1, -7.0, 29.9, 30.1, -29.9, -30.1, 600.0, -1e6])
    with mpmath.workdps(400):
        true = [mpmath.hyp1f1(n + 1, n + 2, mpmath.mpf(t)) / (n + 1) for t in x]
        circle = [
            mpmath.fsum(
                c**n * mpmath.exp(mpmath.mpf(t) * c) / 400
                for c in (mpmath.cos(mpmath.pi * (k + 0.5) / 400) for k in range(400))
            )
            for t in x[:-1]
        ]
    expected = np.array(true).astype(float)
    np.testing.assert_allclose(helper("_exprel_moment")(n, x), expected, rtol=2e-14)
    expected = np.array(circle).astype(float)
    np.testing.assert_allclose(
        helper("_i0_moment")(n, x[:-1]), expected, rtol=2e-14, atol=1e-16
    )


ENDS = [
    *((1.0, -1.0), (1.0, 0.5), (1e-6, 0.0), (1 + 2**-20, 1.0), (-3.0, -4.0)),
    *((-40.0, -40.5), (-40.0, -45.0), (40.0, 38.0), (8.0, -3.0), (20.0, -20.5)),
    *((4.5, -4.4), (-6.0, -14.1), (1e3, 999.99), (1e3, 999.0), (5.0, -300.0)),
    *((np.inf, 0.5), (np.inf, -40.0), (-0.5, -np.inf), (41.0, -np.inf)),
]


@pytest.mark.parametrize(("a", "b"), ENDS)
def test_what_is_normal_between_two_numbers_keeps_its_digits(
    a: float, b: float
) -> None:
    exact = functions()
    for name in ELEMENTWISE:
        if "between" not in name:
            continue
        with mpmath.workdps(900):
            ends = [mpmath.mpf(min(max(x, -999.0), 999.0)) for x in (a, b)]
            if np.isfinite([a, b]).all():
                ends = [mpmath.mpf(a), mpmath.mpf(b)]
            value = exact[name](*ends, ends[0] - ends[1])
            true = float(np.asarray(value, dtype=object).item())
        with np.errstate(all="raise", under="ignore"):
            found = helper(f"_{name}")(a, b, a - b)
        # Of a narrow interval, 1 / width**2 cancels: 4e4 in 46 between 999.99 and 1000.
        rtol = 5e-13 if name == "between_fall" else 2e-13
        np.testing.assert_allclose(found, true, rtol=rtol, atol=1e-300, err_msg=name)

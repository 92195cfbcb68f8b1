"""Definitions by steps, against loops written by hand and complex steps of these."""

from __future__ import annotations

import re
from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import tensorgen
from tensorgen.calculus.requests import Mode
from tensorgen.errors import SpecError
from tests.device.library import execute, stand_in
from tests.made import source
from tests.recurrence_cases import CASES, Case, given
from tests.sampled import sampled

Array = Any


def slope(loop: Callable[..., Array], values: dict[str, Array], name: str) -> Array:
    """The derivative of a loop by an argument, by complex steps."""
    found = np.zeros(values[name].shape)
    for at in np.ndindex(found.shape):
        stepped = np.array(values[name], complex)
        stepped[at] += 1e-30j
        found[at] = np.imag(loop(**{**values, name: stepped})) / 1e-30
    return found


@pytest.fixture(scope="module", params=sampled(CASES, 3), ids=lambda case: case.name)
def made(request: pytest.FixtureRequest) -> tuple[Case, ModuleType]:
    return request.param, execute(tensorgen.generate(request.param.text))


def parts(result: Any) -> list[Array]:
    return list(result) if isinstance(result, tuple) else [result]


def test_steps_are_what_loops_are(made: tuple[Case, ModuleType]) -> None:
    case, module = made
    values = given(case)
    assert module.fun(**values) == pytest.approx(case.loop(**values), rel=1e-12)
    for name, got in zip(case.wrt, parts(module.fun_grad(**values)), strict=True):
        want = slope(case.loop, values, name)
        np.testing.assert_allclose(got, want, 1e-10, 1e-11)


# What reads entries that few steps do not make says so.
LEAST = {"entry": 2, **dict.fromkeys(("arma", "stated", "forward"), 1)}
LEAST |= {"entries of which one step lacks the first": 1}
READ = "what nothing but the steps reads"
LEAST |= {READ: 1, f"{READ}, of the step before too": 2}
LEAST |= {"forward_arrays": 1, **dict.fromkeys(("lags", "late"), 2)}


@pytest.mark.parametrize("steps", [0, 1, 2])
def test_few_steps_or_none_are_what_loops_are(
    made: tuple[Case, ModuleType], steps: int
) -> None:
    few(*made, steps)


@pytest.mark.parametrize("mode", ["forward", "reverse"])
@pytest.mark.parametrize(
    "case",
    [x for x in CASES if x.name in ("later", "residuals", "differences", "earlier")],
    ids=lambda case: case.name,
)
def test_no_step_is_differentiated_alike_in_all_modes(case: Case, mode: Mode) -> None:
    module = execute(tensorgen.generate(case.text, mode=mode))
    for steps in (0, 1):
        few(case, module, steps)


def few(case: Case, module: ModuleType, steps: int) -> None:
    """Hold a function of few steps to its loop."""
    values = given(case, T=steps)
    if steps < LEAST.get(case.name, 0):
        with pytest.raises(ValueError, match="T"):
            module.fun_grad(**values)
        return
    assert module.fun(**values) == pytest.approx(case.loop(**values), rel=1e-12)
    for name, got in zip(case.wrt, parts(module.fun_grad(**values)), strict=True):
        want = slope(case.loop, values, name)
        np.testing.assert_allclose(got, want, 1e-10, 1e-11)
    if case.second:
        agree_twice(case, module, values)


def test_second_derivatives_are_slopes_of_the_first(
    made: tuple[Case, ModuleType],
) -> None:
    case, module = made
    if case.second:
        agree_twice(case, module, given(case))


def agree_twice(case: Case, module: ModuleType, values: dict[str, Array]) -> None:
    """Hold second derivatives to differences of the first."""
    step = 1e-5
    rng = np.random.default_rng(2)
    along = {name: rng.normal(size=values[name].shape) for name in case.wrt}

    def gradient(sign: int) -> Array:
        moved = {x: values[x] + sign * step * along[x] for x in case.wrt}
        found = parts(module.fun_grad(**{**values, **moved}))
        return np.concatenate([np.ravel(x) for x in found])

    want = (gradient(1) - gradient(-1)) / (2 * step)
    directions = {f"d{name}": along[name] for name in case.wrt}
    found = parts(module.fun_hvp(**values, **directions))
    np.testing.assert_allclose(
        np.concatenate([np.ravel(x) for x in found]), want, 1e-6, 1e-7
    )
    if not case.hessian:
        return
    hessian = module.fun_hess(**values)
    whole = np.concatenate([np.ravel(along[name]) for name in case.wrt])
    np.testing.assert_allclose(hessian @ whole, want, 1e-6, 1e-7)


WALKS = {
    "running sums": ("s[0] = phi\ns[t + 1] = s[t] + y[t]**2", "np.cumsum"),
    "running sums back": ("s[T] = phi\ns[t] = s[t + 1] + y[t]**2", "np.cumsum"),
    "products": ("s[0] = phi\ns[t + 1] = s[t]*(1 + y[t]**2)", "np.cumprod"),
    "largest": ("s[0] = phi\ns[t + 1] = maximum(s[t], y[t])", "_running_max"),
    "smallest": ("s[0] = phi\ns[t + 1] = minimum(y[t], s[t])", "_running_min"),
    "log-sum-exps": (
        "s[0] = phi\ns[t + 1] = logaddexp(s[t], y[t])",
        "_running_logsumexp",
    ),
    "filters": ("s[0] = phi\ns[t + 1] = theta*s[t] + y[t]**2", "_filtered"),
    "filters back": ("s[T] = phi\ns[t] = y[t]**2 - 2*theta*s[t + 1]", "_filtered"),
    "gains": ("s[0] = phi\ns[t + 1] = y[t]*(s[t] - theta) + y[t]**2", "_filtered_by"),
    "gains back": ("s[T] = phi\ns[t] = y[t]*(s[t + 1] + y[t])", "_filtered_by"),
}


def walked(name: str, phi: float, theta: float, y: Array) -> Array:
    """The steps of a walk, one after the other."""
    steps: dict[str, Callable[[Array, Array], Array]] = {
        "running sums": lambda s, x: s + x**2,
        "products": lambda s, x: s * (1 + x**2),
        "largest": max,
        "smallest": min,
        "log-sum-exps": np.logaddexp,
        "filters": lambda s, x: (-2 * theta if "back" in name else theta) * s + x**2,
        "gains": lambda s, x: x * (s + ("back" not in name) * -theta) + x**2,
    }
    step, found = steps[name.removesuffix(" back")], [phi]
    for x in y[::-1] if "back" in name else y:
        found.append(step(found[-1], x))
    return np.array(found[::-1] if "back" in name else found)


@pytest.mark.parametrize("name", WALKS)
@pytest.mark.parametrize("backend", ["numpy", "cupy"])
def test_what_the_library_walks_through_is_no_loop(name: str, backend: str) -> None:
    where, call = WALKS[name]
    case = Case(name, where, "sum(s**2)", ("phi", "y"), walked, second=False)
    text = tensorgen.generate(case.text, backend)
    code = source(text, "fun")
    assert "for t in" not in code and call.replace("np.", "") in code
    values = given(case)
    theta = float(values.get("theta", 0.0))
    phi, y, step = float(values["phi"]), values["y"], 1e-6
    with stand_in() as cupy:
        module = execute(text)
        if backend == "cupy":
            values = {key: cupy.asarray(x) for key, x in values.items()}
        value, slopes = float(module.fun(**values)), module.fun_grad(**values)
        slope = float(slopes.y.sum())
    want = walked(name, phi, theta, y)
    assert value == pytest.approx((want**2).sum(), rel=1e-12)
    moved = (walked(name, phi, theta, y + sign * step) for sign in (1, -1))
    ahead, behind = ((found**2).sum() for found in moved)
    assert slope == pytest.approx((ahead - behind) / (2 * step), rel=1e-6)


@pytest.mark.parametrize("case", CASES[:8], ids=lambda case: case.name)
def test_the_other_library_steps_alike(case: Case) -> None:
    values = given(case)
    with stand_in() as cupy:
        text = re.sub(r"emit: .*", "emit: [value]", case.text)
        module = execute(tensorgen.generate(text, backend="cupy"))
        arrays = {name: cupy.asarray(x) for name, x in values.items()}
        value = float(module.fun(**arrays))
    assert value == pytest.approx(case.loop(**values), rel=1e-12)


def differences(f: Callable[[Array], Array], x: Array) -> Array:
    """The slope of a number by central differences."""
    found = np.zeros(x.shape)
    for at in np.ndindex(x.shape):
        ahead, behind = x.copy(), x.copy()
        ahead[at] += 1e-6
        behind[at] -= 1e-6
        found[at] = (f(ahead) - f(behind)) / 2e-6
    return found


PLACES = """
tensorgen: 1
inputs: {S: [K, K], lab: {shape: [T], index: K}, c: [K], y: [T]}
functions:
  f:
    where: |
      a[0] = c
      a[t + 1] = a[t]*y[t] + a[t, lab[t]]*S[lab[t]]
    expr: sum(a[T])
    wrt: [S, c]
    emit: [value, gradient, hvp]
"""


def test_steps_read_states_where_index_arrays_say() -> None:
    module, rng = execute(tensorgen.generate(PLACES)), np.random.default_rng(0)
    S, c, y = (rng.normal(size=shape) for shape in ((3, 3), 3, 5))
    lab = rng.integers(0, 3, 5)

    def loop(S: Array, c: Array) -> Array:
        a = c
        for t in range(5):
            a = a * y[t] + a[lab[t]] * S[lab[t]]
        return a.sum()

    given = {"S": S, "lab": lab, "c": c, "y": y}
    assert module.f(**given) == pytest.approx(loop(S, c), rel=1e-12)
    slopes = module.f_grad(**given)
    want = differences(lambda x: loop(x, c), S)
    np.testing.assert_allclose(slopes.S, want, 1e-7, 1e-8)
    np.testing.assert_allclose(slopes.c, differences(lambda x: loop(S, x), c), 1e-7)


EXCLUDED = """
tensorgen: 1
inputs: {A: [n, n], u: [T, n], x0: [n], y: [T, n], mask: [T]}
functions:
  f:
    where: |
      x[0] = x0
      x[t + 1] = A @ x[t] + where(mask[t] > 0, u[t], 0)
    expr: sum(where(mask[t] > 0, norm(y[t] - x[t])**2, 0), t)
    wrt: [A, x0]
    emit: [value, gradient, hvp]
"""


def test_what_is_left_out_of_steps_does_not_exist() -> None:
    module, rng = execute(tensorgen.generate(EXCLUDED)), np.random.default_rng(0)
    A, u, x0, y = (rng.normal(size=s) / 2 for s in ((3, 3), (6, 3), 3, (6, 3)))
    mask = np.array([1.0, 0, 1, 1, 0, 1])
    u[mask == 0] = y[mask == 0] = np.nan

    def loop(A: Array, x0: Array) -> Array:
        x, total = x0, 0.0
        for t in np.arange(6):
            if mask[t]:
                total += ((y[t] - x) ** 2).sum()
            x = A @ x + (u[t] if mask[t] else 0)
        return total

    given = {"A": A, "u": u, "x0": x0, "y": y, "mask": mask}
    assert module.f(**given) == pytest.approx(loop(A, x0), rel=1e-12)
    slopes = module.f_grad(**given)
    want = differences(lambda x: loop(x, x0), A)
    np.testing.assert_allclose(slopes.A, want, 1e-6, 1e-7)
    np.testing.assert_allclose(slopes.x0, differences(lambda x: loop(A, x), x0), 1e-6)
    twice = module.f_hvp(**given, dA=np.ones((3, 3)), dx0=np.ones(3))
    assert all(np.isfinite(part).all() for part in twice)


TREE = """
tensorgen: 1
dims: [N]
inputs: {K: scalar, u: scalar, p: scalar}
functions:
  price:
    where: |
      V[N, j=range(N + 1)] = relu(K - u**(2*j - N))
      now[t=range(N + 1), j=range(N + 1)] = K - u**(2*j - t)
      V[t - 1, j] = where(j < N, maximum(p*V[t, j + 1] + V[t, j]/3, now[t - 1, j]), 0)
    expr: V[0, 0]
    wrt: [u, p]
"""


def test_steps_have_as_many_entries_as_the_first_where_nothing_says_it() -> None:
    module = execute(tensorgen.generate(TREE))

    def price(u: Array, p: Array) -> Array:
        V = np.maximum(1.02 - u ** (2 * np.arange(8.0) - 7), 0)
        for t in range(7, 0, -1):
            now = 1.02 - u ** (2.0 * np.arange(t) - t + 1)
            V = np.maximum(p * V[1:] + V[:-1] / 3, now)
        return V[0]

    assert module.price(K=1.02, u=1.1, p=0.6, N=7) == pytest.approx(price(1.1, 0.6))
    slopes = module.price_grad(K=1.02, u=1.1, p=0.6, N=7)
    h = 1e-6
    u = (price(1.1 + h, 0.6) - price(1.1 - h, 0.6)) / (2 * h)
    p = (price(1.1, 0.6 + h) - price(1.1, 0.6 - h)) / (2 * h)
    np.testing.assert_allclose(slopes, (u, p), 1e-7)


FAULTS = {
    "e[t] = y[t] - phi*e[t - 1]": "the first entry of 'e' has to be given",
    "h = h + y": "'h' is defined by itself",
    "x[0] = x0\nx[t + 1] = A @ x[t]": "nothing determines how far 't' goes",
    "x[0] = x0\nx[t + 1] = A @ x[t + 2] + u[t]": "computed by a later step",
    "x[0] = x0\nx[t + 1] = A @ x + u[t]": "no whole array here",
    "x[0] = 0\nx[t + 1] = x[t] + u[t]": "has the shape (n,), but entry 0 has ()",
    "x[0] = x0": "there are first entries alone",
    "x[1] = x0\nx[t + 1] = x[t] + u[t]": "first entries of 'x' begin at 0",
    "x[0] = x0\nx[2*t] = x[t] + u[t]": "'2*t' is no position of an entry",
    "x[0] = x0\nx[t + 1] = x[t]\nx[t + 2] = x[t]": "'x' has two steps",
    "p[0] = x0\nq[0] = x0\np[t + 1] = q[t + 1] + u[t]\nq[t + 1] = p[t + 1]": (
        "entries of one step need each other"
    ),
    "x[0] = x0\nx[t + 1] = x[t] + u[t]\nx[3] = x0": "first entries of 'x' begin at 0",
    "x[0] = x0\nx[t + 1] = x[5] + u[t]": "is computed by a step",
    "x[0] = x0\nx[t=range(1, T)] = x[t - 1] + u[t + 1]": "u[t + 1]",
    "x[0] = x0\nx[t + 1] = (x[t]*y)[t] + u[t]": "shapes do not match",
    "x[0] = x0\nx[t + 1, 0] = x[t, 1]\nx[t + 1, 1] = x[t, 0]": (
        "hint: entries of one step are a list, and nothing determines how far 't' "
        "goes: x[t=range(1, T)] = [..., ...] of x[t - 1]"
    ),
    "x[0] = x0\nx[t + 1, 0] = x[t, 1]\nx[t + 1, 1] = u[t, 0]": (
        "hint: entries of one step are a list: x[t + 1] = [..., ...]"
    ),
    "v[T, j=range(T + 1)] = j\nv[t - 1, j] = (v[t, j] + v[t, j + 1])/2": (
        "hint: what each step computes has T + 1 entries: where(j < T, ..., 0)"
    ),
    "x[0] = x0\nk[t] = A @ x[t]\nx[t=range(T) + 1] = x[t] + k[t]": (
        "hint: x[t + 1] = ..., and another line determines how far: k[t=range(T)] = ..."
    ),
    "x[0] = x0\nx[t=range(T) + 1] = A @ x[t]": (
        "hint: of entries t + 1 the range is that of all: x[t=range(1, T + 1)] = ..."
    ),
}


@pytest.mark.parametrize("lines", FAULTS)
def test_what_is_no_recurrence_is_reported(lines: str) -> None:
    where = lines.replace("\n", "\n      ")
    text = (
        "tensorgen: 1\ninputs: {A: [n, n], u: [T, n], x0: [n], y: [T], phi: scalar}\n"
        f"functions:\n  f:\n    where: |\n      {where}\n    expr: sum(x0)\n"
    )
    with pytest.raises(SpecError) as error:
        tensorgen.generate(text)
    assert FAULTS[lines] in str(error.value)


FILE = """
tensorgen: 1
inputs: {A: [n, n], u: [T, n], x0: [n], g: [n], phi: scalar}
DEFINITIONS
functions:
  f:
WHERE
    expr: sum(x[T]**2) + sum(x) * sum(lam[0]) + p[T] * q[T] + end @ g
    wrt: [A, phi]
    emit: [value, gradient]
  end_alone: end
"""
LINES = """
end = x[T]
x[0] = x0
x[t + 1] = tanh(A @ x[t]) + half(u[t])
lam[T] = g
lam[t - 1] = A.T @ lam[t] + x[t - 1]
p[0] = x0[0]
q[0] = x0[1]
p[t + 1] = p[t] + phi*q[t]*u[t, 0]
q[t + 1] = q[t] - phi*p[t + 1]
"""


def block(key: str, lines: str, depth: int) -> str:
    inside = lines.strip().replace("\n", "\n" + " " * (depth + 2))
    return f"{' ' * depth}{key}: |\n{' ' * (depth + 2)}{inside}"


def test_steps_are_definitions_of_the_whole_file() -> None:
    half = "half(z) = z/2\n"
    shared = FILE.replace("DEFINITIONS", block("definitions", LINES + half, 0))
    below = FILE.replace("DEFINITIONS", block("definitions", half, 0))
    below = below.replace("  end_alone: end\n", "")
    # Under `where` names are visible below their lines.
    lines = LINES.replace("\nend = x[T]", "") + "end = x[T]\n"
    modules = [
        tensorgen.load(shared.replace("WHERE\n", "")),
        tensorgen.load(below.replace("WHERE", block("where", lines, 4))),
    ]
    rng = np.random.default_rng(2)
    sizes: list[tuple[int, ...]] = [(3, 3), (4, 3), (3,), (3,), ()]
    given = [rng.normal(size=shape) for shape in sizes]
    A, u, x0, *_ = given
    one, other = (module.f_grad(*given) for module in modules)
    assert modules[0].f(*given) == modules[1].f(*given)
    assert np.array_equal(one.A, other.A) and one.phi == other.phi
    x = x0
    for row in u:
        x = np.tanh(A @ x) + row / 2
    np.testing.assert_allclose(modules[0].end_alone(A, u, x0), x, 1e-12)


DEFINED = {
    "x = u\n  x[0] = x0\n  x[t + 1] = x[t] + u[t]": "'x' has two steps",
    "x[0] = x0\n  x[t + 1] = x[t]\n  x[t + 1] = u[t]": "'x' has two steps",
    "x[0] = x0": "there are first entries alone",
    "x[0] = f\n  x[t + 1] = x[t] + u[t]": "'x' is defined by itself: x -> f -> x",
    "x[0] = x0\n  x[t + 1] = y[t] + u[t]": "unknown name 'y'",
    "x[0] = x0 +\n  x[t + 1] = x[t] + u[t]": "",
    "u[0] = x0\n  u[t + 1] = u[t] + x0": "'u' is the name of an input and of",
}


@pytest.mark.parametrize("lines", DEFINED)
def test_what_is_no_step_of_the_file_is_reported(lines: str) -> None:
    text = (
        "tensorgen: 1\ninputs: {u: [T, n], x0: [n]}\ndefinitions: |\n  "
        f"{lines}\nfunctions:\n  f: sum(x)\n"
    )
    with pytest.raises(SpecError) as error:
        tensorgen.generate(text)
    assert DEFINED[lines] in str(error.value)

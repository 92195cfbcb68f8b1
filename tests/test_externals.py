"""Functions from outside: what is called, what is derived, and what is refused."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

import tensorgen
from tensorgen.cli import cli
from tensorgen.errors import SpecError
from tests.device.library import execute, stand_in

Array = Any
PACKAGE = "tensorgen_tests_outside"
OTHERS = """
import numpy as np

calls = []

def sine(x):
    calls.append("sine")
    return np.sin(x)

def cosine(x):
    return np.cos(x)

def weighted(x, y):
    return x * y**2

def applied(A, b):
    return A @ b

def pulled(A, ct):
    return A.T @ ct

def wrong_shape(x):
    return np.zeros(7)

def wrong_dtype(x):
    return np.zeros(np.shape(x), int)

def no_array(x):
    return "text"

def same(x):
    return x

def narrow(x):
    return np.asarray(x, np.float64)
"""

HEAD = f"""
tensorgen: 1
inputs: {{x: [n], w: [n], A: [m, n], s: scalar}}
definitions: |
  turned(x) = -phi(x)
external:
  phi: {{call: {PACKAGE}.sine, derivative: dphi(x)}}
  dphi: {{call: {PACKAGE}.cosine, derivative: turned(x)}}
  psi:
    call: {{numpy: {PACKAGE}.weighted, cupy: {PACKAGE}.on_device}}
    args: [x, y]
    derivative: {{x: y**2, y: 2 * x * y}}
  half: {{call: {PACKAGE}.weighted, args: [x, y], derivative: {{x: y**2}}}}
  mute: {{call: {PACKAGE}.sine, doc: Without a derivative.}}
  by_vjp:
    call: {PACKAGE}.applied
    args: {{A: [m, n], b: [n]}}
    shape: [m]
    vjp: {{A: "outer(ct, b)", b: A.T @ ct}}
  by_jvp:
    call: {PACKAGE}.applied
    args: {{A: [m, n], b: [n]}}
    shape: [m]
    jvp: dA @ b + A @ db
  by_jacobian:
    call: {PACKAGE}.applied
    args: {{A: [m, n], b: [n]}}
    shape: [m]
    derivative: {{b: A}}
  pulled: {{call: {PACKAGE}.pulled, args: {{A: [m, n], ct: [m]}}, shape: [n]}}
  through:
    call: {PACKAGE}.applied
    args: {{A: [m, n], b: [n]}}
    shape: [m]
    vjp: {{b: "pulled(A, ct)"}}
  bad_shape: {{call: {PACKAGE}.wrong_shape}}
  bad_dtype: {{call: {PACKAGE}.wrong_dtype}}
  bad_kind: {{call: {PACKAGE}.no_array}}
  same: {{call: {PACKAGE}.same}}
  narrow: {{call: {PACKAGE}.narrow}}
  lost: {{call: {PACKAGE}_gone.deep.phi}}
  gone: {{call: {PACKAGE}.nothing}}
functions:
"""

FUNCTIONS = """
  f: {expr: sum(phi(x * w)**2), wrt: x, emit: [value, gradient, hessian, hvp]}
  g: {expr: "psi(A, x)", wrt: x, emit: [value, jacobian, jvp]}
  v: {expr: "sum(by_vjp(A, phi(x))**3)", wrt: [x, A], emit: [value, gradient, hessian]}
  j: {expr: "sum(by_jvp(A, phi(x))**3)", wrt: [x, A], emit: [value, gradient, hessian]}
  k: {expr: "sum(by_jacobian(A, phi(x))**3)", wrt: x, emit: [gradient, hessian]}
  p: {expr: "sum(through(A, x)**2)", wrt: x, emit: [gradient]}
  jv: {expr: "by_vjp(A, x)", wrt: x, emit: [jvp, vjp, jacobian]}
  series: taylor(phi(x), x, w, 4)
  entries[i]: sum(psi(A[i, l], x[l]) * phi(2), l)
  steps:
    where: |
      y[0] = x
      y[t=range(1, 4)] = phi(y[t - 1]) * w
    expr: sum(y[3])
    wrt: x
  number: {expr: phi(s) * s, wrt: s, emit: [gradient]}
  odd_shape: sum(bad_shape(x))
  odd_dtype: sum(bad_dtype(x))
  odd_kind: sum(bad_kind(x))
  same_back: same(x)
  narrow_back: narrow(x)
  lost_f: lost(x)
  gone_f: gone(x)
"""


@pytest.fixture(scope="module")
def outside() -> Iterator[ModuleType]:
    """A package that modules may import."""
    module = ModuleType(PACKAGE)
    exec(OTHERS, module.__dict__)
    sys.modules[PACKAGE] = module
    yield module
    del sys.modules[PACKAGE]


@pytest.fixture(scope="module")
def made(outside: ModuleType) -> ModuleType:
    """The functions, of which nothing was called while they were made."""
    module = tensorgen.load(HEAD + FUNCTIONS, allow_external=True)
    assert outside.calls == []
    return module


@pytest.fixture
def values() -> dict[str, Array]:
    random = np.random.default_rng(5)
    shapes = {"x": (4,), "w": (4,), "A": (3, 4)}
    return {name: random.normal(size=shape) for name, shape in shapes.items()}


def test_elementwise_functions_are_differentiated_by_their_rules(
    made: ModuleType, values: dict[str, Array]
) -> None:
    x, w = values["x"], values["w"]
    np.testing.assert_allclose(made.f(x, w), (np.sin(x * w) ** 2).sum())
    np.testing.assert_allclose(made.f_grad(x, w), np.sin(2 * x * w) * w)
    hessian = made.f_hess(x, w)
    np.testing.assert_allclose(hessian.dense(), np.diag(2 * np.cos(2 * x * w) * w**2))
    assert hessian.nbytes == x.nbytes  # a diagonal, as of any elementwise function
    np.testing.assert_allclose(made.f_hvp(x, w, w), hessian @ w)
    assert made.number_grad(0.5) == pytest.approx(np.sin(0.5) + 0.5 * np.cos(0.5))


def test_several_arguments_are_broadcast(
    made: ModuleType, values: dict[str, Array]
) -> None:
    x, A = values["x"], values["A"]
    np.testing.assert_allclose(made.g(x, A), A * x**2)
    expected = np.einsum("ij,jk->ijk", 2 * A * x, np.eye(4))
    np.testing.assert_allclose(made.g_jac(x, A).dense(), expected)
    np.testing.assert_allclose(made.g_jvp(x, A, x)[1], expected @ x)
    np.testing.assert_allclose(made.entries(x, A), (A * x**2).sum(1) * np.sin(2))


@pytest.mark.parametrize("name", ["v", "j"])
def test_functions_of_arrays_have_rules_of_products(
    made: ModuleType, values: dict[str, Array], name: str
) -> None:
    x, A = values["x"], values["A"]
    value, grad = getattr(made, name), getattr(made, f"{name}_grad")(x, A)
    residual = 3 * (A @ np.sin(x)) ** 2
    np.testing.assert_allclose(value(x, A), ((A @ np.sin(x)) ** 3).sum())
    np.testing.assert_allclose(grad.x, np.cos(x) * (A.T @ residual))
    np.testing.assert_allclose(grad.A, np.outer(residual, np.sin(x)))
    hessian = getattr(made, f"{name}_hess")(x, A)
    block = hessian.blocks["x", "x"].dense()
    np.testing.assert_allclose(block, made.k_hess(x, A).dense(), atol=1e-12)
    step = 1e-6
    for k in range(4):
        moved = x + step * np.eye(4)[k]
        change = (getattr(made, f"{name}_grad")(moved, A).x - grad.x) / step
        np.testing.assert_allclose(block[k], change, rtol=1e-3, atol=1e-3)


def test_jacobians_and_products_agree(
    made: ModuleType, values: dict[str, Array]
) -> None:
    x, w, A = values["x"], values["w"], values["A"]
    np.testing.assert_allclose(made.jv_jac(x, A).dense(), A)
    np.testing.assert_allclose(made.jv_jvp(x, A, w)[1], A @ w)
    np.testing.assert_allclose(made.jv_vjp(x, A, A @ w)[1], A.T @ A @ w)
    # A rule that calls a function without derivatives serves wherever it is linear.
    np.testing.assert_allclose(made.p_grad(x, A), 2 * A.T @ A @ x)


def test_they_stand_in_series_and_steps(
    made: ModuleType, values: dict[str, Array]
) -> None:
    x, w = values["x"], values["w"]
    waves = [np.sin(x), np.cos(x), -np.sin(x) / 2, -np.cos(x) / 6, np.sin(x) / 24]
    expected = [wave * w**k for k, wave in enumerate(waves)]
    np.testing.assert_allclose(made.series(x, w), expected)
    y, slope = x, np.ones(4)
    for _ in range(3):
        y, slope = np.sin(y) * w, np.cos(y) * w * slope
    np.testing.assert_allclose(made.steps_grad(x, w), slope)


@pytest.mark.parametrize(
    ("name", "error", "message"),
    [
        (
            "odd_shape",
            ValueError,
            rf"{PACKAGE}.wrong_shape: expected shape \(4,\), got",
        ),
        (
            "odd_dtype",
            TypeError,
            rf"{PACKAGE}.wrong_dtype: expected floats, got dtype int",
        ),
        ("odd_kind", TypeError, rf"{PACKAGE}.no_array: expected an array, got str"),
        ("lost_f", ImportError, rf"No module named '{PACKAGE}_gone'"),
        ("gone_f", ImportError, r"cannot import name 'nothing'"),
    ],
)
def test_what_is_wrong_with_a_result_is_said(
    made: ModuleType, values: dict[str, Array], name: str, error: type, message: str
) -> None:
    with pytest.raises(error, match=message):
        getattr(made, name)(values["x"])


def test_results_are_of_the_common_dtype_and_nobodys_memory(
    made: ModuleType, values: dict[str, Array]
) -> None:
    x = values["x"]
    assert not np.shares_memory(made.same_back(x), x)
    assert made.narrow_back(x.astype(np.float32)).dtype == np.float32


def test_modules_say_what_they_import_and_do_so_late() -> None:
    source = tensorgen.generate(HEAD + "  f: phi(x)\n", allow_external=True)
    head, _, rest = source.partition('"""')
    assert f"Needs NumPy, {PACKAGE} alone" in " ".join(head.split())
    assert f"{PACKAGE}.sine" in head
    assert f"from {PACKAGE} import sine as _function" in rest
    assert f"\nfrom {PACKAGE}" not in rest
    assert "cosine" not in source  # which nothing needs here
    device = tensorgen.generate(HEAD + "  f: psi(x, w)\n", "cupy", allow_external=True)
    assert f"from {PACKAGE} import on_device as _function" in device


def test_devices_call_functions_of_their_own(
    outside: ModuleType, values: dict[str, Array]
) -> None:
    source = tensorgen.generate(HEAD + "  f: psi(x, w)\n", "cupy", allow_external=True)
    with stand_in() as cupy:
        vars(outside)["on_device"] = lambda x, y: cupy.multiply(x, y * y)
        module = execute(source)
        x, w = (cupy.asarray(values[name]) for name in "xw")
        expected = values["x"] * values["w"] ** 2
        np.testing.assert_allclose(cupy.asnumpy(module.f(x, w)), expected)
        vars(outside)["on_device"] = lambda x, y: np.ones(4)
        with pytest.raises(
            TypeError, match="on_device: expected an array, got ndarray"
        ):
            module.f(x, w)


@pytest.mark.parametrize("support", ["inline", "shared"])
def test_all_that_is_emitted_is_checked(tmp_path: Path, support: str) -> None:
    spec = HEAD + "  f: {expr: sum(phi(x * w)**2), wrt: x, emit: [hessian, problem]}\n"
    path = tmp_path / "waves.yaml"
    path.write_text(spec)
    given = ["--allow-external", "--support", support, "-b", "numpy", str(path)]
    told = CliRunner().invoke(cli, ["gen", *given])
    assert told.exit_code == 0
    assert "wrote" in told.output
    assert "not checked" not in told.output


def test_the_example_of_the_reference_is_a_spec() -> None:
    page = Path(__file__).resolve().parent.parent / "docs" / "language.md"
    section = page.read_text().partition("## Functions from outside")[2]
    spec = section.partition("```text\n")[2].partition("```")[0]
    source = tensorgen.generate(spec, allow_external=True)
    assert "from mypackage.special import airy_slope as _function" in source


def test_nothing_is_called_that_was_not_allowed(tmp_path: Path) -> None:
    spec = "tensorgen: 1\ninputs: {x: [n]}\nfunctions: {f: phi(x)}\n"
    spec += f"external: {{phi: {{call: {PACKAGE}.sine}}}}\n"
    for make in (tensorgen.generate, tensorgen.load):
        with pytest.raises(SpecError) as caught:
            make(spec)
        (fault,) = caught.value.diagnostics
        assert f"'phi' calls {PACKAGE}.sine" in fault.message
        assert "--allow-external" in str(fault.hint)
        assert "allow_external=True" in str(fault.hint)
    path = tmp_path / "waves.yaml"
    path.write_text(spec)
    run = CliRunner()
    assert run.invoke(cli, ["gen", str(path)], standalone_mode=False).exit_code != 0
    assert not (tmp_path / "waves_numpy.py").exists()
    told = run.invoke(cli, ["gen", "-q", "--allow-external", str(path)])
    assert told.exit_code == 0
    (tmp_path / "waves_numpy.py").unlink()
    (tmp_path / "pyproject.toml").write_text(
        "[tool.tensorgen]\nallow-external = true\n"
    )
    assert run.invoke(cli, ["gen", "-q", str(path)]).exit_code == 0
    assert (tmp_path / "waves_numpy.py").exists()
    (tmp_path / "pyproject.toml").write_text("[tool.tensorgen]\nallow-external = 1\n")
    assert run.invoke(cli, ["gen", "-q", str(path)]).exit_code != 0


def test_only_what_is_differentiated_by_needs_a_rule(
    made: ModuleType, values: dict[str, Array]
) -> None:
    spec = HEAD + "  f: {expr: 'sum(half(x, w))', wrt: x, emit: [gradient]}\n"
    module = tensorgen.load(spec, allow_external=True)
    x, w = values["x"], values["w"]
    np.testing.assert_allclose(module.f_grad(x, w), w**2)
    with pytest.raises(SpecError, match="'half' has no derivative by its argument 'y'"):
        tensorgen.generate(spec.replace("wrt: x", "wrt: w"), allow_external=True)

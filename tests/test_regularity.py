"""What is singular is refused, whatever cancels and at whatever scale."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import numpy as np
import pytest

from tests import made
from tests.solving_specs import SPEC, WAYS, hessians, inputs

MATRICES = "dMOABCDPQw"


@pytest.fixture(scope="module")
def solving() -> ModuleType:
    return made.load(SPEC)


@pytest.mark.parametrize("edges", [1, 5, 50])
def test_springs_from_a_node_to_itself_hold_nothing(
    solving: ModuleType, edges: int
) -> None:
    ends, w = np.zeros(edges, int), np.random.default_rng(0).random(edges)
    hessian = solving.springs_hess(np.zeros(1), a=ends, b=ends, w=w)
    with pytest.raises(np.linalg.LinAlgError):
        hessian.solve(np.ones(1))
    assert np.allclose(hessian.solve(np.ones(1), shift=2.0), 0.5)


@pytest.mark.parametrize("name", WAYS)
def test_a_shift_that_cancels_the_hessian_is_refused(
    solving: ModuleType, name: str
) -> None:
    hessian = hessians(solving, inputs(), [name])[name]
    values = np.linalg.eigvalsh(hessian.matrix)
    for shift in (-values[0], -values[len(values) // 2], -values[-1]):
        # Beside an eigenvalue a solution may be large, but it must be one.
        b = np.ones(len(values))
        try:
            x = hessian.solve(b, shift)
        except np.linalg.LinAlgError:
            continue
        residual = abs(hessian @ x + shift * x - b).max()
        assert residual <= 1e-10 * abs(values).max() * abs(x).max()


@pytest.mark.parametrize("number", [0.1, 1.0, 1e200])
def test_one_number_and_the_shift_that_cancels_it(
    solving: ModuleType, number: float
) -> None:
    x, third = np.zeros(1), np.array([number / 3])
    for name, given in (
        ("diagonal", {"x": x, "d": third}),
        ("dense", {"x": x, "M": np.sqrt(third)[:, None]}),
    ):
        hessian = vars(solving)[f"{name}_hess"](**given)
        nearly = float(np.nextafter(-hessian.diagonal()[0], 0))
        with pytest.raises(np.linalg.LinAlgError):
            hessian.solve(x, nearly)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("scale", [1e-200, 1e-150, 1e-100, 1e100, 1e150, 1e200])
@pytest.mark.parametrize("name", WAYS)
def test_any_scale_is_solved_with_or_refused(
    solving: ModuleType, name: str, scale: float
) -> None:
    given = inputs()
    own = [x for x in MATRICES if x in vars(solving)[f"{name}_hess"].__annotations__]
    for chosen in ([x] for x in own), [own]:
        for scaled in chosen:
            changed: dict[str, Any] = {x: given[x] * scale for x in scaled}
            hessian = hessians(solving, given | changed, [name])[name]
            b = np.ones(hessian.shape[0])
            try:
                x = hessian.solve(b)
            except np.linalg.LinAlgError:
                continue
            assert np.isfinite(x).all()
            np.testing.assert_allclose(hessian @ x, b, rtol=1e-6, atol=1e-6)

"""Modules for CuPy over blocks that are copied to a device: the stand-in for one."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import numpy as np
import pytest

from tensorgen.engines import device_blocks
from tests import made
from tests.device.library import execute
from tests.row_blocks import test_over_blocks, test_sharded
from tests.row_blocks.models import CASES, MODELS, Model
from tests.row_blocks.test_over_blocks import CUTS, close


def on_device(model: Model, ours: Any, cupy: ModuleType) -> Any:
    """The function over blocks on the host as one over blocks on the device."""
    _, source = made.both(model.spec())
    known = {
        x: cupy.asarray(v) if isinstance(v, np.ndarray) else v
        for x, v in ours._known.items()
    }
    blocks = device_blocks(ours._blocks)
    return execute(source).FProblem.over(blocks, **known)


def agree(ours: Any, theirs: Any, v: Any, cupy: ModuleType) -> None:
    """Compare all that functions over blocks give."""
    d = np.linspace(-1, 2, v.size)
    parts = ours.unpack(v)
    parts = parts if isinstance(parts, tuple) else (parts,)
    x, dx = theirs.pack(*map(cupy.asarray, parts)), cupy.asarray(d)
    assert np.array_equal(x.get(), v)
    assert close(theirs.fun(x).get(), ours.fun(v), 1e-11)
    assert close(theirs.grad(x).get(), ours.grad(v), 1e-11)
    assert close((theirs.hess(x) @ dx).get(), ours.hess(v) @ d, 1e-11)
    assert close(theirs.hvp(x, dx).get(), ours.hvp(v, d), 1e-11)
    again = theirs.unpack(x)
    again = again if isinstance(again, tuple) else (again,)
    for own, part in zip(again, parts, strict=True):
        assert np.array_equal(own.get(), part)


@pytest.mark.parametrize("name", CASES)
def test_blocks_on_a_device_give_what_they_give_on_the_host(
    name: str, cupy: ModuleType
) -> None:
    model = MODELS[name]
    for ends in CUTS["of seven"], CUTS["with empty ones"]:
        _, ours, v = test_over_blocks.both(model, ends)
        agree(ours, on_device(model, ours, cupy), v, cupy)


@pytest.mark.parametrize("name", test_sharded.CASES)
def test_variables_with_rows_are_on_the_device_too(name: str, cupy: ModuleType) -> None:
    for ends in CUTS["of seven"], CUTS["with empty ones"]:
        _, ours, v = test_sharded.both(name, ends)
        agree(ours, on_device(test_sharded.MODELS[name], ours, cupy), v, cupy)


def test_an_error_on_the_device_names_its_block(cupy: ModuleType) -> None:
    model = MODELS["logistic"]
    _, ours, v = test_over_blocks.both(model, CUTS["of seven"])
    blocks = ours._blocks
    blocks[3] = {**blocks[3], "y": blocks[3]["y"] + 1j}
    theirs = on_device(model, ours, cupy)
    with pytest.raises(TypeError, match="y: expected real numbers") as caught:
        theirs.fun(cupy.asarray(v))
    assert caught.value.__notes__ == ["in block 3"]

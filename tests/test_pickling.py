"""Objects survive pickle, deep copies and the way to another process."""

from __future__ import annotations

import copy
import pickle
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests import made
from tests.calls import Loaded, given, objects, problems, regular, same, solved, specs
from tests.device.cases import CASES, Case
from tests.device.library import execute, stand_in
from tests.sampled import sampled
from tests.solving_specs import SPEC, WAYS, hessians, inputs

Copy = Callable[[Any], Any]


def pickled(value: Any) -> Any:
    """A value that went through pickle."""
    return pickle.loads(pickle.dumps(value))


COPIES = pytest.mark.parametrize("copied", [pickled, copy.deepcopy, copy.copy])


@specs(sampled(CASES, 3))
def test_derivative_objects_can_be_copied(case: Case) -> None:
    loaded = Loaded(case)
    for name in loaded.names:
        for where, derivative in objects(loaded.call(name)):
            for copied in (pickled, copy.deepcopy):
                other = copied(derivative)
                same(given(derivative), given(other), name + where, 1e-13)
                assert other.structure == derivative.structure
                assert other.nbytes == derivative.nbytes
                for array in other.factors.values():
                    assert not array.flags.writeable, name + where
                with pytest.raises(AttributeError):
                    other.structure = ""


@COPIES
@pytest.mark.parametrize("shift", [0.0, 5.0])
def test_factorizations_can_be_copied(copied: Copy, shift: float) -> None:
    module, arguments = made.load(SPEC), inputs()
    for name, hessian in hessians(module, arguments).items():
        if name == "springs" and not shift:
            continue  # nothing holds them
        way = hessian.factorize(shift)
        if not shift:
            assert type(way).__name__ == WAYS[name]
        b = np.sin(np.arange(1.0 * hessian.shape[0]))
        same(solved(way, b), solved(copied(way), b), name, 1e-13)


@specs([case for case in CASES if "problem" in case.text])
def test_problems_can_be_copied(case: Case) -> None:
    loaded = Loaded(case)
    for name, problem, v in problems(loaded.module, loaded.inputs):
        value = problem.value(v)
        for copied in (pickled, copy.deepcopy):
            other = copied(problem)
            assert np.array_equal(other.value(v), value), name
            assert np.array_equal(other.value(v + 1), problem.value(v + 1)), name


OTHER = """
import pickle, sys
found = pickle.load(sys.stdin.buffer)
for hessian, way, b in found.values():
    assert all(not a.flags.writeable for a in hessian.factors.values())
answers = {name: (h @ b, way.solve(b)) for name, (h, way, b) in found.items()}
sys.stdout.buffer.write(pickle.dumps((found, answers)))
"""


def test_another_process_can_use_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "solving_numpy.py").write_text(made.generate(SPEC))
    monkeypatch.syspath_prepend(str(tmp_path))
    import solving_numpy  # type: ignore[import-not-found]

    sent = {}
    for name, hessian in hessians(solving_numpy, inputs()).items():
        b = np.cos(np.arange(1.0 * hessian.shape[0]))
        sent[name] = hessian, hessian.factorize(regular(hessian)), b
    done = subprocess.run(
        [sys.executable, "-c", OTHER],
        input=pickle.dumps(sent),
        capture_output=True,
        check=True,
        cwd=tmp_path,
    )
    back, answers = pickle.loads(done.stdout)
    for name, (hessian, way, b) in sent.items():
        same((hessian @ b, way.solve(b)), answers[name], name, 1e-13)
        same(given(hessian), given(back[name][0]), name)
    del sys.modules["solving_numpy"]


def test_objects_on_the_device_can_be_copied() -> None:
    with stand_in() as cupy:
        module = execute(made.generate(SPEC, backend="cupy"))
        arguments = {x: cupy.asarray(a) for x, a in inputs().items()}
        for name, hessian in hessians(module, arguments).items():
            b = cupy.asarray(np.cos(np.arange(1.0 * hessian.shape[0])))
            way = hessian.factorize(5.0)
            for copied in (pickled, copy.deepcopy):
                other = copied(hessian) @ b, copied(way).solve(b)
                for want, got in zip((hessian @ b, way.solve(b)), other, strict=True):
                    np.testing.assert_allclose(got.get(), want.get(), 1e-13, 1e-13)
                assert name in WAYS

"""The demo fits real data, and notices when the fit is off."""

import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture
def demo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """Import the demo as if from its folder, with a build folder of its own."""
    monkeypatch.syspath_prepend(str(ROOT / "examples"))
    monkeypatch.delitem(sys.modules, "logistic_regression_demo", raising=False)
    import logistic_regression_demo

    build = tmp_path / "build" / "demo"
    monkeypatch.setattr(logistic_regression_demo, "HERE", tmp_path / "examples")
    monkeypatch.setattr(logistic_regression_demo, "BUILD", build)
    return logistic_regression_demo


def test_the_demo_converges_and_agrees_with_scikit_learn(
    demo: ModuleType, capsys: pytest.CaptureFixture[str]
) -> None:
    demo.main()
    printed = capsys.readouterr().out
    # A header, and eleven iterates: Newton's method converges quadratically.
    table = printed[printed.index("iteration") :].split("\n\n")[0].splitlines()
    norms = [float(line.split()[2]) for line in table[1:]]
    assert 5 <= len(norms) <= 15
    assert norms[-1] <= 1e-9 < norms[-2] < norms[-3]
    assert "largest difference from scikit-learn's coefficients: " in printed


def test_the_demo_fails_when_the_coefficients_are_off(
    demo: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(demo, "LAM", demo.LAM * 1.0001)
    with pytest.raises(SystemExit, match="more than 1e-06"):
        demo.main()


def test_the_data_are_standardised_with_an_intercept(demo: ModuleType) -> None:
    X, y, names = demo.load()
    assert X.shape == (569, 31) == (len(y), len(names))
    np.testing.assert_allclose(X[:, :-1].mean(axis=0), 0, atol=1e-12)
    np.testing.assert_allclose(X[:, :-1].std(axis=0), 1, rtol=1e-12)
    assert np.all(X[:, -1] == 1)
    assert (np.sum(y == 1), np.sum(y == -1)) == (212, 357)

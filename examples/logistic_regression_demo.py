"""Generate logistic regression with tensorgen and fit a real data set by Newton.

Run it as `make demo`. It generates `logistic_regression.yaml` into `build/demo`, fits
the data of `breast_cancer.py` with the generated `loss_value_grad_hess`, and compares
the coefficients with scikit-learn's. Exits 1 when they differ by more than 1e-6.
"""

import importlib.util
import subprocess
import sys
import time
from pathlib import Path
from types import ModuleType

import numpy as np
from breast_cancer import DATA, Array, load

HERE = Path(__file__).resolve().parent
SPEC = HERE / "logistic_regression.yaml"
BUILD = HERE.parent / "build" / "demo"

LAM = 0.1  # weight of the penalty, as in expected_coefficients.py
SMALL_GRADIENT = 1e-9
MOST_ITERATIONS = 50
TOLERANCE = 1e-6


def generate() -> ModuleType:
    """Run `tensorgen gen` on the spec, and import the module that it writes."""
    BUILD.mkdir(parents=True, exist_ok=True)
    # In a folder of the demo's own, where nobody's work can be lost.
    command = ["gen", str(SPEC), "-o", str(BUILD), "-b", "numpy", "--force"]
    start = time.perf_counter()
    subprocess.run([sys.executable, "-m", "tensorgen", *command], check=True)
    seconds = time.perf_counter() - start
    path = BUILD / "logistic_regression_numpy.py"
    shown = path.relative_to(HERE.parent)
    print(f"generated {shown} from {SPEC.name} in {seconds:.2f} s\n")

    found = importlib.util.spec_from_file_location(path.stem, path)
    assert found is not None and found.loader is not None
    module = importlib.util.module_from_spec(found)
    found.loader.exec_module(module)
    return module


def newton(logistic: ModuleType, X: Array, y: Array) -> Array:
    """Minimise the loss from zero with full Newton steps, printing each iterate."""
    w = np.zeros(X.shape[1])
    print("iteration            loss   gradient norm   time [ms]")
    for iteration in range(MOST_ITERATIONS):
        start = time.perf_counter()
        loss, gradient, hessian = logistic.loss_value_grad_hess(w, X, y, lam=LAM)
        norm = float(np.linalg.norm(gradient))
        converged = norm <= SMALL_GRADIENT
        if not converged:
            w = w - hessian.solve(gradient)
        milliseconds = 1e3 * (time.perf_counter() - start)
        print(f"{iteration:9d} {loss:15.10f} {norm:15.3e} {milliseconds:11.2f}")
        if converged:
            return w
    raise SystemExit(f"no convergence in {MOST_ITERATIONS} iterations")


def main() -> None:
    """Generate, fit, compare; exit 1 when the coefficients are off."""
    logistic = generate()
    X, y, names = load()
    print(f"{len(y)} tumours, {len(names)} coefficients, lam = {LAM}\n")
    w = newton(logistic, X, y)

    right = np.mean(np.sign(X @ w) == y)
    print(f"\n{right:.1%} of the tumours are classified correctly")
    expected = np.loadtxt(DATA / "expected_coefficients.txt", usecols=0)
    difference = float(np.max(np.abs(w - expected)))
    print(f"largest difference from scikit-learn's coefficients: {difference:.1e}")
    if not difference <= TOLERANCE:
        raise SystemExit(f"that is more than {TOLERANCE:.0e}")


if __name__ == "__main__":
    main()

"""Examples to start from: expressions, the specs of `tensorgen init`, and `examples/`.

The last are those of a checkout; an installed package has none.
"""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path
from typing import Any

EXPRESSIONS: dict[str, dict[str, Any]] = {
    "Quadratic form": {"expression": "x @ A @ x / 2", "order": "second"},
    "Least squares": {"expression": "norm(A @ x - y)**2", "order": "second"},
    "Logistic regression": {
        "expression": "w @ w / 2 + c * sum(log(1 + exp(-y * (X @ w))))",
        "order": "second",
    },
    "Softmax cross entropy": {"expression": "cross_entropy(X @ W, P)", "by": ["W"]},
    "Matrix factorisation": {
        "expression": "norm(A - U @ V.T)**2 / 2",
        "by": ["U", "V"],
    },
    "Log likelihood of a Gaussian": {
        "expression": "(logdet(S) + y @ solve(S, y)) / 2",
        "by": ["S"],
        "kinds": {"S": "symmetric"},
    },
    "Trace of products": {"expression": "tr(A @ X.T @ B @ X @ C)", "by": ["X"]},
    "Rayleigh quotient": {
        "expression": "(x @ A @ x) / (x @ x)",
        "kinds": {"A": "symmetric"},
    },
    "Layer of a network": {
        "expression": "sum((tanh(X @ W + b) @ v - y)**2)",
        "by": ["W"],
        "kinds": {"b": "vector"},
    },
    "Softmax": {"expression": "softmax(x)", "by": ["x"]},
    "Products by index": {"expression": "sum(X[i, k] * y[k] * X[j, k], k)"},
}


def gallery() -> list[dict[str, Any]]:
    """Return the examples by groups: titles, and forms or specs."""
    starters = [*(files("tensorgen.cli") / "starters").iterdir()]
    beside = Path(str(files("tensorgen"))).parent / "examples"
    groups = {
        "Expressions": [{"title": k, **own} for k, own in EXPRESSIONS.items()],
        "Specs to begin with": _specs(starters),
        "Examples": _specs([*beside.glob("*.yaml")]),
        "Gallery": _specs([*(beside / "gallery").glob("*.yaml")]),
    }
    return [{"title": x, "examples": own} for x, own in groups.items() if own]


def _specs(found: list[Any]) -> list[dict[str, str]]:
    rows = []
    for path in sorted(found, key=lambda x: str(x.name)):
        if path.name.endswith(".yaml"):
            name = path.name.removesuffix(".yaml").replace("-", "_")
            text = path.read_text(encoding="utf-8")
            if "\nmodule:" not in text:  # a file's name would say it
                first = f"tensorgen: 1\nmodule: {name}\n"
                text = text.replace("tensorgen: 1\n", first, 1)
            rows.append({"title": name.replace("_", " "), "spec": text})
    return rows

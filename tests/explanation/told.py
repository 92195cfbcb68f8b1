"""Specs that the tests of this folder explain, each compiled once.

`python -m tests.explanation.told` writes the golden files anew.
"""

from functools import cache
from pathlib import Path

from tensorgen.errors import Source
from tensorgen.explanation.report import report
from tensorgen.explanation.subjects import Explained, Subject, explained

HERE = Path(__file__).resolve().parent
EXAMPLES = HERE.parents[1] / "examples"
GOLDEN = {
    "logistic_regression": EXAMPLES / "logistic_regression.yaml",
    "matrix_factorization": EXAMPLES / "matrix_factorization.yaml",
    "rosenbrock": HERE / "rosenbrock.yaml",
}
HOSTILE = """
tensorgen: 1
module: hostile
doc: 'a <script>alert(1)</script> "quoted" \\ --> ]]> & % $ # _ ^ ~ { }'
inputs:
  x: {shape: [n], doc: '</p><script>"'}
  long_name: {shape: [n]}
functions:
  f_of_x:
    doc: "it's \\"so\\" \\\\ <script src='http://a.b'></script> --> <!-- \\\\end{x}"
    expr: sum(where(x < long_name, x**2, exp(long_name)))
    wrt: x
"""


@cache
def told(name: str) -> Explained:
    """Return what is told of a golden spec."""
    path = GOLDEN[name]
    return explained(Source.decode(path.name, path.read_bytes()))


@cache
def told_of(text: str, function: str | None = None) -> Explained:
    """Return what is told of the text of a spec."""
    return explained(Source("spec.yaml", text), function)


def subject(of: Explained, name: str) -> Subject:
    """Return one function of those that are told of."""
    (found,) = (x for x in of.subjects if x.name == name)
    return found


def main() -> None:
    """Write the golden files."""
    for name in GOLDEN:
        path = HERE / "golden" / f"{name}.txt"
        path.write_text(report(told(name)), encoding="utf-8")


if __name__ == "__main__":
    main()

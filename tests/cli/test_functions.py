"""`tensorgen functions` and `tensorgen schema`."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

import tensorgen
from tensorgen import cli
from tensorgen.explanation import function_reference
from tensorgen.operators.functions import FUNCTIONS
from tensorgen.spec.schema import spec_schema
from tests.cli.shell import Run, Shell

ROOT = Path(__file__).resolve().parents[2]


def test_every_function_is_listed_once(shell: Shell) -> None:
    run = shell("functions")
    assert (run.code, run.err) == (cli.FINE, "")
    lines = [line[2:] for line in run.out.splitlines() if line.startswith("  ")]
    names = [line.partition("(")[0].strip() for line in lines]
    assert len(names) == len({*names})
    assert {*FUNCTIONS} <= {*names} and "gelu" in names
    (log,) = (line for line in lines if line.startswith("log("))
    assert log.endswith("derivative: 1 / x")


@pytest.mark.parametrize(
    ("name", "said"),
    [
        (
            "xlogy",
            ["x * log(y), and 0 where x is 0.", "by y    x / y", "CUDA    xlogy(x, y)"],
        ),
        ("sigmoid", ["log(sigmoid(t)) is computed as log_sigmoid(t)"]),
        ("logsumexp", ["shape of x without the axes", "softmax_k(X[i, k])"]),
        ("gelu", ["x * (1 + erf(x / sqrt(2))) / 2", "special.erfc"]),
        ("eye", ["example  eye(n)", "NumPy    np.eye(n"]),
    ],
)
def test_one_function_is_told_whole(name: str, said: list[str]) -> None:
    run = CliRunner().invoke(cli.cli, ["functions", name])
    assert run.exit_code == cli.FINE
    assert all(text in run.output for text in said), run.output
    spec = run.output[run.output.index("  tensorgen: 1") :]
    assert callable(tensorgen.load(spec.replace("\n  ", "\n").lstrip()).f)


def test_a_function_that_there_is_not_has_a_hint(shell: Shell) -> None:
    expected = "error: there is no function 'sofmax'; did you mean 'softmax'?\n"
    assert shell("functions", "sofmax") == Run(cli.WRONG, "", expected)


def test_every_entry_has_a_sample() -> None:
    found = [*function_reference.entries()]
    assert len(found) > 130
    assert all(x.sample or x.sort == function_reference.ELEMENT for x in found)


def test_the_schema_is_printed_as_it_is_published(shell: Shell) -> None:
    run = shell("schema")
    assert (run.code, run.err) == (cli.FINE, "")
    assert json.loads(run.out) == spec_schema()
    published = ROOT / "schema" / "tensorgen.schema.json"
    assert published.read_text("utf-8") == run.out, "tensorgen schema > schema/..."

"""What functions launch is read from the text of a module, without running it."""

from __future__ import annotations

import textwrap

import pytest

from tensorgen.emit.launches import Count, launches_of

TOP = """
import cupy as cp
import cupyx

_kernel = cp.ElementwiseKernel("T x", "T y", "y = x;", "_kernel")
"""


def told(body: str, more: str = "", given: str = "x, y") -> Count | None:
    """What a function of that body launches, given two vectors of n numbers."""
    head = f"def f({given}):\n    x, y = _arrays(x=(x, 'n'), y=(y, 'n'))\n"
    own = head + textwrap.indent(textwrap.dedent(body).strip("\n"), "    ")
    return launches_of(TOP + textwrap.dedent(more) + "\n" + own, ["_helper"])["f"]


def counts(body: str, more: str = "") -> tuple[str, str]:
    """Launches and waits, of what is sure."""
    count = told(body, more)
    assert count is not None and not count.most
    return str(count.launches), str(count.waits)


@pytest.mark.parametrize(
    ("text", "launches"),
    [
        ("x", "0"),
        ("x[1:, None].T.reshape(-1)", "0"),
        ("cp.empty(3)", "0"),
        ("_kernel(x) + 2 * y", "3"),
        ("-abs(x) @ y", "3"),
        ("x[cp.argsort(y)]", "2"),
        ("x.sum() / x.shape[0]", "2"),
        ("cp.zeros(x.shape, cp.result_type(x, y))", "1"),
        ("(lambda z: z + y)(x)", "1"),
        ("cp.concatenate([x for x in (x, -y)])", "2"),
    ],
)
def test_calls_and_operators_launch_and_views_do_not(text: str, launches: str) -> None:
    assert counts(f"return {text}") == (launches, "0")


def test_what_is_stored_is_launched_and_a_changed_view_is_not_stored() -> None:
    assert counts("x[0] = 1") == ("1", "0")
    assert counts("x[1:] += y[1:]") == ("1", "0")
    assert counts("x += y") == ("1", "0")
    assert counts("i = cp.arange(3)\nx[i] += 1") == ("4", "0")


@pytest.mark.parametrize(
    ("text", "launches", "waits"),
    [
        ("float(x.sum())", "1", "1"),
        ("x[x > 0]", "2", "1"),
        ("cp.nonzero(x)", "1", "1"),
        ("x.get()", "0", "1"),
    ],
)
def test_the_host_waits_for_what_it_is_told(
    text: str, launches: str, waits: str
) -> None:
    assert counts(f"return {text}") == (launches, waits)


def test_loops_count_as_often_as_they_run() -> None:
    body = "T = y.shape[0]\nfor t in range(T - 1):\n    x[t + 1] = _kernel(x[t])"
    assert counts(body) == ("2*n - 2", "0")
    assert counts("for _ in reversed(range(3)):\n    x = x + y") == ("3", "0")
    assert counts("for z in (x, y):\n    x = x + z") == ("2", "0")


def test_functions_call_their_sizes_as_others_do_and_helpers_do_not() -> None:
    steps = (
        "    T = z.shape[0]\n    for t in range(T):\n        z = z + 1\n    return z"
    )
    more = f"def _steps(z):\n{steps}\n"
    assert counts("return _steps(x * y)", more) == ("T + 1", "0")
    assert told("return _helper(x * y)", more.replace("_steps", "_helper")) is None


def test_what_raises_does_not_count_and_of_two_ways_the_longer_one_does() -> None:
    check = "if float(x.sum()) < 0:\n    raise ValueError(x.max())\nreturn x"
    assert counts(check) == ("1", "1")
    count = told("if x.ndim == 1:\n    return x\nreturn x + y")
    assert count is not None
    assert count.most and (str(count.launches), str(count.waits)) == ("1", "0")


def test_switches_keep_their_defaults_and_all_else_is_given() -> None:
    body = "if check:\n    x = x + y\nif w is None:\n    x = x * y\nreturn x"
    count = told(body, given="x, y, w=None, check=False")
    assert count == Count()


def test_of_steps_that_end_when_they_are_small_nobody_knows_how_many() -> None:
    body = "for _ in range(9):\n    x = x + y\n    if float(x.sum()):\n        break"
    assert told(body) is None
    assert told("while float(x.sum()):\n    x = x + y") is None


def test_objects_launch_what_their_constructors_do() -> None:
    more = """
        class _Base:
            def __init__(self, x):
                self.total = x.sum()

            @property
            def half(self):
                return self.total / 2

        class Made(_Base):
            pass

        class Parts(NamedTuple):
            x: Array
            y: Array
    """
    assert counts("return Made(x).half", more) == ("2", "0")
    assert counts("parts = Parts(x, y=y)\nreturn parts.x + parts.y", more) == ("1", "0")
    assert told("return Made(x).other + y", more) is None

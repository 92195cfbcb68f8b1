"""Arrays that are given entry by entry, against the same stacked."""

from __future__ import annotations

import numpy as np
import pytest

import tensorgen
from tensorgen.errors import SpecError

HEAD = """tensorgen: 1
inputs: {p: [o, 3], t: scalar, v: [n], A: [n, n], w: [m]}
functions:
  f:
"""
CASES = {
    "last axis": (
        "k[i, 0] = p[i, 0] / p[i, 2]\nk[i, 1] = p[i, 1] / p[i, 2]\n"
        "k[j, 2] = 2*t*p[j, 0]",
        "stack([p[:, 0] / p[:, 2], p[:, 1] / p[:, 2], 2*t*p[:, 0]], axis=1)",
    ),
    "first axis": ("k[0, i] = v[i]**2\nk[1, i] = t*v[i]", "stack([v**2, t*v])"),
    "scalars": ("k[0] = t\nk[1] = t**2\nk[2] = sum(v)", "[t, t**2, sum(v)]"),
    "another order": ("k[2] = sum(v)\nk[0] = t\nk[1] = t**2", "[t, t**2, sum(v)]"),
    "rows": ("k[0, :] = v\nk[1, :] = A @ v", "stack([v, A @ v])"),
    "rows without a colon": ("k[0] = v\nk[1] = A @ v", "stack([v, A @ v])"),
    "columns": ("k[:, 0] = v\nk[:, 1] = A @ v", "stack([v, A @ v], axis=1)"),
    "rotation": (
        "k[0, 0] = cos(t)\nk[0, 1] = -sin(t)\nk[1, 0] = sin(t)\nk[1, 1] = cos(t)",
        "[[cos(t), -sin(t)], [sin(t), cos(t)]]",
    ),
    "between": (
        "k[i, 0, j] = A[i, j]\nk[i, 1, j] = A[j, i]",
        "stack([A, A.T], axis=1)",
    ),
    "indices behind colons": (
        "k[:, i, 0] = A[i, :] * v\nk[:, i, 1] = t * A[i, :]",
        "stack([(A * v).T, t * A.T], axis=2)",
    ),
    "two apart": (
        "k[0, i, 0] = v[i]\nk[0, i, 1] = t*v[i]\n"
        "k[1, i, 0] = 2*v[i]\nk[1, i, 1] = 1+v[i]",
        "stack([stack([v, t*v], axis=1), stack([2*v, 1 + v], axis=1)])",
    ),
    "of others": (
        "k[2] = k[0] + k[1]\nk[0] = t\nk[1] = 2*k[0]",
        "[t, 2*t, t + 2*t]",
    ),
    "of parts of others": (
        "k[0, :] = v\nk[1, i] = 2*k[0, i]\nk[2, :] = A @ k[1]",
        "stack([v, 2*v, A @ (2*v)])",
    ),
    "of each other": (
        "k[0] = t\nl[0] = 2*k[0]\nk[1] = l[0]**2\nl[1] = k[1] + 1",
        "[t, (2*t)**2]",
    ),
    "ranges of others": (
        "k[i, 0] = t\nk[i, 1] = v[i]",
        "stack([t + 0*v, v], axis=1)",
    ),
    "stated ranges": (
        "k[i=range(n), 0] = t\nk[i, 1] = v[i]",
        "stack([t + 0*v, v], axis=1)",
    ),
    "beside a recurrence": (
        "k[0] = t\nx[0] = k[0]\nk[1] = sum(v)\nx[s + 1] = x[s]*w[s] + k[1]\nl = x[m]",
        "[t, sum(v)]",
    ),
    "of a recurrence": (
        "k[0] = x[m]\nx[0] = t\nk[1] = x[0]\nx[s + 1] = x[s]*w[s]",
        "[t*prod(w), t]",
    ),
}
GIVEN = {
    "p": np.random.default_rng(0).normal(size=(4, 3)),
    "t": np.float64(0.7),
    "v": np.array([1.0, -2.0, 0.5]),
    "A": np.random.default_rng(1).normal(size=(3, 3)),
    "w": np.array([0.5, 1.5]),
}


def spec(lines: str, expr: str = "k", emit: str = "") -> str:
    where = f"    where: |\n      {lines.replace(chr(10), chr(10) + '      ')}\n"
    return HEAD + where * bool(lines) + f"    expr: {expr!r}\n{emit}"


def called(text: str, name: str = "f") -> object:
    function = getattr(tensorgen.load(text), name)
    count = function.__code__.co_argcount
    return function(*(GIVEN[x] for x in function.__code__.co_varnames[:count]))


@pytest.mark.parametrize("name", CASES)
def test_entries_stack(name: str) -> None:
    lines, stacked = CASES[name]
    found, wanted = called(spec(lines)), called(spec("", stacked))
    np.testing.assert_allclose(found, wanted, 1e-14, strict=True)  # type: ignore[call-overload]


@pytest.mark.parametrize("name", ["last axis", "rotation", "scalars", "columns"])
def test_they_cost_what_a_stack_costs(name: str) -> None:
    lines, stacked = CASES[name]
    emit = "    wrt: t\n    emit: [gradient]\n"
    texts = [
        tensorgen.generate(spec(given, expr, emit)).partition('    """\n')[2]
        for given, expr in ((lines, "sum(exp(k))"), ("", f"sum(exp({stacked}))"))
    ]
    bodies = [text.partition('"""\n')[2].partition("\n\n\n")[0] for text in texts]
    assert bodies[0] == bodies[1]


def test_they_are_differentiated() -> None:
    lines, _ = CASES["rotation"]
    text = spec(
        lines, "sum(k @ [[1, 2], [3, 4]])", "    wrt: t\n    emit: [gradient]\n"
    )
    t = float(GIVEN["t"])
    assert called(text, "f_grad") == pytest.approx(slope(t))


def slope(t: float) -> float:
    made = np.array([[-np.sin(t), -np.cos(t)], [np.cos(t), -np.sin(t)]])
    return float((made @ [[1, 2], [3, 4]]).sum())


FAULTS = {
    "k[i, 0] = p[i, 0]\nk[i, 2] = p[i, 1]": "the entry k[i, 1] is missing",
    "k[1] = t\nk[2] = t": "the entry k[0] is missing",
    "k[0, 0] = t\nk[1, 1] = t\nk[0, 1] = t": "the entry k[1, 0] is missing",
    "k[1000000000] = t": "the entry k[0] is missing",
    "k[0] = t": "of 'k' there are first entries alone",
    "k[0] = t\nk[0] = 2*t": "'k' has this entry twice",
    "k[0] = t\nk[1] = v": "of 'k' entry 1 has the shape (n,), but entry 0 has ()",
    "k[0, i] = v[i]\nk[i, 1] = v[i]": "numbered along different axes",
    "k[0] = k[1]\nk[1] = k[0]": "entry 0 of 'k' needs itself",
    "k[0] = t\nk[1] = k[1] + 1": "entry 1 of 'k' needs itself",
    "k[0] = t\nk[1] = k[2]": "'k' has no such entry while it is assembled",
    "k[0] = t\nk[1] = sum(k)": "'k' is assembled here, and no whole array yet",
    "k[0] = t\nk[1] = sum(k[:1])": "'k' has no such entry while it is assembled",
    "k[0, :] = v\nk[1, :] = t": "':' stands for an axis that the value does not have",
    "k[0] = v\nk[n] = v": "'k' has no step, and this is no number of an entry",
    "k[0] = v\nk[-1] = v": "'k' has no step, and this is no number of an entry",
    "k[i, 0] = 1\nk[i, 1] = t": "nothing determines the range of 'i'",
}


@pytest.mark.parametrize("lines", FAULTS)
def test_what_leaves_gaps_is_reported(lines: str) -> None:
    with pytest.raises(SpecError) as error:
        tensorgen.generate(spec(lines))
    assert FAULTS[lines] in str(error.value)
    assert len(error.value.diagnostics) == 1


def test_an_index_named_like_a_dim_is_told_to_have_another_name() -> None:
    with pytest.raises(SpecError) as error:
        tensorgen.generate(spec("k[n, 0] = v[n]\nk[n, 1] = t"))
    assert "an index needs another name than the dim 'n'" in str(error.value)


def test_definitions_of_the_file_can_be_put_together() -> None:
    lines, stacked = CASES["rotation"]
    block = "definitions: |\n  " + lines.replace("\n", "\n  ") + "\nfunctions:"
    found = called(spec("").replace("functions:", block))
    np.testing.assert_allclose(found, called(spec("", stacked)))  # type: ignore[call-overload]

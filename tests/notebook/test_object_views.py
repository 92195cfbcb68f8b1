"""The picture of a derivative's entries shows those that there are, at any size."""

from __future__ import annotations

import re
from functools import cache
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import tensorgen
from tensorgen.notebook.object_views import (
    by_coordinates,
    derivative_html,
    is_derivative,
    picture,
)
from tests.device.library import stand_in

SPEC = """
tensorgen: 1
module: patterns
dims: {n: 1000, r: 3}
inputs:
  x: [n]
  V: [r, n]
  s: {shape: scalar, default: 2}
  a: {shape: [E], index: n}
  b: {shape: [E], index: n}
functions:
  chain: {expr: "sum((x[1:] - x[:-1]**2)**2)", wrt: x, emit: [hessian, 3]}
  low: {expr: "sum(exp(x)) + norm(V @ x)**2", wrt: x, emit: [hessian]}
  joint: {expr: "sum(exp(x)) + sum(exp(V @ x))", wrt: [x, V], emit: [hessian, 3]}
  steps: {expr: "x[1:]**2 - x[:-1]", wrt: x, emit: [jacobian]}
  scaled: {expr: "s * x @ x", wrt: s, emit: [hessian]}
  edges: {expr: "sum((x[a[e]] - x[b[e]])**4, e)", wrt: x, emit: [hessian]}
  lost: {expr: "sum(x)", wrt: x, emit: [hessian]}
"""
LETTERS = {"0.35": ".", "0.6": "+", "0.9": "#"}


@cache
def module() -> ModuleType:
    return tensorgen.load(SPEC)


def cells(svg: str) -> list[str]:
    """A picture as rows of letters, a darker one for more entries."""
    columns, rows = map(int, re.findall(r'viewBox="0 0 (\d+) (\d+)"', svg)[0])
    grid = [[" "] * columns for _ in range(rows)]
    for shade, path in re.findall(r'opacity="([\d.]+)" d="([^"]+)"', svg):
        for run in path.split("z")[:-1]:
            x, y, wide = map(int, re.match(r"M(\d+) (\d+)h(\d+)v1h-\3$", run).groups())  # type: ignore[union-attr]
            grid[y][x : x + wide] = LETTERS[shade] * wide
    return ["".join(row) for row in grid]


def test_a_small_matrix_is_shown_entry_by_entry() -> None:
    assert cells(picture(module().chain_hess(np.ones(5)))) == [
        *("##   ", "###  ", " ### ", "  ###", "   ##")
    ]
    assert cells(picture(module().steps_jac(np.ones(4)))) == ["##  ", " ## ", "  ##"]


def test_entries_of_one_place_count_once() -> None:
    H = module().edges_hess(np.arange(3.0), a=[0, 0, 0], b=[1, 2, 1])
    assert len(H.coo()[0]) > 7
    assert by_coordinates(H).tolist() == [[1, 1, 1], [1, 1, 0], [1, 0, 1]]


def test_structure_is_shown_whatever_the_values() -> None:
    shown = cells(picture(module().chain_hess(np.zeros(3))))
    assert shown == ["## ", "###", " ##"]


@pytest.mark.parametrize("n", [64, 100, 1000, 1500, 50_000])
def test_a_band_is_a_diagonal_at_any_size(n: int) -> None:
    rows = cells(picture(module().chain_hess(np.ones(n))))
    assert len(rows) == (64 if n <= 1000 else 32)
    for k, row in enumerate(rows):
        marked = {x for x, letter in enumerate(row) if letter != " "}
        assert {k} <= marked <= {k - 1, k, k + 1}


def test_a_large_matrix_of_low_rank_is_asked_by_products() -> None:
    n = 50_000
    H = module().low_hess(np.ones(n), np.ones((3, n)))
    assert cells(picture(H)) == ["+" * 32] * 32


def test_blocks_that_vanish_are_white() -> None:
    shown = cells(picture(module().joint_hess(np.ones(4), np.ones((3, 4)))))
    own = [" " * 4 * k + "#" * 4 + " " * (8 - 4 * k) for k in range(3)]
    assert shown == ["#" * 16] * 4 + ["#" * 4 + row for row in own for _ in range(4)]


def test_what_is_no_matrix_has_no_picture() -> None:
    D = module().chain_d3(np.ones(5))
    assert is_derivative(D) and picture(D) == ""
    J = module().joint_d3(np.ones(4), np.ones((3, 4)))
    assert is_derivative(J) and picture(J) == ""


def test_a_number_and_nothing_at_all_are_shown() -> None:
    assert cells(picture(module().scaled_hess(np.ones(3)))) == ["#"]
    assert picture(module().chain_hess(np.ones(1))).startswith("<svg")
    assert set("".join(cells(picture(module().lost_hess(np.ones(3)))))) <= {" "}


def table(derivative: Any) -> dict[str, str]:
    rows = re.findall(r"<tr><td[^>]*>(.*?)</td><td[^>]*>(.*?)</td></tr>",
                      derivative_html(derivative))  # fmt: skip
    return {re.sub("<[^>]*>", "", a): re.sub("<[^>]*>", " ", b) for a, b in rows}


def test_a_derivative_says_what_it_holds() -> None:
    told = table(module().low_hess(np.ones(10), np.ones((3, 10))))
    assert told["shape"] == "(10, 10), float64"
    assert told["structure"].startswith("diagonal plus rank r  H[i, j] = ")
    assert told["factors"] == "d (10,), V (3, 10)"
    assert told["bytes"] == "320 of 800"


def test_a_derivative_of_higher_order_says_what_it_holds() -> None:
    told = table(module().chain_d3(np.ones(10)))
    assert told["shape"] == "(10, 10, 10), float64"
    assert told["structure"].startswith("band  D[i, j, k] = ")


@pytest.mark.parametrize("kind", ["hess", "d3"])
def test_a_joint_derivative_lists_its_blocks(kind: str) -> None:
    joint = getattr(module(), f"joint_{kind}")(np.ones(4), np.ones((3, 4)))
    names = ["x, x", "x, V", "V, V"]
    if kind == "d3":
        names = ["x, x, x", "x, x, V", "x, V, V", "V, V, V"]
    assert [x for x in table(joint) if "," in x] == names


def test_other_objects_are_no_derivatives() -> None:
    hessian = type(module().chain_hess(np.ones(3)))
    others: list[object] = [np.ones(3), module(), {}, "x", module().low_hess, hessian]
    for other in others:
        assert not is_derivative(other)


def test_arrays_on_a_device_are_brought_to_the_host() -> None:
    with stand_in() as cupy:
        chain = tensorgen.load(SPEC, backend="cupy").chain_hess
        small, large = (chain(cupy.ones(n)) for n in (4, 2000))
        assert cells(picture(small)) == ["##  ", "### ", " ###", "  ##"]
        assert cells(picture(large)) == cells(
            picture(module().chain_hess(np.ones(2000)))
        )

"""Symmetric matrices are used in one order of their axes."""

from __future__ import annotations

import numpy as np
import pytest

import tensorgen
from tensorgen.ir.dims import Dim
from tensorgen.ir.graph import Graph
from tensorgen.operators.calls import apply
from tensorgen.operators.stable import StableForms
from tensorgen.passes.context import Context
from tensorgen.passes.matrices.use_symmetry import use_symmetry
from tests.made import source

N = Dim.symbol("n")


@pytest.mark.parametrize("promise", [True, False])
def test_a_promised_matrix_is_its_transpose(promise: bool) -> None:
    graph = Graph(StableForms())
    s = graph.input("s", (N, N), ["symmetric"] if promise else [])
    y = graph.input("y", (N,))
    inverse = apply(graph, "inv", [s])
    roots = [graph.einsum("ij,j->i", inverse, y), graph.einsum("ij,i->j", inverse, y)]
    found = use_symmetry(Context(graph), roots)
    assert (found[0] is found[1]) == promise
    assert promise or found == roots


def test_what_is_built_from_symmetric_matrices_is_symmetric() -> None:
    graph = Graph(StableForms())
    x, y = graph.input("x", (N, N)), graph.input("y", (N,))
    kernel = graph.add(graph.einsum("ki,kj->ij", x, x), graph.unit([N]))
    inverse = apply(graph, "inv", [kernel])
    turned = graph.permute(inverse, (1, 0))
    found = use_symmetry(Context(graph), [turned, graph.einsum("ij,i->j", inverse, y)])
    assert found[0] is inverse
    assert found[1] is graph.einsum("ij,j->i", inverse, y)


def test_any_two_axes_that_may_be_exchanged_count() -> None:
    graph = Graph()
    x, y = graph.input("x", (N, N)), graph.input("y", (N, "m"))
    even = graph.add(graph.einsum("ik,jc->ijc", x, y), graph.einsum("jk,ic->ijc", x, y))
    roots = [graph.einsum("ijc,jd->icd", even, y), graph.einsum("jic,jd->icd", even, y)]
    found = use_symmetry(Context(graph), roots)
    assert found[0] is found[1]
    term = graph.einsum("ik,jc->ijc", x, y)
    odd = graph.sum("ijc", [(1, term, "ijc"), (-1, term, "jic")])
    other = [graph.einsum("ijc,jd->icd", odd, y), graph.einsum("jic,jd->icd", odd, y)]
    assert use_symmetry(Context(graph), other) == other


def test_summed_axes_are_exchanged_in_all_factors_at_once() -> None:
    graph = Graph()
    k = graph.input("k", (N, N), ["symmetric"])
    x, y = graph.input("x", (N, "m")), graph.input("y", (N,))
    even = graph.add(graph.einsum("i,jc->ijc", y, x), graph.einsum("j,ic->ijc", y, x))
    first = graph.einsum("ijc,ij,id->cd", even, k, x)
    second = graph.einsum("ijc,ij,jd->cd", even, k, x)
    assert first is not second
    found = use_symmetry(Context(graph), [first, second])
    assert found[0] is found[1]


def test_a_gram_matrix_is_its_transpose() -> None:
    graph = Graph()
    x, y = graph.input("x", (N, "m")), graph.input("y", (N,))
    gram = graph.einsum("ik,jk->ij", x, x)
    roots = [graph.einsum("ij,j->i", gram, y), graph.einsum("ji,j->i", gram, y)]
    found = use_symmetry(Context(graph), roots)
    assert found[0] is found[1] is roots[0]


def test_a_pass_over_nothing_symmetric_changes_nothing() -> None:
    graph = Graph()
    x = graph.input("x", (N, N))
    roots = [graph.einsum("ji,kj->ik", x, x)]
    assert use_symmetry(Context(graph), roots) == roots


def test_the_gradient_of_a_likelihood_needs_one_product_with_the_inverse() -> None:
    text = (
        "tensorgen: 1\nmodule: one\ndims: {n: 50}\n"
        "inputs: {K: {shape: [n, n], spd: true}, y: [n]}\n"
        "functions:\n  f: {expr: 'y @ solve(K, y) + logdet(K)', wrt: K,"
        " emit: [value, gradient]}\n"
    )
    code = tensorgen.generate(text)
    body = source(code, "f_value_and_grad")
    assert body.count("inv_K @ y") == 1 and "inv_K.T" not in body
    random = np.random.default_rng(1)
    root, y = random.normal(size=(4, 4)), random.normal(size=4)
    k = root @ root.T + np.eye(4)
    inverse = np.linalg.inv(k)
    value, gradient = tensorgen.load(text).f_value_and_grad(k, y)
    np.testing.assert_allclose(value, y @ inverse @ y + np.linalg.slogdet(k)[1])
    np.testing.assert_allclose(gradient, inverse - np.outer(inverse @ y, inverse @ y))

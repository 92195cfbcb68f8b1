"""What the user named stays one thing in all that is derived of it."""

from __future__ import annotations

import ast

from tests.made import SHARED, generate

FILM = """tensorgen: 1
inputs: {u: [m, n], h: scalar}
functions:
  area:
    where: |
      p = (u[1:, :-1] - u[:-1, :-1])/h
      q = (u[:-1, 1:] - u[:-1, :-1])/h
    expr: h**2*sum(sqrt(1 + p**2 + q**2))
    wrt: u
    emit: [value, gradient, hessian, hvp]
"""
GRADES = """tensorgen: 1
inputs: {beta: [n], cuts: [K - 1], X: [m, n], grade: {shape: [m], index: K}}
functions:
  nll:
    where: |
      eta = X @ beta
      upper = concatenate([cuts, [inf]])
      lower = concatenate([[-inf], cuts])
      prob[i] = sigmoid(upper[grade[i]] - eta[i]) - sigmoid(lower[grade[i]] - eta[i])
    expr: -sum(log(prob))
    wrt: [beta, cuts]
    emit: [value, gradient, hessian]
"""
RATES = """tensorgen: 1
inputs: {P: [s, 2], t: [s]}
functions:
  loss:
    where: |
      fast = exp(P[:, 0])
      slow = exp(P[:, 1])
    expr: sum((exp(-slow*t) - exp(-fast*t))/(fast - slow))
    wrt: P
    emit: [value, gradient]
"""
SOFTMAX_STEPS = """tensorgen: 1
dims: {K: 8, T: 200}
inputs: {start: [K], move: [K, K], e: [T, K]}
functions:
  nll:
    where: |
      log_move = log_softmax(move, axis=1)
      a[0, k] = start[k] + e[0, k]
      a[t + 1, k] = e[t + 1, k] + logsumexp(a[t, j] + log_move[j, k], j)
    expr: -logsumexp(a[T - 1])
    wrt: [start, move, e]
    emit: [value, gradient]
"""


def bodies(spec: str) -> dict[str, str]:
    """The statements of each function of a formula, by its name."""
    text = generate(spec)
    own = {f.name: f for f in ast.parse(text).body if isinstance(f, ast.FunctionDef)}
    formulas = {name for name in own if name[0] != "_"}
    called = {
        node.id
        for name in formulas
        for node in ast.walk(own[name])
        if isinstance(node, ast.Name) and node.id.endswith(SHARED)
    }
    return {
        name: "\n".join(map(ast.unparse, own[name].body[1:]))
        for name in own
        if name in formulas | called
    }


def test_a_number_that_cancels_opens_no_named_array() -> None:
    found = bodies(FILM)
    assert {"_area_parts", "_area_grad", "_area_hess"} <= found.keys()
    for name, body in found.items():
        if name != "area_hvp":  # differences of the direction
            assert "u_diff" not in body and "difference" not in body, name
    assert "h ** 2" not in found["_area_grad"] + found["_area_hess"]


def test_a_product_with_a_hessian_calls_what_it_repeats_under_other_names() -> None:
    found = bodies(FILM)
    assert "q_squared = q ** 2" in found["_area_parts"]
    assert "_area_parts(" in found["area_hvp"]
    assert "np.sqrt(" not in found["area_hvp"]


def test_entries_of_a_named_concatenation_are_read_of_it() -> None:
    found = bodies(GRADES)
    assert all("np.pad" not in body for body in found.values())
    (parts,) = (body for name, body in found.items() if name.endswith("_parts"))
    assert "upper[grade]" in parts and "lower[grade]" in parts


def test_named_exponentials_have_no_levels() -> None:
    text = "".join(bodies(RATES).values())
    assert "fast - slow" in text and "_finite" not in text


def test_what_is_the_same_at_all_steps_is_one_thing_in_each() -> None:
    whole = ast.parse(
        "\n".join(bodies(SOFTMAX_STEPS).values()).replace("return ", "_ = ")
    )
    loops = [ast.unparse(x) for x in ast.walk(whole) if isinstance(x, ast.For)]
    forward = [loop for loop in loops if "np.max(" in loop]
    assert forward
    for loop in forward:
        assert loop.count("np.max(") == loop.count("log_move + ") == 1

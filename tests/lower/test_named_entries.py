"""Entries of inputs that have a name are read, and told of, by it."""

from __future__ import annotations

import re

from tests.made import code_of, load

STEPS = """
tensorgen: 1
inputs: {theta: [2], x0: [], u: [T], y: [T + 1]}
functions:
  loss:
    where: |
      mu = theta[0]
      omega = theta[1]
      force = sin(omega * u)
      x[0] = x0
      x[t + 1] = x[t] + mu * (1 - x[t]**2) + force[t]
    expr: sum((x - y)**2) + mu**2
    wrt: theta
    emit: [value, gradient]
"""


def test_steps_read_an_entry_by_its_name_which_is_bound_once() -> None:
    module = load(STEPS)
    for name in ("loss", "loss_grad"):
        code = code_of(module, name)
        loop = code.partition("for t in ")[2]
        assert "mu * " in loop and "theta[" not in loop.partition("\ndef ")[0]
        pieces = code.split("\ndef ")
        assert max(piece.count("    mu = theta[0]\n    ") for piece in pieces) == 1
        assert not re.search(r"\bmu_\d", code)


def test_products_are_called_by_the_name_of_an_entry() -> None:
    assert "omega_u = " in code_of(load(STEPS), "loss_grad")

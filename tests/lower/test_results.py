"""Results: arrays of their own, that can be written to."""

from __future__ import annotations

import numpy as np

import tensorgen


def test_a_result_that_is_broadcast_can_be_written_to() -> None:
    # The Jacobian lacks the axis j, and is a sum that a variable holds.
    module = tensorgen.load(
        "tensorgen: 1\ndims: [n, m]\ninputs: {y: [n], A: [n, m]}\nfunctions:\n  f:\n"
        "    expr: outer(softmax(y), 0 * A[0] + 2)\n    wrt: y\n"
        "    emit: [value, jacobian, dense_jacobian]\n"
    )
    y, A = np.arange(3.0), np.ones((3, 2))
    for dense in (module.f_jac(y, A).dense(), module.f_jac_dense(y, A)):
        assert dense.shape == (3, 2, 3)
        assert dense.flags.writeable

"""Derivatives of the Matrix Cookbook's functions against its closed forms.

The numbers are those of Petersen & Pedersen, The Matrix Cookbook, 15 November 2012.
The suite has every derivative of its sections 2.1 to 2.8 that is real and states a
closed form without eigenvectors, and identities between values from other sections.
"""

from __future__ import annotations

import numpy as np
import pytest

import tensorgen
from tests.cookbook.identities import IDENTITIES
from tests.cookbook.identity import Array, Identity
from tests.sampled import sampled

TOLERANCE = 1e-9


def from_subspace(G: Array) -> Array:
    """Return the Cookbook's derivative by the free entries of a symmetric matrix.

    On the subspace of symmetric matrices with the inner product `sum(A * B)` the
    gradient is itself symmetric. The Cookbook's (138) counts an entry off the diagonal
    and its mirror image as one number, which moves both: twice the gradient's entry.
    """
    np.testing.assert_allclose(G, G.T, rtol=1e-12, atol=1e-14)
    return 2 * G - np.diag(np.diag(G))


def close(got: object, expected: object) -> bool:
    """Compare by the largest entry: no entry may be off by more than that share."""
    a, b = np.asarray(got), np.asarray(expected)
    assert a.shape == b.shape
    scale = max(1.0, float(np.max(np.abs(b), initial=0.0)))
    return float(np.max(np.abs(a - b), initial=0.0)) <= TOLERANCE * scale


@pytest.mark.parametrize(
    "identity", sampled(IDENTITIES, 2), ids=lambda identity: identity.number
)
def test_an_identity_of_the_matrix_cookbook_holds(identity: Identity) -> None:
    module = tensorgen.load(identity.spec())
    rng = np.random.default_rng(11)
    arguments = identity.draw(rng)
    assert close(module.f(**arguments), identity.function(*arguments.values()))
    match identity.gives:
        case "value":
            expected = identity.closed(*arguments.values())
            assert close(module.f(**arguments), expected)
        case "gradient":
            got = module.f_grad(**arguments)
            assert close(got, identity.closed(*arguments.values()))
        case "symmetric gradient":
            got = from_subspace(module.f_grad(**arguments))
            assert close(got, identity.closed(*arguments.values()))
        case "jacobian":
            got = module.f_jac(**arguments).dense()
            assert close(got, identity.closed(*arguments.values()))
        case "dense_hessian":
            got = module.f_hess_dense(**arguments)
            assert close(got, identity.closed(*arguments.values()))
        case "jvp":
            directions = identity.directions(rng)
            value, got = module.f_jvp(**arguments, **directions)
            assert close(value, identity.function(*arguments.values()))
            assert close(
                got, identity.closed(*arguments.values(), *directions.values())
            )


def test_the_suite_has_at_least_sixty_numbered_identities() -> None:
    numbered = [x for x in IDENTITIES if x.number.isdigit() and x.gives != "value"]
    assert len(numbered) >= 60

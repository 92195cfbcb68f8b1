"""Set B: matrix factorisation by the left factor, with a mask and without."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from cases import Case, Contender, Data, Set, Task
from numpy.random import Generator
from peers import derived, hand, ours
from scipy.linalg import cho_factor, cho_solve, solve

Array = Any
SIZES = (50, 200, 500, 1000, 2000, 4000)
RANK = 5
DENSE = 2000  # rows up to which the dense Hessian is asked of ours as well
NEWTON = 1000, 10
BLOCK = 64  # rows whose residuals stay in the cache, by hand in blocks


def spec(m: int, k: int, masked: bool) -> str:
    """Return the spec of the squared error by the left factor."""
    error = "sum(O * (T - U @ V.T)**2)" if masked else "norm(T - U @ V.T)**2"
    mask = ", O: [m, m]" if masked else ""
    return f"""
tensorgen: 1
module: factorisation
dims: {{m: {m}, k: {k}}}
inputs: {{U: [m, k], V: [m, k], T: [m, m]{mask}}}
functions:
  f:
    expr: {error}
    wrt: U
    emit: [value, gradient, hessian, dense_hessian]
"""


def masked_loss(xp: Any, U: Array, V: Array, T: Array, O: Array) -> Any:  # noqa: E741
    """The squared error where entries are known."""
    return xp.sum(O * (T - U @ V.T) ** 2)


def plain_loss(xp: Any, U: Array, V: Array, T: Array) -> Any:
    """The squared error."""
    return xp.sum((T - U @ V.T) ** 2)


def data(m: int, k: int, masked: bool, rng: Generator) -> Data:
    """Half of the entries are known."""
    made = {
        "U": rng.normal(size=(m, k)),
        "V": rng.normal(size=(m, k)),
        "T": rng.normal(size=(m, m)),
    }
    return made | ({"O": (rng.random((m, m)) < 0.5).astype(float)} if masked else {})


def masked_gradient(
    U: Array, V: Array, T: Array, O: Array  # noqa: E741
) -> tuple[Array, Array]:
    """The weighted residual is computed in place."""
    E = U @ V.T
    E -= T
    value_of = O * E
    return np.vdot(value_of, E), 2 * value_of @ V


def plain_gradient(U: Array, V: Array, T: Array) -> tuple[Array, Array]:
    """The residual is computed in place."""
    E = U @ V.T
    E -= T
    return np.vdot(E, E), 2 * E @ V


def masked_in_blocks(
    U: Array, V: Array, T: Array, O: Array  # noqa: E741
) -> tuple[Array, Array]:
    """What NumPy's products allow: no residual leaves the cache."""
    value, slope, space = 0.0, np.empty_like(U), np.empty((2, BLOCK, len(T)))
    for start in range(0, len(U), BLOCK):
        rows = slice(start, start + BLOCK)
        E, weighted = space[:, : len(U[rows])]
        np.subtract(np.matmul(U[rows], V.T, out=E), T[rows], out=E)
        value += np.vdot(np.multiply(O[rows], E, out=weighted), E)
        np.matmul(weighted, V, out=slope[rows])
    return value, 2 * slope


def plain_in_blocks(U: Array, V: Array, T: Array) -> tuple[Array, Array]:
    """What NumPy's products allow: no residual leaves the cache."""
    value, slope, space = 0.0, np.empty_like(U), np.empty((BLOCK, len(T)))
    for start in range(0, len(U), BLOCK):
        rows = slice(start, start + BLOCK)
        E = np.matmul(U[rows], V.T, out=space[: len(U[rows])])
        E -= T[rows]
        value += np.vdot(E, E)
        np.matmul(E, V, out=slope[rows])
    return value, 2 * slope


def masked_blocks(V: Array, O: Array) -> Array:  # noqa: E741
    """One product of the mask with all pairs of columns: a block for each row."""
    m, k = V.shape
    pairs = (V[:, :, None] * V[:, None, :]).reshape(m, k * k)
    return 2 * (O @ pairs).reshape(m, k, k)


def plain_block(V: Array) -> Array:
    """One block, the same for all rows."""
    return 2 * V.T @ V


def _times(found: Any, m: int, k: int) -> list[Array]:
    """What a Hessian in any form makes of one direction: the dense one is too large."""
    v = np.random.default_rng(1).normal(size=(m, k))
    if hasattr(found, "matvec"):
        return [np.reshape(found @ v, (m, k))]
    found = np.asarray(found)
    if found.shape == (k, k):
        return [v @ found]
    if found.shape == (m, k, k):
        return [np.einsum("iab,ib->ia", found, v)]
    return [(found.reshape(m * k, m * k) @ v.ravel()).reshape(m, k)]


def _gradients(m: int, masked: bool) -> Case:
    own = hand(masked_gradient if masked else plain_gradient)
    blocks = hand(
        masked_in_blocks if masked else plain_in_blocks, name="by hand, in blocks"
    )
    loss = masked_loss if masked else plain_loss
    return Case(
        f"{_kind(masked)}, value and gradient",
        "m",
        m,
        lambda rng: data(m, RANK, masked, rng),
        (
            ours(spec(m, RANK, masked), "f_value_and_grad"),
            own,
            blocks,
            *derived(loss, "value and gradient"),
        ),
    )


def _hessians(m: int, masked: bool) -> Case:
    def result(found: Any) -> list[Array]:
        return _times(found, m, RANK)

    loss, text = masked_loss if masked else plain_loss, spec(m, RANK, masked)
    dense = [ours(text, "f_hess_dense", name="tensorgen, dense", result=result)]
    own = hand(masked_blocks if masked else plain_block, result=result)
    peers = [
        Contender(c.name, c.make, c.libraries, result)
        for c in derived(loss, "Hessian")
        if m <= DENSE
    ]
    return Case(
        f"{_kind(masked)}, Hessian",
        "m",
        m,
        lambda rng: data(m, RANK, masked, rng),
        (ours(text, "f_hess", result=result), own, *dense * (m <= DENSE), *peers),
    )


def _kind(masked: bool) -> str:
    return "masked factorisation" if masked else "factorisation"


def masked_step(U: Array, V: Array, T: Array, O: Array) -> Array:  # noqa: E741
    """A stack of small systems, one for each row."""
    _, gradient = masked_gradient(U, V, T, O)
    return np.linalg.solve(masked_blocks(V, O), gradient[:, :, None])[:, :, 0]


def plain_step(U: Array, V: Array, T: Array) -> Array:
    """One small system with as many right-hand sides as rows."""
    _, gradient = plain_gradient(U, V, T)
    return cho_solve(cho_factor(plain_block(V)), gradient.T).T


def _ours_step(module: Any, data: Data) -> Task:
    return lambda: module.f_hess(**data).solve(module.f_grad(**data))


def _dense_step(module: Any, data: Data) -> Task:
    def step() -> Array:
        gradient = module.f_grad(**data)
        size = gradient.size
        H = module.f_hess_dense(**data).reshape(size, size)
        options = {"assume_a": "pos", "overwrite_a": True, "check_finite": False}
        return solve(H, gradient.ravel(), **options).reshape(gradient.shape)

    return step


def _steps(masked: bool) -> Case:
    m, k = NEWTON
    text = spec(m, k, masked)
    contenders = [
        ours(text, _ours_step),
        hand(masked_step if masked else plain_step),
        ours(text, _dense_step, name="tensorgen, dense"),
    ]
    return Case(
        f"{_kind(masked)}, Newton step, k = {k}",
        "m",
        m,
        lambda rng: data(m, k, masked, rng),
        tuple(contenders),
        agreement=1e-6,
    )


def cases() -> Iterator[Case]:
    """First and second derivatives at all sizes, and a step of Newton's method."""
    for masked in (True, False):
        yield from (_gradients(m, masked) for m in SIZES)
        yield from (_hessians(m, masked) for m in SIZES)
        yield _steps(masked)


SET = Set(
    "B",
    "factorisation",
    f"Matrix factorisation, m x m of rank {RANK}, by the left factor; `dense` forms\n"
    "all entries of the Hessian, as JAX, torch and autograd do; others keep blocks.",
    cases,
)

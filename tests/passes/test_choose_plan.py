"""Which plan is computed: of several derivatives each in the way that suits it."""

import jax
import jax.numpy as jnp
import numpy as np

import tensorgen
from tests.made import generate

jax.config.update("jax_enable_x64", True)

CAMERA = """tensorgen: 1
dims: {n: 200}
inputs: {omega: [3], t: [3], P: [n, 3], f: scalar}
functions:
  image:
    where: |
      theta = norm(omega)
      axis = omega/theta
      Q[i, :] = cos(theta)*P[i] + sin(theta)*cross(axis, P[i]) + t
      r[i, a=range(2)] = f*Q[i, a]/Q[i, 2]
    expr: r
    wrt: [omega, t]
    emit: [jacobian]
"""


def image(omega: jax.Array, t: jax.Array, P: np.ndarray, f: float) -> jax.Array:
    theta = jnp.linalg.norm(omega)
    axis = omega / theta
    Q = jnp.cos(theta) * P + jnp.sin(theta) * jnp.cross(axis, P) + t
    return f * Q[:, :2] / Q[:, 2:]


def test_a_derivative_without_structure_goes_its_own_way() -> None:
    # By `t` it may be stored as less than a plain array; by `omega` it is one. Reverse
    # mode, which shows the structure of the one, multiplies out the other.
    text = generate(CAMERA)
    body = text.partition("def image_jac")[2].partition("\ndef ")[0]
    assert len(body.splitlines()) < 80
    assert "jac_Q = " in body
    module = tensorgen.load(CAMERA)
    rng = np.random.default_rng(0)
    omega, t, P = rng.normal(size=3), rng.normal(size=3), rng.normal(size=(7, 3))
    found = module.image_jac(omega, t, P, 1.5)
    expected = jax.jacobian(image, argnums=(0, 1))(omega, t, P, 1.5)
    for own, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(own.dense(), other, rtol=1e-10, atol=1e-12)

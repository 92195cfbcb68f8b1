"""Train a layer of attention to look up: each token asks for another one by its number.

A token carries its own number, the number of the token it asks for, and a payload; the
output wanted is the payload of the token asked for. That cannot be done without
attention, and with it exactly.
"""

from pathlib import Path

import numpy as np
from minimise import newton

import tensorgen

HERE = Path(__file__).resolve().parent
BATCH, TOKENS, PAYLOAD, HEADS, WIDTH = 24, 6, 3, 2, 4


def sequences(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Return tokens (number, number asked for, payload) and the payloads asked for."""
    # Numbers are points on a circle: close in angle, large in inner product.
    angle = 2 * np.pi * np.arange(TOKENS) / TOKENS
    point = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    asked = rng.integers(0, TOKENS, (BATCH, TOKENS))
    payload = rng.standard_normal((BATCH, TOKENS, PAYLOAD))
    own = np.broadcast_to(point, (BATCH, TOKENS, 2))
    X = np.concatenate([own, point[asked], payload], axis=-1)
    return X, np.take_along_axis(payload, asked[:, :, None], axis=1)


def main() -> tuple[float, float]:
    """Train; return the losses on sequences seen and on new ones."""
    model = tensorgen.load(HERE / "attention_layer.yaml")
    rng = np.random.default_rng(5)
    X, Y = sequences(rng)
    d = X.shape[-1]
    problem = model.LossProblem(X=X, Y=Y)
    start = problem.pack(
        Q=rng.normal(0, 0.5, (HEADS, d, WIDTH)),
        K=rng.normal(0, 0.5, (HEADS, d, WIDTH)),
        V=rng.normal(0, 0.5, (HEADS, d, PAYLOAD)),
    )
    v = newton(problem.value_and_gradient, problem.hvp, start, iterations=80, inner=60)
    Q, K, V = problem.unpack(v)
    fresh_X, fresh_Y = sequences(rng)
    seen = float(problem.value(v))
    fresh = float(model.loss(Q=Q, K=K, V=V, X=fresh_X, Y=fresh_Y))
    print(f"loss {seen:.6f} on the sequences seen, {fresh:.6f} on new ones")
    return seen, fresh


if __name__ == "__main__":
    main()

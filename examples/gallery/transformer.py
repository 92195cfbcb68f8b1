"""A small language model: one transformer block that reads a licence letter by letter.

Embedding, causal attention with heads, layer norm, a network with GELU, and residuals,
as in GPT-2. What is generated for the gradient is plain NumPy; Adam takes 300 steps.
The text is that of the Apache licence, which every copy of this project has.
"""

from typing import Any

import numpy as np

import tensorgen
from gallery.runs import EXAMPLES, FITTED, HERE, SEEN, Array, Run

TITLE = "Transformer: a language model of one block"
SPEC = HERE / "transformer.yaml"
SHOWN = "loss_grad"
BATCH, LENGTH, WIDTH, HEADS, SIZE, HIDDEN = 12, 24, 24, 2, 12, 48
STEPS, RATE = 300, 1.5e-2


def text() -> tuple[list[str], Any]:
    """Return the characters that occur, and the text as their numbers."""
    letters = (EXAMPLES.parent / "LICENSE").read_text(encoding="utf-8").lower()
    words = " ".join(letters.split())
    known, ids = np.unique([*words], return_inverse=True)
    return [str(x) for x in known], ids


def weights(vocabulary: int) -> dict[str, Array]:
    """Return the weights to start from."""
    rng = np.random.default_rng(0)

    def normal(*shape: int) -> Array:
        return rng.normal(0, shape[-2] ** -0.5, shape)

    return {
        "E": rng.normal(0, 0.1, (vocabulary, WIDTH)),
        "P": rng.normal(0, 0.1, (LENGTH, WIDTH)),
        **{name: normal(HEADS, WIDTH, SIZE) for name in "QKV"},
        "O": normal(HEADS, SIZE, WIDTH),
        **{name: np.full(WIDTH, float(name[0] == "g")) for name in ("g1", "b1")},
        **{name: np.full(WIDTH, float(name[0] == "g")) for name in ("g2", "b2")},
        **{"W1": normal(WIDTH, HIDDEN), "c1": np.zeros(HIDDEN)},
        **{"W2": normal(HIDDEN, WIDTH), "c2": np.zeros(WIDTH)},
    }


def batch(ids: Any, rng: np.random.Generator) -> dict[str, Any]:
    """Return pieces of the text, and what follows each of their characters."""
    start = rng.integers(0, len(ids) - LENGTH - 1, BATCH)
    places = start[:, None] + np.arange(LENGTH)
    return {"token": ids[places], "target": ids[places + 1]}


def bigrams(ids: Any, vocabulary: int) -> float:
    """Return the entropy of a character given the one before it, as counted."""
    count = np.zeros((vocabulary, vocabulary))
    np.add.at(count, (ids[:-1], ids[1:]), 1.0)
    share = count / np.maximum(count.sum(axis=1, keepdims=True), 1)
    logs = np.log(np.where(count > 0, share, 1))
    return float(-np.sum(count * logs) / np.sum(count))


def run() -> Run:
    """Train by Adam."""
    model: Any = tensorgen.load(SPEC)
    known, ids = text()
    rng = np.random.default_rng(1)
    problem = model.LossProblem(**batch(ids, rng))
    v = problem.pack(**weights(len(known)))
    mean, square, losses = np.zeros_like(v), np.zeros_like(v), []
    for step in range(1, STEPS + 1):
        problem.update(**batch(ids, rng))
        loss, gradient = problem.value_and_gradient(v)
        losses.append(float(loss))
        mean += 0.1 * (gradient - mean)
        square += 0.01 * (gradient**2 - square)
        rate = RATE * np.cos(np.pi / 2 * step / (STEPS + 1))
        scale = np.sqrt(square / (1 - 0.99**step)) + 1e-8
        v = v - rate * mean / (1 - 0.9**step) / scale
    known_by_pairs = bigrams(ids, len(known))
    last = float(np.mean(losses[-40:]))

    def draw(axes: Any) -> None:
        axes.plot(losses, color=FITTED, label="transformer")
        axes.axhline(known_by_pairs, color=SEEN, label="counts of pairs")
        axes.set(xlabel="step", ylabel="nats a character")

    numbers = {
        "weights": str(len(v)),
        "nats a character, from counts of pairs": f"{known_by_pairs:.3f}",
        "after training": "below 2.2" if last < 2.2 else f"{last:.2f}",
    }
    found = {"model": model, "losses": losses, "last": last, "pairs": known_by_pairs}
    return Run(numbers, draw, found | {"ids": ids, "known": known})

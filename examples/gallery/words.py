"""Words as vectors, learnt from the company that they keep in a licence.

The corpus is the text of the Apache licence, which every copy of this project has. The
loss is that of skip-grams with negative samples, summed over all pairs instead of
drawn. Levy and Goldberg (2014) show what it tends to with enough dimensions: the
logarithm of how much more often words meet than by chance, less that of the number of
samples.
"""

import re
from typing import Any

import numpy as np
from scipy import optimize

import tensorgen
from gallery.runs import EXAMPLES, FITTED, HERE, Array, Run

TITLE = "word2vec: the words of a licence"
SPEC = HERE / "words.yaml"
SHOWN = "loss_grad"
WINDOW, SAMPLES, SEEN_TIMES, DIMENSIONS = 4, 3, 4, 8


def corpus() -> tuple[list[str], Array]:
    """Return the words that are frequent enough, and how often they meet."""
    text = (EXAMPLES.parent / "LICENSE").read_text(encoding="utf-8").lower()
    spoken = re.findall(r"[a-z]+", text)
    words, counts = np.unique(spoken, return_counts=True)
    kept = [str(w) for w, n in zip(words, counts, strict=True) if n >= SEEN_TIMES]
    number = {word: k for k, word in enumerate(kept)}
    ids = [number[word] for word in spoken if word in number]
    count = np.zeros((len(kept), len(kept)))
    for step in range(1, WINDOW + 1):
        np.add.at(count, (ids[step:], ids[:-step]), 1.0)
    return kept, count + count.T


def chance(count: Array) -> Array:
    """Return how often pairs are drawn: in proportion to how frequent both are."""
    total = count.sum(axis=1)
    return np.asarray(SAMPLES * np.outer(total, total) / total.sum())


def fit(problem: Any, v: Array) -> Array:
    """Return the vectors that L-BFGS finds."""
    found = optimize.minimize(
        problem.value_and_gradient,
        v,
        jac=True,
        method="L-BFGS-B",
        options={"maxiter": 3000, "maxfun": 6000, "gtol": 1e-3, "ftol": 1e-13},
    )
    return np.asarray(found.x)


def run() -> Run:
    """Learn the vectors; tell whose are close to each other."""
    model: Any = tensorgen.load(SPEC)
    kept, count = corpus()
    problem = model.LossProblem(count=count, chance=chance(count))
    rng = np.random.default_rng(0)
    start = 0.3 * rng.standard_normal((2, len(kept), DIMENSIONS))
    v = fit(problem, problem.pack(W=start[0], C=start[1]))
    W, _ = problem.unpack(v)
    unit = W / np.linalg.norm(W, axis=1)[:, None]
    cosine = unit @ unit.T - 2 * np.eye(len(kept))

    def draw(axes: Any) -> None:
        shown = np.argsort(-count.sum(axis=1))[:45]
        rows = unit[shown] - unit[shown].mean(axis=0)
        places = rows @ np.linalg.svd(rows, full_matrices=False)[2][:2].T
        axes.scatter(*places.T, s=3, color=FITTED)
        for k, place in zip(shown, places, strict=True):
            axes.text(*place, kept[k], fontsize=6).set_in_layout(False)
        axes.set_axis_off()

    numbers = {"words": f"{len(kept)}", "pairs": f"{count.sum():.0f}"}
    numbers["loss"] = f"{float(problem.value(v)):.1f}"
    for word in ("derivative", "copyright", "source", "unless"):
        near = kept[int(np.argmax(cosine[kept.index(word)]))]
        numbers[f"closest to *{word}*"] = f"*{near}*"
    return Run(numbers, draw, {"model": model, "problem": problem, "v": v})

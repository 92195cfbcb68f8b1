"""What is learnt in the gallery is what other programs learn."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import optimize

from tests.gallery.entries import entry, found, named


@named("mixture")
def test_the_mixture_is_as_likely_as_that_of_scikit_learn() -> None:
    mixture = pytest.importorskip("sklearn.mixture")
    own = found("mixture")
    fit = mixture.GaussianMixture(3, tol=1e-10, max_iter=5000, n_init=5, random_state=0)
    # scikit-learn adds 1e-6 to the variances.
    assert own["likelihood"] == pytest.approx(
        fit.fit(own["X"]).score(own["X"]), abs=1e-4
    )


@named("ratings")
def test_ratings_are_predicted_better_than_by_means() -> None:
    errors = found("ratings")["errors"]
    assert errors[-1] < 0.98 * found("ratings")["baseline"]
    assert errors[-1] == min(errors)


@named("digits")
def test_the_digits_are_told_as_scikit_learn_tells_them() -> None:
    linear_model = pytest.importorskip("sklearn.linear_model")
    X, Y = entry("digits").pictures()
    W, fresh = found("digits")["W"], found("digits")["fresh"]
    C = 1 / (2 * entry("digits").LAM * np.sum(~fresh))
    fit = linear_model.LogisticRegression(
        C=C, fit_intercept=False, tol=1e-8, max_iter=5000
    )
    fit.fit(X[~fresh], np.argmax(Y[~fresh], axis=1))
    np.testing.assert_allclose(W.T, fit.coef_, atol=1e-5)
    assert found("digits")["right"] > 0.94


@named("neighbours")
def test_the_map_is_as_good_as_that_of_scikit_learn() -> None:
    manifold = pytest.importorskip("sklearn.manifold")
    own = found("neighbours")
    fit = manifold.TSNE(
        perplexity=entry("neighbours").PERPLEXITY, init="pca", method="exact"
    ).fit(own["X"])
    assert own["divergence"] < 1.05 * fit.kl_divergence_
    assert own["kept"] > 0.9


@named("neighbours")
def test_the_gradient_of_the_map_is_the_one_by_hand() -> None:
    # van der Maaten and Hinton 2008, equation 5.
    own = found("neighbours")
    Y, P = own["Y"] + 0.1 * np.random.default_rng(0).standard_normal((300, 2)), own["P"]
    steps = Y[:, None] - Y
    tails = 1 / (1 + np.sum(steps**2, axis=-1))
    np.fill_diagonal(tails, 0)
    Q = tails / tails.sum()
    want = 4 * np.sum(((P - Q) * tails)[:, :, None] * steps, axis=1)
    gradient = own["model"].divergence_grad(Y, P)
    np.testing.assert_allclose(gradient, want, rtol=1e-9, atol=1e-15)


@named("words")
def test_with_all_dimensions_words_tend_to_what_levy_and_goldberg_state() -> None:
    module, model = entry("words"), found("words")["model"]
    _, count = module.corpus()
    busy = np.argsort(-count.sum(axis=1))[:12]
    count = count[np.ix_(busy, busy)] + 1
    chance = module.chance(count)
    problem = model.LossProblem(count=count, chance=chance, lam=0.0)
    rng = np.random.default_rng(0)
    v = module.fit(problem, problem.pack(*rng.standard_normal((2, 12, 12))))
    # That ends where slopes are small, and rare pairs have flat ones: Newton goes on.
    given = {**problem.minimize_args(), "options": {"gtol": 1e-6}}
    W, C = problem.unpack(optimize.minimize(x0=v, method="trust-ncg", **given).x)
    total = count.sum(axis=1)
    met = np.log(count * count.sum() / np.outer(total, total))
    np.testing.assert_allclose(W @ C.T, met - np.log(module.SAMPLES), atol=1e-5)


@named("words")
def test_the_vectors_are_a_minimum() -> None:
    problem, v = found("words")["problem"], found("words")["v"]
    assert np.max(np.abs(problem.gradient(v))) < 1e-2
    rng = np.random.default_rng(0)
    for d in rng.standard_normal((20, len(v))):
        assert d @ problem.hvp(v, d) > 0


@named("transformer")
def test_the_transformer_learns_more_than_pairs() -> None:
    assert found("transformer")["last"] < found("transformer")["pairs"]


@named("transformer")
def test_the_gradient_of_the_transformer_is_that_of_jax() -> None:
    jax = pytest.importorskip("jax")
    jax.config.update("jax_enable_x64", True)
    jnp, module = jax.numpy, entry("transformer")
    own = found("transformer")
    weights = module.weights(len(own["known"]))
    rng = np.random.default_rng(5)
    weights = {k: w + 0.1 * rng.standard_normal(w.shape) for k, w in weights.items()}
    data = module.batch(own["ids"], rng)

    def norm(x: Any, g: Any, b: Any) -> Any:
        centred = x - x.mean(-1, keepdims=True)
        return centred / jnp.sqrt((centred**2).mean(-1, keepdims=True) + 1e-5) * g + b

    def loss(w: dict[str, Any]) -> Any:
        x = w["E"][data["token"]] + w["P"]
        y = norm(x, w["g1"], w["b1"])
        q, k, v = (jnp.einsum("sif,afc->saic", y, w[name]) for name in "QKV")
        score = jnp.einsum("saic,sajc->saij", q, k) / np.sqrt(module.SIZE)
        causal = np.tril(np.ones(score.shape[-2:], bool))
        share = jax.nn.softmax(jnp.where(causal, score, -jnp.inf))
        z = x + jnp.einsum("saij,sajc,acf->sif", share, v, w["O"])
        hidden = norm(z, w["g2"], w["b2"]) @ w["W1"] + w["c1"]
        out = z + jax.nn.gelu(hidden, approximate=False) @ w["W2"] + w["c2"]
        logs = jax.nn.log_softmax(out @ w["E"].T)
        return -jnp.take_along_axis(logs, data["target"][..., None], -1).mean()

    value, gradient = own["model"].loss_value_and_grad(**weights, **data)
    want, by = jax.value_and_grad(loss)(weights)
    assert value == pytest.approx(float(want), rel=1e-12)
    for name, one in by.items():
        np.testing.assert_allclose(getattr(gradient, name), one, rtol=1e-7, atol=1e-10)

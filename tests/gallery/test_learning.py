"""What is learnt in the gallery is what other programs learn."""

from __future__ import annotations

import numpy as np
import pytest

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

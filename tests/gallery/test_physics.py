"""Physics and engineering of the gallery: laws hold, and published values are met."""

from __future__ import annotations

import numpy as np

from tests.gallery.entries import entry, found, named


@named("pinn")
def test_the_network_is_close_to_the_solution() -> None:
    assert found("pinn")["error"] < 1e-3


@named("rubber_beam")
def test_the_holds_bear_the_weight() -> None:
    load = entry("rubber_beam").mesh_energy.LOAD
    pull = found("rubber_beam")["pull"].sum(axis=0)
    np.testing.assert_allclose(pull, [0, load], atol=1e-11)


@named("denoising")
def test_most_of_the_noise_is_gone() -> None:
    assert found("denoising")["after"] < found("denoising")["before"] / 3

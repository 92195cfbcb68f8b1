"""Source of the helpers for functions of symmetric matrices, by eigenvectors."""

SPECTRAL: dict[str, str] = {
    "_sqrtm": '''
def _sqrtm(a: Array) -> Array:
    """Return the square roots of positive definite matrices, NaN of others."""
    values, vectors = np.linalg.eigh(a)
    return vectors * np.sqrt(values)[..., None, :] @ vectors.swapaxes(-1, -2)
''',
    "_lyapunov": '''
def _lyapunov(s: Array, x: Array) -> Array:
    """Return the y with s @ y + y @ s = x, for positive definite s."""
    values, vectors = np.linalg.eigh(s)
    turned = vectors.swapaxes(-1, -2) @ x @ vectors
    turned /= values[..., :, None] + values[..., None, :]
    return vectors @ turned @ vectors.swapaxes(-1, -2)
''',
    "_logm": '''
def _logm(a: Array) -> Array:
    """Return the logarithms of positive definite matrices, NaN of others."""
    values, vectors = np.linalg.eigh(a)
    return vectors * np.log(values)[..., None, :] @ vectors.swapaxes(-1, -2)
''',
    "_log_slope": '''
def _log_slope(l: Array, x: Array) -> Array:
    """Return the derivative of the logarithm along x, where its value is l."""
    values, vectors = np.linalg.eigh(l)
    half = (values[..., :, None] - values[..., None, :]) / 2
    mean = (values[..., :, None] + values[..., None, :]) / 2
    turned = vectors.swapaxes(-1, -2) @ x @ vectors
    turned *= np.where(half == 0, 1, half) / np.where(half == 0, 1, np.sinh(half))
    return vectors @ (turned * np.exp(-mean)) @ vectors.swapaxes(-1, -2)
''',
}
"""The helpers by name."""

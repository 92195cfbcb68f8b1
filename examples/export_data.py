"""Write data/digits.csv and data/iris.csv from the copies that scikit-learn ships.

Run it as `python examples/export_data.py`; it needs scikit-learn.
"""

import csv
from pathlib import Path

from sklearn.datasets import load_digits, load_iris

DATA = Path(__file__).resolve().parent / "data"
IMAGES = 300


def digits() -> None:
    """Write the first images, one a line: 64 pixels from 0 to 16, then the digit."""
    bunch = load_digits()
    with (DATA / "digits.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow([*bunch.feature_names, "digit"])
        pixels, digit = bunch.data[:IMAGES], bunch.target[:IMAGES]
        for image, label in zip(pixels, digit, strict=True):
            writer.writerow([*map(int, image), label])


def iris() -> None:
    """Write the flowers, one a line: four lengths in cm, then the species."""
    bunch = load_iris()
    with (DATA / "iris.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow([*bunch.feature_names, "species"])
        for flower, target in zip(bunch.data, bunch.target, strict=True):
            lengths = [repr(float(length)) for length in flower]
            writer.writerow([*lengths, bunch.target_names[target]])


if __name__ == "__main__":
    digits()
    iris()

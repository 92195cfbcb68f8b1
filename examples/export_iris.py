"""Write data/iris.csv from the copy that scikit-learn ships.

Run it as `python examples/export_iris.py`; it needs scikit-learn.
"""

import csv
from pathlib import Path

from sklearn.datasets import load_iris

DATA = Path(__file__).resolve().parent / "data"


def main() -> None:
    """Write the flowers, one a line: four lengths in cm, then the species."""
    bunch = load_iris()
    with (DATA / "iris.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow([*bunch.feature_names, "species"])
        for flower, target in zip(bunch.data, bunch.target, strict=True):
            lengths = [repr(float(length)) for length in flower]
            writer.writerow([*lengths, bunch.target_names[target]])


if __name__ == "__main__":
    main()

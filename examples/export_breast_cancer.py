"""Write data/breast_cancer.csv from the copy that scikit-learn ships.

Run it as `python examples/export_breast_cancer.py`; it needs scikit-learn.
"""

import csv

from breast_cancer import CSV
from sklearn.datasets import load_breast_cancer


def main() -> None:
    """Write the header and one line a sample, in scikit-learn's order."""
    bunch = load_breast_cancer()
    with CSV.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow([*bunch.feature_names, "diagnosis"])
        for measurements, target in zip(bunch.data, bunch.target, strict=True):
            # `repr` of a float reads back to the same float.
            cells = [repr(float(value)) for value in measurements]
            writer.writerow([*cells, bunch.target_names[target]])


if __name__ == "__main__":
    main()

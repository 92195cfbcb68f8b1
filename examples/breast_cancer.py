"""The data of the demo: breast tumours, described by thirty measurements each.

`data/README.md` names the source and the licence.
"""

import csv
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

DATA = Path(__file__).resolve().parent / "data"
CSV = DATA / "breast_cancer.csv"

Array = NDArray[np.float64]


def load() -> tuple[Array, Array, list[str]]:
    """Return `X[i, j]`, standardised, with a column of ones; `y[i]`; column names.

    Labels are +1 for malignant and -1 for benign. Every measurement has mean 0 and
    standard deviation 1 over the samples; the column of ones, the intercept, is last.
    """
    with CSV.open(newline="", encoding="utf-8") as file:
        header, *rows = csv.reader(file)
    measured = np.array([[float(cell) for cell in row[:-1]] for row in rows])
    y = np.array([1.0 if row[-1] == "malignant" else -1.0 for row in rows])
    standardised = (measured - measured.mean(axis=0)) / measured.std(axis=0)
    X = np.column_stack([standardised, np.ones(len(y))])
    return X, y, [*header[:-1], "intercept"]

"""The comparison of two trees tells what differs, and by how much."""

from pathlib import Path

from tests.compare import differences, flops, specs

MODULE = '''
def loss(x):
    """Return it.

    Cost: if m < n: 2*m*n flops; peak memory m numbers; 3*m**2 + 1 flops
    Raises: TypeError.
    """
    return x
'''


def test_flops_of_all_cases_are_added_up() -> None:
    assert flops(MODULE, {"m": 10, "n": 100}) == {"loss": 2000 + 301}
    assert flops("def f(x):\n    return x\n", {}) == {"f": 0}


def test_a_difference_is_told_by_its_lines_and_flops(tmp_path: Path) -> None:
    before, after = tmp_path / "before", tmp_path / "after"
    for folder, text in (before, MODULE), (after, MODULE.replace("2*m*n", "m*n")):
        folder.mkdir()
        (folder / "loss_numpy.py").write_text(text, encoding="utf-8")
        (folder / "loss.txt").write_text("exit code 0\n", encoding="utf-8")
    assert [*differences(before, before, {})] == []
    assert [*differences(before, after, {"m": 10, "n": 100})] == [
        "loss_numpy.py: 1 lines gained, 1 lost",
        "  loss: 2301 flops before, 1301 now",
    ]
    (after / "loss_numpy.py").unlink()
    (line,) = [x for x in differences(before, after, {}) if not x.startswith("  ")]
    assert line == "loss_numpy.py: 0 lines gained, 8 lost"


def test_examples_gallery_and_new_specs_are_compared() -> None:
    assert specs().keys() >= {"logistic_regression", "bundle", "soft-dice"}

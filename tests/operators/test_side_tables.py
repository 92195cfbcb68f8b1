"""What is known of a function stands in its row, not in tables beside."""

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import get_args

from tensorgen.operators import table
from tensorgen.operators.calls import OPERATORS
from tensorgen.operators.elementwise import ELEMENTWISE

PACKAGE = Path(table.__file__).parent.parent
KNOWN = {*ELEMENTWISE, *OPERATORS}
ALLOWED = {
    # What computes each function with many digits, and the tests compare with.
    "operators/references/rows.py": {"FUNCTIONS"},
    "operators/references/whole_arrays.py": {"OPERATORS"},
    "operators/references/places.py": {"PLACES"},
    "operators/references/walks.py": {"WALKS"},
    "operators/references/spectral.py": {"OPERATORS"},
    # What one exponential makes, and how each is made of it.
    "arrays/bundle.py": {"SAME", "OPPOSITE"},
    "operators/helpers/shares.py": {"FORMS", "ALONE"},
    "operators/helpers/kernels.py": {"_SHARES"},
    # What helpers make together, in the order in which they return it.
    "operators/helpers/special.py": {"BETWEEN"},
    # What is called like another function, which it is where that has a value.
    "operators/whole_words.py": {"_VARIANTS"},
    # On which sides of a kink a value stands still.
    "operators/conditions/still.py": {"_BEYOND"},
    # Rewrites of nodes, made of modules that read the rows.
    "operators/stable/__init__.py": {"_MAP_RULES"},
    # What LaTeX has commands for, and how docstrings write reductions.
    "explanation/latex.py": {"_FUNCTIONS"},
    "explanation/formula_tree.py": {"REDUCTIONS"},
    # What the documentation says of them, for who verifies without the rows.
    "verify/reference.py": {"OF_SYMMETRIC_PART", "_LOOKED_UP"},
    # What other notations call them.
    "frontends/known_functions.py": {"_SAME"},
    "frontends/latex_words.py": {"_SAME"},
    "frontends/matlab_syntax.py": {"_SAME"},
    "frontends/over_numpy/numpy_table.py": {"OF_MATH"},
    "frontends/read_declarations.py": {"_OF_MATRICES"},
    "frontends/sympy_expressions.py": {"FUNCTIONS"},
    "frontends/sympy_of_nodes.py": {"_FUNCTIONS"},
    # What serves numbers of any kind as it is written.
    "verify/exact_functions.py": {"OF_ANY_NUMBERS"},
}


def side_tables(source: str) -> Iterator[str]:
    """Yield the names of collections of three functions or more, and of no others."""
    for statement in ast.parse(source).body:
        match statement:
            case ast.Assign(targets=[target], value=value):
                pass
            case ast.AnnAssign(target=target, value=ast.expr() as value):
                pass
            case _:
                continue
        for part in ast.walk(value):
            match part:
                case ast.Dict(keys=keys):
                    found = [ast.unparse(key) for key in keys if key is not None]
                case ast.Tuple(elts=elts) | ast.List(elts=elts) | ast.Set(elts=elts):
                    found = [ast.unparse(element) for element in elts]
                case ast.Constant(value=str() as words):
                    found = [repr(word) for word in words.split()]
                case _:
                    continue
            if len(found) > 2 and {*found} <= {*map(repr, KNOWN)}:
                yield ast.unparse(target)


def test_tables_beside_the_rows_are_found() -> None:
    source = "A = ('exp', 'log', 'sin')\nB = {'exp': 1, 'log': 2, 'inv': 3}\n"
    source += "C = frozenset('exp log sin'.split())\nD = ('exp', 'log', 'x')\n"
    assert [*side_tables(source)] == ["A", "B", "C"]


def test_there_is_no_table_of_functions_beside_the_rows() -> None:
    found = {
        path.relative_to(PACKAGE).as_posix(): {*side_tables(path.read_text())}
        for path in sorted(PACKAGE.rglob("*.py"))
    }
    assert {path: names for path, names in found.items() if names} == ALLOWED


def test_traits_are_those_that_can_be_asked_for() -> None:
    words = [word for row in ELEMENTWISE.values() for word in row.traits.split()]
    assert {*words} == {*get_args(table.Trait)}

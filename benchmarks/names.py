"""How the values in emitted functions are called: `python benchmarks/names.py`.

Generic names say of what kind a value is (`weighted_2`, `product`), vague ones that,
and of what one operand (`weighted_X`, `X_sum`). The others are the user's, those of
derivatives, or say all of what is done. Counted are the names that functions bind, of
the examples, the gallery and each Nth spec of tests/corpus, and among them those that
claim what is not done (tests/name_claims.py). It writes benchmarks/results/names.txt.
"""

from __future__ import annotations

import argparse
import ast
import re
import sys
from collections import Counter
from collections.abc import Iterator

import report
from ablation import specs

from tensorgen.errors import Source, SpecError
from tensorgen.operators.word_shapes import is_generic, says_little
from tensorgen.pipeline import compile_spec
from tests.name_claims import false_claims

KINDS = ("generic", "vague", "other")
MOST = 12
"""So many of the generic names are listed."""
_WORDS = ("masked", "selected", "columns", "value", "stored", "kept", "space")
_SHORT = 2
"""Letters of an index or the like, which needs no meaning."""


def kind(name: str) -> str:
    """What a name says of its value."""
    stem = re.sub(r"(_\d+)+$", "", name)
    if stem in _WORDS or (is_generic(stem) and "_" not in stem) or "_values" in stem:
        return "generic"
    return "vague" if says_little(stem) else "other"


def names(text: str) -> Iterator[str]:
    """Yield what functions of a module bind, each once a function."""
    for function in ast.parse(text).body:
        if not isinstance(function, ast.FunctionDef):
            continue
        given = {arg.arg for arg in (*function.args.args, *function.args.kwonlyargs)}
        bound = (x for x in ast.walk(function) if isinstance(x, ast.Name))
        stored = {x.id for x in bound if isinstance(x.ctx, ast.Store)}
        yield from sorted(x for x in stored - given if len(x) > _SHORT)


def counted(every: int) -> list[str]:
    """The lines of the table."""
    found: dict[str, Counter[str]] = {one: Counter() for one in KINDS}
    modules = false = 0
    for name, text in specs(every).items():
        source = Source(f"{name}.yaml", text)
        try:
            files = compile_spec(
                source, ["numpy"], "cross-country", False, support="shared"
            )
        except SpecError:
            continue
        modules += 1
        module = next(iter(files.values()))
        false += len([*false_claims(module, text)])
        for own in names(module):
            found[kind(own)][re.sub(r"(_\d+)+$", "", own)] += 1
    every_name = sum(own.total() for own in found.values())
    lines = [f"{every_name} names in {modules} modules"]
    lines += [
        f"{one:10}{own.total():7}{own.total() / every_name:8.1%}"
        for one, own in found.items()
    ]
    most = found["generic"].most_common(MOST)
    lines.append(f"{'false':10}{false:7}")
    return [*lines, "", *(f"{name:24}{count:7}" for name, count in most)]


def main(arguments: list[str]) -> None:
    """Count, and write the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--every", type=int, default=17, metavar="N")
    lines = counted(parser.parse_args(arguments).every)
    report.write("names.txt", lines)


if __name__ == "__main__":
    main(sys.argv[1:])

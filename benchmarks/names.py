"""How the values in emitted functions are called: `python benchmarks/names.py`.

Generic names say of what kind a value is (`weighted_2`, `product`), vague ones that,
and of what one operand (`weighted_X`, `X_sum`). The others are the user's, those of
derivatives, or say all of what is done. Counted are the names that functions bind, of
the examples and the gallery, of the specs in benchmarks/new_specs.txt, which were
written without a look at what is emitted, and of each Nth spec of tests/corpus; and
among them those that claim what is not done (tests/name_claims.py). It writes
benchmarks/results/names.txt.
"""

from __future__ import annotations

import argparse
import ast
import re
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

import report
from ablation import specs

from tensorgen.errors import Source, SpecError
from tensorgen.operators.word_shapes import is_generic, says_little
from tensorgen.pipeline import compile_spec
from tests.corpus.run import parsed
from tests.name_claims import false_claims

KINDS = ("generic", "vague", "other")
NEW = report.ROOT / "benchmarks" / "new_specs.txt"
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


@dataclass
class Count:
    """What the names of some modules are like."""

    modules: int = 0
    false: int = 0
    found: dict[str, Counter[str]] = field(
        default_factory=lambda: {one: Counter() for one in KINDS}
    )

    def add(self, name: str, text: str) -> None:
        """Count the names of the module of a spec, if there is one."""
        source = Source(f"{name}.yaml", text)
        try:
            files = compile_spec(
                source, ["numpy"], "cross-country", False, support="shared"
            )
        except SpecError:
            return
        self.modules += 1
        module = next(iter(files.values()))
        self.false += len([*false_claims(module, text)])
        for own in names(module):
            self.found[kind(own)][re.sub(r"(_\d+)+$", "", own)] += 1

    @property
    def every(self) -> int:
        """How many names there are."""
        return sum(own.total() for own in self.found.values())


def counted(every: int) -> list[str]:
    """The lines of the table."""
    shown = {**specs_of("examples"), **specs_of("examples/gallery")}
    new = parsed("new", NEW.read_text(encoding="utf-8"))
    corpus = {name: text for name, text in specs(every).items() if name not in shown}
    groups = {
        "gallery": shown,
        "new": {spec.name: spec.text for spec in new},
        "corpus": corpus,
    }
    counts = {}
    for group, texts in groups.items():
        counts[group] = own = Count()
        for name, text in texts.items():
            own.add(name, text)
    both = counts["gallery"], counts["new"]
    lines = [f"{'':16}{'modules':>9}{'names':>7}{'generic':>9}{'vague':>8}{'false':>7}"]
    for title, parts in {
        **{group: (own,) for group, own in counts.items()},
        "gallery and new": both,
    }.items():
        total = sum(own.every for own in parts)
        shares = [
            sum(own.found[one].total() for own in parts) / total for one in KINDS[:2]
        ]
        modules, false = (
            sum(getattr(own, one) for own in parts) for one in ("modules", "false")
        )
        lines.append(
            f"{title:16}{modules:9}{total:7}{shares[0]:9.1%}{shares[1]:8.1%}{false:7}"
        )
    most = sum((own.found["generic"] for own in counts.values()), Counter[str]())
    return [
        *lines,
        "",
        *(f"{name:24}{count:7}" for name, count in most.most_common(MOST)),
    ]


def specs_of(folder: str) -> dict[str, str]:
    """The texts of the specs in a folder, by name."""
    paths = sorted((report.ROOT / folder).glob("*.yaml"))
    return {path.stem: path.read_text(encoding="utf-8") for path in paths}


def main(arguments: list[str]) -> None:
    """Count, and write the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--every", type=int, default=17, metavar="N")
    lines = counted(parser.parse_args(arguments).every)
    report.write("names.txt", lines)


if __name__ == "__main__":
    main(sys.argv[1:])

"""What each pass over graphs and each rewrite of arrays changes, by leaving it out.

Run it as `python benchmarks/ablation.py [--every N] [--seconds S] [LAW ...]`. Specs are
the examples, the gallery's, each Nth of the corpus in tests/corpus, and those of it
where laws fire that few others need. Of a law that fires in none of them it is its
witness in tests/passes. A law is left out of those specs alone where it changes a plan
or code; then functions are compared with what is emitted otherwise: by their text, by
the price that the cost model gives their plans, by the flops and the memory that their
docstrings tell, and by their times at the sizes that the spec hints at. It writes
benchmarks/results/ablation.txt.
"""

from __future__ import annotations

import argparse
import ast
import multiprocessing
import re
import resource
import sys
import types
import warnings
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from statistics import geometric_mean
from typing import Any
from unittest.mock import patch

import numpy as np
import report

from tensorgen.arrays import rewrites
from tensorgen.arrays.code import Code
from tensorgen.bench.clock import timed
from tensorgen.bench.timing_points import ATTEMPTS, call_of, hinted, point, sizes_of
from tensorgen.calculus.differentiate import Differentiate
from tensorgen.calculus.kinds import Kind
from tensorgen.errors import Source
from tensorgen.ir.graph import Graph
from tensorgen.lang import elaborate, requested
from tensorgen.operators.stable import StableForms
from tensorgen.passes import optimise
from tensorgen.passes.context import Context, Pass, Plan
from tensorgen.passes.rates import Rates
from tensorgen.pipeline import compile_spec
from tensorgen.plans import problem_plans
from tensorgen.plans.planner import Planner
from tensorgen.spec.read import read_spec
from tensorgen.verify.emitted_calls import Arguments
from tensorgen.verify.verified_modules import Subject
from tests.corpus import run as corpus
from tests.passes import witnesses

LIMIT = 600
"""Seconds of CPU after which a spec is given up."""

SELDOM = ("finnis-sinclair", "huber-irls-weights", "normal-modes", "vq-vae")
"""Specs of the corpus where laws fire that few others need."""

Prices = dict[str, float]


@dataclass(frozen=True)
class Made:
    """What is emitted: the module, and each public function's text and price.

    Its text is all that it runs: functions of one formula share what several need. A
    class counts as a function, and that of a problem has the price of all methods.
    """

    module: str
    texts: Mapping[str, str]
    prices: Mapping[str, float]


@dataclass
class Effect:
    """What leaving a law out does: ratios of functions without and with it."""

    changed: int = 0
    prices: list[float] = field(default_factory=list)
    times: list[float] = field(default_factory=list)
    worst: str = ""
    fails: bool = False

    def add(self, other: Effect) -> None:
        """Count another spec's functions too."""
        self.changed += other.changed
        self.prices += other.prices
        if other.times and max(other.times) > max(self.times, default=0):
            self.worst = other.worst
        self.times += other.times


def laws() -> list[str]:
    """The names of all laws, in order."""
    both = (*optimise.PASSES, *rewrites.REWRITES)
    return list(dict.fromkeys(law.name for law in both))


def specs(every: int) -> dict[str, str]:
    """The texts of specs, by name."""
    found = {
        path.stem: path.read_text(encoding="utf-8")
        for folder in ("examples", "examples/gallery")
        for path in sorted((report.ROOT / folder).glob("*.yaml"))
    }
    every_spec = [spec for name in corpus.fields() for spec in corpus.specs(name)]
    good = [spec for spec in every_spec if spec.expected == "fine"]
    seldom = [spec for spec in good if spec.name in SELDOM]
    return found | {spec.name: spec.text for spec in (*good[::every], *seldom)}


def witness(law: str) -> str:
    """The spec of the tests in which a law fires."""
    both = dict((*witnesses.PASSES, *witnesses.REWRITES))
    text = both[law]
    return text if "tensorgen:" in text else f"tensorgen: 1\n{text}"


@contextmanager
def without(name: str | None) -> Iterator[None]:
    """Leave a law out, wherever it is in the tables."""
    passes = tuple(law for law in optimise.PASSES if law.name != name)
    table = tuple(law for law in rewrites.REWRITES if law.name != name)
    with (
        patch.object(optimise, "PASSES", passes),
        patch.object(rewrites, "REWRITES", table),
    ):
        yield


@contextmanager
def heard(fired: set[str], prices: Prices) -> Iterator[None]:
    """Note the laws that change something, and what plans cost."""
    pass_, plan_, joint_ = Pass.applied, Planner._plan, problem_plans._optimised

    def applied(law: Pass, context: Context, plan: Plan) -> list[Plan]:
        after = pass_(law, context, plan)
        if any(other.parts != plan.parts for other in after):
            fired.add(law.name)
        return after

    def planned(planner: Planner, kind: Kind, order: tuple[str, ...]) -> Any:
        found = plan_(planner, kind, order)
        name = kind.public_name(planner.function.spec.name, order)
        prices[name] = planner.context().price(found.plan.roots)
        return found

    def joined(
        planner: Planner, name: str, rates: Rates, *roots: Sequence[Any]
    ) -> Iterator[Any]:
        found = [*joint_(planner, name, rates, *roots)]
        nodes = [node for parts in found for part in parts for node in part]
        prices[name] = replace(planner.context(), rates=rates).price(nodes)
        return iter(found)

    def listening(rewrite: rewrites.Rewrite) -> rewrites.Rewrite:
        def run(code: Code, scene: rewrites.Scene) -> Code:
            after = rewrite.run(code, scene)
            if after != code:
                fired.add(rewrite.name)
            return after

        return replace(rewrite, run=run)

    with (
        patch.object(Pass, "applied", applied),
        patch.object(Planner, "_plan", planned),
        patch.object(problem_plans, "_optimised", joined),
        patch.object(rewrites, "REWRITES", tuple(map(listening, rewrites.REWRITES))),
    ):
        yield


def made(source: Source, off: str | None, fired: set[str]) -> Made:
    """Compile a spec, without one law."""
    prices: Prices = {}
    with without(off), heard(fired, prices):
        (text,) = compile_spec(
            source, ["numpy"], "cross-country", False, checked=False
        ).values()
    return Made(text, statements(text), prices)


def statements(module: str) -> dict[str, str]:
    """The statements of each public function or class, and of all that it calls."""
    bodies = {
        x.name: "\n".join(map(_body, _functions(x)))
        for x in ast.parse(module).body
        if isinstance(x, ast.FunctionDef | ast.ClassDef)
    }
    called = {
        name: [x for x in re.findall(r"\w+", body) if x in bodies]
        for name, body in bodies.items()
    }

    def reached(name: str, seen: dict[str, str]) -> dict[str, str]:
        if name not in seen:
            seen[name] = bodies[name]
            for other in called[name]:
                reached(other, seen)
        return seen

    return {
        name: "\n".join(reached(name, {}).values())
        for name in bodies
        if not name.startswith("_")
    }


def _functions(x: ast.FunctionDef | ast.ClassDef) -> list[ast.FunctionDef]:
    """A function, or the methods of a class."""
    members = [x] if isinstance(x, ast.FunctionDef) else x.body
    return [member for member in members if isinstance(member, ast.FunctionDef)]


def _body(function: ast.FunctionDef) -> str:
    """The statements of a function, its docstring left out."""
    first = 1 if ast.get_docstring(function) else 0
    return "\n".join(map(ast.unparse, function.body[first:]))


Task = Callable[[Subject], Any]


def calls(source: Source) -> dict[str, Task]:
    """How each public function is called where its values are finite."""
    spec = read_spec(source)
    variables = {wrt.name for function in spec.functions for wrt in function.wrt}
    graph = Graph(StableForms())
    program = elaborate(spec, graph, Differentiate(graph, variables))
    found: dict[str, Task] = {}
    every = hinted(spec, {})
    for function in program.generated:
        case = None
        for attempt in range(ATTEMPTS):
            try:
                sizes = sizes_of(function, every)
                case = point(function, program, sizes, 0, attempt)
                break
            except Exception:  # where it cannot be called, it is not timed
                continue
        if case is None:
            continue
        for kind, order in requested(function):
            public = kind.public_name(function.spec.name, order)
            given, _ = call_of(function, kind, case)
            found[public] = partial(_called, given, public)
    return found


def _called(given: Arguments, name: str, own: Subject) -> Any:
    return given.call(own, name)


def loaded(name: str, text: str) -> Subject:
    """Execute the text of a module that was just emitted."""
    module = types.ModuleType(name)
    exec(compile(text, f"{name}.py", "exec"), module.__dict__)
    return Subject(name, module, "")


def compared(
    name: str, with_: Made, off: Made, seconds: float, tasks: Mapping[str, Task]
) -> Effect:
    """What is different of a spec's functions where a law is left out."""
    effect = Effect()
    one, other = loaded("with_", with_.module), loaded("off", off.module)
    for function, text in off.texts.items():
        if with_.texts.get(function) == text:
            continue
        effect.changed += 1
        was, now = (x.prices.get(function) for x in (with_, off))
        if was and now:
            effect.prices.append(now / was)
        if not seconds or function not in tasks:
            continue
        task = tasks[function]
        pair = {"off": partial(task, other), "with": partial(task, one)}
        try:
            with np.errstate(all="ignore"):
                for run in pair.values():
                    run()
                times = timed(pair, seconds)
        except Exception:  # at sizes that it cannot have
            continue
        ratio = times["off"].least / times["with"].least
        if ratio > max(effect.times, default=0):
            effect.worst = f"{name}: {function}"
        effect.times.append(ratio)
    return effect


def ablated(
    name: str, text: str, chosen: Sequence[str], seconds: float
) -> dict[str, Effect]:
    """What leaving out each law that fires does to one spec."""
    source = Source(f"{name}.yaml", text)
    fired: set[str] = set()
    whole = made(source, None, fired)
    tasks = calls(source) if seconds else {}
    found: dict[str, Effect] = {}
    for law in chosen:
        if law in fired:
            try:
                off = made(source, law, set())
            except Exception:  # what comes after it counts on it
                found[law] = Effect(fails=True)
                continue
            found[law] = compared(name, whole, off, seconds, tasks)
    return found


def _limited() -> None:
    """Prepare a process of its own."""
    resource.setrlimit(resource.RLIMIT_CPU, (LIMIT, LIMIT))
    warnings.simplefilter("ignore")


def row(law: str, effects: Sequence[Effect], is_alone: bool = False) -> str:
    """A line of the table; of a law that fires in its witness alone, it has a star."""
    whole = Effect()
    for effect in effects:
        whole.add(effect)
    figures = [
        f"{number:>10}"
        for ratios in (whole.prices, whole.times)
        for number in (
            f"{geometric_mean(ratios):.3f}" if ratios else "-",
            f"{max(ratios):.3g}" if ratios else "-",
        )
    ]
    specs_ = sum(1 for effect in effects if effect.changed)
    needed = sum(effect.fails for effect in effects)
    counts = f"{len(effects):6d}{needed:7d}{specs_:7d}{whole.changed:10d}"
    name = f"{law} *" if is_alone else law
    return f"{name:20s}{counts}{''.join(figures)}  {whole.worst}".rstrip()


def main() -> None:
    """Leave out each law in turn and write the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--every", type=int, default=8, help="specs of the corpus")
    parser.add_argument("--seconds", type=float, default=0.1, help="for each timing")
    parser.add_argument("laws", nargs="*", help="some of them; all by default")
    given = parser.parse_args()
    chosen = given.laws or laws()
    found: dict[str, list[Effect]] = defaultdict(list)
    failed = list[str]()
    texts = specs(given.every)

    def run(name: str, text: str, chosen: Sequence[str]) -> None:
        # In a process of its own: one spec's memory and time are its own.
        with multiprocessing.get_context("fork").Pool(1, _limited) as pool:
            job = pool.apply_async(ablated, (name, text, chosen, given.seconds))
            try:
                effects = job.get(LIMIT)
            except Exception as error:
                failed.append(f"{name} ({type(error).__name__})")
                return
        for law, effect in effects.items():
            found[law].append(effect)
        print(f"{name}: {len(effects)} laws", file=sys.stderr, flush=True)

    for name, text in texts.items():
        run(name, text, chosen)
    alone = [law for law in chosen if not found[law]]
    for law in alone:
        run(law, witness(law), [law])
    lines = [
        f"What laws change in {len(texts)} specs, by leaving out one at a time.",
        "Of each law: specs where it fires, specs that do not compile without it,",
        "specs and functions whose text differs, and of these functions the price of",
        "the plan and the time of a call without it, over those with it: the geometric",
        "mean and the largest, and whose it is. A law with a star fires in none of",
        "them: its row is of its witness in tests/passes/witnesses.py.",
        f"Written by `python benchmarks/ablation.py --every {given.every}"
        f" --seconds {given.seconds}`.",
        "",
        *report.machine("numpy"),
        *[f"left out {', '.join(failed)}: not compiled within the limit"]
        * bool(failed),
        "",
        f"{'law':20s}{'fires':>6s}{'needed':>7s}{'specs':>7s}{'functions':>10s}"
        f"{'price':>10s}{'most':>10s}{'time':>10s}{'most':>10s}  slowest without it",
        *(row(law, found[law], law in alone) for law in chosen),
    ]
    report.write("ablation.txt", lines)


if __name__ == "__main__":
    main()

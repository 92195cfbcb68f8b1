"""What is done to code that stands: each rewrite of arrays with its law, in order.

What reads arrays from places comes first, for rows and blocks repeat what stands there;
then how axes lie in memory, and which functions are quick, which decides what pays in
blocks; then memory, and last how long lines are. A rewrite that finds nothing to gain
returns the code as it is.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from functools import cached_property

from tensorgen.arrays.block_loops import blocked
from tensorgen.arrays.bundle import bundled
from tensorgen.arrays.code import Code
from tensorgen.arrays.divide import divided
from tensorgen.arrays.fill_directly import filled_directly
from tensorgen.arrays.frugal import frugal
from tensorgen.arrays.gather_once import gathered_once
from tensorgen.arrays.join_axes import joined
from tensorgen.arrays.long_sums import broken_sums
from tensorgen.arrays.quicken import quickened
from tensorgen.arrays.speed import Speed
from tensorgen.arrays.straighten import straightened
from tensorgen.ir.dims import Dim
from tensorgen.ir.laws import Law
from tensorgen.ir.remarks import Remark
from tensorgen.prices.price_table import NUMPY, Backend


@dataclass(frozen=True)
class Scene:
    """What rewrites may ask: sizes, and names.

    `hints` are the sizes that are hinted at, `sizes` those at which large arrays may be
    made in blocks. `pick` gives a name to a result, `again` another one for what a name
    stands for; names among `kept` stay. What takes how long is told of one `backend`.
    What the code belongs to goes `along` some sizes by blocks.
    """

    hints: Mapping[str, int]
    sizes: Mapping[str, int]
    pick: Callable[[int], str]
    again: Callable[[str], str]
    kept: Collection[str] = ()
    backend: Backend = NUMPY
    along: Collection[Dim] = ()

    @cached_property
    def speed(self) -> Speed:
        """What takes how long at the sizes that are hinted at."""
        return Speed(self.hints, self.backend)

    @cached_property
    def speed_in_blocks(self) -> Speed:
        """The same where arrays may be made in blocks."""
        return Speed(self.sizes, self.backend)


@dataclass(frozen=True)
class Rewrite(Law):
    """A law for the code of a function."""

    run: Callable[[Code, Scene], Code]


def rewritten(code: Code, scene: Scene) -> Code:
    """Return code that computes the same, after all rewrites."""
    remarks = {**code.remarks}
    for rewrite in REWRITES:
        before, code = code, rewrite.run(code, scene)
        if rewrite.remark is not None and code is not before:
            remarks[rewrite.remark] = frozenset()
    return replace(code, remarks=remarks)


REWRITES = (
    Rewrite(
        "fill_directly",
        law="(y := zeros(2); y[0] = a; x[k] = y) = (x[k] = 0; x[k, 0] = a)",
        needs="names: nothing else reads y, and a and b read x elsewhere",
        ends="each vector that is copied is made of entries no more",
        run=lambda code, scene: filled_directly(code),
    ),
    Rewrite(
        "gather_once",
        law="x[k] * a + x[k] * b = y * a + y * b, where y = x[k]",
        needs="names: what statements change is read each time",
        ends="each place that is read has one name",
        run=lambda code, scene: gathered_once(code, scene.again),
    ),
    Rewrite(
        "join_axes",
        law="(X @ W)[a, b] = (Z @ W)[a * n + b], where Z = reshape(X, (m * n, k))",
        needs="arguments alone are reshaped, and fewer than products gain",
        ends="each pair of leading axes is joined once",
        remark=Remark(
            "all leading axes as rows: one product of matrices", r"\breshape\("
        ),
        run=lambda code, scene: joined(code, scene.speed, scene.again),
    ),
    Rewrite(
        "straighten",
        law="X.T = copy(X.T), with its rows in rows of memory",
        needs="axes as they lie in memory",
        ends="a copy lies straight",
        run=lambda code, scene: straightened(code, scene.speed, scene.again),
    ),
    Rewrite(
        "divide",
        law="a * (1 / expm1(t)) = a / expm1(t)",
        needs="products as they will be written",
        ends="a product has a factor less",
        run=lambda code, scene: divided(code),
    ),
    Rewrite(
        "quicken",
        law="logaddexp(0, t) = softplus(t)",
        needs="sizes at which libraries are slow at a function and quick at others",
        ends="what is written instead has no slow function",
        run=lambda code, scene: quickened(code, scene.speed_in_blocks),
    ),
    Rewrite(
        "block",
        law="sum_i f(x[i]) = sum_b sum_(i in block b) f(x[i])",
        needs="sizes at which memory takes longer than arithmetic",
        ends="a loop over blocks is made once",
        run=lambda code, scene: (
            blocked(code, scene.speed_in_blocks, scene.pick, scene.again, scene.along)
            or code
        ),
    ),
    Rewrite(
        "bundle",
        law="sigmoid(t), softplus(t) = sigmoid_and_softplus(t)",
        needs="loops over blocks, each of which has functions of its own",
        ends="of each array one statement makes such functions",
        run=lambda code, scene: bundled(code, scene.again, scene.kept),
    ),
    Rewrite(
        "save_memory",
        law="a + b = (s := a; s += b), and y = f(x) wherever it is read",
        needs="all arrays that live together, blocks among them",
        ends="each change lowers the peak of what is held by a quarter",
        remark=Remark("in place, for fewer large arrays at a time", r"\bout=\w"),
        run=lambda code, scene: frugal(
            code, scene.pick, scene.again, scene.kept, scene.sizes
        ),
    ),
    Rewrite(
        "break_sums",
        law="a + b + c + d = (s := a + b; s + c + d)",
        needs="names as they will be written",
        ends="each statement is shorter than the sum that it is of",
        run=lambda code, scene: broken_sums(code),
    ),
)

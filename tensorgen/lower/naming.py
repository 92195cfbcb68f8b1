"""Which values deserve a name, and which name: from a draft to statements.

A value gets a statement of its own if the draft says so, if it stands in several
places, or if what it stands in would be too long: for a line, or where no word says
what the value is, for one line a term. Nothing here changes how a value is computed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Mapping, Sequence
from dataclasses import replace

from tensorgen.arrays.array_names import arithmetic_name, read_name
from tensorgen.arrays.arrays import (
    Array,
    array,
    base,
    below,
    bound,
    replacing,
    signed_sum,
)
from tensorgen.arrays.operations import Add, Copy, Multiply, Permute, Power, Variable
from tensorgen.arrays.reading import LONGEST, is_laid_out, is_long, length
from tensorgen.arrays.statements import (
    Let,
    Loop,
    Statement,
    Store,
    operands,
    reads,
    rebuilt,
)
from tensorgen.ir.nodes import Input, Node, Product, Sum, children
from tensorgen.lower.axes import permuted
from tensorgen.lower.draft import Draft, Repeat, Result, Value
from tensorgen.lower.drafted_arrays import (
    inside,
    is_at_hand,
    is_short,
    unscaled,
    users_first,
)
from tensorgen.lower.named_entries import entries_read, named_entries
from tensorgen.lower.plan import Plan
from tensorgen.lower.step_loops import looped
from tensorgen.lower.value_names import INDICES, PLACES, Names, call_word, stem
from tensorgen.operators.word_shapes import (
    LONGER,
    Entry,
    fits,
    is_derivative,
    power_word,
    says_little,
)
from tensorgen.operators.words import describe

WORTH_A_NAME = 10
"""Characters of the shortest part that is named because a line is long."""
MOST_OPERANDS = LONGEST // 4  # more fill a line with the shortest of names
LINE_OF_CHANGES = 80  # of one in a function that is indented


class Naming:
    """The statements of a draft, one by one."""

    def __init__(
        self,
        plan: Plan,
        names: Names,
        root_names: Sequence[str | None],
        words: Mapping[str, str | None] | None = None,
        whole: Mapping[str, str] | None = None,
    ) -> None:
        """Take names from `names`; `root_names` are suggestions for the roots.

        Of inputs without a name of their own `words` say what others call them, inside
        of a loop `whole` what entries are called of arrays outside of it.
        """
        self.plan = plan
        self.words = words or {}
        self.stored = words is not None  # the results of a step go into arrays
        self.place = ""  # of the steps of all loops that are not within each other
        self.names = names
        called, self._entries_as = {**plan.views, **plan.named}, whole or {}
        known = self._entries_as.get
        self._called = {node: known(name, name) for node, name in called.items()}
        self._own, self.kept = {*called.values()}, {*self._called.values()}
        self._entries = named_entries(plan.graph)
        missing = len(plan.roots) - len(root_names)
        self.root_names = [*root_names, *([None] * missing)]
        self.lines: list[Statement] = []
        # What is known of drafted arrays.
        self._nodes: dict[Array, Node] = {}
        self._owners: dict[Array, Value] = {}
        self._uses: Counter[Array] = Counter()
        self._scaled: dict[Array, Array] = {}
        self._final: dict[Array, Array] = {}
        # What is known of final ones.
        self._inline: dict[Array, Node] = {}
        self.values: dict[Node, Array] = {}

    def run(
        self, draft: Draft, results: Sequence[Result]
    ) -> tuple[list[Statement], list[Array]]:
        """Return the statements, and an expression for each result."""
        self._look(draft, results)
        for step in draft.steps:
            if isinstance(step, Repeat):
                self._repeat(step)
            elif not isinstance(step, Value):
                self._change(step)
            elif step.variable is not None:
                self._bind(step, step.variable)
            elif step.node is not None and step.array in self._uses:
                self.values.setdefault(step.node, self._placed(step.array))
        return self.lines, self._returned(results)

    def called(self, among: Container[Node]) -> dict[Node, str]:
        """The nodes, of some, whose values have names."""
        found = {
            node: value.op.name
            for node, value in self.values.items()
            if isinstance(value.op, Variable) and node in among
        }
        calls = self.plan.expansions.items()
        return found | {call: found[node] for call, node in calls if node in found}

    def name(self, k: int) -> str:
        """A new name for result `k`."""
        return self._picked(self.plan.roots[k], self.root_names[k])

    def again(self, name: str) -> str:
        """A new name for what has one already."""
        return self.names.pick([name])

    # What stands where

    def _look(self, draft: Draft, results: Sequence[Result]) -> None:
        """Find what arrays are of, and count where their text would stand."""
        wholes = [result.array for result in results]
        parts: list[Array] = []
        for step in draft.steps:
            if isinstance(step, Repeat):
                parts += step.arrays
                continue
            if not isinstance(step, Value):
                parts += operands(step)
                continue
            if step.variable is not None:
                wholes.append(step.array)
                called = step.node in self._called or not is_at_hand(step.array)
                if called and not step.filled:
                    self._owners[step.array] = step
            if step.node in self.plan.views or not (
                step.node is None or self._is_free(step.node)
            ):
                self._nodes.setdefault(step.array, step.node)
        self._uses = Counter(parts)
        for whole in wholes:
            self._uses.update(whole.args)
        drafted = dict.fromkeys(below([*wholes, *parts]))
        self._scaled = {one: x for one in drafted if (x := unscaled(one)) in drafted}
        for one in users_first([*wholes, *parts], self._operands):
            self._uses[one] += 0
            # What is made by a statement has been counted as a whole, or stands once.
            times = 0 if one in self._owners else self._uses[one]
            for arg in self._operands(one):
                self._uses[arg] += min(times, 1) if self._is_shared(one) else times

    def _operands(self, one: Array) -> tuple[Array, ...]:
        """What an array is made of; the product beside which it stands scaled."""
        return (self._scaled[one],) if one in self._scaled else one.args

    def _is_shared(self, one: Array) -> bool:
        """Whether a drafted array that stands in several places is made once."""
        if one in self._owners:
            return True
        if self._uses[one] < 2 or one.weak:
            return False
        if is_at_hand(one):
            return self._nodes.get(one) in self.plan.views
        if isinstance(one.op, Power):
            return one.order > 0
        if isinstance(one.op, Multiply) and one.op.above == len(one.args) == 1:
            return False  # it reads as well twice
        if one in self._nodes or call_word(one) is not None:
            return True
        is_sum_or_product = isinstance(one.op, Add | Multiply)
        return is_sum_or_product and one.order > 0 and one.kind == "float"

    def _is_free(self, node: Node) -> bool:
        """Whether a node costs nothing where it is used, and never needs a name."""
        plan = self.plan
        return node not in plan.described and (
            plan.is_leaf(node) or plan.is_transparent(node)
        )

    # Statements

    def _bind(self, step: Value, variable: Array) -> Array:
        """Give a value a statement of its own, where it has none yet."""
        if variable not in self._final:
            value = self._alone(step.array)
            if step.filled and base(value) is not None:
                value = array(Copy(), value)  # a view of what others read
            if step.node is None and value.kind == "int":
                name = self.names.pick(INDICES)
            elif step.node is None:
                name = self.names.pick([call_word(value) or "stored"])
            else:
                if not step.filled:
                    self.values[step.node] = value
                name = self._picked(step.node)
            self._final[variable] = self._let(name, value)
            if step.node is not None:
                self.values[step.node] = self._final[variable]
        return self._final[variable]

    def _change(self, step: Statement) -> None:
        """Append a change, with names for parts of what is too long in it."""
        if isinstance(step, Loop):
            self._loop(step)
            return
        line = rebuilt(step, self._placed)
        room = LONGEST
        if isinstance(line, Store):
            place = array(line.at, line.target, *line.places)
            room = min(room, LINE_OF_CHANGES - length(place, words=True))
        self.lines.append(rebuilt(line, lambda x: self._shortened(None, x, room)))

    def _loop(self, step: Loop) -> None:
        """Append a loop over taps; what it names is known inside alone."""
        known = {**self._final}, {**self._inline}, {**self.values}
        outside, self.lines = self.lines, []
        for line in step.body:
            self._change(line)
        outside.append(replace(step, body=tuple(self.lines)))
        self.lines = outside
        self._final, self._inline, self.values = known

    def _repeat(self, step: Repeat) -> None:
        """Append a loop, whose statements have names that nothing else has."""
        arrays = {one: self._placed(one) for one in step.arrays}
        place = self.place = self.place or self.names.pick(PLACES)
        own = [*self._own, *reads([*arrays.values()])]
        entries = {x: f"{x}_{place}" for x in own}
        inner = Naming(step.plan, self.names, (), step.words, entries)
        lines, values = inner.run(step.draft, step.results)
        self.kept |= inner.kept
        placed = arrays.__getitem__
        known: dict[Array, Array] = {}
        loop = looped(step, place, lines, values, placed, self.again)
        for one, name in entries_read(loop, self._entries):
            if not isinstance(self._final.get(one, one).op, Variable):
                self._final[one] = self._let(self.names.pick([name]), one)
            known[one] = self._final[one]
        self.lines.append(rebuilt(loop, replacing(known)))

    def _let(self, name: str, value: Array) -> Array:
        self.lines.append(Let(name, value))
        return bound(name, value)

    # Values

    def _placed(self, one: Array) -> Array:
        """What stands for a drafted array where it is used."""
        if one not in self._final:
            owner = self._owners.get(one)
            if owner is not None and owner.variable is not None:
                self._final[one] = self._bind(owner, owner.variable)
            else:
                self._final[one] = self._made(one)
        return self._final[one]

    def _made(self, one: Array) -> Array:
        value, node = self._whole(one), self._nodes.get(one)
        if self._is_shared(one):
            if node is not None:
                name = self._picked(node)
            else:
                name = self.names.pick(self._words(one, value))
            value = self._let(name, value)
            if node is not None:
                self.values[node] = value
        return value

    def _alone(self, one: Array) -> Array:
        """What stands for an array in memory that nothing else has."""
        return self._whole(one) if self._is_shared(one) else self._placed(one)

    def _whole(self, one: Array) -> Array:
        """A drafted array itself, over what stands for its operands."""
        op, args = one.op, [*map(self._placed, self._operands(one))]
        if one in self._scaled and isinstance(op, Multiply):
            op = Multiply(op.coefficient, above=1)
        value = array(op, *args) if args else one
        if isinstance(one.op, Add):
            value = signed_sum([*zip(one.op.signs, args, strict=True)])
        node = self._nodes.get(one)
        if node is not None:
            self.values[node] = value
            value = self._shortened(node, value)
            self._inline.setdefault(value, node)
        return value

    def _shortened(self, node: Node | None, value: Array, room: int = LONGEST) -> Array:
        """The value of a node, with names for parts of it while it is too long."""
        if isinstance(node, Sum | Product) and len(children(node)) > MOST_OPERANDS:
            return value
        while is_long(value, room, words=True):
            part = self._part(node, value, room)
            if part is None:
                break
            if is_laid_out(value) and self._says_little(self._inline[part]):
                break  # nothing says what it is: it reads better where it stands
            own = self._part_named(part)
            value = self._rewritten(value, part, own)
            if node is not None:
                self.values[node] = value
        return value

    def _part(self, node: Node | None, value: Array, room: int) -> Array | None:
        """The part whose naming leaves the shortest texts.

        Of those with as many axes one that has a word comes first, if both texts fit
        with it.
        """
        whole = length(value, words=True)
        left: dict[Array, int] = {}
        for part in dict.fromkeys(inside(value)):
            found = self._inline.get(part)
            if found is None or found is node or part.weak:
                continue
            own = length(part, words=True)
            if own >= WORTH_A_NAME:
                left[part] = max(own, whole - own)
        best = min(reversed(left), key=lambda part: left[part], default=None)
        called = [
            part
            for part in reversed(left)
            if left[part] <= room and best is not None and part.order == best.order
            if not self._says_little(self._inline[part])
        ]
        return min(called, key=lambda part: left[part], default=best)

    def _part_named(self, part: Array) -> Array:
        """Name a part, with its axes as they were before they were turned."""
        node, axes = self._inline[part], tuple(range(part.order))
        value = part
        if isinstance(part.op, Permute):
            axes, (value,) = part.op.axes, part.args
        named = self._let(self._picked(node), value)
        own = self.values[node] = permuted(named, axes)
        return own

    def _rewritten(self, value: Array, part: Array, own: Array) -> Array:
        """A value with a variable in place of a part, and so all that is around it."""
        known = {part: own}
        found = replacing(known)(value)
        for old, new in known.items():
            if old is not new and old in self._inline and old is not part:
                node = self._inline[old]
                self._inline.setdefault(new, node)
                self.values[node] = new
        return found

    # Results

    def _returned(self, results: Sequence[Result]) -> list[Array]:
        returns: list[Array] = []
        held: dict[Node, Array] = {}
        roots = [result.root for result in results]
        for k, (root, fresh) in enumerate((x.root, x.fresh) for x in results):
            value = self._shortened(root, self._alone(results[k].array))
            # Several results read better by name, and a view of two is one object.
            twice = root.order and not fresh and roots.count(root) > 1
            plain = isinstance(value.op, Variable) or (is_short(value) and not twice)
            if root in held and not fresh:
                value = held[root]
            elif len(results) > 1 and not (plain or self.stored):
                # Results share no memory, so equal ones are not one.
                value = self._let(self._picked(root, self.root_names[k]), value)
            if twice:
                held[root] = value
            returns.append(value)
        return returns

    # Names

    def _picked(self, node: Node, suggestion: str | None = None) -> str:
        """A new name for a node: the user's, the caller's, or what the value is."""
        return self.names.pick(self._names_for(node, suggestion))

    def _names_for(self, node: Node, suggestion: str | None = None) -> list[str]:
        names = [self._called.get(node), suggestion]
        if node in self.plan.roots:
            names.append(self.root_names[self.plan.roots.index(node)])
        told = self.plan.graph.suggestions.get(node)
        # What is but the user's value with its axes turned does not take its name.
        names.append(told if told not in self._own else None)
        if not any(names):
            plain = self.plan.described.get(node, node)
            call = self.plan.origin.get(plain, plain)
            value = self.values.get(node) if call is plain else None
            word = None if value is None else read_name(value)
            derived = self.plan.graph.derived.get(node)
            names = [word, *describe(call, self._name_of, derived)]
        return [self._entries_as.get(x, x) for x in names if x] or ["value"]

    def _says_little(self, node: Node) -> bool:
        """Whether nothing says in short what a node is, or others have such names."""
        names = self._names_for(node)
        multiple = names[0].startswith(("half_", "twice_"))
        plain = not (multiple and is_derivative(names[0].partition("_")[2]))
        told = plain and fits(names[0]) and not says_little(names[0])
        return not (told and any(map(self.names.is_free, names)))

    def _words(self, one: Array, value: Array) -> list[str]:
        """What a value that is of no node is called, a power after its base."""
        words: list[str | None] = []
        if isinstance(one.op, Power):
            node, own = self._nodes.get(one.args[0]), stem(value.args[0])
            told = describe(node, self._name_of) if node and not own else []
            told += [self.names.stems.get(own, own)] if own else []
            words = [power_word(word, one.op.exponent) for word in told]
        words += [call_word(value), arithmetic_name(value)]
        found = [word for word in words if word and fits(word, LONGER)]
        return [word for word in found if fits(word)] or found

    def _name_of(self, node: Node | Entry) -> str | None:
        """What the names of other values call this one."""
        if isinstance(node, Entry):
            own = isinstance(node.array, Input) and self._name_of(node.array)
            return self._entries.get((own, node.place)) if own else None
        if isinstance(node, Input):
            return self.words.get(node.name, node.name)
        if node in self.plan.solved:
            return describe(node, self._name_of)[0]
        node = self.plan.scaled.get(node, node)
        value = self.values.get(self.plan.expansions.get(node, node))
        word = stem(value) if value is not None else None
        if word is None:
            graph = self.plan.graph
            return graph.names.get(node) or graph.suggestions.get(node)
        return self.names.stems.get(word, word)

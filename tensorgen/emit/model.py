"""What rendering needs to know of a module: the interface to the stages before.

A `Module` holds `Function`s; a function holds the `Body` that lowering wrote, as text.
Rendering adds everything around it: signature, docstring, checks of the arguments,
what is returned, and the classes that are returned.

What `Body.returns` holds, one expression an array, by the function's kind:

- value: f. gradient: one a `wrt` input. value_and_gradient: f, then those.
- jacobian, dense_jacobian: one a `wrt` input, of shape `f.shape + x.shape`.
- hessian, dense_hessian: one a pair of `wrt` inputs, `pairs(wrt)` in that order, of
  shape `f.shape + x.shape + z.shape`; the transposed pairs are derived from them.
- value_gradient_hessian: f, then the gradients, then the pairs.
- hvp: one a `wrt` input. jvp: f, then the tangent. vjp: f, then one a `wrt` input.
- order, mixed: one, of shape `f.shape` and then the shapes of `order`'s inputs.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from tensorgen.ir.dims import Dim

Role = Literal["input", "direction", "cotangent"]
Kind = Literal[
    "value",
    "gradient",
    "value_and_gradient",
    "jacobian",
    "hessian",
    "value_gradient_hessian",
    "dense_jacobian",
    "dense_hessian",
    "hvp",
    "jvp",
    "vjp",
    "order",
    "mixed",
]

# What the language calls each kind, appended to the function's name.
SUFFIXES: dict[Kind, str] = {
    "value": "",
    "gradient": "_grad",
    "value_and_gradient": "_value_and_grad",
    "jacobian": "_jac",
    "hessian": "_hess",
    "value_gradient_hessian": "_value_grad_hess",
    "dense_jacobian": "_jac_dense",
    "dense_hessian": "_hess_dense",
    "hvp": "_hvp",
    "jvp": "_jvp",
    "vjp": "_vjp",
}


def public_name(function: str, kind: Kind, order: tuple[str, ...] = ()) -> str:
    """Return the Python name of a kind of derivative, `f_d3` or `f_d_U_V` included."""
    if kind == "order":
        return f"{function}_d{len(order)}"
    if kind == "mixed":
        return "_".join((function, "d", *order))
    return function + SUFFIXES[kind]


def pairs(names: tuple[str, ...]) -> tuple[tuple[str, str], ...]:
    """Return each unordered pair of names once, a name with itself included."""
    return tuple((a, b) for k, a in enumerate(names) for b in names[k:])


@dataclass(frozen=True, slots=True)
class Parameter:
    """An argument: an input, a direction `dX` or the cotangent `ct`.

    `default` is the text of a number; `index` is given for index arrays, whose
    entries lie in `0 ... index - 1`.
    """

    name: str
    dims: tuple[Dim, ...]
    doc: str | None = None
    default: str | None = None
    role: Role = "input"
    index: Dim | None = None


@dataclass(frozen=True, slots=True)
class Body:
    """The statements of a function, and what they need.

    `dims` are the dim symbols that the lines use as Python integers, `positive` those
    that a proof took to be at least 1, `needs_dtype` that they use the common dtype as
    `dtype`. `helpers` are names of module-level functions; `modules` are imported where
    the function starts, and used by their last component (`scipy.special` as
    `special`). Matrices that are what `refusals` say raise LinAlgError. No expression
    of `returns` may be an argument itself or a view of one.
    """

    lines: tuple[str, ...]
    returns: tuple[str, ...]
    dims: tuple[str, ...] = ()
    positive: tuple[str, ...] = ()
    helpers: tuple[str, ...] = ()
    modules: tuple[str, ...] = ()
    needs_dtype: bool = False
    refusals: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Holder:
    """How a derivative object is made of the next expressions of `Body.returns`.

    A dense one is made of one array; one of a class of its own, `class_name`, of an
    array for each of `fields`, and of `sizes`, of which those that are `positive` are
    at least 1.
    """

    class_name: str | None = None
    fields: tuple[str, ...] = ()
    sizes: tuple[str, ...] = ()
    structure: str = "dense"
    positive: tuple[str, ...] = ()

    @property
    def count(self) -> int:
        """How many expressions it takes."""
        return 1 if self.class_name is None else len(self.fields)


@dataclass(frozen=True, slots=True)
class Function:
    """A public function: one kind of derivative of one function of the spec.

    `formula` is the text of the function, `derivatives` texts of what is returned
    (`loss_grad[j] = ...`); `structure` says what dense objects are, one text a root.
    `holders` has one a Jacobian, block or derivative object, if any; all are dense
    without.
    """

    function: str
    kind: Kind
    parameters: tuple[Parameter, ...]
    wrt: tuple[str, ...]
    dims: tuple[Dim, ...]
    body: Body
    doc: str | None = None
    formula: tuple[str, ...] = ()
    derivatives: tuple[str, ...] = ()
    structure: tuple[str, ...] = ()
    order: tuple[str, ...] = ()
    holders: tuple[Holder, ...] = ()

    @property
    def name(self) -> str:
        """The name in Python."""
        return public_name(self.function, self.kind, self.order)

    def parameter(self, name: str) -> Parameter:
        """Return the argument of that name."""
        return next(p for p in self.parameters if p.name == name)

    @property
    def signature(self) -> tuple[tuple[Parameter, ...], tuple[Parameter, ...]]:
        """The positional and the keyword-only arguments, in their order."""
        plain = [p for p in self.parameters if p.default is None]
        inputs = tuple(p for p in plain if p.role == "input")
        extra = tuple(p for p in plain if p.role != "input")
        keyword = tuple(p for p in self.parameters if p.default is not None)
        return inputs + extra, keyword


@dataclass(frozen=True, slots=True)
class Helper:
    """A module-level function that bodies call, as source with `np` as it should be.

    `modules` are the lazy imports inside; `uses` names other helpers.
    """

    name: str
    source: str
    modules: tuple[str, ...] = ()
    uses: tuple[str, ...] = ()

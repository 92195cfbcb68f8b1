"""The JSON Schema of spec files, for editors: keys, what they take, what they mean.

It knows the shape of a file, not its language: names, indices and shapes are checked
by the reader alone. Draft 7 is the one that YAML language servers know.
"""

from __future__ import annotations

from typing import Any

from tensorgen.calculus.kinds import NAMED
from tensorgen.operators.matrices.subspaces import SUBSPACES
from tensorgen.spec.model import BACKENDS, SUPPORT, WAYS

Schema = dict[str, Any]

DRAFT = "http://json-schema.org/draft-07/schema#"
NAME = "^[A-Za-z][A-Za-z0-9_]*$"
LEFT = r"^[A-Za-z][A-Za-z0-9_]*\s*(\[.*\])?$"

# YAML takes `1`, `no` and `null` for something else than the text they are here.
EXPRESSION: Schema = {"type": ["string", "number", "boolean"]}


def spec_schema() -> Schema:
    """Return the schema of a whole file."""
    return {
        "$schema": DRAFT,
        "title": "A spec of tensorgen",
        **_mapping(
            {
                "tensorgen": _told("The version of the format.", enum=[1, "1"]),
                "module": _told(
                    "The base name of the generated modules; by default the file's.",
                    type="string",
                    pattern=NAME,
                ),
                "doc": _told("The docstring of the modules.", type="string"),
                "dims": _DIMS,
                "inputs": _named(_ref("input"), "The arguments, in order.", NAME),
                "external": _named(
                    _ref("external"), "Functions of other packages.", NAME
                ),
                "unknowns": _named(_ref("unknown"), "What equations determine.", NAME),
                "definitions": _clauses("Names and macros for all functions."),
                "functions": _named(_ref("function"), "What is generated.", LEFT),
                "problem": _ref("problem"),
                "blocks": _BLOCKS,
                "backends": _told(
                    "What modules are written for; by default for both.",
                    **_one_or_more({"enum": [*BACKENDS]}),
                ),
                "support": _told(
                    "Where support code is placed: in each module, or in one file.",
                    enum=[*SUPPORT],
                ),
            },
            required=("tensorgen", "functions"),
        ),
        "definitions": {
            "shape": _SHAPE,
            "input": _told(
                "An argument: its shape, or a mapping with further properties.",
                anyOf=[_ref("shape"), _INPUT],
            ),
            "external": _EXTERNAL,
            "unknown": _UNKNOWN,
            "function": {
                "anyOf": [_expression("Its expression: value only."), _FUNCTION]
            },
            "problem": _PROBLEM,
            "emit": _EMIT,
        },
    }


def _told(description: str, **schema: Any) -> Schema:
    """A schema with what an editor shows of it."""
    return {"description": description, **schema}


def _ref(name: str) -> Schema:
    return {"$ref": f"#/definitions/{name}"}


def _expression(description: str) -> Schema:
    return _told(description, **EXPRESSION)


def _mapping(
    properties: Schema, required: tuple[str, ...] = (), description: str = ""
) -> Schema:
    """A mapping of these keys and no others."""
    found: Schema = {
        "type": "object",
        "properties": properties,
        "additionalProperties": False,
    }
    if required:
        found["required"] = [*required]
    return _told(description, **found) if description else found


def _named(values: Schema, description: str, names: str) -> Schema:
    """A mapping whose keys the user chooses; an empty one may be left blank."""
    found = {"type": ["object", "null"], "patternProperties": {names: values}}
    return _told(description, **found, additionalProperties=False)


def _one_or_more(item: Schema) -> Schema:
    return {"anyOf": [item, {"type": "array", "items": item}]}


def _by_name(values: Schema) -> Schema:
    """A mapping with any names for keys."""
    return {"type": "object", "additionalProperties": values}


def _one_or_each(values: Schema) -> Schema:
    return {"anyOf": [values, _by_name(values)]}


def _clauses(description: str) -> Schema:
    """Lines of `name = expression`, or a mapping of the same."""
    promised = _mapping({name: EXPRESSION for name in ("spd", "symmetric")})
    values = {"anyOf": [EXPRESSION, promised]}
    found = {"type": ["string", "null"]}
    return _told(description, anyOf=[found, _by_name(values)])


_DIMS = _told(
    "Names of sizes: {m: 2000, n: 100} with typical sizes, or [m, n].",
    anyOf=[
        {"type": "array", "items": {"type": "string", "pattern": NAME}},
        {
            "type": ["object", "null"],
            "patternProperties": {NAME: {"type": ["integer", "null"], "minimum": 1}},
            "additionalProperties": False,
        },
    ],
)

_SHAPE = _told(
    "A shape: [m, n], [2*n], [n + k - 1], [3], or scalar.",
    anyOf=[
        {"type": "array", "items": {"type": ["string", "integer"]}},
        {"enum": ["scalar"]},
        {"type": "null"},
    ],
)

_TRUE: Schema = {"enum": [True, False]}
_AXES: Schema = {
    "type": "array",
    "items": {"type": "integer", "minimum": 0},
    "minItems": 2,
}

_INPUT = _mapping(
    {
        "shape": _ref("shape"),
        "doc": _told("What it is, for the docstrings.", type="string"),
        "default": _told(
            "Of a scalar: a number, with which it is keyword-only.",
            type=["number", "string"],
        ),
        "index": _told(
            "An array of integers from 0 to this size - 1.", type=["string", "integer"]
        ),
        "sparse": _told("A sparse matrix of SciPy, or of CuPy.", **_TRUE),
        "batch": _told(
            "The size of an axis in front: functions are of one sample, code of all.",
            **_one_or_more({"type": "string", "pattern": NAME}),
        ),
        "symmetric": _told(
            "A promise: equal to its transpose; or, along which axes it is symmetric.",
            anyOf=[_TRUE, {"const": "all"}, _AXES, {"type": "array", "items": _AXES}],
        ),
        "spd": _told("A promise: symmetric and positive definite.", **_TRUE),
        "positive": _told("A promise: all entries are above zero.", **_TRUE),
        "nonnegative": _told("A promise: no entry is below zero.", **_TRUE),
    },
    required=("shape",),
)

_EXTERNAL = _mapping(
    {
        "call": _told(
            "The function, package.module.name; or one for each backend.",
            anyOf=[{"type": "string"}, _mapping(dict.fromkeys(BACKENDS, EXPRESSION))],
        ),
        "args": _told(
            "Its arguments: names if it is elementwise, else names and shapes.",
            anyOf=[_one_or_more({"type": "string"}), _by_name(_ref("shape"))],
        ),
        "shape": _ref("shape"),
        "derivative": _told(
            "Its derivative as an expression, or one for each argument.",
            **_one_or_each(EXPRESSION),
        ),
        "vjp": _told(
            "Its cotangents by argument, as expressions in ct.",
            **_one_or_each(EXPRESSION),
        ),
        "jvp": _told(
            "Its tangent, as an expression in the directions.",
            **_one_or_each(EXPRESSION),
        ),
        "doc": {"type": "string"},
    },
    required=("call",),
    description="A function that the module imports, with rules for derivatives.",
)

_TOLD_WAYS = {
    "equation": "What is zero at the solution.",
    "fixed_point": "What the unknown is equal to.",
    "minimises": "The scalar that is least at the solution.",
}

_UNKNOWN = _mapping(
    {
        "shape": _ref("shape"),
        **{way: _expression(_TOLD_WAYS[way]) for way in WAYS},
        "start": _expression("Where solvers begin."),
        "of": _told(
            "What it is a function of, with shapes: {x: [n]}.",
            **_by_name(_ref("shape")),
        ),
        "doc": {"type": "string"},
    },
    required=("shape",),
    description="An array that an equation, a fixed point or a minimum determines.",
)

# Editors show the words of the innermost schema: there is one place that has any.
_EMIT: Schema = {
    "anyOf": [
        {"enum": sorted(NAMED)},
        {"type": "integer", "minimum": 3},
        {"type": "array", "items": {"type": "string"}},
    ]
}

_METRIC = _mapping({"metric": _expression("The matrix of an inner product.")})
_VARIABLE: Schema = {
    "anyOf": [
        {"type": "string"},
        _by_name({"anyOf": [{"enum": [*SUBSPACES]}, _METRIC]}),
    ]
}

_FUNCTION = _mapping(
    {
        "doc": _told("What it is, for the docstring.", type="string"),
        "where": _clauses("Local names, each visible in the lines below it."),
        "checkpoint": _told(
            "Which states of recurrences are stored: sqrt, or every so many steps.",
            **_one_or_each({"type": ["string", "integer"]}),
        ),
        "expr": _told(
            "Its expression; or several results, {loss: ..., pred: ...}.",
            **_one_or_each(EXPRESSION),
        ),
        "wrt": _told("Inputs to differentiate by.", **_one_or_more(_VARIABLE)),
        "metric": _expression("The matrix of an inner product of its values."),
        "emit": _told(
            "What is generated: kinds, orders from 3 on, inputs to mix; by default"
            " value and first derivative.",
            **_one_or_more(_ref("emit")),
        ),
    },
    required=("expr",),
)

_LIMITS = _mapping({name: EXPRESSION for name in ("lower", "upper", "equal")})
_BOUNDED = _by_name({"anyOf": [_LIMITS, {"type": "null"}]})
_LIMITED = _one_or_more({"anyOf": [{"type": "string"}, _BOUNDED]})

_ALONG = {"anyOf": [_by_name({"type": "string"}), {"type": "null"}]}
_BLOCKS = _told(
    "The dim whose rows come in blocks; which entries come with them, by index arrays.",
    anyOf=[
        {"type": "string"},
        {
            "type": "object",
            "properties": {"functions": _one_or_more({"type": "string"})},
            "additionalProperties": _ALONG,
        },
    ],
)

_PROBLEM = _mapping(
    {
        "name": _told("The name of its class.", type="string", pattern=NAME),
        "doc": {"type": "string"},
        "minimize": _told("A scalar function.", type="string"),
        "maximize": _told("A scalar function.", type="string"),
        "variables": _told("Inputs to choose, with their bounds.", **_LIMITED),
        "constraints": _told("Functions, with their bounds.", **_LIMITED),
        "sensitivity": _told(
            "Inputs that the optimum moves with.", **_one_or_more({"type": "string"})
        ),
    },
    required=("variables",),
    description="A constrained problem over the functions, as a class for solvers.",
)

"""Naive texts of likelihoods, attention, distances and the like, with slots.

Slots `{0}`, `{1}` are filled with random texts of the kinds that stand behind; `@i`
says that the slot is in index notation, with that index.
"""

from __future__ import annotations

from typing import NamedTuple


class Shape(NamedTuple):
    """A template, the kinds of its slots, and whether the text is promised."""

    template: str
    slots: str = ""
    promised: bool = True


UNSURE = False
SHAPES = (
    # Mixtures and sums of weighted exponentials
    Shape("sum(log(q*exp({0}) + (1 - q)*exp({1})))", "number number"),
    Shape("log(sum(w*exp({0})))", "number"),
    Shape("sum(log(w*exp({0}) + p*exp({1})))", "number number"),
    Shape("log(mean(exp({0})))", "number"),
    Shape(
        "sum(log(sum(p[j]*exp(-(x[i] - y[j])**2/(2*s**2)), j)), i)",
    ),
    Shape("sum(log(sum(exp({0}), j=range(i + 1))), i)", "number@j"),
    # Binary, counts, ordered categories
    Shape("sum(log(1 + exp(-v*{0})))", "number"),
    Shape("-sum(c*log(sigmoid({0})) + 2*log(1 - sigmoid({0})))", "number"),
    Shape("-sum(c*log(1/(1 + exp(-x))) + 2*log(1 - 1/(1 + exp(-x))))"),
    Shape("sum(exp({0}) - c*log(exp({0})))", "number"),
    Shape("sum(p*exp({0}) - c*log(p*exp({0})))", "number"),
    Shape("-sum(c*log(1 - exp(-exp({0}))) - 2*exp({0}))", "number"),
    Shape("-sum(c*log(exp(x)/(exp(x) + s)) + s*log(s/(exp(x) + s)))"),
    Shape("-log(exp(x[0])/sum(exp(x)))"),
    Shape("sum(log(exp(x[i])/(exp(x[i]) + exp(x[j]))), i, j)"),
    Shape("sum(log(sigmoid(x + 1) - sigmoid(x - 1)))", "", UNSURE),
    Shape("sum(log({0}/(1 - {0})))", "unit"),
    Shape("sum(log(sigmoid(x)/(1 - sigmoid(x))))"),
    # Survival, extremes, waiting times
    Shape("sum({0} + exp(-{0}))", "number"),
    Shape("sum(log(exp(-exp({0}))))", "number"),
    Shape("-sum(log(s*p**(s - 1)*exp(-p**s)))"),
    Shape("sum(c[i]*({0} - log(sum(exp(x[j]), j, t[j] >= t[i]))), i)", "number@i"),
    Shape("sum(log(exp(x[i])/sum(exp(x[j]), j, t[j] >= t[i])), i)"),
    Shape("sum(log(exp(-x)/(1 + exp(-x))**2))"),
    Shape("sum(log(2/(exp({0}) + exp(-{0}))))", "number"),
    Shape("sum((p*exp(x))**s)", "", UNSURE),
    Shape("sum(log(p**s/(p**s + q**2)))"),
    Shape("sum(p**s/(p**s + 1))"),
    # Weighted means: attention, soft minima, quotients
    Shape("sum(exp({0})*v)/sum(exp({0}))", "number"),
    Shape("sum({0}*exp({1}))/sum(exp({1}))", "number number"),
    Shape("sum(sum(exp({0}*y[j])*v[j], j)/sum(exp({0}*y[j]), j), i)", "number@i"),
    Shape("sum(sum(exp(M[i, j] + x[j])*v[j], j)/sum(exp(M[i, j] + x[j]), j), i)"),
    Shape("sum(v[i]*exp(x[i])/sum(exp(x[j]), j=range(i + 1)), i)"),
    Shape("-log(sum(exp(-s*x)))/s"),
    Shape("sum(x*exp(-s*x))/sum(exp(-s*x))"),
    Shape("exp(x[0])/sum(exp(x))"),
    Shape("sum((exp({0}) - exp(-{0}))/(exp({0}) + exp(-{0})))", "number"),
    Shape("sum(v*exp({0})/(1 + exp({0})))", "number"),
    Shape("sum(1/(2 + 2*exp(-x)))"),
    Shape("sum((exp(x)/(1 + exp(x)))**2)"),
    Shape("sum({0}/(1 + exp(-{0})))", "number"),
    Shape("sum(x*tanh(log(1 + exp(x))))"),
    Shape("sum({0}*exp(x))/sum(p*exp(x))", "positive"),
    Shape("1/sum(1/exp({0}))", "number"),
    Shape("log(prod({0}))", "positive"),
    Shape("exp(mean(log({0})))", "positive"),
    Shape("-sum(exp(x)/sum(exp(x))*log(exp(x)/sum(exp(x))))"),
    Shape("sum(softmax(x)*log(softmax(x)/softmax(y)))", "", UNSURE),
    Shape("-sum(p*log(exp(x)/sum(exp(x))))"),
    # Single functions by hand
    Shape("sum(log(cosh({0})))", "number"),
    Shape("sum(log(exp({0}) + exp(-{0})))", "number"),
    Shape("sum(log(1 + exp(x) + exp(-x)))"),
    Shape("sum(log(1 + 2*exp(x) + p*exp(2*x)))"),
    Shape("sum(log(exp(p) - 1))"),
    Shape("sum(log(exp(p*exp(x)) - 1))"),
    Shape("sum(1 - exp(-{0}))", "positive"),
    Shape("sum(log(1 + {0}**2/s))", "number"),
    Shape("-(s + 1)/2*sum(log(1 + x**2/s))"),
    Shape("sum(log(sqrt(exp({0}))))", "number"),
    Shape("sum(log(exp({0})/p))", "number"),
    Shape("sum(1/cosh({0}))", "number"),
    Shape("sum(1/cosh({0})**2)", "number"),
    # Norms and distances
    Shape("norm(x)"),
    Shape("sqrt(sum(x**2))"),
    Shape("sqrt(sum((x - y)**2))"),
    Shape("sum(sqrt(s**2 + {0}**2))", "number"),
    Shape("log(sum({0}**2))", "number"),
    Shape("sum(sqrt((x[i] - y[j])**2 + s), i, j)"),
    Shape("sum(x*v)/norm(x)"),
    Shape("sum(x*y)/(norm(x)*norm(y))", "", UNSURE),
    Shape("acosh(1 + sum((x - y)**2))"),
    Shape("sum((x - mean(x))**2)", "", UNSURE),
)

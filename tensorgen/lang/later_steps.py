"""Steps that give later entries, so that less is left to be made before the first.

With `k[t] = f(u[t])`, a step `u[t] = u[t - 1] + k[t - 1]` is that of
`u[t + 1] = u[t] + k[t]`, where nothing of `k` is a state. It has fewer entries then, so
nothing but the steps may read it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from tensorgen.lang.index_forms import Form
from tensorgen.lang.stepping import Member, Stepping
from tensorgen.lang.syntax import with_index

Entries = Callable[[Member], Iterable[tuple[Member, Form | None]]]
"""The entries of names that step which a right side takes, and where."""


def delay(steps: Stepping, entries: Entries) -> None:
    """Let names that have first entries step later, as far as that leaves them known.

    Those that have none, which nothing but the steps reads, begin that much earlier.
    """
    members, low = [*steps.members.values()], steps.low.constant
    beside = [member for member in members if not member.starts]
    if steps.backwards or low is None or not beside:
        return
    rooms = [int(low) + member.shift for member in beside]
    for member in members:
        for other, form in entries(member):
            if bool(member.starts) == bool(other.starts):
                continue
            back = None if form is None else Form.atom(steps.index) - form
            number = None if back is None or back.terms else back.const.constant
            if number is None:
                return
            lag = int(number) + other.shift
            rooms.append(lag if member.starts else len(other.starts) - lag)
    later, t = min(rooms), steps.index.name
    if later < 1:
        return
    steps.low -= later
    for member in members:
        if member.starts:
            member.shift += later
            member.body = with_index(member.body, t, f"{t} + {later}")

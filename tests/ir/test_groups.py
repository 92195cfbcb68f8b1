"""Groups of things that shared labels join, against reachability."""

from __future__ import annotations

from itertools import combinations, product

from tensorgen.ir.groups import connected

SETS = [set(chosen) for count in range(3) for chosen in combinations("abcd", count)]


def test_groups_are_what_chains_of_shared_labels_reach() -> None:
    for bearing in product(SETS, repeat=3):
        groups = connected(bearing)
        assert sorted(k for _, places in groups for k in places) == [0, 1, 2]
        for labels, places in groups:
            assert places == sorted(places)
            assert labels == set().union(*(bearing[k] for k in places))
        for first, second in combinations(range(3), 2):
            (third,) = {0, 1, 2} - {first, second}
            direct = bearing[first] & bearing[second]
            across = (
                bearing[first] & bearing[third] and bearing[third] & bearing[second]
            )
            together = any({first, second} <= {*places} for _, places in groups)
            assert together == bool(direct or across)


def test_a_group_stands_where_its_last_member_does() -> None:
    assert [places for _, places in connected(["a", "b", "", "ac"])] == [
        [1],
        [2],
        [0, 3],
    ]

"""All identities of the suite, in the order of their numbers."""

from tests.cookbook.forms import (
    FIRST_ORDER,
    HIGHER_ORDER,
    NORMS,
    SECOND_ORDER,
)
from tests.cookbook.identity import Identity
from tests.cookbook.inverses import INVERSES
from tests.cookbook.rules import DETERMINANTS, RULES
from tests.cookbook.structured import STRUCTURED, VALUES
from tests.cookbook.traces import FIRST, HIGHER, OTHER, SECOND

IDENTITIES: list[Identity] = [
    *RULES,
    *DETERMINANTS,
    *INVERSES,
    *FIRST_ORDER,
    *SECOND_ORDER,
    *HIGHER_ORDER,
    *FIRST,
    *SECOND,
    *HIGHER,
    *OTHER,
    *NORMS,
    *STRUCTURED,
    *VALUES,
]

"""All identities of the suite, in the order of their numbers."""

from tests.cookbook.gradients import GRADIENTS
from tests.cookbook.identity import Identity
from tests.cookbook.jacobians import JACOBIANS
from tests.cookbook.rules import RULES
from tests.cookbook.structured import STRUCTURED, VALUES

IDENTITIES: list[Identity] = [
    *RULES,
    *(row.identity for row in GRADIENTS),
    *JACOBIANS,
    *STRUCTURED,
    *VALUES,
]

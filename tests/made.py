"""What specs become: made once a process for all tests that only look at it."""

from functools import cache

import tensorgen

generate = cache(tensorgen.generate)
load = cache(tensorgen.load)

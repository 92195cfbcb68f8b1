"""Judge every function and write the table: `python -m tests.accuracy`."""

import sys

from tests.accuracy.table import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

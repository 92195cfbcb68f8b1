"""`python -m tensorgen` is the command `tensorgen`."""

from tensorgen.cli import main

if __name__ == "__main__":
    main()

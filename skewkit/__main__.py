"""`python -m skewkit`: the command line."""

import sys

from skewkit.cli import main

if __name__ == "__main__":
    sys.exit(main())

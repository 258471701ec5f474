"""`python -m cpunmt`."""

import sys

from cpunmt.cli import main

if __name__ == "__main__":
    sys.exit(main())

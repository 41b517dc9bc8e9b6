"""`python -m enforcer`: the command line, where its script is not on the path."""

import sys

from enforcer.tools.cli import main

sys.exit(main())

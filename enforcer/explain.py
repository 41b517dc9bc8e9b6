"""Old name of `enforcer.tools.explain`, for one release."""

import sys

from enforcer.tools import explain
from enforcer.tools.explain import Expected, Explanation, Option, turn

__all__ = ["Expected", "Explanation", "Option"]

sys.modules[__name__] = explain
sys.modules[f"{__name__}.turn"] = turn

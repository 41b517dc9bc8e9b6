"""Values that are nested as deeply as wanted."""

from collections.abc import Callable
from typing import Any


def nested(depth: int, wrap: Callable[[Any], Any], innermost: Any) -> Any:
    """Wrap a value so many times."""
    for _ in range(depth):
        innermost = wrap(innermost)
    return innermost

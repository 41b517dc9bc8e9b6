"""Files with a JSON value a line."""

import json
from pathlib import Path
from typing import Any


def write(path: Path, *values: Any) -> Path:
    """Write a file and return its path."""
    path.write_text("\n".join(map(json.dumps, values)))
    return path

"""A function and a Pydantic model as tools, whose arguments come back typed.

Needs `pip install '.[tools]'`, and no model: the logits are random. Descriptions come from the
docstring (Google's, NumPy's or Sphinx' style). `enforcer.tool` takes some milliseconds: call it
once. `call.parse` raises `InvalidArguments` if a validator of the model rejects the arguments.
Without `closed_objects` a model needs `model_config = ConfigDict(extra="forbid")`, or its calls may
have undeclared arguments.
"""

from pathlib import Path
from typing import Literal

import numpy as np
from pydantic import BaseModel, Field

import enforcer

FOLDER = Path(__file__).parents[1] / "bench" / "models" / "tiny-kimi"


def get_weather(city: Literal["Paris", "Rome"], days: Literal[1, 2, 3] = 1) -> str:
    """Look up the forecast.

    Args:
        city: Where.
        days: How many days ahead.

    """
    return f"{city}: sunny for {days} days"


class BookTable(BaseModel):
    """Book a table in a restaurant."""

    guests: int = Field(ge=1, le=12, description="How many people.")
    outside: bool = False


def main() -> None:
    e = enforcer.Enforcer.from_tokenizer(FOLDER, closed_objects=True)  # no undeclared arguments
    tools = [enforcer.tool(get_weather), enforcer.tool(BookTable, name="book_table")]
    random = np.random.default_rng(seed=1)
    for _ in range(4):
        matcher = e.matcher(tools, tool_choice="required", parallel_tool_calls=False)
        ids: list[int] = []
        while not matcher.is_finished:
            logits = random.standard_normal(e.vocabulary.size)
            ids.append(int(enforcer.mask_logits(logits, matcher.mask()).argmax()))
            if not matcher.accept(ids[-1]):
                raise RuntimeError(f"token id {ids[-1]} is masked")
        for call in e.parse(ids, tools=tools).calls:
            if call.name == "get_weather":
                print(get_weather(**call.parse(get_weather)))
            else:
                booking = call.parse(BookTable)
                print(f"a table for {booking.guests}, {'outside' if booking.outside else 'inside'}")


if __name__ == "__main__":
    main()

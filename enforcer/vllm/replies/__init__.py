"""From token ids to the calls of a reply: parsers, second barrier, streaming."""

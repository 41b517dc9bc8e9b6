"""Reply parsers: from token ids to text and calls, streamed or not."""

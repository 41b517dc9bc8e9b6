"""vLLM's own structural tags, read as turns, and text that only its parsers would misread."""

"""Cost of taking in a request with tools, in vLLM's API server and its engine."""

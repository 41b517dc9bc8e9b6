"""Every route, mode, way of streaming and way of thinking of a real vLLM server."""

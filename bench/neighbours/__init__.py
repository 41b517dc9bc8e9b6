"""What a stream notices of hostile requests beside it, on a real vLLM server."""

"""What a stream notices of hostile requests beside it, on a real vLLM server."""

STEP_VARIABLE = "BENCH_STEP_SECONDS"  # of a step of the server's, where it is to be a device's

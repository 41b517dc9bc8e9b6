"""What a stream notices of hostile requests beside it, on a real vLLM server."""

# For a server whose steps are to last as long as a device's: how long, and where it writes what
# masks took of each.
STEP_VARIABLE = "BENCH_STEP_SECONDS"
MASKS_VARIABLE = "BENCH_STEP_MASKS"

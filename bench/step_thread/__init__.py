"""Processor time of the thread that serves every request of an engine, step by step."""

LOG_VARIABLE = "BENCH_STEPS"  # the file that a worker writes its steps into

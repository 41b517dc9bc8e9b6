"""Metrics, logs and records of what the enforcer does in a server.

`metrics.count` adds to a counter of a family of `metric_defs`; durations and gauges go to
`recording.recorder()`. `stats` stores and sums them; `request_context` knows whose request it is.
"""

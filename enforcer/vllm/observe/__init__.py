"""Metrics, logs and records of what the enforcer does in a server."""

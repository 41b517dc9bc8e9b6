"""Helpers for client programs: tools written in Python, and the fields of a request's body."""

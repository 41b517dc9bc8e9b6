"""Coding agents against a real server."""

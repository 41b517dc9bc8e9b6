"""Bitmask rows of today's engine, one hash each, that its successor is compared with."""

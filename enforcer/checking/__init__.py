"""Schemas checked in processes of their own, so that one that takes long costs nobody else.

A host that answers many clients from one event loop cannot check a client's schema there: our
compiler holds the interpreter's lock, and an engine's package cannot be interrupted. So a host
asks a `pool.Pool`, whose workers are processes with a bound on their processor time and memory.

The core never imports this package; a worker imports nothing but the core.
"""

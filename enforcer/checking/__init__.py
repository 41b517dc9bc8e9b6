"""A pool of worker processes that check schemas, so that a slow check delays no other request.

A host that answers many clients from one event loop cannot check a client's schema there: our
compiler holds the interpreter's lock, and an engine's package cannot be interrupted. `pool` owns
the queues and threads, `process` the processes, `worker` runs in them, `task` and `work` are the
tasks. The core never imports this package; a worker imports nothing but the core.
"""

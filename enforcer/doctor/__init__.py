"""Checks of an installation, a model and a running server.

`installation`, `model` and `server` have the checks, each a function that looks at one thing
and says what to mend; what a result is stands in `enforcer.diagnosis`. Must not know: how results
are shown.
"""

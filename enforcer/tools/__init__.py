"""Tools for people, above the library and its hosts: the command line and the packages it uses.

`cli` has the commands `check`, `explain`, `verify` and `doctor`; `lint` finds common mistakes of
schemas, `explain` puts the legal continuations of a turn in words, `verify` measures a server, and
`doctor` checks an installation, a model and a server. The library imports none of these packages.
"""

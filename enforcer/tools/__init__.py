"""Tools for people, above the library and its hosts: the command line and the rooms behind it.

`cli` has the commands `check`, `explain`, `verify` and `doctor`; `lint` finds common mistakes of
schemas, `explain` says what a turn may go on with, `verify` measures a server and `doctor` checks
an installation. The library imports none of it.
"""

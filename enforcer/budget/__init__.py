"""Ending within a number of ids: how long the shortest valid end of a text is.

Owns: the shortest instance of each value of a finished grammar, a reader that follows a
text and knows how it can be completed, and what that means for a whole turn. Works from
`ArgumentGrammar` alone: whether a text is valid is for an engine to say, before and after.
Must not know: engines, hosts.
"""

"""Numbers: sets of them, and how their members are spelled.

`sets` knows what a schema says about a number, `doubles` what a program makes of one; `text` and
the `*_text` modules below it write every usual spelling of a set's members. They do so in the
dialect of Lark that llguidance reads, from which `languages` makes a value of `enforcer.regex`
for whoever reads no Lark; `division` has the sets that are too large for it. Must not know:
schemas, grammars, engines (but for that dialect).
"""

"""The engine llguidance: writing for it, and following its texts.

`engine` implements the protocol; `lark`, `lark_objects` and `lark_arrays` write a finished grammar
in llguidance's dialect of Lark, on a `sheet` of rules and terminals that they share; `tracking`
says what the bits of a rule's parameter stand for, `framing` what stands around values; `terminals`
writes regular languages.
`grammar` follows texts, which share a `lexer`; `probes` says which are worth trying first,
`json_text` which tokens no text has.
"""

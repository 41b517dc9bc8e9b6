"""What a program uses that calls a server: tools written in Python, and the fields of a body."""

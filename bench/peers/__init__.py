"""The same schemas and calls through this project and its peers, each in a process of its own."""

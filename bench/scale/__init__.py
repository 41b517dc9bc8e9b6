"""Servers of several processes and nodes on one CPU, each with the matrix's requests."""

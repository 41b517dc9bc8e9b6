"""Draft tokens by the grammar: forward passes, their time, and what a server gains."""

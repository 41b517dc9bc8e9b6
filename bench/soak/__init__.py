"""Many clients of all kinds at one server for a long time; every reply is judged."""

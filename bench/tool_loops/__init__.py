"""Libraries that agents are built with, in whole tool loops against a real server."""

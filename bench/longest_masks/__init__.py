"""How long a mask may keep a step waiting, of honest schemas and of hostile ones."""

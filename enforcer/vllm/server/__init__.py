"""The state of one server process: vocabulary, enforcer, caches and the model that it serves."""

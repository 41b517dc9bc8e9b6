"""vLLM's Rust front end, with and without the Enforcer in the engine behind it."""

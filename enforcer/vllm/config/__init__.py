"""The operator's settings, and the plugin's names in vLLM."""

"""Both of vLLM's model runners, with and without drafts, live on the CPU."""

"""What the operator has set, and the names by which vLLM knows us."""

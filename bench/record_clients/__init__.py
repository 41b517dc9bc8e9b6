"""What clients send, recorded."""

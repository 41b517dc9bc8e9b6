"""Request intake: from the HTTP body to an admitted spec, before the request is scheduled."""

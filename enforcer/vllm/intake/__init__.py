"""From a request's HTTP body to an admitted spec, before the request is scheduled."""

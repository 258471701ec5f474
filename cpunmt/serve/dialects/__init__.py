"""The dialects of clients: each has routes and a form of errors."""

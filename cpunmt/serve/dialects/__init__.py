"""The dialects that clients speak: each is its routes, and how it says an error."""

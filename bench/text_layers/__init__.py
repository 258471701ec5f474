"""HTML: how fast it is read, and whether real pages keep what they have."""

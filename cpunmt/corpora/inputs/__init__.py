"""Inputs: what their rows are, how they are cut to shards, and how they are written again."""

"""Inputs: their rows, how they are cut into shards, and how they are written again."""

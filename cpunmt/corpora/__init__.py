"""Corpora: shards of many rows, many processes, tables."""

"""Formats of one file each."""

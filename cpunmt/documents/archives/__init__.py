"""Formats with several files in one: the archive, its members that are documents, and books."""

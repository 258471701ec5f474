"""Collects parallel texts from public repositories: pages, messages and tables, aligned and filtered."""

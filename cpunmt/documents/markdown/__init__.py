"""Markdown: its blocks, what stands in a paragraph, and how that becomes HTML and comes back."""

"""Markdown: its blocks, the texts and tags of a paragraph, and a paragraph as HTML and back."""

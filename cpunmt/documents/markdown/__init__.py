"""Markdown: its blocks, the texts and tags of a paragraph, and conversion of a paragraph to HTML and back."""

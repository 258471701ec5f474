"""What reranking does to translations, and what it costs."""

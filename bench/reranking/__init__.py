"""The effect of reranking on translations, and its cost."""

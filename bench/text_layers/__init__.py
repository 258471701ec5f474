"""Measures the time of the text layers for sentences that need none of them."""

"""The cost and benefit of protected spans, copied digits and capitals."""

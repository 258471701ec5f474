"""What protected spans, copied digits and capitals cost and give."""

"""The time of the text layers for sentences without work for them."""

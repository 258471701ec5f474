"""HTML: the speed of parsing, and whether real pages keep their content."""

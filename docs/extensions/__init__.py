"""What Sphinx is taught here: docstrings as we write them, and pages made from the code."""

"""Extensions of Sphinx: docstrings in this project's style, and tables and pages generated from the code."""

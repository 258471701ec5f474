"""The queue of a server: sentences that wait, who translates them, and what has been translated."""

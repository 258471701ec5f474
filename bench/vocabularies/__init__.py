"""The choices of a step, side by side: all pieces, the sentence's shortlist, the state's cluster, or both."""

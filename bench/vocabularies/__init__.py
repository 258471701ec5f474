"""What a step may choose from: all pieces, the sentence's shortlist, the state's cluster, or both, side by side."""

"""What finding out whether a sentence needs any layer takes, by what is in it."""

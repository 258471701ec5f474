"""Numbers of 60 styles in 12 frames, English and German: whether a translation says what its source says."""

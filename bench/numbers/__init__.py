"""Numbers of 60 styles in 12 frames, English and German: whether translations keep the value of their source."""

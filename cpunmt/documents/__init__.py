"""Files of other formats: their texts are translated, all else in them stays."""

"""Translates files of other formats: their texts are translated, everything else stays."""

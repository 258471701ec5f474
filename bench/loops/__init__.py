"""Loops of translations, and options against them."""

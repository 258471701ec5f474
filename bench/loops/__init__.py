"""Loops in translations, and options against them."""

"""Corpora: the overhead of `cpunmt batch` over translating."""

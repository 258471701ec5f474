"""Corpora: what `cpunmt batch` costs beside the translating itself."""

"""Training: PyTorch models that cpunmt runs. Offline, not part of the installed packages.

Run as `python -m models.train` from the root of the repository; the README here has every step of the recipe.
"""

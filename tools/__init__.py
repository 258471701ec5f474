"""Programs for those who develop cpunmt: machines to test on, comparisons between them."""

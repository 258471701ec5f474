"""Commands for whoever releases cpunmt; no wheel has them."""

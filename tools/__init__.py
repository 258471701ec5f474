"""Commands for whoever changes and releases cpunmt; no wheel has them."""

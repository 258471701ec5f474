"""Commands for developers and releases of cpunmt; not part of the wheels."""

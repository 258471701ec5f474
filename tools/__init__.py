"""Commands for developers and releases of cpunmt; they are not part of the wheels."""

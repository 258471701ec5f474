"""Offline tools: calibrate, quantize and pack models. They import cpunmt, never the other way."""

"""Numbers that benchmarks are given."""

from cpunmt.model.config import MOST_BEAM
from quantize.commands.shared_options import whole

positive = whole(1, 1_000_000)  # rounds, sentences, rows, threads: with none there is nothing to measure
hypotheses = whole(1, MOST_BEAM)

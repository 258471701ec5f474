"""The common parts of all benchmarks: arguments and results, timing in turns, texts, and BLEU."""

"""The inner instructions of the integer products, a module for each architecture. `simd/dot_products` chooses."""

"""Number formats of weights: how each is made of float32."""

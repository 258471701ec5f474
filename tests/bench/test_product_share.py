"""The multiplications that `bench.product_share` counts."""

from bench.product_share import multiplications
from tests.sample_models.transformers import make_config


def test_multiplications_of_a_tiny_model():
    config = make_config(model_dim=16, heads=1, ffn_dim=32, encoder_layers=1, decoder_parameters=(0, 0), cell="gru")
    affine = 16 * 16
    encoder = 3 * affine + affine + 2 * 16 * 32
    step = 3 * affine + 3 * affine + 2 * affine + 2 * 16 * 32  # gates of x and of the state; query and output
    attended = 2 * 16 * (3 * 3 + 4 * 4)
    expected = 7 * encoder + attended + 7 * 2 * affine + 11 * 2 * step + 16 * (8 * 5 + 24 * 6)
    assert multiplications(config, [3, 4], [5, 6], [8, 24]) == expected

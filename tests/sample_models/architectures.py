"""Named architectures of tiny size, of every family."""

from tests.sample_models import recurrents, transformers

NAMED = {
    **{name: transformers.make_config(**options) for name, options in transformers.NAMED.items()},
    **{f"recurrent, {name}": recurrents.make_config(**options) for name, options in recurrents.NAMED.items()},
}

"""Searches of the engine, drawn at random, and what must be equal of what they find."""

from hypothesis import strategies as st

from cpunmt.engine.engine import Search


@st.composite
def searches(draw):
    """Any search, from the shortlist if there is one."""
    beam = draw(st.integers(1, 6))
    return Search(
        beam_size=beam,
        num_hypotheses=draw(st.integers(1, beam)),
        length_penalty=draw(st.sampled_from([0.0, 0.6, 1.0, 1.5])),
        word_penalty=draw(st.sampled_from([0.0, 0.3, -0.2])),
        coverage_penalty=draw(st.sampled_from([0.0, 0.0, 0.2])),
        min_length=draw(st.sampled_from([0, 0, 3])),
        token_log_probs=draw(st.booleans()),
        attention=draw(st.booleans()),
    )


def bits(translations) -> list:
    """Of each sentence's hypotheses, what must be equal to the last bit: all of it."""
    return [
        [h._replace(attention=None if h.attention is None else h.attention.tobytes()) for h in hypotheses]
        for hypotheses in translations
    ]

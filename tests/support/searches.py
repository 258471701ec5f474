"""Searches of the engine, drawn at random, and what must be equal of what they find."""

from hypothesis import strategies as st

from cpunmt.engine.search import Search

either = st.booleans()


@st.composite
def searches(draw, scored=either):
    """Any search, from the shortlist if there is one; half of them look at logits in blocks (search.fused_output)."""
    beam = draw(st.integers(1, 6))
    apart = draw(st.sampled_from(["no", "no", "alternatives", "samples"]))
    groups = draw(st.sampled_from([1, 1, 2, 3])) if apart == "no" else 1
    beam = -(-beam // groups) * groups
    made = Search(
        beam_size=beam,
        num_hypotheses=beam if apart != "no" else draw(st.integers(1, beam)),
        length_penalty=draw(st.sampled_from([0.0, 0.6, 1.0, 1.5])),
        word_penalty=draw(st.sampled_from([0.0, 0.3, -0.2])),
        coverage_penalty=draw(st.sampled_from([0.0, 0.0, 0.2])),
        min_length=draw(st.sampled_from([0, 0, 3])),
        token_log_probs=draw(st.booleans()),
        attention=draw(st.booleans()),
        scored=draw(scored),
        repetition_penalty=draw(st.sampled_from([1.0, 1.0, 1.3, 0.8])),
        no_repeat_ngram_size=draw(st.sampled_from([0, 0, 1, 2, 3])),
        suppressed=draw(st.sampled_from([(), (), ((5,), (6, 7)), tuple((i, j) for i in range(9) for j in (3, i + 1))])),
        end_pieces=draw(st.sampled_from([(), (), (5,), tuple(range(2, 30, 3))])),
        patience=draw(st.sampled_from([0.0, 0.0, 1.0, 2.0, 3.5])) if apart == "no" else 0.0,
        num_beam_groups=groups,
        diversity_penalty=draw(st.sampled_from([0.3, 1.0, 20.0])) if groups > 1 else 0.0,
        prefix_bias_beta=draw(st.sampled_from([0.0, 0.0, 0.3, 0.9])),
        return_alternatives=apart == "alternatives",
        min_alternative_expansion_prob=draw(st.sampled_from([0.0, 0.0, 0.03])),
        sampling_topk=draw(st.sampled_from([0, 2, 10, 1000])) if apart == "samples" else 1,
        sampling_topp=draw(st.sampled_from([1.0, 1.0, 0.7, 0.2])),
        sampling_temperature=draw(st.sampled_from([1.0, 0.5, 3.0])),
        seed=draw(st.sampled_from([0, 1, 2**63 - 1])),
    )
    if draw(st.booleans()):
        unchanged = ("repetition_penalty", "no_repeat_ngram_size", "suppressed", "prefix_bias_beta")
        made = made._replace(**{name: Search._field_defaults[name] for name in unchanged})
        made = made._replace(sampling_topk=1)
        if made.end_pieces:
            made = made._replace(min_length=0, patience=0.0)
        assert not made.whole_logits
    return made


def bits(translations) -> list:
    """Of each sentence's hypotheses, what must be equal to the last bit: all of it."""
    return [
        [h._replace(attention=None if h.attention is None else h.attention.tobytes()) for h in hypotheses]
        for hypotheses in translations
    ]

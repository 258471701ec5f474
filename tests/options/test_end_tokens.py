"""Pieces other than </s> that end a translation, and their place among its pieces."""

import pytest

from cpunmt import Options
from tests.support.command_line import sentences

TEXT = "A man and a woman are riding a bicycle."
END = "▁und"


@pytest.fixture(scope="module")
def source(student):
    return student.tokenize(TEXT)


@pytest.fixture(scope="module")
def whole(student, source):
    (result,) = student.translate_batch([source])
    assert END in result.hypotheses[0]
    return result.hypotheses[0]


def test_a_greedy_translation_ends_before_it(student, source, whole):
    at = whole.index(END)
    id_ = student.target_vocabulary.ids([END])[0]
    for token in (END, [END], ["▁xyzzy", END][1:], [id_], (END, "</s>")):
        (result,) = student.translate_batch([source], end_token=token)
        assert result.hypotheses == [whole[:at]]
        (kept,) = student.translate_batch([source], end_token=token, return_end_token=True, return_attention=True)
        assert kept.hypotheses == [whole[: at + 1]] and len(kept.attention[0]) == at + 1
    (result,) = student.translate_batch([source], end_token="</s>")
    assert result.hypotheses == [whole]
    assert student.translate(TEXT, end_token=END).pieces == tuple(whole[:at])
    assert student.translate(TEXT, options=Options(end_token=END)).pieces == tuple(whole[:at])


def test_what_is_told_of_it(student, whole):
    at = whole.index(END)
    result = student.translate(TEXT, end_token=END, return_token_log_probs=True)
    full = student.translate(TEXT, return_token_log_probs=True)
    assert not result.truncated and result.token_log_probs == full.token_log_probs[: at + 1]
    assert result.score == pytest.approx(sum(result.token_log_probs) / (at + 1), rel=1e-5)
    cut = student.translate(TEXT, max_length=at, end_token=END)
    assert cut.truncated and cut.pieces == tuple(whole[:at])
    ended = student.translate(TEXT, max_length=at + 1, end_token=END)
    assert not ended.truncated and ended.pieces == cut.pieces


def test_the_end_is_kept_where_it_is_asked_for(student, source, whole):
    plain = {"return_scores": True, "return_attention": True}
    (kept,) = student.translate_batch([source], return_end_token=True, **plain)
    (result,) = student.translate_batch([source], **plain)
    assert kept.hypotheses == [[*whole, "</s>"]] and kept.scores == result.scores
    assert kept.attention[0][:-1] == result.attention[0] and len(kept.attention[0]) == len(whole) + 1
    (cut,) = student.translate_batch([source], return_end_token=True, max_length=4)
    assert cut.hypotheses == [whole[:4]]
    (blank,) = student.translate_batch([[]], return_end_token=True, return_attention=True)
    assert blank.hypotheses == [["</s>"]] and blank.attention == [[[]]]
    assert next(student.translate_iterable([source], return_end_token=True)).hypotheses == [[*whole, "</s>"]]
    assert student.translate(TEXT, return_end_token=True) == student.translate(TEXT)


def test_neither_a_prefix_nor_what_comes_before_the_least_length_ends(student, source, whole):
    begun = whole[: whole.index(END) + 1]
    (result,) = student.translate_batch([source], [begun], end_token=END)
    assert result.hypotheses[0][: len(begun)] == begun and len(result.hypotheses[0]) > len(begun)
    (only,) = student.translate_batch([source], [begun], end_token=END, max_length=1)
    assert only.hypotheses == [begun]
    (late,) = student.translate_batch([source], end_token=END, min_length=len(whole))
    assert END not in late.hypotheses[0] and len(late.hypotheses[0]) >= len(whole)


def test_no_hypothesis_of_a_beam_has_it(student, source):
    for options in ({"patience": 1}, {}, {"vocabulary": "full"}, {"coverage_penalty": 0.3}):
        (result,) = student.translate_batch([source], end_token=END, beam_size=4, num_hypotheses=4, **options)
        assert all(END not in pieces for pieces in result.hypotheses)
        (kept,) = student.translate_batch(
            [source], end_token=END, beam_size=4, num_hypotheses=4, return_end_token=True, **options
        )
        assert {pieces[-1] for pieces in kept.hypotheses} <= {END, "</s>"}
        assert [pieces[:-1] for pieces in kept.hypotheses] == result.hypotheses


def test_pieces_one_by_one_are_the_same(student, source, whole):
    at = whole.index(END)
    steps = list(student.generate_tokens(source, end_token=END, return_log_prob=True))
    assert [step.token for step in steps] == whole[: at + 1]
    assert [step.is_last for step in steps] == [False] * at + [True]
    told = []
    (result,) = student.translate_batch([source], end_token=END, return_scores=True, callback=told.append)
    assert (told == steps) and [result] == student.translate_batch([source], end_token=END, return_scores=True)


def test_all_calls_end_at_the_same_piece(student, source, whole):
    """Holds for any end token and any prefix, even one that contains it: a forced piece does not end a translation."""
    for begun in range(len(whole) + 1):
        prefix = whole[:begun]
        text = student.detokenize(prefix)
        for end in (*dict.fromkeys(whole[max(0, begun - 2) : begun + 2]), "</s>"):
            asked = {"end_token": end, "max_length": 9}
            told = []
            (result,) = student.translate_batch(
                [source], [prefix], return_end_token=True, callback=told.append, **asked
            )
            (silent,) = student.translate_batch([source], [prefix], return_end_token=True, **asked)
            (pieces,) = silent.hypotheses
            at = next((n for n, piece in enumerate(pieces) if n >= begun and piece in (end, "</s>")), len(pieces))
            assert pieces[:begun] == prefix and len(pieces) <= at + 1
            assert result.hypotheses == [pieces] == [[step.token for step in told]]
            assert [step.is_last for step in told] == [False] * (len(pieces) - 1) + [True]
            streamed = list(student.generate_tokens(source, target_prefix=prefix, **asked))
            assert [(step.token, step.is_last) for step in streamed] == [(step.token, step.is_last) for step in told]
            said = "".join(student.generate_text(TEXT, target_prefix=text, **asked))
            assert said == student.translate(TEXT, target_prefix=text, **asked).text


def test_a_sentence_in_parts_ends_with_the_part_that_does(student):
    pieces = [piece for line in sentences(40) for piece in student.tokenize(line)]
    assert len(pieces) > 2 * student.config.max_source_length
    (full,) = student.translate_batch([pieces], return_end_token=True)
    assert full.hypotheses[0].index("</s>") == len(full.hypotheses[0]) - 1
    end = full.hypotheses[0][len(full.hypotheses[0]) * 3 // 4]
    (result,) = student.translate_batch([pieces], end_token=end)
    assert result.hypotheses[0] == full.hypotheses[0][: full.hypotheses[0].index(end)]
    told = []
    assert student.translate_batch([pieces], end_token=end, callback=told.append) == [result]
    assert [step.token for step in told] == [*result.hypotheses[0], end] and told[-1].is_last
    assert list(student.generate_tokens(pieces, end_token=end)) == [
        step.__class__(**{**step.to_dict(), "log_prob": None}) for step in told
    ]


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        ("n0nsense", ValueError, "^end_token 0 is 'n0nsense', expected a piece of the target vocabulary, as ▁Haus$"),
        ("Mann", ValueError, r"^end_token 0 is 'Mann', expected a piece .* as ▁Haus \(did you mean ▁Mann\?\)$"),
        ([".", 1 << 20], ValueError, "^end_token 1 is 1048576, expected an id below "),
        ([-1], ValueError, "^end_token 0 is -1, expected "),
        ([True], TypeError, "^end_token 0 is True"),
        ([None], TypeError, "^end_token 0 is None, expected a piece or its id"),
        ([[2]], TypeError, "^end_token 0 is "),
        ([], ValueError, "^end_token has no pieces, expected 1 to 1000$"),
        (["."] * 1001, ValueError, "^end_token has more than 1000 pieces, expected 1 to 1000$"),
        (7, TypeError, "^end_token takes a piece, or a list of pieces or of their ids, not int"),
        ({"."}, TypeError, "^end_token takes "),
    ],
)
def test_what_is_no_piece_is_refused(student, source, given, error, message):
    with pytest.raises(error, match=message):
        student.translate_batch([source], end_token=given)


def test_scoring_knows_no_end_but_that_of_sentences(student):
    with pytest.raises(TypeError, match="^unknown option 'end_token'"):
        student.score_batch([["▁A"]], [["."]], end_token=".")
    scored = student.score("A dog.", "Ein Hund.", options=Options(end_token="▁Hund"))
    assert scored == student.score("A dog.", "Ein Hund.")

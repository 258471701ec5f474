"""CTranslate2's `score_iterable`, `score_file` and `generate_tokens`: streams of scores and of pieces."""

import itertools
import math

import pytest

from cpunmt import CpunmtError, GenerationStepResult, Translator
from tests.sample_models.real_model import DIRECTORIES
from tests.support.command_line import sentences

LINES = sentences(150)


@pytest.fixture(scope="module")
def pairs(student):
    """Returns (sources, targets), with unusual texts."""
    return [*LINES, "", "A dog.", ""], [result.text for result in student.translate(LINES)] + ["", "Ein Hund.", "Ja."]


def pieces_of(vocabulary, texts):
    return [vocabulary.surfaces(text) for text in texts]


# score_iterable


def test_a_stream_of_texts_scores_what_a_list_does(student, pairs):
    assert list(student.score_iterable(*map(iter, pairs))) == student.score(*pairs)
    for options in ({"vocabulary": "shortlist", "length_penalty": 0.5}, {"max_batch_size": 3, "max_input_length": 4}):
        assert list(student.score_iterable(*pairs, **options)) == student.score(*pairs, **options)
    assert list(student.score_iterable([], [])) == []


def test_a_stream_of_pieces_scores_what_a_batch_does(student, pairs):
    given = pieces_of(student.source_vocabulary, pairs[0]), pieces_of(student.target_vocabulary, pairs[1])
    expected = student.score_batch(*given, offset=2)
    assert list(student.score_iterable(*given, 64, "examples", offset=2)) == expected
    assert list(student.score_iterable(*given, max_batch_size=50, batch_type="tokens", offset=2)) == expected


def test_behind_an_offset_the_coverage_penalty_of_the_whole_counts(student):
    given = pieces_of(student.source_vocabulary, ["A dog."]), pieces_of(student.target_vocabulary, ["Ein Hund."])

    def score(**options):
        return student.score_batch(*given, length_penalty=0.6, **options)[0].score

    whole = score(coverage_penalty=2.0) - score()
    assert whole < -0.01 and score(offset=1, coverage_penalty=2.0) - score(offset=1) == pytest.approx(whole, rel=1e-4)


def test_a_stream_of_scores_reads_no_further_than_it_must(student):
    taken = []

    def endless():
        while True:
            taken.append(1)
            yield f"Number {len(taken)}."

    results = student.score_iterable(endless(), itertools.repeat("Nummer"))
    assert taken == []
    for count in range(1, 12):
        next(results)
        assert len(taken) < 2 * count + 1


def test_what_comes_before_a_wrong_pair_is_scored(student):
    texts = sentences(20)
    expected = student.score(texts, texts)
    long = "dog " * 5000
    for sources, targets, kind, message in (
        ([*texts, 7], [*texts, "x"], TypeError, "^source 20 is 7, expected str"),
        ([*texts, "x"], [*texts, ["x"]], TypeError, "^target 20 is list, expected str"),
        ([*texts, long], [*texts, "x"], ValueError, r"^source 20 \(counted from 0\) has 5000 pieces, expected at most"),
        (texts, texts[:-1], ValueError, "^there are 19 targets and more sources, expected as many of both$"),
        (texts[:-1], texts, ValueError, "^there are 19 sources and more targets, expected as many of both$"),
    ):
        results, found = student.score_iterable(iter(sources), iter(targets)), []
        with pytest.raises(kind, match=message):
            for result in results:
                found.append(result)
        assert found == expected[: len(found)] and len(found) == min(len(sources), len(targets), 20)


def test_wrong_calls_of_a_stream_are_refused_at_once(student):
    for call, message in (
        (lambda: student.score_iterable("a", ["b"]), "^score_iterable takes texts, not one text; use score$"),
        (lambda: student.score_iterable(["a"], None), "^target of score_iterable takes .*, not NoneType$"),
        (lambda: student.score_iterable(["a"], ["b"], beam_size=2), "^unknown option 'beam_size'"),
        (lambda: student.score_iterable(["a"], ["b"], offset="1"), "^offset is '1', expected an integer$"),
    ):
        with pytest.raises(TypeError, match=message):
            call()


# score_file


@pytest.fixture
def files(student, pairs, tmp_path):
    for name, vocabulary, texts in zip(
        ("source", "target"), (student.source_vocabulary, student.target_vocabulary), pairs, strict=True
    ):
        lines = [" ".join(pieces) for pieces in pieces_of(vocabulary, texts)]
        (tmp_path / name).write_text("".join(f"{line}\n" for line in lines), "utf-8")
        (tmp_path / f"{name}.txt").write_text("".join(f"{text}\n" for text in texts), "utf-8")
    return tmp_path


def lines_of(path):
    return path.read_text("utf-8").split("\n")[:-1]


def test_files_of_pieces_are_scored(student, pairs, files):
    stats = student.score_file(files / "source", files / "target", files / "scores")
    expected = student.score(*pairs)
    assert lines_of(files / "scores") == [f"{one.score:g} ||| {' '.join(one.tokens[:-1])}" for one in expected]
    assert (stats.num_examples, stats.num_tokens) == (len(expected), sum(len(one.tokens) for one in expected))
    assert stats.total_time_in_ms > 0
    student.score_file(
        str(files / "source"), str(files / "target"), str(files / "scores"), with_tokens_score=True, max_batch_size=9
    )
    for line, one in zip(lines_of(files / "scores"), expected, strict=True):
        assert line.split(" ||| ")[2] == " ".join(f"{value:g}" for value in one.log_probs)


def test_files_of_text_are_scored_with_the_models_own_functions(student, pairs, files):
    student.score_file(
        files / "source.txt",
        files / "target.txt",
        files / "scores",
        source_tokenize_fn=student.tokenize,
        target_tokenize_fn=student.target_vocabulary.surfaces,
        target_detokenize_fn=student.detokenize,
        read_batch_size=7,
    )
    assert lines_of(files / "scores") == [
        f"{one.score:g} ||| {text}" for one, text in zip(student.score(*pairs), pairs[1], strict=True)
    ]


@pytest.mark.parametrize(("name", "other"), [("source", "target"), ("target", "source")])
def test_files_of_different_length_are_not_scored(student, files, name, other):
    (files / name).write_text("▁A\n" * 5, "utf-8")
    (files / "scores").write_text("kept\n")
    with pytest.raises(CpunmtError, match=f"{name}: has 5 lines and .*{other} more, expected as many$"):
        student.score_file(files / "source", files / "target", files / "scores")
    assert (files / "scores").read_text() == "kept\n" and len(list(files.iterdir())) == 5


def test_files_that_cannot_be_scored(student, files):
    with pytest.raises(CpunmtError, match="none: cannot read: No such file or directory$"):
        student.score_file(files / "none", files / "target", files / "scores")
    with pytest.raises(TypeError, match="^unknown option 'beam_size'"):
        student.score_file(files / "source", files / "target", files / "scores", beam_size=2)
    with pytest.raises(TypeError, match="^with_tokens_score is 1, expected True or False$"):
        student.score_file(files / "source", files / "target", files / "scores", with_tokens_score=1)
    assert not (files / "scores").exists()


# generate_tokens


@pytest.mark.parametrize("options", [{}, {"vocabulary": "full"}, {"max_length": 4}, {"min_length": 12}])
def test_the_pieces_are_those_of_a_translation(student, options):
    texts = [*sentences(40), " ".join(sentences(30)), ""]
    student.translate(texts, beam_size=6)  # leaves memory of another shape behind
    results = student.translate(texts, split="none", return_token_log_probs=True, **options)
    for text, result in zip(texts, results, strict=True):
        steps = list(student.generate_tokens(student.tokenize(text), return_log_prob=True, **options))
        assert tuple(step.token for step in steps if step.token != "</s>") == result.pieces
        assert [step.step for step in steps] == list(range(len(steps)))
        if len(student.source_vocabulary.encode(text)) <= student.config.max_source_length and text:
            assert tuple(step.log_prob for step in steps) == result.token_log_probs
            assert (steps[-1].token == "</s>") == (not result.truncated)
        assert [step.is_last for step in steps] == [False] * (len(steps) - 1) + [True] * bool(steps)
        assert student.target_vocabulary.pieces([step.token_id for step in steps]) == [step.token for step in steps]


def test_pieces_come_one_by_one(student):
    """Each piece comes before the next is decoded."""
    calls = []
    engine = student._engine
    real = engine._program

    class Watched:
        def translate(self, *arguments):
            calls.append(arguments[-1])
            return real.translate(*arguments)

    engine._program = Watched()
    try:
        steps = student.generate_tokens(student.tokenize("A man is riding a bicycle."))
        assert calls == []
        for count, _ in enumerate(steps, 1):
            assert len(calls) == count
    finally:
        engine._program = real


def test_a_prefix_comes_first(student):
    source = student.tokenize("Two dogs are playing.")
    (expected,) = student.translate_batch([source], [["▁Ein", "▁paar"]])
    steps = list(student.generate_tokens(source, ["▁Ein", "▁paar"]))
    assert [step.token for step in steps] == [*expected.hypotheses[0], "</s>"]
    assert steps[0] == GenerationStepResult(0, 0, steps[0].token_id, 0, "▁Ein", None, False)
    forced = list(student.generate_tokens([], ["▁Ein", "▁paar"], return_log_prob=True))
    assert [(step.token, step.log_prob, step.is_last) for step in forced] == [
        ("▁Ein", -math.inf, False),
        ("▁paar", -math.inf, True),
    ]


def test_many_at_once_and_some_given_up(student):
    """Each generator has its own memory."""
    sources = [student.tokenize(text) for text in sentences(12)]
    streams = [student.generate_tokens(source) for source in sources]
    found = [[] for _ in sources]
    for _ in range(3):
        for tokens, stream in zip(found, streams, strict=True):
            tokens.extend(step.token for step in itertools.islice(stream, 1))
    expected = [result.hypotheses[0] for result in student.translate_batch(sources)]
    assert found == [[*pieces, "</s>"][:3] for pieces in expected]
    del streams
    assert [result.hypotheses[0] for result in student.translate_batch(sources)] == expected


def test_what_is_no_greedy_search_is_refused_at_once(student):
    with pytest.raises(TypeError, match="^unknown option 'beam_size'; expected one of: source_lang, target_lang, "):
        student.generate_tokens(["▁A"], beam_size=2)
    with pytest.raises(ValueError, match="^end_token 0 is 'nonsense', expected a piece of the target vocabulary, as "):
        student.generate_tokens(["▁A"], end_token="nonsense")
    with pytest.raises(ValueError, match="^return_logits_vocab is True, which is not supported here; expected False, "):
        student.generate_tokens(["▁A"], return_logits_vocab=True)
    with pytest.raises(TypeError, match="^sentence 0 is str, expected a list of pieces"):
        student.generate_tokens("A dog.")
    with pytest.raises(TypeError, match="^return_log_prob is 1, expected True or False$"):
        student.generate_tokens(["▁A"], return_log_prob=1)


def test_all_of_ctranslate2s_arguments_of_it():
    translator = Translator(DIRECTORIES["int8"])
    steps = translator.generate_tokens(
        translator.tokenize("A dog."),
        None,
        max_decoding_length=256,
        min_decoding_length=1,
        sampling_topk=1,
        sampling_topp=1,
        sampling_temperature=1,
        return_log_prob=True,
        repetition_penalty=1,
        no_repeat_ngram_size=0,
        disable_unk=False,
        suppress_sequences=None,
        end_token=None,
        max_input_length=1024,
        use_vmap=False,
    )
    assert [step.token for step in steps] == ["▁Ein", "▁Hund", ".", "</s>"]

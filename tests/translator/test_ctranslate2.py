"""Code for CTranslate2 runs after changing the import: the shapes of its calls, with our model."""

import collections
import itertools

import pytest
import sentencepiece

import cpunmt as ctranslate2
from tests.sample_models.real_model import DIRECTORIES
from tests.support.command_line import sentences

MODEL = str(DIRECTORIES["int8"])


@pytest.fixture(scope="module")
def tokenizer():
    return sentencepiece.SentencePieceProcessor(model_file=str(DIRECTORIES["int8"] / "vocabulary.spm"))


def test_a_quick_start(student, tokenizer):
    translator = ctranslate2.Translator(MODEL, device="cpu")
    source = tokenizer.encode("A man is riding a bicycle.", out_type=str)
    results = translator.translate_batch([source])
    assert tokenizer.decode(results[0].hypotheses[0]) == student.translate("A man is riding a bicycle.").text
    assert results[0].scores == results[0].attention == results[0].logits == []


def test_a_package_translator(student, tokenizer):
    """A wrapper of translation packages splits paragraphs into sentences and joins several hypotheses itself."""
    translator = ctranslate2.Translator(
        MODEL, device="auto", device_index=0, compute_type="auto", inter_threads=1, intra_threads=0
    )

    def hypotheses(paragraph, count=1, prefix=""):
        split = [sentence.strip() for sentence in paragraph.split("\n")]
        tokenized = [tokenizer.encode(sentence, out_type=str) for sentence in split]
        target_prefix = [[prefix]] * len(tokenized) if prefix else None
        translated = translator.translate_batch(
            tokenized,
            target_prefix=target_prefix,
            replace_unknowns=True,
            max_batch_size=32,
            batch_type="tokens",
            beam_size=max(count, 4),
            num_hypotheses=count,
            length_penalty=0.2,
            return_scores=True,
        )
        found = []
        for i in range(count):
            tokens = list(itertools.chain.from_iterable(one.hypotheses[i] for one in translated))
            score = sum(one.scores[i] for one in translated)
            found.append((score, "".join(tokens).replace("▁", " ").strip()))
        return found

    lines = ["A man is riding a bicycle.", "Two dogs are playing.", ""]
    best, second = hypotheses("\n".join(lines), 2)  # every sentence has two, the blank one too
    expected = student.translate(lines, beam_size=4, length_penalty=0.2)
    assert best == (sum(result.score for result in expected), " ".join(result.text for result in expected).strip())
    assert second[0] <= best[0] and second[1] != best[1]
    [(_, forced)] = hypotheses("A dog.", prefix="▁Der")
    assert forced.startswith("Der")


def test_a_line_by_line_server(student, tokenizer):
    """A chat program translates greedily, sentence by sentence, with unknown options at their defaults."""
    translator = ctranslate2.Translator(MODEL, "cpu", compute_type="int8", inter_threads=1, intra_threads=1)
    defaults = {
        "max_batch_size": 0,
        "batch_type": "examples",
        "asynchronous": False,
        "patience": 1.0,
        "length_penalty": 1.0,
        "coverage_penalty": 0.0,
        "repetition_penalty": 1.0,
        "no_repeat_ngram_size": 0,
        "disable_unk": False,
        "suppress_sequences": None,
        "end_token": None,
        "return_end_token": False,
        "prefix_bias_beta": 0.0,
        "max_input_length": 1024,
        "max_decoding_length": 256,
        "min_decoding_length": 1,
        "use_vmap": False,
        "return_scores": False,
        "return_logits_vocab": False,
        "return_attention": False,
        "return_alternatives": False,
        "min_alternative_expansion_prob": 0.0,
        "sampling_topk": 1,
        "sampling_topp": 1.0,
        "sampling_temperature": 1.0,
        "replace_unknowns": False,
        "callback": None,
    }
    for line in sentences(10):
        (result,) = translator.translate_batch(
            [tokenizer.encode(line, out_type=str)], None, beam_size=1, num_hypotheses=1, **defaults
        )
        expected = student.translate(line, vocabulary="full", min_length=1, max_length=256)
        assert result.hypotheses == [list(expected.pieces)]


def test_a_stream_of_a_file(student, tokenizer, tmp_path):
    path = tmp_path / "input.txt"
    path.write_text("".join(f"{line}\n" for line in sentences(70)), "utf-8")
    translator = ctranslate2.Translator(MODEL)
    with open(path, encoding="utf-8") as lines:
        source = (tokenizer.encode(line.rstrip("\n"), out_type=str) for line in lines)
        found = [
            tokenizer.decode(result.hypotheses[0])
            for result in translator.translate_iterable(source, max_batch_size=64, beam_size=2)
        ]
    assert found == [result.text for result in student.translate(sentences(70), beam_size=2, split="none")]
    source = [tokenizer.encode(line, out_type=str) for line in sentences(5)]
    forced = translator.translate_iterable(source, iter([["▁Der"]] * 5), 32, "examples")
    assert [result.hypotheses[0][0] for result in forced] == ["▁Der"] * 5


def test_asynchronous_requests(student, tokenizer):
    translator = ctranslate2.Translator(MODEL, inter_threads=2, max_queued_batches=-1)
    requests = collections.deque()
    for line in sentences(20):
        requests.append(translator.translate_batch([tokenizer.encode(line, out_type=str)], asynchronous=True)[0])
    found = [tokenizer.decode(request.result().hypotheses[0]) for request in requests]
    assert found == [result.text for result in student.translate(sentences(20))]


def test_scores_of_given_translations(student, tokenizer):
    translator = ctranslate2.Translator(MODEL)
    source = [tokenizer.encode("A dog.", out_type=str), []]
    target = [tokenizer.encode("Ein Hund.", out_type=str), []]
    scored = translator.score_batch(source, target, max_batch_size=16, batch_type="examples", max_input_length=0)
    assert [score.tokens for score in scored] == [[*target[0], "</s>"], ["</s>"]]
    assert [len(score.log_probs) for score in scored] == [len(target[0]) + 1, 1]
    mean = sum(scored[0].log_probs) / len(scored[0].log_probs)
    assert mean == pytest.approx(student.score("A dog.", "Ein Hund.").score, rel=1e-5)


def test_results_read_as_in_old_versions(tokenizer):
    translator = ctranslate2.Translator(MODEL)
    (result,) = translator.translate_batch(
        [tokenizer.encode("A dog.", out_type=str)],
        beam_size=2,
        num_hypotheses=2,
        return_scores=True,
        return_attention=True,
    )
    assert len(result) == len(result.attention) == 2
    assert result[0]["tokens"] == result.hypotheses[0] and result[0]["score"] == result.scores[0]
    rows = result.attention[0]
    assert len(rows) == len(result.hypotheses[0]) and {len(row) for row in rows} == {3}


def test_what_a_translator_says_of_itself():
    assert ctranslate2.contains_model(MODEL)
    assert "int8" in ctranslate2.get_supported_compute_types("cpu")
    translator = ctranslate2.Translator(MODEL, inter_threads=2)
    assert (translator.device, translator.device_index, translator.compute_type) == ("cpu", [0], "int8")
    assert (translator.num_translators, translator.num_queued_batches, translator.num_active_batches) == (2, 0, 0)
    assert translator.model_is_loaded
    assert ctranslate2.__version__


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"device": "cuda"}, "^device is 'cuda', expected 'cpu' or 'auto': cpunmt runs on the CPU only$"),
        ({"device_index": 1}, r"^device_index is 1, expected 0 or \[0\]: there is one CPU$"),
        ({"device_index": [0, 1]}, "^device_index is "),
        (
            {"intra_threads": 4},
            "^intra_threads is 4, expected 0 or 1: one thread translates a batch; use inter_threads$",
        ),
        ({"flash_attention": True}, "^flash_attention is True, expected False"),
        ({"tensor_parallel": True}, "^tensor_parallel is True, expected False"),
        ({"files": {"model.bin": b""}}, "^files is .*: a model is loaded from its directory$"),
        ({"compute_type": "float16"}, "^compute_type is 'float16', expected one of "),
        ({"compute_type": "bfloat16"}, "^compute_type is 'bfloat16', expected one of "),
    ],
)
def test_what_cannot_be_done_is_refused_by_name(arguments, message):
    with pytest.raises(ValueError, match=message):
        ctranslate2.Translator(MODEL, **arguments)

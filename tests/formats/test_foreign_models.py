"""Other programs' directories through `Translator`: results equal the definition's, converted or not."""

import functools
import shutil

import numpy as np
import pytest
import yaml

from cpunmt import ModelFileError, Translator
from cpunmt.commands.models import converted as convert
from cpunmt.decoding.batching import target_limit
from cpunmt.options.options import Options
from cpunmt.search.settings import Search
from quantize.reference.network import Reference
from tests.definitions.beam_search import beam_search
from tests.golden.bergamot_int8 import MarianInt8
from tests.sample_models.foreign_directories import ALPHAS, DECODER, KINDS, SHORTLIST, VOCABULARY
from tests.sample_models.small_vocabulary import TEXT
from tests.support.speeds import slow_after

NEAR = 2e-3  # between scores that are one in exact arithmetic; two hypotheses this near may change places
SHORT = Options(max_length=10)
TEXTS = [*TEXT[:6], "A dog.", "Two women", "river park"]
EVERYTHING = {"beam_size": 3, "num_hypotheses": 3, "return_token_log_probs": True, "return_alignments": True}


@pytest.fixture(scope="module")
def directories(tmp_path_factory):
    """Returns directories(kind) -> its directory; once for this module."""
    root = tmp_path_factory.mktemp("models")
    return functools.cache(lambda kind: KINDS[kind](root / kind.replace(" ", "-")))


def reference_results(translator, written, search, texts=TEXTS):
    """Returns the definition's hypotheses of each text."""
    network, shared = Reference(written.config, written.tensors), written.config.shared_vocabulary
    for text in texts:
        ids = translator.source_vocabulary.encode(text)
        chosen = None if search.full else written.shortlist.candidates(ids, shared)
        limit = target_limit(len(ids), 0, SHORT, written.config)
        yield beam_search(network, ids, limit, search, candidates=chosen)


@pytest.mark.parametrize("beam", slow_after(1, [1, 3]))
@pytest.mark.parametrize("kind", KINDS)
def test_float32_is_the_definition(directories, kind, beam):
    written = directories(kind)
    translator = Translator(written.path, compute_type="float32")
    assert translator.compute_type == "float32" and translator.has_shortlist == (written.shortlist is not None)
    assert translator.config.shared_vocabulary == written.config.shared_vocabulary
    options = {"beam_size": beam, "num_hypotheses": beam, "return_token_log_probs": True, "max_length": 10}
    options |= {"length_penalty": 1.0, "word_penalty": 0.0, "protect": "none", "replace_unknowns": False}
    search = Search(beam, beam, token_log_probs=True)
    different = 0
    for full in (False, True) if written.shortlist else (True,):
        vocabulary = "full" if full else "shortlist"
        made = translator.translate(TEXTS, vocabulary=vocabulary, **options)
        defined = reference_results(translator, written, search._replace(full=full))
        for result, expected in zip(made, defined, strict=True):
            assert abs(result.score - expected[0].score) < NEAR
            ids = [i for i in expected[0].ids if i != written.config.eos_id]
            if result.pieces != tuple(translator.target_vocabulary.pieces(ids)):
                different += 1
                continue
            assert np.allclose(result.token_log_probs, expected[0].token_log_probs, atol=NEAR)
            assert result.truncated == expected[0].truncated
            assert result.text == translator.target_vocabulary.decode(ids)
    assert different <= 1
    assert len({result.text for result in made}) > 3


@pytest.mark.parametrize("kind", slow_after(1, KINDS))
def test_int8_is_near_float32_and_keeps_its_sentences_apart(directories, kind):
    path = directories(kind).path
    quantized, exact = Translator(path), Translator(path, compute_type="float32")
    assert quantized.compute_type == quantized.config.scheme == "int8"
    for options in ({"beam_size": 1, "num_hypotheses": 1}, {"beam_size": 3, "num_hypotheses": 3}):
        made = quantized.translate(TEXTS, max_length=10, **options)
        assert made == [quantized.translate(text, max_length=10, **options) for text in TEXTS]
        assert all(len({h.pieces for h in result.hypotheses}) == len(result.hypotheses) for result in made)
    targets = [" ".join(text.split()[:3]) for text in TEXT[:6]]
    given, expected = (t.score(TEXT[:6], targets, length_penalty=1) for t in (quantized, exact))
    differences = [abs(a.score - b.score) for a, b in zip(given, expected, strict=True)]
    assert 0 < max(differences) < 0.2  # per piece: narrow random networks magnify what rounding took


def same(first, second):
    """Returns whether results are equal to the last bit, attention included."""
    assert first == second
    for result, other in zip(first, second, strict=True):
        assert len(result.hypotheses) == len(other.hypotheses)
        for hypothesis, twin in zip(result.hypotheses, other.hypotheses, strict=True):
            assert np.array_equal(hypothesis.attention, twin.attention)
    return True


@pytest.mark.parametrize("scheme", slow_after(1, ["int8", "float32"]))
@pytest.mark.parametrize("kind", KINDS)
def test_a_converted_directory_translates_as_the_one_it_was_made_of(directories, kind, scheme, tmp_path):
    written = directories(kind)
    (told,) = convert(written.path, tmp_path / "packed", scheme, "dynamic", False)
    assert told.startswith(f"{tmp_path / 'packed'}: {scheme}, ")
    one, other = Translator(written.path, compute_type=scheme), Translator(tmp_path / "packed")
    assert other.config == one.config and other.options == one.options and other.compute_type == scheme
    assert other.metadata["converted_from"] == written.path.name
    assert same(one.translate(TEXTS, max_length=10, **EVERYTHING), other.translate(TEXTS, max_length=10, **EVERYTHING))
    assert one.translate(TEXTS) == other.translate(TEXTS)
    assert one.score(TEXT[:3], TEXT[3:6]) == other.score(TEXT[:3], TEXT[3:6])
    assert one.has_shortlist == other.has_shortlist
    if one.has_shortlist:
        full = one.translate(TEXTS, vocabulary="full")
        assert full == other.translate(TEXTS, vocabulary="full") != one.translate(TEXTS)
    texts = [">>fra<< a dog", "", "\u2581 ?\u00e9\u4e16"]
    assert one.source_vocabulary.encode_batch(texts) == other.source_vocabulary.encode_batch(texts)
    everything = list(range(one.config.vocab_size))
    assert one.target_vocabulary.pieces(everything) == other.target_vocabulary.pieces(everything)


@pytest.mark.parametrize(
    "kind", slow_after(1, [kind for kind in KINDS if "bergamot" in kind and "without" not in kind])
)
def test_static_scales_are_those_of_the_file_and_survive_conversion(directories, kind, tmp_path):
    written = directories(kind)
    static, dynamic = Translator(written.path, activation_scales="static"), Translator(written.path)
    assert (static.config.activation_scales, dynamic.config.activation_scales) == ("static", "dynamic")
    found = static.translate(TEXTS, max_length=10, **EVERYTHING)
    assert found != dynamic.translate(TEXTS, max_length=10, **EVERYTHING)
    convert(written.path, tmp_path / "packed", None, "static", False)
    packed = Translator(tmp_path / "packed")
    assert packed.config.activation_scales == "static"
    assert same(found, packed.translate(TEXTS, max_length=10, **EVERYTHING))
    assert Translator(tmp_path / "packed", activation_scales="static").config == packed.config
    with pytest.raises(ModelFileError, match="packed with activation_scales='static', cannot be loaded with 'dynamic'"):
        Translator(tmp_path / "packed", activation_scales="dynamic")
    # Marian's own integers: a float's last bit may move one, and with it what random weights choose
    network = MarianInt8(written.config, written.tensors, written.alphas)
    greedy = static.translate(TEXTS, beam_size=1, num_hypotheses=1, max_length=10)
    equal = []
    for text, result in zip(TEXTS, greedy, strict=True):
        ids = static.source_vocabulary.encode(text)
        chosen = written.shortlist.candidates(ids, written.config.shared_vocabulary)
        made = beam_search(network, ids, target_limit(len(ids), 0, SHORT, written.config), candidates=chosen)[0]
        if static.target_vocabulary.decode(made.ids) == result.text:
            equal.append(abs(made.log_prob - result.log_prob))
    assert len(equal) >= len(TEXTS) - 3 and np.median(equal) < 1e-2


def test_files_that_hold_one_model_make_one_translation(directories):
    """Names, packing, and other data beside the weights do not matter."""
    for kinds in (
        ["bergamot", "bergamot gzipped", "bergamot packed with zstd", "bergamot without alphas"],
        ["marian npz", "marian bin"],
    ):
        for scheme in ("int8", "float32"):
            translators = [Translator(directories(kind).path, compute_type=scheme) for kind in kinds]
            made = [translator.translate(TEXTS, max_length=10, **EVERYTHING) for translator in translators]
            assert all(same(made[0], other) for other in made[1:])


def test_tables_in_two_files_are_tables_in_one(directories):
    one, two = (Translator(directories(kind).path) for kind in ("opus", "opus with two tables"))
    assert one.config.shared_vocabulary and not two.config.shared_vocabulary
    assert one.translate(TEXTS) == two.translate(TEXTS)


def test_decoder_options_are_defaults(directories, tmp_path):
    translator = Translator(directories("marian npz").path)
    options = translator.options
    assert (options.beam_size, options.length_penalty, options.word_penalty) == (2, 0.5, 0.25)
    assert translator.config.max_length_factor == 1.5 and translator.config.max_source_length == 128
    given = {"beam_size": 2, "length_penalty": 0.5, "word_penalty": 0.25, "max_length_factor": 1.5}
    made = translator.translate(TEXTS)
    assert made == translator.translate(TEXTS, **given)
    for name, value in {"beam_size": 1, "length_penalty": 1.0, "word_penalty": 0.0, "max_length_factor": 0.3}.items():
        assert made != translator.translate(TEXTS, **{name: value}), name
    for result in made:
        hypothesis = result.hypotheses[0]
        count = len(hypothesis.pieces) + (not hypothesis.truncated)
        assert hypothesis.score == pytest.approx((hypothesis.log_prob - 0.25 * count) / count**0.5, rel=1e-5)
    folder = tmp_path / "other"
    shutil.copytree(directories("marian npz").path, folder)
    decoder = yaml.safe_load((folder / "decoder.yml").read_text())
    (folder / "decoder.yml").write_text(yaml.safe_dump(decoder | {"max-length-break": 8}))
    assert Translator(folder).config.max_source_length == 8
    (folder / "decoder.yml").unlink()
    assert Translator(folder).options.beam_size == 1  # ours, as the model lacks one


def test_the_decoder_options_choose_of_the_shortlist(directories, tmp_path):
    """The first 9 and the best 4 that decoder.yml names."""
    folder = tmp_path / "model"
    shutil.copytree(directories("marian npz").path, folder)
    found = Translator(folder)._engine.shortlist
    assert (found.first, found.best, int(np.diff(found.offsets).max())) == (9, 4, 4)
    decoder = DECODER | {"models": ["model.npz"], "vocabs": ["vocab.spm"] * 2}
    (folder / "decoder.yml").write_text(yaml.safe_dump(decoder))
    assert not Translator(folder).has_shortlist  # a configuration that names files without a shortlist disables it
    (folder / "decoder.yml").write_text("beam-size: 1\n")
    assert Translator(folder)._engine.shortlist.first == 100


def test_a_shortlist_of_any_form_is_used_as_it_is(directories, tmp_path):
    folder = tmp_path / "model"
    shutil.copytree(directories("bergamot").path, folder)
    expected = Translator(folder).translate(TEXTS)
    listed, vocabulary = directories("bergamot").shortlist, Translator(folder).source_vocabulary
    pieces = vocabulary.pieces(range(vocabulary.size))
    lines = [
        f"{pieces[target]} {pieces[source]} 0.5\n"
        for source in range(vocabulary.size)
        for target in listed.ids[listed.offsets[source] : listed.offsets[source + 1]]
    ]
    (folder / SHORTLIST).unlink()
    (folder / "lex.s2t").write_text("".join(lines), "utf-8")
    (folder / "config.yml").write_text(
        yaml.safe_dump(
            {
                "relative-paths": True,
                "models": [ALPHAS],
                "vocabs": [VOCABULARY] * 2,
                "shortlist": ["lex.s2t", listed.first, 20],
            }
        )
    )
    assert Translator(folder).translate(TEXTS) == expected
    (folder / "config.yml").unlink()
    (folder / "lex.s2t").unlink()
    assert Translator(folder).translate(TEXTS) == Translator(directories("bergamot").path).translate(
        TEXTS, vocabulary="full"
    )


@pytest.mark.parametrize("kind", slow_after(1, ["bergamot", "huggingface"]))
def test_unloading_and_loading_again(directories, kind):
    path = directories(kind).path
    translator = Translator(path, compute_type="float32")
    expected = translator.translate(TEXTS)
    translator.unload_model()
    assert not translator.model_is_loaded
    assert translator.translate(TEXTS) == expected and translator.model_is_loaded
    assert translator.compute_type == "float32"  # the requested type, not the file's
    translator.unload_model()
    translator.load_model()
    assert translator.translate(TEXTS) == expected


def test_languages_are_told_by_the_first_piece(directories):
    translator = Translator(directories("huggingface").path)
    assert translator.source_vocabulary.languages == (">>fra<<",)
    assert translator.translate(">>fra<< A dog.") != translator.translate("A dog.")


def test_what_is_done_to_a_sentence_after_the_name_of_a_language(directories):
    translator = Translator(directories("huggingface").path)

    def first_word(text):
        return [(0, 3)] if text.startswith("the") else []

    for text, options in ((">>fra<< A DOG AND A CAT", {}), (">>fra<< the dog", {"protect": first_word})):
        alone = translator.translate(text, **options)
        assert alone == translator.translate([text, "A dog."], **options)[0]
        assert alone != translator.translate(text, protect="none", lower_capitals=False)

"""Models of many languages: the options `source_lang` and `target_lang` in all calls, and the laws of any direction."""

import copy
import itertools
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cpunmt import Options, Pivot, Translator
from cpunmt.commands.models import converted
from cpunmt.decoding.splitting import split_pieces
from cpunmt.text.languages.codes import code_of
from tests.sample_models.many_languages_model import SHAPES, write_model
from tests.sample_models.real_model import GERMAN, SHIPPED
from tests.sample_models.small_vocabulary import TEXT
from tests.support.option_values import consistent_options
from tests.support.speeds import slow_after

DIRECTIONS = [("en", "de"), ("German", "fra"), ("fr", "en"), ("deu", "zh"), ("zh", "en"), ("en", "fr")]
LAST = {"max_length": 12}
# Sentences that layers change, blank ones, several in a text, and one that is longer than the model takes
LAYERED = [*TEXT[:4], TEXT[6], "TWO WOMEN READ IN THE PARK.", "See https://x.org/a, 12 dogs! \U0001f600", " 7 ", ""]
LAYERED += ["A dog barks. Two women read.", " ".join(TEXT[:2] * 6).replace(".", "")]


@pytest.fixture(scope="module")
def directories(tmp_path_factory):
    """Returns the directory of each shape."""
    root = tmp_path_factory.mktemp("many languages")
    for name in SHAPES:
        write_model(root / name, name, 5)
    return {name: root / name for name in SHAPES}


@pytest.fixture(scope="module", params=SHAPES)
def model(request, directories):
    return Translator(directories[request.param])


@pytest.fixture(scope="module")
def nllb(directories):
    return Translator(directories["nllb"])


def named(direction) -> dict:
    return dict(zip(("source_lang", "target_lang"), direction, strict=True))


def test_languages_change_a_translation_and_are_not_in_it(model):
    made = {pair: model.translate(TEXT, **named(pair), **LAST) for pair in DIRECTIONS}
    assert len({str([result.text for result in results]) for results in made.values()}) > 3
    for result in itertools.chain.from_iterable(made.values()):
        assert not any(tag in result.text for tag in map(str, model.config.languages))  # even if the model says one


@pytest.mark.parametrize("spelling", ["de", "deu", "deu_Latn", "de_DE", "German", "GERMAN", "ger", "de-DE", " de "])
def test_a_language_may_be_written_in_any_way(model, spelling):
    assert model.translate(TEXT[0], source_lang="en", target_lang=spelling, **LAST) == model.translate(
        TEXT[0], source_lang="English", target_lang="de", **LAST
    )


@pytest.mark.parametrize(
    ("spelling", "code"), [("zh", "zho_Hans"), ("zh-TW", "zho_Hant"), ("ar", "arb_Arab"), ("ace_Arab", "ace_Arab")]
)
def test_the_usual_script_is_meant(nllb, spelling, code):
    made = nllb.call_settings(named(("en", spelling)), None).options
    assert (made.source_lang, made.target_lang) == ("eng_Latn", code)


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        (
            {"target_lang": "de"},
            "^source_lang not given, and the model has 202 languages; expected a name such as German, or",
        ),
        (
            {},
            "^source_lang and target_lang not given, and .* 202 languages; expected a name .*, or one of ace_Arab, ",
        ),
        (named(("en", "Klingon")), "^target_lang is 'Klingon'; expected a code or a name of .*: ace_Arab, "),
        (named(("en", "deu_Lata")), r"^target_lang is 'deu_Lata' \(did you mean deu_Latn\?\); expected"),
        (named(("en", "deu_Cyrl")), "^target_lang is 'deu_Cyrl' "),
        (named(("en", "")), "^target_lang is '', expected a code or a name, as de, deu_Latn or German"),
        (named(("en", "x" * 101)), "^target_lang is 'xxx"),
    ],
)
def test_what_is_missing_or_wrong_is_told_with_what_there_is(nllb, given, problem):
    for call in (
        lambda: nllb.translate("A dog.", **given),
        lambda: nllb.translate(["A dog."], **given),
        lambda: list(nllb.translate_iterable(["A dog."], **given)),
        lambda: list(nllb.generate_text("A dog.", **given)),
        lambda: nllb.score("A dog.", "Ein Hund.", **given),
        lambda: list(nllb.score_iterable(["A dog."], ["Ein Hund."], **given)),
        lambda: nllb.text_call(given),
    ):
        with pytest.raises(ValueError, match=problem):
            call()


@pytest.mark.parametrize("value", [3, True, b"de", ["de"]])
def test_other_types_are_refused(nllb, value):
    with pytest.raises(TypeError, match="^target_lang is "):
        nllb.translate("A dog.", target_lang=value)


def test_what_other_programs_call_them(nllb):
    for name, meant in (("src_lang", "source_lang"), ("tgt_lang", "target_lang")):
        with pytest.raises(TypeError, match=f"did you mean {meant}"):
            nllb.translate("A dog.", **{name: "de"})


def test_a_translator_has_defaults(directories):
    given = Translator(directories["nllb"], source_lang="en", target_lang="German")
    plain = Translator(directories["nllb"])
    expected = plain.translate(TEXT, **named(("en", "de")), **LAST)
    assert given.translate(TEXT, **LAST) == expected
    assert (given.target_language, plain.target_language) == ("de", None)
    assert given.translate(TEXT, options=Options(**LAST)) == expected  # other defaults do not unset them
    french = plain.translate(TEXT, **named(("en", "fr")), **LAST)
    assert given.translate(TEXT, target_lang="fr", **LAST) == french != expected
    for other in (pickle.loads(pickle.dumps(given)), copy.copy(given)):
        assert other.translate(TEXT, **LAST) == expected
    given.unload_model()
    assert given.translate(TEXT, **LAST) == expected
    assert repr(given) == f"<Translator {str(directories['nllb'])!r}: int8, 202 languages, loaded>"
    with pytest.raises(ValueError, match="^target_lang is 'xx'; expected"):
        Translator(directories["nllb"], target_lang="xx")


def test_every_call_takes_them(model, tmp_path):
    for direction in DIRECTIONS[:3]:
        options = {**named(direction), **LAST}
        expected = [result.text for result in model.translate(TEXT, **options)]
        assert [model.translate(text, **options).text for text in TEXT] == expected
        assert [result.text for result in model.translate_iterable(iter(TEXT), **options)] == expected
        assert ["".join(model.generate_text(text, **options)) for text in TEXT] == expected
        pieces = [model.tokenize(text) for text in TEXT]
        whole = model.translate(TEXT, split="none", **options)
        made = model.translate_batch(pieces, **options)
        assert [tuple(one.hypotheses[0]) for one in made] == [result.pieces for result in whole]
        for one, source in zip(made, pieces, strict=True):
            steps = [step.token for step in model.generate_tokens(source, **options)]
            assert [token for token in steps if token != "</s>"] == one.hypotheses[0]
        told = []
        again = model.translate_batch(pieces, callback=lambda step, told=told: told.append(step.token), **options)
        assert [one.hypotheses for one in again] == [one.hypotheses for one in made]
        said = itertools.chain.from_iterable(one.hypotheses[0] for one in made)
        assert sorted(token for token in told if token != "</s>") == sorted(said)
        (tmp_path / "in.txt").write_text("\n".join(map(" ".join, pieces)) + "\n", "utf-8")
        model.translate_file(tmp_path / "in.txt", tmp_path / "out.txt", **options)
        lines = (tmp_path / "out.txt").read_text("utf-8").splitlines()
        assert lines == [" ".join(one.hypotheses[0]) for one in made]
        targets = [one.hypotheses[0] for one in made]
        scored = model.score_batch(pieces, targets, **named(direction))
        assert [one.tokens[:-1] for one in scored] == targets


def test_a_score_is_that_of_the_search(model):
    """The piece of the language has no log-probability; it counts as a piece, as in transformers."""
    options = {**named(DIRECTIONS[0]), "beam_size": 3, "num_hypotheses": 3, "return_token_log_probs": True}
    for result in model.translate(TEXT[:4], split="none", protect="none", max_length=30, **options):
        for hypothesis in result.hypotheses:
            count = len(hypothesis.token_log_probs)
            assert count - len(hypothesis.pieces) in (0, 1)
            length = count + model.config.target_tag
            assert hypothesis.score == pytest.approx(sum(hypothesis.token_log_probs) / length, abs=1e-5)


def test_the_score_of_a_rest_counts_the_piece_of_the_language_too(model):
    """A score without offset is the search's, so a rest's has the same length for the same number of pieces."""
    options = named(DIRECTIONS[0])
    source, target = model.tokenize(TEXT[0]), model.target_vocabulary.surfaces(TEXT[1])
    for penalties in ({}, {"word_penalty": 0.5}, {"length_penalty": 0.3}):
        (whole,), (rest,) = (
            model.score_batch([source], [target], offset=offset, **options, **penalties) for offset in (0, 3)
        )
        assert rest.log_probs == whole.log_probs[3:] and rest.log_prob == pytest.approx(sum(rest.log_probs))
        for one in (whole, rest):
            length = len(one.log_probs) + model.config.target_tag
            expected = (one.log_prob - penalties.get("word_penalty", 0) * length) / length ** penalties.get(
                "length_penalty", 1
            )
            assert one.score == pytest.approx(expected, rel=1e-5)
        (none,) = model.score_batch([source], [target], offset=1000, **options, **penalties)
        assert (none.tokens, none.score) == ([], 0)


def test_alignments_and_prefixes(model):
    options = {**named(DIRECTIONS[0]), **LAST, "split": "none"}
    plain, aligned = (model.translate(TEXT[0], return_alignments=align, **options) for align in (False, True))
    assert aligned.text == plain.text
    best = aligned.hypotheses[0]
    assert best.attention.shape == (len(best.pieces), len(aligned.source_pieces))
    assert aligned.source_pieces == tuple(model.tokenize(TEXT[0]))
    begun = model.translate(TEXT[0], target_prefix="Ein Hund", **options)
    assert begun.text.startswith("Ein Hund")
    favoured = model.translate(TEXT[0], target_prefix="Ein Hund", prefix_bias_beta=0.9, **options)
    assert favoured.pieces
    best = model.translate_batch([model.tokenize(TEXT[0])], return_logits_vocab=True, **named(DIRECTIONS[0]), **LAST)
    assert best[0].logits[0].shape[1:] == (model.config.vocab_size,)


@given(st.data())
@settings(deadline=None, max_examples=15)
def test_law_2_any_directions_in_any_order_batch_and_thread(directories, data):
    """The same bits alone, and whatever else is translated before or beside it."""
    name = data.draw(st.sampled_from(list(SHAPES)), "shape")
    one, several = (_cached(directories[name], threads) for threads in (1, 3))
    options = data.draw(consistent_options(), "options")
    options |= {"max_length": 8, "min_length": min(options.get("min_length") or 0, 6)}
    for unfit in (
        "html",
        "tags",
        "glossary",
        "suppress_sequences",
        "end_token",
        "source_lang",
        "target_lang",
        "vocabulary",
    ):
        options.pop(unfit, None)
    pairs = data.draw(st.lists(st.sampled_from(DIRECTIONS), min_size=1, max_size=3, unique=True), "directions")
    texts = data.draw(st.permutations(LAYERED), "texts")[:5]
    alone = {(pair, text): one.translate(text, **options, **named(pair)) for pair in pairs for text in texts}
    for pair in pairs:
        for translator in (one, several):
            made = translator.translate(texts, **options, **named(pair))
            assert made == [alone[pair, text] for text in texts]
    both = data.draw(st.permutations(list(alone)), "order")
    languages = named(zip(*(pair for pair, _ in both), strict=True))
    for translator in (one, several):
        made = translator.translate([text for _, text in both], **options, **languages)
        assert made == [alone[item] for item in both]


_LOADED = {}


def _cached(path, threads) -> Translator:
    if (path, threads) not in _LOADED:
        _LOADED[path, threads] = Translator(path, inter_threads=threads)
    return _LOADED[path, threads]


def test_one_batch_of_many_directions_has_the_same_bits(model, directories):
    """As CTranslate2's users write it: the pieces of languages in the sources and target prefixes of one call."""
    name = next(name for name in SHAPES if directories[name] == model.path)
    shape = SHAPES[name]
    tags = {code_of(piece): piece for piece in shape.languages}
    sources, prefixes, expected = [], [], []
    for pair, text in itertools.product(DIRECTIONS, TEXT[:3]):
        chosen = model.call_settings(named(pair), None).options
        pieces, of = model.tokenize(text), {"source": chosen.source_lang, "target": chosen.target_lang}
        begin, finish = ([tags[of[side]]] if side and of[side] else [] for side in (shape.begin, shape.finish))
        sources.append([*begin, *pieces, *(["</s>", *finish] if finish else [])])
        prefixes.append([tags[of["target"]]] if shape.prompt else None)
        expected.append(model.translate_batch([pieces], max_length=9, max_length_factor=50, **named(pair))[0])
    order = np.random.default_rng(3).permutation(len(sources)).tolist()
    made = model.translate_batch(
        [sources[i] for i in order],
        [prefixes[i] for i in order],
        max_length=9 + shape.prompt,
        max_length_factor=50,
    )
    for i, one in zip(order, made, strict=True):
        assert one.hypotheses[0] == [*(prefixes[i] or []), *expected[i].hypotheses[0]]


@pytest.mark.parametrize("name", slow_after(2, ["nllb", "small", "nllb-legacy", "m2m", "mbart"]))
def test_lists_of_languages(directories, name):
    """Each text has the translation and the scores that it has alone, in every call that takes lists."""
    model, texts, pairs = Translator(directories[name]), TEXT[: len(DIRECTIONS)], DIRECTIONS
    languages, pieces = named(zip(*pairs, strict=True)), [model.tokenize(text) for text in texts]
    for options in ({**LAST}, {**LAST, "beam_size": 2, "return_alignments": True}, {**LAST, "html": True}):
        expected = [model.translate(text, **options, **named(pair)) for text, pair in zip(texts, pairs, strict=True)]
        assert model.translate(texts, **options, **languages) == expected
    targets = [result.text for result in expected]
    made = model.translate_batch(pieces, return_scores=True, **LAST, **languages)
    again = model.translate_batch(pieces, return_scores=True, asynchronous=True, **LAST, **languages)
    assert [one.result() for one in again] == made
    scores = model.score(texts, targets, **languages)
    surfaces = [model.target_vocabulary.surfaces(text) for text in targets]
    of_pieces = model.score_batch(pieces, surfaces, **languages)
    for number, pair in enumerate(pairs):
        alone = named(pair)
        assert made[number] == model.translate_batch([pieces[number]], return_scores=True, **LAST, **alone)[0]
        assert scores[number] == model.score(texts[number], targets[number], **alone)
        assert of_pieces[number] == model.score_batch([pieces[number]], [surfaces[number]], **alone)[0]
    begun = model.translate(
        texts, target_prefix=["Ein"] * len(texts), source_lang="en", target_lang=languages["target_lang"], **LAST
    )
    for text, target, result in zip(texts, languages["target_lang"], begun, strict=True):
        assert result == model.translate(text, target_prefix="Ein", source_lang="en", target_lang=target, **LAST)
    given = Translator(model.path, source_lang="en", sentence_cache=100)
    for _ in range(2):
        found = given.translate([*texts, texts[0]], target_lang=["de", "fr"] * 3 + ["fr"], **LAST)
        assert found[0] == model.translate(texts[0], **named(("en", "de")), **LAST)
        assert found[-1] == model.translate(texts[0], **named(("en", "fr")), **LAST)
    assert model.translate([], **named(([], []))) == model.score([], [], **named(([], []))) == []
    assert model.translate_batch([], target_lang=[]) == model.score_batch([], [], target_lang=[]) == []


def test_sentences_of_many_directions_share_a_batch(nllb, monkeypatch):
    engine, sizes = nllb.loaded.engine, []
    translate = engine.translate
    counted = lambda sources, *more, **named: sizes.append(len(sources)) or translate(sources, *more, **named)  # noqa: E731
    monkeypatch.setattr(engine, "translate", counted)
    nllb.translate(TEXT[:5], source_lang="en", target_lang=["de", "fr", "zh", "de", "it"], **LAST)
    nllb.translate([TEXT[0], TEXT[0].upper(), TEXT[1]], source_lang="en", target_lang=["de", "fr", "zh"], **LAST)
    assert sizes[:2] == [5, 2] and len(sizes) > 2  # a sentence that a layer changes is translated apart


@pytest.mark.parametrize(
    ("languages", "error", "problem"),
    [
        (["de"], ValueError, "^target_lang has 1 items, expected one for each of the 2 texts$"),
        (["de", "fr", "de", "de"], ValueError, "^target_lang has more than 2 items, expected one for each of the 2"),
        (["de", None], TypeError, "^target_lang 1 is None, expected a language for each text; they are counted"),
        (["de", "xx"], ValueError, "^target_lang is 'xx'; expected a code"),
        ({"de", "fr"}, TypeError, "^target_lang takes a language, or a list with one for each text, not set, which"),
        (3, TypeError, "^target_lang takes a language, or a list with one for each text, not int$"),
    ],
)
def test_lists_that_do_not_fit(nllb, languages, error, problem):
    options, pieces = {"source_lang": "en", "target_lang": languages}, [["a"], ["b"]]
    for call in (
        lambda: nllb.translate(["A dog.", "Two."], **options),
        lambda: nllb.translate_batch(pieces, **options),
        lambda: nllb.score(["A dog.", "Two."], ["Ein Hund.", "Zwei."], **options),
        lambda: nllb.score_batch(pieces, pieces, **options),
    ):
        with pytest.raises(error, match=problem):
            call()


def test_long_sentences_are_cut(nllb):
    text = " ".join(TEXT[:2] * 6).replace(".", "").replace("!", "")
    result = nllb.translate(text, **named(("en", "de")), max_length=5)
    assert len(result.pieces) <= 5 * 12 and len(nllb.tokenize(text)) > nllb.config.max_source_length
    assert nllb.translate(text, split="none", **named(("en", "de")), max_length=5).pieces


@pytest.mark.parametrize("scheme", ["int8", "float32"])
def test_a_converted_directory_translates_as_the_one_it_was_made_of(directories, scheme, tmp_path):
    for name, path in directories.items():
        converted(path, tmp_path / name, scheme, "dynamic", False)
        one, other = Translator(path, compute_type=scheme), Translator(tmp_path / name)
        assert other.config == one.config and other.languages == one.languages
        for pair in DIRECTIONS[:2]:
            made = one.translate(TEXT, **named(pair), **LAST)
            assert other.translate(TEXT, **named(pair), **LAST) == made
        assert one.source_vocabulary.encode_batch(TEXT) == other.source_vocabulary.encode_batch(TEXT)
        assert one.source_vocabulary.tag_ids == other.source_vocabulary.tag_ids


def test_documents(nllb, tmp_path):
    (tmp_path / "page.html").write_text(f"<p>{TEXT[0]}</p><p>{TEXT[1]}</p>", "utf-8")
    options = {**named(("English", "fr_FR")), **LAST}
    out = nllb.translate_document(tmp_path / "page.html", **options)
    assert out == tmp_path / "page.fr.html"
    expected = nllb.translate((tmp_path / "page.html").read_text("utf-8"), html=True, **options).text
    assert out.read_text("utf-8") == expected
    with pytest.raises(ValueError, match="^source_lang and target_lang not given"):
        nllb.translate_document(tmp_path / "page.html", tmp_path / "out.html")


# Models with one direction, and models that read the name of the language in the text


def test_a_model_of_one_direction_takes_its_own_languages():
    student = Translator(SHIPPED, source_lang="English", target_lang="de_DE")
    assert student.translate("A dog.") == Translator(SHIPPED).translate("A dog.", source_lang="en")
    assert student.options.source_lang is student.options.target_lang is None
    with pytest.raises(ValueError, match="^target_lang is 'fr'; expected a code or a name .* has: de$"):
        student.translate("A dog.", target_lang="fr")


def test_a_model_of_unknown_languages_takes_none(tmp_path):
    (tmp_path / "model").symlink_to(SHIPPED)
    student = Translator(tmp_path / "model")
    student.languages = type(student.languages)()
    with pytest.raises(ValueError, match="the languages of the model are not known; leave it out"):
        student.translate("A dog.", source_lang="en")


def test_a_name_is_written_before_each_sentence_where_the_model_reads_it_there():
    both = Translator(SHIPPED.parent / "ende-deen")
    texts = ["A man is riding a bicycle. Two dogs!", "12", "", ">>en<< Ein Hund."]
    made = both.translate(texts, target_lang="German")
    expected = both.translate([f">>de<< {text}" if ">>" not in text else text for text in texts])
    assert [one.text.strip() for one in made] == [one.text.removeprefix(">>de<<").strip() for one in expected]
    assert made[0].sentences[0].source == (0, 26)
    assert "".join(both.generate_text(texts[0], target_lang="de")) == made[0].text
    pairs = [(texts[0], "de"), (texts[3], "de"), (texts[0], "en"), ("", "de")]
    each = both.translate([text for text, _ in pairs], target_lang=[language for _, language in pairs])
    assert each == [both.translate(text, target_lang=language) for text, language in pairs]
    with pytest.raises(ValueError, match="^target_lang is 'fr'; expected .* has: de, en|en, de$"):
        both.translate("A dog.", target_lang="fr")


def test_each_part_of_a_long_sentence_begins_with_the_name():
    both = Translator(SHIPPED.parent / "ende-deen")
    text = "The Commission proposed new rules for the market on Monday, and " * 15
    made = both.translate(text, target_lang="de", split="none", return_alignments=True)
    name, words = both.tokenize(f">>de<< {text}")[:2], both.tokenize(f">>de<< {text}")[2:]
    sizes = [part.shape[1] for part in made.hypotheses[0].attention_parts]
    sizes[0] -= len(name)
    assert sum(sizes) == len(words) and len(sizes) > 1
    ends = list(itertools.accumulate(sizes, initial=0))
    alone = both.translate_batch([[*name, *words[begin:end]] for begin, end in itertools.pairwise(ends)])
    assert list(made.pieces) == [piece for one in alone for piece in one.hypotheses[0]]
    assert all(source < len(name) + len(words) for source, _ in made.alignments)


@pytest.mark.parametrize("is_old", [False, True])
def test_each_part_of_a_long_sentence_has_the_languages_that_its_pieces_name(nllb, is_old):
    """The older form of the source has the language behind </s>."""
    pieces = nllb.tokenize(" ".join(TEXT[:2] * 6).replace(".", "").replace("!", ""))
    names = ([], ["</s>", "eng_Latn"]) if is_old else (["eng_Latn"], ["</s>"])
    source, target = [*names[0], *pieces, *names[1]], ["deu_Latn"]
    options = {"max_length": 6, "min_length": 4, "return_attention": True, "return_logits_vocab": True}
    (made,) = nllb.translate_batch([source], [target], **options)
    (whole,), attention = made.hypotheses, np.array(made.attention[0])
    assert attention.shape == (len(whole), len(source) - 1)
    cuts = split_pieces(pieces, nllb.config.max_source_length - 2, nllb.source_vocabulary.mark)
    edges = [0, *cuts, len(pieces)]
    each = [[*names[0], *pieces[begin:end], *names[1]] for begin, end in itertools.pairwise(edges)]
    found = nllb.translate_batch(each, [target] * len(each), **options)
    assert whole == [*target, *(piece for one in found for piece in one.hypotheses[0][1:])]
    logits = [one.logits[0][bool(number) :] for number, one in enumerate(found)]
    assert np.array_equal(made.logits[0], np.concatenate(logits))
    ends = list(itertools.accumulate(map(len, logits)))
    rows = np.split(attention, ends[:-1])
    for number, (one, own) in enumerate(zip(found, rows, strict=True)):
        begin, size = len(names[0]), edges[number + 1] - edges[number]
        expected = np.array(one.attention[0])[bool(number) :, begin : begin + size]
        assert np.array_equal(own[:, begin + edges[number] :][:, :size], expected)
    given = {"max_length": 6, "min_length": 4, "target_prefix": target}
    assert [step.token for step in nllb.generate_tokens(source, **given)][: len(whole)] == whole
    said = []
    nllb.translate_batch(
        [source], [target], max_length=6, min_length=4, callback=lambda step: said.append(step.token) and False
    )
    assert said[: len(whole)] == whole


def test_an_input_limit_keeps_the_names_of_a_source_of_the_older_form(nllb):
    pieces = nllb.tokenize(" ".join(TEXT[:2] * 6).replace(".", "").replace("!", ""))
    made = nllb.translate_batch([[*pieces, "</s>", "eng_Latn"]], [["deu_Latn"]], max_input_length=90, max_length=9)
    cut = nllb.translate_batch([[*pieces[:90], "</s>", "eng_Latn"]], [["deu_Latn"]], max_length=9)
    assert made == cut


def test_logits_behind_a_name_that_a_biased_search_does_not_say(nllb):
    pieces = nllb.tokenize(" ".join(TEXT[:2] * 6).replace(".", "").replace("!", ""))
    options = {"max_length": 6, "min_length": 4, "prefix_bias_beta": 0.05, "return_logits_vocab": True}
    (made,) = nllb.translate_batch([["eng_Latn", *pieces]], [["deu_Latn"]], **options)
    cuts = split_pieces(pieces, nllb.config.max_source_length - 2, nllb.source_vocabulary.mark)
    parts = [["eng_Latn", *pieces[begin:end]] for begin, end in itertools.pairwise([0, *cuts, len(pieces)])]
    alone = nllb.translate_batch(parts, [["deu_Latn"]] * len(parts), **options)
    starts = [bool(number) and one.hypotheses[0][:1] == ["deu_Latn"] for number, one in enumerate(alone)]
    assert len(parts) > 2 and not all(starts[1:])
    expected = [one.logits[0][start:] for one, start in zip(alone, starts, strict=True)]
    assert np.array_equal(made.logits[0], np.concatenate(expected))


def test_a_pivot_gives_each_model_its_languages(nllb):
    chain = Pivot([Translator(SHIPPED), nllb])
    made = chain.translate(TEXT[:1], options=[None, {**named(("de", "fr")), **LAST}])
    middle = Translator(SHIPPED).translate(TEXT[:1])
    expected = nllb.translate([one.text for one in middle], **named(("de", "fr")), **LAST)
    assert [one.text for one in made] == [one.text for one in expected]
    (again,) = chain.translate(TEXT[:1], options=[None, {"source_lang": "de", **LAST}], target_lang="fr")
    assert again.text == made[0].text


def test_what_a_pivot_is_not_told_is_refused(nllb):
    """No model of a chain translates without the pieces of its languages."""
    first, last = Pivot([nllb, SHIPPED.parent / "ende-deen"]), Pivot([SHIPPED, nllb])
    for chain, chosen, missing in (
        (first, {}, "source_lang and target_lang not given"),
        (first, named(("fr", "de")), "target_lang not given"),
        (last, {}, "source_lang and target_lang not given"),
        (last, {"target_lang": "fr"}, "source_lang not given"),
    ):
        for call in (
            lambda chain=chain, chosen=chosen: chain.translate("A dog.", **chosen),
            lambda chain=chain, chosen=chosen: chain.translate(["A dog."], **chosen),
            lambda chain=chain, chosen=chosen: chain.translate_iterable(["A dog."], **chosen),
            lambda chain=chain, chosen=chosen: chain.text_call(chosen),
        ):
            with pytest.raises(ValueError, match=f"^{missing}, and the model has 202 languages"):
                call()


def test_languages_for_all_models_of_a_pivot_are_those_of_its_ends(directories):
    path = directories["nllb"]
    one, other = Translator(path, target_lang="de"), Translator(path, source_lang="de")
    chain, ends = Pivot([one, other]), named(("en", "fr"))
    middle = one.translate(TEXT[:2], **ends | {"target_lang": "de"}, **LAST)
    expected = [other.translate(text.text, split="none", **ends | {"source_lang": "de"}, **LAST) for text in middle]
    for options, chosen in (
        (None, {**ends, **LAST}),
        ({**ends, **LAST}, {}),
        (Options(**ends, **LAST), {}),
        ([{"source_lang": "en", **LAST}, {"target_lang": "fr", **LAST}], {}),
        (Options(**named(("zh", "zh"))), {**ends, **LAST}),
    ):
        made = chain.translate(TEXT[:2], split="line", protect="none", copy_numbers=False, options=options, **chosen)
        assert [result.text for result in made] == [result.text for result in expected]


def test_the_languages_of_a_pivot_are_the_defaults_of_its_ends(directories, tmp_path):
    path = directories["m2m"]
    with pytest.raises(ValueError, match="translates into 'fr', but .* from 'de'; expected models in the order"):
        Pivot([Translator(path, source_lang="en", target_lang="fr"), GERMAN])
    with pytest.raises(ValueError, match="translates into 'de', but .* from 'fr'"):
        Pivot([SHIPPED, Translator(path, source_lang="fr")])
    to_french = Pivot([SHIPPED, Translator(path, source_lang="de", target_lang="fr")])
    assert (to_french.target_language, to_french.languages) == ("fr", ("en", "fr"))
    (tmp_path / "a.txt").write_text(TEXT[0], "utf-8")
    assert to_french.translate_document(tmp_path / "a.txt", **LAST) == tmp_path / "a.fr.txt"
    unnamed = Pivot([SHIPPED, Translator(path, source_lang="de")])
    assert unnamed.target_language is None
    assert unnamed.translate_document(tmp_path / "a.txt", target_lang="zh", **LAST) == tmp_path / "a.zh.txt"
    from_chinese = Pivot([Translator(path, source_lang="zh", target_lang="en"), SHIPPED])
    assert (from_chinese.target_language, from_chinese.languages) == ("de", ("zh", "de"))


def test_a_beginning_is_forced_in_the_language_of_a_pivots_last_model():
    chain = Pivot([SHIPPED, SHIPPED.parent / "ende-deen"])
    both, texts = chain.translators[1], ["Two dogs are playing in the snow.", "A man is riding a bicycle."]
    options = {"split": "none", "target_lang": "en"}
    found = chain._forced(chain._settings(None, options))(texts, ["There"] * 2)
    for text, one in zip(texts, found, strict=True):
        middle = chain.translators[0].translate(text, split="none").text
        expected = both.translate(f">>en<< {middle}", target_prefix="There", split="none", vocabulary="full")
        assert one.source == text and one.target == expected.text
        assert both.translate(middle, target_prefix="There", split="none", vocabulary="full").text != expected.text
        assert one.links and all(end <= len(text) for _, end in one.source_spans)


def test_a_name_is_written_before_each_text_that_is_scored():
    both = Translator(SHIPPED.parent / "ende-deen")
    sources = ["A man is riding a bicycle.", "", " ", ">>en<< Ein Hund.", "Two dogs!"]
    targets = ["Ein Mann fährt Fahrrad.", "", "Nein.", "A dog.", "Zwei Hunde!"]
    plain = [f">>de<< {text}" if text.strip() and ">>" not in text else text for text in sources]
    expected = both.score(plain, targets)
    assert both.score(sources, targets) != expected
    given = Translator(SHIPPED.parent / "ende-deen", target_lang="de")
    for translator, options in ((both, {"target_lang": "German"}), (given, {})):
        assert translator.score(sources, targets, **options) == expected
        assert [translator.score(*pair, **options) for pair in zip(sources, targets, strict=True)] == expected
        assert list(translator.score_iterable(iter(sources), targets, **options)) == expected
    mixed = both.score(sources, targets, target_lang=["de", "de", "de", "de", "en"])
    assert mixed[:4] == expected[:4] and mixed[4] == both.score(sources[4], targets[4], target_lang="en")


def test_pieces_name_the_language_themselves(tmp_path):
    both = Translator(SHIPPED.parent / "ende-deen")
    said, pieces = both.tokenize(">>de<< A dog."), both.tokenize("A dog.")
    target = both.target_vocabulary.surfaces("Ein Hund.")
    for name, source in (("said", said), ("plain", pieces), ("blank", [])):
        (tmp_path / name).write_text(" ".join(source) + "\n", "utf-8")
    (tmp_path / "target").write_text(" ".join(target) + "\n", "utf-8")
    calls = (
        lambda name, source, given: both.translate_batch([source, []], **given),
        lambda name, source, given: list(both.translate_iterable([source], **given)),
        lambda name, source, given: list(both.generate_tokens(source, **given)),
        lambda name, source, given: both.translate_file(tmp_path / name, tmp_path / "out", **given).num_tokens,
        lambda name, source, given: both.score_batch([source, []], [target, []], **given),
        lambda name, source, given: list(both.score_iterable([source], [target], **given)),
        lambda name, source, given: (
            both.score_file(tmp_path / name, tmp_path / "target", tmp_path / "out", **given).num_tokens
        ),
    )
    for call in calls:
        assert call("said", said, {"target_lang": "de"}) == call("said", said, {})
        assert call("blank", [], {"target_lang": "de"}) == call("blank", [], {})
        with pytest.raises(ValueError, match="^target_lang is 'de', and .* pieces, .*; begin the pieces with >>de<<$"):
            call("plain", pieces, {"target_lang": "de"})
    assert both.translate_batch([said[1:]], target_lang="de") == both.translate_batch([said[1:]])

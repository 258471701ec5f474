"""CTranslate2's vmap.txt: used where a call asks for it, as by CTranslate2 itself, and kept by a conversion."""

import gzip
import json
import shutil

import numpy as np
import pytest

from cpunmt import ModelFileError, Translator
from cpunmt.commands import cli
from cpunmt.formats.packed.packed_directory import read_directory
from cpunmt.options.options import Options
from quantize.commands import cli as quantize_cli
from quantize.evaluation.report import measure
from tests.golden.ctranslate2_directories import FOLDER, LIMIT, RESULTS
from tests.golden.vocabulary_map import MAPS, SHAPES, lines_of, vocabularies
from tests.support.speeds import slow_after

CLOSE = 1e-4  # of scores
BEAMS = {"greedy": {}, "beam": {"beam_size": 4, "patience": 1.0}}


@pytest.fixture(scope="module")
def golden():
    return [json.loads(gzip.decompress(path.read_bytes())) for path in (MAPS, RESULTS)]


@pytest.fixture(scope="module", params=SHAPES)
def model(request, golden, tmp_path_factory):
    """Returns (shape, directory with a map, pieces of the sources)."""
    path = shutil.copytree(FOLDER / request.param, tmp_path_factory.mktemp("maps") / "model") / "float32"
    pieces, sources = vocabularies(path), golden[1][request.param]["sources"]
    (path / "vmap.txt").write_text(lines_of(request.param, pieces, sources))
    return request.param, path, [[pieces[0][i] for i in ids] for ids in sources]


@pytest.fixture(scope="module")
def translator(model):
    return Translator(model[1], compute_type="float32")


@pytest.mark.parametrize("count", slow_after(1, [30, 300]))
@pytest.mark.parametrize("name", BEAMS)
def test_translations_are_those_of_ctranslate2(name, count, model, translator, golden):
    shape, _, sources = model
    told = golden[0][shape]
    options = {"max_length": LIMIT, "max_length_factor": 100.0, "return_scores": True, **BEAMS[name]}
    made = translator.translate_batch(sources[:count], use_vmap=True, **options)
    ids = [translator.target_vocabulary.ids(one.hypotheses[0]) for one in made]
    print(shape, name, sum(one == other for one, other in zip(ids, told[name], strict=False)))
    assert ids == told[name][:count]
    assert np.abs(np.subtract([one.scores[0] for one in made], told[f"{name} scores"][:count])).max() < CLOSE
    others = translator.translate_batch(sources[:count], **options)
    assert sum(one.hypotheses != other.hypotheses for one, other in zip(made, others, strict=True)) > count / 3


def test_it_is_used_only_on_request(model, translator):
    sources = model[2][:9]
    plain, asked = (translator.translate_batch(sources, vocabulary=name) for name in ("full", "shortlist"))
    assert plain != asked == translator.translate_batch(sources, use_vmap=True)
    for options in ({}, {"options": Options()}, {"use_vmap": False}):
        assert [one.hypotheses for one in translator.translate_batch(sources, **options)] == [
            one.hypotheses for one in plain
        ]
    assert translator.has_shortlist and translator.options.vocabulary == "full"
    text, listed = "A small dog.", {"vocabulary": "shortlist"}
    assert translator.translate(text) == translator.translate(text, vocabulary="full")
    assert translator.translate(text, **listed).score != translator.translate(text).score
    (score,) = translator.score_batch(sources[:1], [asked[0].hypotheses[0]], **listed)
    assert np.isfinite(score.log_prob) and score != translator.score_batch(sources[:1], [asked[0].hypotheses[0]])[0]


def test_a_sentence_has_its_own_candidates(model, translator):
    """Whatever its neighbours are."""
    alone = [translator.translate_batch([source], use_vmap=True)[0] for source in model[2][:20]]
    assert translator.translate_batch(model[2][:20], use_vmap=True, max_batch_size=7) == alone


@pytest.mark.parametrize("beam", [1, 4])
def test_the_end_is_forbidden_at_its_place_among_the_candidates(beam, model, translator):
    options = {"use_vmap": True, "beam_size": beam, "max_length": 12, "max_length_factor": 100.0}
    shortest = [
        min(len(one.hypotheses[0]) for one in translator.translate_batch(model[2][:60], min_length=least, **options))
        for least in (0, 5)
    ]
    assert shortest[0] < shortest[1] == 5


def test_a_conversion_keeps_it(model, tmp_path, capsys):
    packed = tmp_path / "packed"
    assert cli.main(["convert", str(model[1]), str(packed), "--scheme", "float32"]) == 0
    assert sorted(read_directory(packed).shortlist.parent.glob("*.txt")) == [packed / "vmap.txt"]
    pair = [Translator(path, compute_type="float32") for path in (model[1], packed)]
    for options in ({}, {"use_vmap": True}):
        one, other = (found.translate_batch(model[2][:20], **options) for found in pair)
        assert one == other
    capsys.readouterr()
    for path in (model[1], packed):
        assert cli.main(["info", str(path)]) == 0
        assert "vmap.txt, which is used with --vocabulary shortlist" in capsys.readouterr().out
    with open(packed / "vmap.txt", "ab") as file:
        file.write(b"\n")
    with pytest.raises(
        ModelFileError, match=r"vmap\.txt: line \d+ is b'\\n', expected 'source pieces<TAB>target pieces'"
    ):
        Translator(packed)
    (packed / "vmap.txt").unlink()
    with pytest.raises(ModelFileError, match=r"vmap\.txt: not found, but the model needs it"):
        Translator(packed)


def test_pack_and_report_know_it(model, tmp_path):
    packed = [tmp_path / "int8", tmp_path / "float32"]
    for path in packed:
        assert quantize_cli.main(["pack", str(model[1]), str(path), "--scheme", path.name]) == 0
        assert (path / "vmap.txt").exists()
    text = tmp_path / "text"
    text.write_text("A small dog.\nTwo women.\nA river.\n")
    calibrated = [tmp_path / "with", tmp_path / "without"]
    bare = shutil.copytree(model[1].parent, tmp_path / "bare") / model[1].name
    (bare / "vmap.txt").unlink()
    for path, origin in zip(calibrated, (model[1], bare), strict=True):
        arguments = ["--calibration", str(text), "--activation-scales", "static"]
        assert quantize_cli.main(["pack", str(origin), str(path), *arguments]) == 0
    weights = [(path / "weights.safetensors").read_bytes() for path in calibrated]
    assert weights[0] == weights[1]
    for asked, used in (({}, "full"), ({"vocabulary": "shortlist"}, "shortlist")):
        assert measure(*packed, [], asked, rounds=0)["model"]["vocabulary"] == used


def test_an_ensemble_leaves_it_out(model):
    both = Translator([model[1], model[1]], compute_type="float32")
    assert not both.has_shortlist
    with pytest.raises(ValueError, match="vocabulary is 'shortlist', but .* has no shortlist; expected 'full'"):
        both.translate("A dog.", use_vmap=True)


def test_the_first_piece_is_always_a_candidate(model):
    """The map of a model whose bos_token is another piece has that piece instead of <unk>."""
    path = model[1]
    config = path / "config.json"
    fields = json.loads(config.read_text())
    piece = vocabularies(path)[1][20]
    try:
        config.write_text(json.dumps(fields | {"bos_token": piece, "decoder_start_token": "</s>"}))
        found = Translator(path)
        assert found.target_vocabulary.ids([piece])[0] in found._engine.shortlist.always
    finally:
        config.write_text(json.dumps(fields))

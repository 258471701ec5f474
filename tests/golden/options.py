"""Records the outputs of transformers and CTranslate2 with options that cpunmt has, too. To record again:

    python -m tests.golden.options [--out tests/golden/options.json.gz]

in an environment with `pip install torch==2.13.0 transformers==5.23.0 ctranslate2==4.8.5 sentencepiece`, numpy and
PyYAML. Later versions of transformers have no groups of beams. Those are added to the file in an environment with
transformers==4.49.0:

    python -m tests.golden.options --diverse

To count cpunmt's translations that equal theirs, by option (the table in docs/benchmarks.md):

    python -m tests.golden.options --compare

All run one random MarianMT model of Hugging Face in float32, with 100 random sentences of at most 24 pieces; <pad>
never counts, <unk> only where stated. The file has each sentence's hypotheses with their scores. `filtered` has the
distribution from which transformers draws the first piece, `drawn` the number of times that CTranslate2 drew each first
piece, `logits` CTranslate2's logits of the first sentences' translations.
"""

import argparse
import gzip
import json
import tempfile
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from cpunmt.engine.engine import Engine
from cpunmt.formats.any_directory import read_model
from cpunmt.model.tensors import Model
from cpunmt.search.settings import Search
from tests.golden.huggingface import random_sentences
from tests.sample_models.huggingface_model import safetensors_bytes, write_huggingface, write_vocabulary
from tests.sample_models.small_vocabulary import train_vocabulary

GOLDEN = Path(__file__).parent / "options.json.gz"
PAD, EOS, UNK, LIMIT, SENTENCES = 96, 0, 1, 24, 100
DRAWS, LOGITS = 200, 5  # draws per sentence; sentences with logits


class Case(NamedTuple):
    """A way to translate: fields of `Search`, arguments of `generate` and of `translate_batch`; None: not supported."""

    ours: dict[str, Any]
    transformers: dict[str, Any] | None
    ctranslate2: dict[str, Any] | None
    begun: bool = False  # each translation begins with some pieces
    unknown: bool = False  # with a model that may output <unk>
    ordered: bool = True  # False: the order of hypotheses, and which one is repeated, do not matter


_BEAM = {"beam_size": 4, "num_hypotheses": 4}
_OURS = _BEAM | {"patience": 1.0}  # as both others end a beam
_THEIRS = {"num_beams": 4, "num_return_sequences": 4, "early_stopping": True}
_FORBIDDEN = ((9,), (33,), (31, 38), (24, 31, 24))


def _greedy_and_beam(ours, transformers, ctranslate2, **more) -> dict[str, Case]:
    def both(beam, given):
        return None if given is None else beam | given

    return {
        "greedy": Case(ours, both({"num_beams": 1}, transformers), both({"beam_size": 1}, ctranslate2), **more),
        "beam": Case(_OURS | ours, both(_THEIRS, transformers), both(_BEAM, ctranslate2), **more),
    }


_SEVERAL = {
    "": ({}, {}, {}),
    "length_penalty=0": ({"length_penalty": 0.0}, {"length_penalty": 0.0}, {"length_penalty": 0.0}),
    "length_penalty=0.6": ({"length_penalty": 0.6}, {"length_penalty": 0.6}, {"length_penalty": 0.6}),
    "length_penalty=2": ({"length_penalty": 2.0}, {"length_penalty": 2.0}, {"length_penalty": 2.0}),
    "min_length=12": ({"min_length": 12}, {"min_new_tokens": 12}, {"min_decoding_length": 12}),
    "repetition_penalty=1.3": tuple([{"repetition_penalty": 1.3}] * 3),
    "repetition_penalty=0.8": tuple([{"repetition_penalty": 0.8}] * 3),
    "no_repeat_ngram_size=1": tuple([{"no_repeat_ngram_size": 1}] * 3),
    "no_repeat_ngram_size=3": tuple([{"no_repeat_ngram_size": 3}] * 3),
    "suppress_sequences": (
        {"suppressed": _FORBIDDEN},
        {"bad_words_ids": [list(sequence) for sequence in _FORBIDDEN]},
        {"suppress_sequences": _FORBIDDEN},
    ),
    "end_token": ({"end_pieces": (24, 33)}, {"eos_token_id": [EOS, 24, 33]}, {"end_token": [EOS, 24, 33]}),
    "target_prefix": ({}, {}, {}),
    "disable_unk": ({"suppressed": ((UNK,),)}, {"suppress_tokens": [UNK]}, {"disable_unk": True}),
    "<unk>": ({}, {}, {}),
    "prefix_bias_beta=0.3": ({"prefix_bias_beta": 0.3}, None, {"prefix_bias_beta": 0.3}),
    "prefix_bias_beta=0.9": ({"prefix_bias_beta": 0.9}, None, {"prefix_bias_beta": 0.9}),
}
_WAYS = {"return_alternatives": True, "num_hypotheses": 4}
_WAYS_HERE = _WAYS | {"beam_size": 4, "min_length": 1}  # there, alternatives are never empty
_LIKELY = {"min_alternative_expansion_prob": 0.05}
CASES = {
    f"{way}, {name}".removesuffix(", "): case
    for name, given in _SEVERAL.items()
    for way, case in _greedy_and_beam(*given, begun="prefix" in name, unknown=name in ("disable_unk", "<unk>")).items()
}
CASES |= {
    "beam, no patience": Case(_BEAM, _THEIRS, _BEAM),
    "beam, patience=2": Case(_BEAM | {"patience": 2.0}, None, _BEAM | {"patience": 2.0}),
    "beam, patience=0.5": Case(
        _BEAM | {"patience": 0.5, "num_hypotheses": 2}, None, _BEAM | {"patience": 0.5, "num_hypotheses": 2}
    ),
    "beam, target_prefix, length_penalty=0": Case(
        _OURS | {"length_penalty": 0.0}, _THEIRS | {"length_penalty": 0.0}, _BEAM | {"length_penalty": 0.0}, begun=True
    ),
    "return_alternatives": Case(_WAYS_HERE, None, _WAYS | {"beam_size": 1}, ordered=False),
    "return_alternatives, min_alternative_expansion_prob=0.05": Case(
        _WAYS_HERE | _LIKELY, None, _WAYS | _LIKELY | {"beam_size": 1}, ordered=False
    ),
    "return_alternatives, target_prefix": Case(_WAYS_HERE, None, _WAYS | {"beam_size": 1}, begun=True, ordered=False),
    "return_alternatives, beam": Case(_WAYS_HERE, None, _WAYS | {"beam_size": 4}, ordered=False),
}
# of beams: (beam_size, num_beam_groups, diversity_penalty, length_penalty)
DIVERSE = {
    f"beam_size={beam}, num_beam_groups={groups}, diversity_penalty={penalty}, length_penalty={length}": Case(
        _OURS
        | {"beam_size": beam, "num_hypotheses": beam, "length_penalty": length}
        | {"num_beam_groups": groups, "diversity_penalty": penalty},
        {"num_beams": beam, "num_return_sequences": beam, "length_penalty": length, "early_stopping": True}
        | {"num_beam_groups": groups, "diversity_penalty": penalty},
        None,
        ordered=False,
    )
    for beam, groups, penalty, length in ((4, 4, 1.0, 1.0), (6, 3, 0.5, 1.0), (6, 2, 2.0, 0.0), (4, 2, 20.0, 1.0))
}
DRAWN = {
    "sampling_topk=10": {"sampling_topk": 10},
    "sampling_topk=20, sampling_temperature=0.5": {"sampling_topk": 20, "sampling_temperature": 0.5},
    "sampling_topk=20, sampling_topp=0.7, sampling_temperature=1.5": {
        "sampling_topk": 20,
        "sampling_topp": 0.7,
        "sampling_temperature": 1.5,
    },
}
_NAMES = {"sampling_topk": "top_k", "sampling_topp": "top_p", "sampling_temperature": "temperature"}


def write_model(folder: Path, unknown: bool) -> list[str]:
    """Writes a directory in Hugging Face's layout; returns the pieces of its vocabulary, by id."""
    _, tensors = write_huggingface(folder, "apart", 1)
    bias = tensors["final_logits_bias"][0]
    bias[EOS] += 1.5
    bias[PAD] = -1e4
    bias[UNK] = bias[UNK] + 1 if unknown else -1e4
    (folder / "model.safetensors").write_bytes(safetensors_bytes(tensors))
    return list(write_vocabulary(folder, train_vocabulary, separate=True))


def engine_of(folder: Path, unknown: bool) -> Engine:
    """Loads our engine with that model."""
    write_model(folder, unknown)
    model = read_model(folder, "float32")
    return Engine(Model(model.config.changed(replace_unknowns=unknown), model.tensors))


def sentences() -> tuple[list, list]:
    """Returns ids of sources, with </s>, and beginnings of translations."""
    generator = np.random.RandomState(3)
    sources = random_sentences(generator, SENTENCES, PAD)
    return sources, [generator.randint(2, PAD, generator.randint(1, 4)).tolist() for _ in sources]


class Transformers:
    """The outputs of `generate`."""

    def __init__(self, folder: Path, pieces: list[str]):
        import torch
        from transformers import MarianMTModel

        torch.set_num_threads(1)
        self._model = MarianMTModel.from_pretrained(folder).eval()

    def _generate(self, source, prefix, **given):
        import torch

        fixed = {"max_length": None, "forced_eos_token_id": None, "bad_words_ids": None, "output_scores": True}
        fixed |= {"return_dict_in_generate": True, "max_new_tokens": LIMIT - len(prefix), "length_penalty": 1.0}
        begun = torch.tensor([[PAD, *prefix]])
        with torch.no_grad():
            return self._model.generate(torch.tensor([source]), decoder_input_ids=begun, **fixed | given)

    def translate(self, given, sources, prefixes) -> list:
        found = []
        for source, prefix in zip(sources, prefixes, strict=True):
            made = self._generate(source, prefix, do_sample=False, **given)
            scores = made.get("sequences_scores")
            scores = [None] * len(made.sequences) if scores is None else [round(x, 5) for x in scores.tolist()]
            ids = [[i for i in row if i != PAD] for row in made.sequences.tolist()]
            found.append([list(pair) for pair in zip(ids, scores, strict=True)])
        return found

    def filtered(self, given, sources) -> list:
        """Returns, for each sentence, {piece: probability} of the distribution of its first piece."""
        found, theirs = [], {_NAMES[name]: value for name, value in given.items()}
        for source in sources:
            made = self._generate(source, [], do_sample=True, num_beams=1, **{"top_k": 0, "top_p": 1.0} | theirs)
            shares = made.scores[0][0].double().softmax(0)
            found.append({int(i): round(float(shares[i]), 6) for i in shares.nonzero()[:, 0]})
        return found


class CTranslate2:
    """The outputs of `translate_batch`."""

    def __init__(self, folder: Path, pieces: list[str]):
        import ctranslate2
        from ctranslate2.converters import TransformersConverter

        TransformersConverter(str(folder)).convert(str(folder / "converted"), force=True)
        self._module, self._pieces, self._ids = ctranslate2, pieces, {piece: i for i, piece in enumerate(pieces)}
        self._model = ctranslate2.Translator(str(folder / "converted"), compute_type="float32", intra_threads=1)

    def _translate(self, given, sources, prefixes):
        def named(ids):
            return [self._pieces[i] for i in ids]

        given = dict(given)
        if "suppress_sequences" in given:
            given["suppress_sequences"] = [named(ids) for ids in given["suppress_sequences"]]
        fixed = {"max_decoding_length": LIMIT, "min_decoding_length": 0, "return_scores": True}
        begun = [named(ids) for ids in prefixes] if any(prefixes) else None
        given = fixed | {"return_end_token": True} | given
        return self._model.translate_batch([named(ids) for ids in sources], begun, **given)

    def translate(self, given, sources, prefixes) -> list:
        found = []
        for made in self._translate(given, sources, prefixes):
            ids = [[self._ids[piece] for piece in hypothesis] for hypothesis in made.hypotheses]
            found.append([[row, round(score, 5)] for row, score in zip(ids, made.scores, strict=True)])
        return found

    def drawn(self, given, sources) -> list:
        """Returns, for each sentence, {piece: number of times that it was the first}."""
        self._module.set_random_seed(1)
        found = []
        for source in sources:
            counts: dict[int, int] = {}
            for made in self._translate(given | {"beam_size": 1, "max_decoding_length": 1}, [source] * DRAWS, []):
                piece = self._ids[made.hypotheses[0][0]]
                counts[piece] = counts.get(piece, 0) + 1
            found.append(counts)
        return found

    def logits(self, sources) -> list:
        """Returns [steps, pieces] of each sentence's greedy translation; those of a beam are empty there."""
        made = self._translate({"beam_size": 1, "return_logits_vocab": True}, sources, [])
        return [np.array([np.array(step) for step in one.logits[0]], np.float64).round(4).tolist() for one in made]


def recorded() -> dict:
    """Computes the file's content."""
    return json.loads(gzip.decompress(GOLDEN.read_bytes()))


def searched(engine: Engine, case: Case) -> list:
    """Returns our hypotheses of each sentence, as [ids, score]."""
    sources, prefixes = sentences()
    search = Search(**case.ours)
    made = engine.translate(sources, [LIMIT] * SENTENCES, search, prefixes if case.begun else None)
    return [[[h.ids, h.score] for h in hypotheses] for hypotheses in made]


def equal(case: Case, ours: list, theirs: list) -> tuple[int, int]:
    """Counts sentences with the same best translation, and with the same list of hypotheses."""
    pairs = [[[ids for ids, _ in found] for found in pair] for pair in zip(ours, theirs, strict=True)]
    if not case.ordered:
        pairs = [[sorted(set(map(tuple, found))) for found in pair] for pair in pairs]
    return sum(a[0] == b[0] for a, b in pairs), sum(a == b for a, b in pairs)


def compare():
    """Prints a table."""
    golden = recorded()
    with tempfile.TemporaryDirectory() as name:
        engines = [engine_of(Path(name) / str(unknown), unknown) for unknown in (False, True)]
        for name, case in CASES.items():
            ours, row = searched(engines[case.unknown], case), []
            for peer in ("transformers", "ctranslate2"):
                theirs = golden[peer].get(name)
                row.append("-" if theirs is None else "{} {}".format(*equal(case, ours, theirs)))
            print(f"| {name} | {' | '.join(row)} |")
        for name, case in DIVERSE.items():
            print(
                f"| {name} | {'{} {}'.format(*equal(case, searched(engines[0], case), golden['diverse'][name]))} | - |"
            )


def write(made: dict, path: Path):
    """Writes the file."""
    path.write_bytes(gzip.compress(json.dumps(made, separators=(",", ":")).encode(), mtime=0))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=GOLDEN)
    parser.add_argument("--compare", action="store_true")
    parser.add_argument("--diverse", action="store_true")
    given = parser.parse_args()
    if given.compare:
        compare()
        return
    sources, prefixes = sentences()
    made: dict[str, Any] = recorded() if given.diverse else {}
    if given.diverse:
        with tempfile.TemporaryDirectory() as place:
            model = Transformers(Path(place) / "model", write_model(Path(place) / "model", False))
            none = [[]] * len(sources)
            made["diverse"] = {
                name: model.translate(case.transformers, sources, none) for name, case in DIVERSE.items()
            }
        write(made, given.out)
        return
    with tempfile.TemporaryDirectory() as place:
        folders = [Path(place) / name for name in ("certain", "unknown")]
        for peer in (Transformers, CTranslate2):
            models = [peer(folder, write_model(folder, number == 1)) for number, folder in enumerate(folders)]
            told = made[peer.__name__.lower()] = {}
            for name, case in CASES.items():
                if (options := getattr(case, peer.__name__.lower())) is not None:
                    begun = prefixes if case.begun else [[]] * len(sources)
                    told[name] = models[case.unknown].translate(options, sources, begun)
            for name, options in DRAWN.items():
                draw = models[0].filtered if peer is Transformers else models[0].drawn
                made.setdefault("filtered" if peer is Transformers else "drawn", {})[name] = draw(options, sources)
        made["logits"] = models[0].logits(sources[:LOGITS])
    write(made, given.out)


if __name__ == "__main__":
    main()

"""The laws of the house on generated lines, odd Unicode included: a sample in every run, 10^5 of them in the slow one.

1   n inputs in, n outputs out, in order
2   a translation does not depend on what is translated beside it, nor on the order, nor on threads
3   nor on the instruction set
4   n-best lists are sorted and distinct, a forced prefix is kept, and scoring a translation gives its log-probability
8   memory is flat; forks and threads are safe
"""

import json
import os
import random
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cpunmt import Translator
from cpunmt.engine.state_clusters import OTHERS
from cpunmt.files.line_stream import encode_line
from cpunmt.options.options import SCORING, TEXT_ONLY
from cpunmt.simd import isa
from cpunmt.text.shortlists.clusters import Clusters
from tests.sample_models import real_model
from tests.sample_models.many_languages_model import write_model
from tests.support.built_programs import quick_paths
from tests.support.command_line import sentences
from tests.support.generated_lines import generated_lines, marked_line
from tests.support.option_values import consistent_options
from tests.support.side_by_side import in_threads
from tests.support.speeds import slow_after

MODEL = str(real_model.DIRECTORIES["int8"])
TOGETHER = ",".join(map(str, real_model.ENSEMBLE))  # models of an ensemble
COUNTS = slow_after(1, [200, 100_000])
FEW = slow_after(1, [60, 10_000])


def bits(result):
    """Returns everything that must be equal to the last bit."""
    found = []
    for h in result.hypotheses:
        attention = None if h.attention is None else h.attention.tobytes()
        said = h.text, h.pieces, h.score, h.log_prob, h.truncated, h.token_log_probs, h.alignments, attention
        found.append((*said, h.spans, [part.sentence() for part in h._parts], h.retried, result.doubts))
    return found


@pytest.mark.parametrize("count", COUNTS)
def test_law_1_as_many_out_as_in(student, count, tmp_path):
    lines = generated_lines(count)
    results = student.translate(lines)
    assert len(results) == count
    for line, result in zip(lines, results, strict=True):
        assert result.text or not student.source_vocabulary.encode(line)[:-1] or not result.pieces
        assert (result.pieces == ()) >= (len(student.source_vocabulary.encode(line)) == 1)
    (tmp_path / "in").write_bytes(b"".join(line.encode(errors="replace") + b"\n" for line in lines))
    command = [sys.executable, "-m", "cpunmt", "translate", "-m", MODEL, "-i", tmp_path / "in", "-o", tmp_path / "out"]
    subprocess.run(command, check=True, cwd=real_model.ROOT)
    made = (tmp_path / "out").read_bytes().split(b"\n")
    assert made.pop() == b"" and len(made) == count
    read = [line.encode(errors="replace").removesuffix(b"\r").decode() for line in lines]
    again = student.translate(read)
    assert made == [encode_line(result.text)[:-1] for result in again]


@pytest.mark.parametrize("count", COUNTS)
@pytest.mark.parametrize("model", [MODEL, TOGETHER], ids=["one", "ensemble"])
def test_law_2_alone_and_together(model, count):
    models, lines = model.split(","), generated_lines(count, seed=2)
    student = Translator(models)
    expected = [bits(result) for result in student.translate(lines)]
    generator = random.Random(3)
    order = list(range(count))
    generator.shuffle(order)
    with_threads = Translator(models, inter_threads=2)
    first = 0
    while first < count:
        chosen = order[first : first + generator.choice([1, 3, 50, 700])]
        translator = generator.choice([student, with_threads])
        batch = generator.choice([1, 16, 200, 1 << 16])
        made = translator.translate([lines[i] for i in chosen], max_batch_tokens=batch)
        assert [bits(result) for result in made] == [expected[i] for i in chosen]
        first += len(chosen)
    streamed = student.translate_iterable(lines[: count // 4])
    assert [bits(result) for result in streamed] == expected[: count // 4]


def add_clusters(translator, lines):
    """Adds twenty clusters of random centroids and pieces, so that hypotheses of a sentence are in different ones.

    Twenty more are for sentences that begin like most do, as if these named their target language.
    """
    engine, config, random_numbers = translator.loaded.engine, translator.config, np.random.default_rng(7)
    usual = [translator.source_vocabulary.encode(line)[0] for line in lines]
    engine.clusters = {}
    for piece in (OTHERS, max(usual, key=usual.count)):
        few = [random_numbers.integers(0, config.vocab_size, 300) for _ in range(20)]
        sets = [np.union1d(chosen, [config.eos_id]) for chosen in few]
        centroids = random_numbers.standard_normal((len(sets), config.architecture.model_dim)).astype(np.float32)
        offsets, ids = np.cumsum([0, *map(len, sets)]), np.concatenate(sets).astype(np.int32)
        engine.clusters[piece] = Clusters(centroids, offsets, ids, config.vocab_size, config.eos_id)


@pytest.mark.parametrize("count", FEW)
@pytest.mark.parametrize("model", ["student", "float_student", "ensemble", "words"])
def test_law_2_with_any_options(request, model, count):
    translator, lines = request.getfixturevalue(model), generated_lines(1000, seed=4, short=True)
    long = " ".join(sentences(40))  # more than the model takes at once, so it is split

    alone = model != "ensemble"  # it cannot have clusters
    if alone:
        add_clusters(translator, lines)

    @given(consistent_options(alone), st.integers(0, len(lines) - 15), st.randoms(use_true_random=False))
    @settings(max_examples=count // 10, suppress_health_check=list(HealthCheck), database=None)
    def check(options, first, generator):
        if model == "words":  # with other pieces, and of unknown languages
            unfit = ("suppress_sequences", "end_token", "source_lang", "target_lang")
            options = {name: options[name] for name in options if name not in unfit}
        marked = [marked_line(generator) for _ in range(5)]
        chosen = [*lines[first : first + 10], *marked, long[: generator.randrange(len(long))]]
        expected = [bits(translator.translate(line, **options)) for line in chosen]
        order = generator.sample(range(len(chosen)), len(chosen))
        made = translator.translate([chosen[i] for i in order], **options)
        assert [bits(result) for result in made] == [expected[i] for i in order]

    check()


@pytest.mark.parametrize("count", FEW)
@pytest.mark.parametrize("model", slow_after(1, ["nllb", "ende-deen"]))
def test_law_2_in_many_directions_at_once(model, count, tmp_path):
    """Texts with a language each, some of which layers change: see also `translator.test_many_languages`."""
    if model == "nllb":
        write_model(tmp_path / model, model, 5)
    translator = Translator(tmp_path / model if model == "nllb" else real_model.SHIPPED.parent / model)
    languages = ["deu_Latn", "en", "zh"] if model == "nllb" else ["German", "en"]
    lines = generated_lines(1000, seed=12, short=True)

    @given(consistent_options(), st.integers(0, len(lines) - 15), st.randoms(use_true_random=False))
    @settings(max_examples=count // 10, suppress_health_check=list(HealthCheck), database=None)
    def check(options, first, generator):
        unfit = ("suppress_sequences", "end_token", "source_lang", "target_lang", "max_length")
        unfit += () if translator.has_shortlist else ("vocabulary",)
        options = {name: options[name] for name in options if name not in unfit} | {"source_lang": "en"}
        options |= {"max_length": 20, "min_length": min(options.get("min_length") or 0, 6)}
        chosen = [(line, generator.choice(languages)) for line in lines[first : first + 10]]
        chosen += [(marked_line(generator), generator.choice(languages)) for _ in range(3)]
        expected = [bits(translator.translate(line, target_lang=language, **options)) for line, language in chosen]
        order = generator.sample(range(len(chosen)), len(chosen))
        texts, targets = zip(*(chosen[i] for i in order), strict=True)
        made = translator.translate(texts, target_lang=targets, **options)
        assert [bits(result) for result in made] == [expected[i] for i in order]

    check()


_TRANSLATE = """
import hashlib, sys
from cpunmt import Translator
from tests.support.generated_lines import generated_lines
lines = generated_lines(int(sys.argv[2]), seed=6)
state = hashlib.sha256()
translator = Translator(sys.argv[1].split(","))
for options in (
    {},
    {"beam_size": 3, "num_hypotheses": 2, "coverage_penalty": 0.1},
    {"beam_size": 2, "repetition_penalty": 1.2, "no_repeat_ngram_size": 2},
    {"beam_size": 4, "num_hypotheses": 4, "num_beam_groups": 2, "diversity_penalty": 0.7},
    {"sampling_topk": 0, "num_hypotheses": 2, "sampling_topp": 0.9, "sampling_temperature": 1.5, "seed": 3},
    {"sampling_topk": 0, "num_candidates": 8, "rerank": "mbr-chrf", "num_hypotheses": 2},
    {"rerank": "mbr-bleu", "num_candidates": 4, "num_hypotheses": 2},
):
    for result in translator.translate(lines if not options else lines[: len(lines) // 10], **options):
        for h in result.hypotheses:
            state.update(f"{h.pieces} {h.score.hex()} {h.log_prob.hex()}".encode(errors="backslashreplace"))
print(state.hexdigest())
"""


@pytest.mark.parametrize("count", slow_after(1, [60, 20_000]))
@pytest.mark.parametrize("model", slow_after(1, [MODEL, TOGETHER]), ids=["one", "ensemble"])
def test_law_3_on_every_path_the_machine_has(model, count):
    paths = quick_paths() if count < 100 else [path.value for path in isa.supported()]
    made = {}
    for path in paths:
        done = subprocess.run(
            [sys.executable, "-c", _TRANSLATE, model, str(count if path != "generic" else min(count, 2000))],
            env={**os.environ, "CPUNMT_ISA": path, "PYTHONPATH": str(real_model.ROOT)},
            cwd=real_model.ROOT,
            capture_output=True,
            text=True,
            check=True,
        )
        made[path] = done.stdout.strip()
    if count > 2000:
        made.pop("generic")
    assert len(set(made.values())) == 1, made


@pytest.mark.parametrize("count", FEW)
@pytest.mark.parametrize("model", ["student", "ensemble"])
def test_law_4_hypotheses_prefixes_and_scores(request, model, count):
    student = request.getfixturevalue(model)
    lines = generated_lines(1000, seed=7, short=True)
    whole = [line for line in lines if 1 < len(student.source_vocabulary.encode(line)) <= 120]

    @given(consistent_options(), st.integers(0, len(whole) - 15), st.randoms(use_true_random=False))
    @settings(max_examples=count // 10, suppress_health_check=list(HealthCheck), database=None)
    def check(options, first, generator):
        chosen = whole[first : first + 15]
        # for pieces
        others = (*TEXT_ONLY, "end_token")  # two sequences may differ only in their ends: see test_end_tokens
        options = {name: value for name, value in options.items() if name not in others} | {"split": "none"}
        results = student.translate(chosen, **options)
        sampled = options.get("sampling_topk", 1) != 1
        for result in results:
            scores = [h.score for h in result.hypotheses]
            assert 1 <= len(scores) <= options.get("num_hypotheses", 1)
            assert options.get("rerank") or scores == sorted(scores, reverse=True)
            assert not options.get("rerank") or len({h.text for h in result.hypotheses}) == len(scores)
            assert sampled or len({(h.pieces, h.truncated) for h in result.hypotheses}) == len(scores)
        for text, result in zip(chosen, results, strict=True):
            # Samples are reranked in the same number for one hypothesis; fewer alternatives may not include the best
            # one.
            alike = (not sampled or options.get("rerank")) and not options.get("return_alternatives")
            assert not alike or bits(student.translate(text, **options | {"num_hypotheses": 1})) == bits(result)[:1]
        ended = [(line, r.hypotheses[-1]) for line, r in zip(chosen, results, strict=True)]
        ended = [(line, h) for line, h in ended if not h.truncated]
        sources, targets = [student.tokenize(line) for line, _ in ended], [list(h.pieces) for _, h in ended]
        scoring = {name: value for name, value in options.items() if name in SCORING}
        scoring["vocabulary"] = options.get("vocabulary", "shortlist")  # scoring uses the whole vocabulary by default
        scored = student.score_batch(sources, targets, **scoring)
        if options.get("repetition_penalty", 1) == 1:  # otherwise log-probabilities belong to the changed distribution
            assert [s.log_prob for s in scored] == [h.log_prob for _, h in ended]
        prefixes = [list(h.pieces[: generator.randint(0, 3)]) for _, h in ended]
        of_pieces = {name: value for name, value in options.items() if name not in TEXT_ONLY}
        kept = student.translate_batch(sources, prefixes, **of_pieces)
        for prefix, result in zip(prefixes, kept, strict=True):
            assert options.get("prefix_bias_beta") or all(
                pieces[: len(prefix)] == prefix for pieces in result.hypotheses
            )
        if sampled or options.get("return_alternatives"):
            return
        options |= {"rerank": None, "num_candidates": None}
        of_beams = ("beam_size", "num_hypotheses", "num_beam_groups", "diversity_penalty")
        without = {name: value for name, value in options.items() if name not in of_beams}
        greedy = student.translate(chosen, **without, beam_size=1, num_hypotheses=1)
        assert [bits(r) for r in greedy] == [bits(student.translate(text, **without)) for text in chosen]

    check()


_MEMORY = """
import itertools, json, sys
from cpunmt import Translator
from tests.support.generated_lines import generated_lines
def resident():
    _, pages, mapped, *_ = map(int, open("/proc/self/statm").read().split())
    return pages * 4096 / 1e6, mapped * 4096 / 1e6
translator, count = Translator(sys.argv[1].split(",")), int(sys.argv[2])
lines = generated_lines(5000, seed=9, short=True)
seen = []
stream = itertools.islice(itertools.cycle(lines), count)
for number, _ in enumerate(translator.translate_iterable(stream, ordered=sys.argv[3] == "True")):
    if number % (count // 50) == 0:
        seen.append(resident()[0])
before = resident()
second = Translator(sys.argv[1].split(","))
second.translate("One more sentence.")
(pages, mapped), (pages_before, mapped_before) = resident(), before
again = mapped - mapped_before
print(json.dumps({"seen": seen, "mapped again": again, "own": pages - pages_before - again}))
"""


@pytest.mark.skipif(not os.path.exists("/proc/self/statm"), reason="the system does not say how much memory is used")
@pytest.mark.parametrize("count", slow_after(1, [6_000, 1_000_000]))
@pytest.mark.parametrize(
    "model, ordered",
    slow_after(1, [(MODEL, True), (TOGETHER, True), (MODEL, False)]),
    ids=["one", "ensemble", "unordered"],
)
def test_law_8_memory_is_flat(model, ordered, count):
    """Measured after a warm-up: until windows have their full length, or for a fifth of a long stream.

    A second Translator maps the same weights and shortlist, which the system counts again: 10 + 21 + 2 MB for the
    ensemble. Its vocabularies and its scratch memory are separate.
    """
    count //= len(model.split(","))  # so that models of an ensemble translate the same number
    done = subprocess.run(
        [sys.executable, "-c", _MEMORY, model, str(count), str(ordered)],
        env={**os.environ, "PYTHONPATH": str(real_model.ROOT)},
        capture_output=True,
        text=True,
        check=True,
    )
    told = json.loads(done.stdout)
    after = told["seen"][10 if count > 100_000 else 35 :]
    assert max(after) - min(after) <= 5, told
    folders = map(Path, model.split(","))
    files = [folder / name for folder in folders for name in ("weights.safetensors", "shortlist.bin")]
    assert told["mapped again"] <= sum(file.stat().st_size for file in files) / 1e6 + 1, told
    assert told["own"] <= 7, told


@pytest.mark.parametrize("seconds", slow_after(1, [0.5, 60]))
@pytest.mark.parametrize("model", slow_after(1, ["student", "ensemble", "words"]))
def test_law_8_sixteen_threads_share_a_translator(request, model, seconds):
    student = request.getfixturevalue(model)
    lines = generated_lines(300, seed=10, short=True)
    options = [{}, {"beam_size": 3, "num_hypotheses": 3}, {"vocabulary": "full"}, {"return_alignments": True}]
    options[2] |= {"sampling_topk": 0, "num_hypotheses": 2}
    expected = [[bits(result) for result in student.translate(lines, **chosen)] for chosen in options]
    end = time.monotonic() + seconds

    def work(seed):
        generator, wrong = random.Random(seed), []
        while time.monotonic() < end:
            kind, first = generator.randrange(4), generator.randrange(300)
            chosen = slice(first, first + generator.choice([1, 5, 60]))
            made = [bits(result) for result in student.translate(lines[chosen], **options[kind])]
            if made != expected[kind][chosen]:
                wrong.append((kind, first))
        return wrong

    assert in_threads(16, work) == [[]] * 16


@pytest.mark.parametrize("inter_threads", [1, 2])
@pytest.mark.parametrize("model", slow_after(1, [MODEL, TOGETHER]), ids=["one", "ensemble"])
def test_law_8_a_forked_child_translates_the_same(model, inter_threads):
    translator = Translator(model.split(","), inter_threads=inter_threads)
    lines = generated_lines(60, seed=11, short=True)
    expected = [result.text for result in translator.translate(lines)]
    code = """
import os, sys
from cpunmt import Translator
from tests.support.generated_lines import generated_lines
translator = Translator(sys.argv[1].split(","), inter_threads=int(sys.argv[2]))
lines = generated_lines(60, seed=11, short=True)
before = [r.text for r in translator.translate(lines)]
children = []
for _ in range(3):
    child = os.fork()
    if child == 0:
        os._exit(0 if [r.text for r in translator.translate(lines)] == before else 1)
    children.append(child)
print([os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children])
"""
    done = subprocess.run(
        [sys.executable, "-c", code, model, str(inter_threads)],
        env={**os.environ, "PYTHONPATH": str(real_model.ROOT)},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.stdout.strip() == "[0, 0, 0]", done.stderr
    assert len(expected) == 60

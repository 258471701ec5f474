"""Ctrl-C ends every call of a Translator at once, and the next call works."""

import signal
import subprocess
import sys

import pytest

from tests.sample_models.real_model import DIRECTORIES, ROOT
from tests.support.command_line import TIMEOUT
from tests.support.processes import has_worked, processor_seconds
from tests.support.speeds import slow_after

CODE = """
import sys, time
from cpunmt import Translator
lines = open("tests/golden/sentences.en.txt", encoding="utf8").read().split("\\n")[:1000] * 50
translator = Translator(sys.argv[1], inter_threads=int(sys.argv[2]))
pieces = [translator.tokenize(line) for line in lines[:1000]] * 50
with open(sys.argv[3] + "/in", "w") as file:
    file.writelines(" ".join(line) + "\\n" for line in pieces)
long, out = ["▁dog"] * 4000, sys.argv[3] + "/out"
translator.translate("A dog.")
print("ready", flush=True)
try:
    {call}
except KeyboardInterrupt:
    print("interrupted", flush=True)
print(translator.translate("A dog.").text, flush=True)
"""
CALLS = {
    # once it was noticed only after the batch: 49 seconds later with a beam of 8
    "translate, wide": "translator.translate(lines, beam_size=64, vocabulary='full', max_batch_tokens=1 << 24)",
    "translate": "translator.translate(lines, beam_size=8)",
    "translate_batch": "translator.translate_batch(pieces, beam_size=8)",
    "asynchronous": "[result.result() for result in translator.translate_batch(pieces, asynchronous=True)]",
    "translate_iterable": "list(translator.translate_iterable(lines))",
    "translate_iterable, unordered": "list(translator.translate_iterable(lines, ordered=False))",
    "translate_file": "translator.translate_file(sys.argv[3] + '/in', out)",
    "generate_tokens": "[list(translator.generate_tokens(line)) for line in pieces]",
    "score": "translator.score(lines, lines)",
    "score, long": "translator.score('dog ' * 4000, 'Hund ' * 2000)",
    "score_batch, long": "translator.score_batch([long], [long])",
    "score_iterable, long": "list(translator.score_iterable([long] * 3, [long] * 3))",
    "score_file": "translator.score_file(sys.argv[3] + '/in', sys.argv[3] + '/in', out)",
}


CASES = [*((call, 1) for call in CALLS), ("translate", 2), ("translate_iterable, unordered", 2), ("score, long", 2)]


@pytest.mark.parametrize(("call", "threads"), slow_after(1, CASES))
def test_an_interrupt_is_heard_at_once(tmp_path, call, threads):
    """Scoring a text of 4,000 pieces once delayed it by four seconds."""
    command = [sys.executable, "-c", CODE.format(call=CALLS[call]), DIRECTORIES["int8"], str(threads), tmp_path]
    process = subprocess.Popen(
        list(map(str, command)), stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding="utf-8", cwd=ROOT
    )
    try:
        assert process.stdout.readline() == "ready\n"
        has_worked(process.pid, 0.5)
        process.send_signal(signal.SIGINT)
        before = processor_seconds(process.pid)
        assert process.stdout.readline() == "interrupted\n"
        assert processor_seconds(process.pid) - before < 2  # a fifth of a second for each thread
        assert process.stdout.readline() == "Ein Hund.\n"
        _, shown = process.communicate(timeout=TIMEOUT)
        assert (process.returncode, shown) == (0, "")
        assert sorted(path.name for path in tmp_path.iterdir()) == ["in"]  # no partial output
    finally:
        process.kill()
        process.communicate()

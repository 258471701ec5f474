"""`cpunmt translate`: a file of lines in, a file of as many lines out."""

import contextlib
import os
import sys
import time
from array import array
from collections.abc import Iterator

import numpy as np

from cpunmt.errors import CpunmtError
from cpunmt.line_stream import count_lines, decode_line, encode_line, read_windows, write_all
from cpunmt.translator import WINDOW, Translator

_FIRST = 64  # lines in the first window of a file: something comes out early, at little cost


def translate_file(source, target, model, options, stats, writing):
    """Translate line by line.

    Parameters
    ----------
    source, target : path, or None for standard input and output
    model : directory
    options : dict of translation options
    stats : bool
        Tell on stderr how long it took.
    writing : lock
        Held while lines are written, so that an interrupt can wait for the end of one.

    Raises
    ------
    CpunmtError
        The model, the input or the output cannot be used, or an option does not fit the model.
    BrokenPipeError
        Nobody reads the output any more.
    """
    began = time.perf_counter()
    with _opened(source, sys.stdin, os.O_RDONLY, "input") as read_from:
        _refuse_same_file(read_from, target)
        translator = Translator(model)
        try:
            translator.translate([], **options)  # before the output is touched
        except ValueError as error:
            raise CpunmtError(str(error)) from None
        with _opened(target, sys.stdout, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, "output") as write_to:
            statistics = _Statistics(translator, time.perf_counter() - began) if stats else None
            _translate_lines(translator, read_from, write_to, options, statistics, writing)
    if statistics:
        statistics.report()


def _translate_lines(translator, read_from, write_to, options, statistics, writing):
    replaced = 0
    interactive = os.isatty(write_to)
    with _progress_bar(read_from, interactive) as advance:
        for window in _read(read_from, 1 if interactive else _FIRST):
            began = time.perf_counter()
            texts = []
            for line in window:
                text, wrong = decode_line(line)
                texts.append(text)
                replaced += wrong
            results = translator.translate(texts, **options)
            _write(write_to, b"".join(encode_line(result.text) for result in results), writing)
            if statistics:
                statistics.add(texts, results, time.perf_counter() - began)
            advance(len(window))
    if replaced:
        print(f"cpunmt: the input is not all UTF-8: {replaced} times U+FFFD was read instead", file=sys.stderr)


@contextlib.contextmanager
def _opened(path, standard, flags, role) -> Iterator[int]:
    """Descriptor of `path`, closed at the end, or of the `standard` stream."""
    if path is None:
        if standard is None:
            raise CpunmtError(f"standard {role} is closed; give a file")
        yield 0 if role == "input" else 1
        return
    try:
        descriptor = os.open(path, flags, 0o666)
    except (OSError, ValueError) as error:  # ValueError: a NUL in the path
        raise CpunmtError(f"{path}: cannot open the {role}: {getattr(error, 'strerror', error)}") from None
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _refuse_same_file(descriptor, path):
    with contextlib.suppress(OSError, TypeError, ValueError):  # no such file yet, or standard output
        if os.path.samestat(os.fstat(descriptor), os.stat(path)) and os.path.isfile(path):
            raise CpunmtError(f"{path}: is input and output; choose another name for the output")


def _read(descriptor, first):
    try:
        yield from read_windows(descriptor, first, WINDOW)
    except OSError as error:
        raise CpunmtError(f"cannot read the input: {error.strerror}") from None


def _write(descriptor, data, writing):
    try:
        with writing:
            write_all(descriptor, data)
    except BrokenPipeError:
        raise
    except OSError as error:
        raise CpunmtError(f"cannot write the output: {error.strerror}") from None


@contextlib.contextmanager
def _progress_bar(read_from, interactive):
    """A function to call with how many lines are done; shows a bar if someone sees it and waits."""
    if interactive or os.isatty(read_from) or not sys.stderr.isatty():
        yield lambda lines: None
        return
    from tqdm import tqdm  # 30 ms that most starts do not need

    tqdm.monitor_interval = 0  # no thread of its own
    with tqdm(total=count_lines(read_from), unit=" lines", file=sys.stderr, dynamic_ncols=True) as bar:
        yield bar.update


class _Statistics:
    """Counts and times of one run."""

    def __init__(self, translator, loading):
        self._vocabulary = translator.source_vocabulary
        self._loading = loading
        self._sentences = self._words = self._source_pieces = self._target_pieces = 0
        self._seconds = 0.0
        self._alone = array("d")  # seconds of each window of one line

    def add(self, texts, results, seconds):
        self._sentences += len(texts)
        self._words += sum(len(text.split()) for text in texts)
        self._source_pieces += sum(len(ids) - 1 for ids in self._vocabulary.encode_batch(texts))
        self._target_pieces += sum(len(result.pieces) for result in results)
        self._seconds += seconds
        if len(texts) == 1:
            self._alone.append(seconds)

    def report(self):
        rate = self._words / self._seconds if self._seconds else 0.0
        lines = [
            ("sentences", f"{self._sentences}"),
            ("words", f"{self._words}"),
            ("source pieces", f"{self._source_pieces}"),
            ("target pieces", f"{self._target_pieces}"),
            ("loading", f"{self._loading:.3f} s"),
            ("translating", f"{self._seconds:.3f} s"),
            ("speed", f"{rate:.0f} words/s"),
        ]
        if self._alone and len(self._alone) == self._sentences:
            middle, late = np.percentile(self._alone, (50, 95)) * 1000
            lines.append(("latency", f"{middle:.2f} ms (median), {late:.2f} ms (95th percentile)"))
        memory = _peak_memory()
        if memory:
            lines.append(("peak memory", f"{memory / 1e6:.0f} MB"))
        for name, value in lines:
            print(f"{name + ':':15}{value}", file=sys.stderr)


def _peak_memory() -> int | None:
    """Bytes resident at most, or None where the system does not say."""
    try:
        with open("/proc/self/status") as file:
            for line in file:
                if line.startswith("VmHWM:"):
                    return int(line.split()[1]) * 1024
        import resource
    except (OSError, ImportError):
        return None
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024

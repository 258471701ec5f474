"""CTranslate2's `translate_file`: lines of pieces or text; the output is complete or missing."""

import os
import stat

import pytest

from cpunmt import CpunmtError, ExecutionStats, Options, Translator, contains_model
from tests.support.command_line import sentences

LINES = [*sentences(20), "", "Two dogs."]


@pytest.fixture
def tokenized(student, tmp_path):
    path = tmp_path / "source"
    path.write_text("".join(" ".join(student.tokenize(line)) + "\n" for line in LINES), "utf-8")
    return path


def lines_of(path):
    *lines, rest = path.read_text("utf-8").split("\n")
    assert rest == ""
    return lines


def files(folder):
    return sorted(path.name for path in folder.iterdir())


def test_lines_of_pieces(student, tokenized, tmp_path):
    stats = student.translate_file(str(tokenized), str(tmp_path / "target"))
    expected = student.translate(LINES)
    assert lines_of(tmp_path / "target") == [" ".join(result.pieces) for result in expected]
    assert isinstance(stats, ExecutionStats) and stats.num_examples == len(LINES)
    assert stats.num_tokens == sum(len(result.pieces) for result in expected) and stats.total_time_in_ms > 0
    assert files(tmp_path) == ["source", "target"]
    assert stat.S_IMODE(os.stat(tmp_path / "target").st_mode) == stat.S_IMODE(os.stat(tokenized).st_mode)


def test_lines_of_text_with_the_models_own_functions(student, tmp_path):
    source = tmp_path / "source"
    source.write_bytes("\r\n".join(LINES).encode())  # with Windows line ends, and without a final line feed
    student.translate_file(
        source,
        tmp_path / "target",
        source_tokenize_fn=student.tokenize,
        target_detokenize_fn=student.detokenize,
        max_batch_size=32,
        read_batch_size=64,
        batch_type="examples",
        beam_size=2,
    )
    assert lines_of(tmp_path / "target") == [result.text for result in student.translate(LINES, beam_size=2)]


def test_of_what_ends_a_line_only_the_last_is_taken(student, tmp_path):
    """A line ends at a line feed, with at most one carriage return before it."""
    given, seen = ["a", "b\r", "\r", "", "c\rd"], []
    (tmp_path / "source").write_bytes("".join(f"{line}\r\n" for line in given).encode())
    student.translate_file(
        tmp_path / "source", tmp_path / "target", source_tokenize_fn=lambda line: seen.append(line) or ["▁A"]
    )
    assert seen == given and len(lines_of(tmp_path / "target")) == len(given)


def test_scores_and_all_hypotheses(student, tokenized, tmp_path):
    options = {"beam_size": 2, "num_hypotheses": 2}
    stats = student.translate_file(tokenized, tmp_path / "target", with_scores=True, **options)
    results = student.translate_batch(list(map(student.tokenize, LINES)), **options)
    assert stats.num_tokens == sum(len(result.hypotheses[0]) for result in results)  # of the best hypotheses,
    assert stats.num_tokens != sum(len(result.hypotheses[-1]) for result in results)  # not of others
    expected = [
        f"{score:g} ||| {' '.join(pieces)}"
        for result in student.translate_batch(list(map(student.tokenize, LINES)), return_scores=True, **options)
        for pieces, score in zip(result.hypotheses, result.scores, strict=True)
    ]
    assert lines_of(tmp_path / "target") == expected and len(expected) == 2 * len(LINES)


@pytest.mark.parametrize("given", [{"return_scores": True}, {"options": Options(return_scores=True)}])
def test_scores_by_the_name_that_other_calls_have(student, tokenized, tmp_path, given):
    """An alias for scores once had no effect."""
    student.translate_file(tokenized, tmp_path / "with", with_scores=True)
    student.translate_file(tokenized, tmp_path / "target", **given)
    assert lines_of(tmp_path / "target") == lines_of(tmp_path / "with") and " ||| " in lines_of(tmp_path / "with")[0]


@pytest.mark.parametrize("made", [None, 7, ["Zwei", "Hunde"]])
def test_a_function_that_makes_no_text_is_told(student, tokenized, tmp_path, made):
    message = f"^target_detokenize_fn gave {type(made).__name__}, expected str$"
    with pytest.raises(TypeError, match=message):
        student.translate_file(tokenized, tmp_path / "target", target_detokenize_fn=lambda pieces: made)
    with pytest.raises(TypeError, match=message):
        student.score_file(tokenized, tokenized, tmp_path / "target", target_detokenize_fn=lambda pieces: made)
    assert files(tmp_path) == ["source"]


def test_prefixes_of_a_file(student, tokenized, tmp_path):
    prefixes = ["Der", ""] * (len(LINES) // 2)
    (tmp_path / "prefixes").write_text("".join(f"{prefix}\n" for prefix in prefixes), "utf-8")
    student.translate_file(tokenized, tmp_path / "target", tmp_path / "prefixes", target_tokenize_fn=student.tokenize)
    expected = student.translate_batch(
        [student.tokenize(line) for line in LINES], [student.tokenize(prefix) for prefix in prefixes]
    )
    assert lines_of(tmp_path / "target") == [" ".join(result.hypotheses[0]) for result in expected]


@pytest.mark.parametrize(("lines", "problem"), [(3, "fewer"), (30, "more")])
def test_files_of_different_length_are_refused_and_nothing_is_written(student, tokenized, tmp_path, lines, problem):
    (tmp_path / "prefixes").write_text("▁Der\n" * lines, "utf-8")
    (tmp_path / "target").write_text("kept\n")
    with pytest.raises(CpunmtError, match=f"prefixes: has {problem} lines than .*source, expected as many$"):
        student.translate_file(tokenized, tmp_path / "target", tmp_path / "prefixes")
    assert (tmp_path / "target").read_text() == "kept\n" and len(files(tmp_path)) == 3


def test_files_that_cannot_be_used(student, tokenized, tmp_path):
    with pytest.raises(CpunmtError, match="none: cannot read: No such file or directory$"):
        student.translate_file(tmp_path / "none", tmp_path / "target")
    with pytest.raises(CpunmtError, match="target: cannot be written: No such file or directory$"):
        student.translate_file(tokenized, tmp_path / "no" / "target")
    (tmp_path / "latin").write_bytes(b"fine\nna\xefve\n")
    with pytest.raises(CpunmtError, match="latin: line 2 is not UTF-8: "):
        student.translate_file(tmp_path / "latin", tmp_path / "target")
    with pytest.raises(TypeError, match="^unknown option 'beams'"):
        student.translate_file(tokenized, tmp_path / "target", beams=2)
    assert files(tmp_path) == ["latin", "source"]


def test_the_source_may_be_replaced_by_its_translation(student, tokenized, tmp_path):
    student.translate_file(tokenized, tmp_path / "target")
    (tmp_path / "link").symlink_to(tokenized)
    student.translate_file(tokenized, tmp_path / "link")
    assert tokenized.read_text() == (tmp_path / "target").read_text() and (tmp_path / "link").is_symlink()


def test_permissions_stay(student, tokenized, tmp_path):
    target = tmp_path / "target"
    student.translate_file(tokenized, target)
    for mode in (0o600, 0o640, 0o666):
        target.chmod(mode)
        student.translate_file(tokenized, target)
        assert stat.S_IMODE(target.stat().st_mode) == mode


def test_paths_of_any_kind(student, tokenized, tmp_path):
    student.translate_file(str(tokenized), str(tmp_path / "text"))
    student.translate_file(os.fsencode(tokenized), os.fsencode(tmp_path / "bytes"))
    assert files(tmp_path) == ["bytes", "source", "text"]
    assert (tmp_path / "bytes").read_text() == (tmp_path / "text").read_text()
    with pytest.raises(CpunmtError, match="none: cannot read: No such file or directory$"):
        student.translate_file(os.fsencode(tmp_path / "none"), tmp_path / "target")
    with pytest.raises(CpunmtError, match="a\0b: cannot read: embedded null byte$"):
        student.translate_file("a\0b", tmp_path / "target")
    with pytest.raises(CpunmtError, match="a\0b: cannot be written: there is a NUL in its name$"):
        student.translate_file(tokenized, tmp_path / "a\0b")
    assert Translator(os.fsencode(student.path)).translate("A dog.") == student.translate("A dog.")
    assert contains_model(os.fsencode(student.path)) and not contains_model(b"a\0b")


@pytest.mark.skipif(not os.path.exists("/dev/null"), reason="there is no /dev/null")
def test_a_device_is_written_as_it_is(student, tokenized):
    assert student.translate_file(tokenized, os.devnull).num_examples == len(LINES)
    assert stat.S_ISCHR(os.stat(os.devnull).st_mode)

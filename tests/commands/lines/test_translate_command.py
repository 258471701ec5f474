"""`cpunmt translate` with more than one line out: n-best lists, alignments, scores of pieces; and its threads."""

import pytest

from cpunmt.commands.lines.output_lines import OutputFormat, output_lines
from tests.support.command_line import sentences, translate


def made_lines(translator, lines, form, **options) -> str:
    results = translator.translate(lines, **options)
    return b"".join(b for number, result in enumerate(results) for b in output_lines(number, result, form)).decode()


@pytest.mark.parametrize(
    ("flags", "form", "options"),
    [
        (["--n-best", "2", "-b", "3"], OutputFormat(n_best=True), {"num_hypotheses": 2, "beam_size": 3}),
        (["--n-best", "-b", "3"], OutputFormat(n_best=True), {"num_hypotheses": 3, "beam_size": 3}),
        (["--n-best"], OutputFormat(n_best=True), {}),
        (["--num-hypotheses", "1"], OutputFormat(n_best=True), {}),
        (["--alignment"], OutputFormat(alignment="hard"), {"return_alignments": True}),
        (["--alignment", "1"], OutputFormat(alignment="hard"), {"return_alignments": True}),
        (["--alignment", "soft"], OutputFormat(alignment="soft"), {"return_alignments": True}),
        (["--alignment", "0.3"], OutputFormat(alignment=0.3), {"return_alignments": True}),
        (["--word-scores"], OutputFormat(word_scores=True), {"return_token_log_probs": True}),
        (
            ["--n-best", "--alignment", "hard", "--word-scores", "--beam-size", "2"],
            OutputFormat(True, "hard", True),
            {"num_hypotheses": 2, "beam_size": 2, "return_alignments": True, "return_token_log_probs": True},
        ),
    ],
)
def test_formats(student, source, tmp_path, flags, form, options):
    source.write_text(source.read_text("utf-8") + "\nTwo dogs.\n", "utf-8")
    lines = [*sentences(40), "", "Two dogs."]
    assert translate(source, tmp_path / "german", *flags) == 0
    assert (tmp_path / "german").read_text("utf-8") == made_lines(student, lines, form, **options)


def test_numbers_of_n_best_lists_count_the_whole_input(student, tmp_path):
    """Also across windows, of which the first has 64 lines."""
    (tmp_path / "english").write_text("".join(f"{line}\n" for line in sentences(200)), "utf-8")
    assert translate(tmp_path / "english", tmp_path / "german", "--n-best", "2", "-b", "2") == 0
    numbers = [int(line.split(" ||| ")[0]) for line in (tmp_path / "german").read_text("utf-8").splitlines()]
    assert sorted(set(numbers)) == list(range(200)) and numbers == sorted(numbers)
    assert numbers.count(0) == 2


def test_threads_change_nothing_in_the_output(student, tmp_path):
    lines = [*sentences(400), ""]
    (tmp_path / "english").write_text("".join(f"{line}\n" for line in lines), "utf-8")
    assert translate(tmp_path / "english", tmp_path / "german", "--cpu-threads", 2, "-b", 2, "--alignment") == 0
    expected = made_lines(student, lines, OutputFormat(alignment="hard"), beam_size=2, return_alignments=True)
    assert (tmp_path / "german").read_text("utf-8") == expected

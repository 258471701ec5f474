"""`cpunmt translate-file`: a document in, the same document in another language out."""

import contextlib

from cpunmt.errors import CpunmtError
from cpunmt.files.console import is_watched, progress_bar, tell
from cpunmt.translation.translator import Translator

# Options that a format decides about, or that are no text.
LEFT_OUT = ("html", "xml", "num_hypotheses", "min_alternative_expansion_prob")


def document_arguments(parser):
    """The arguments of the command that are no options of a translation."""
    parser.add_argument("path", metavar="IN", help="the file to translate")
    parser.add_argument(
        "out", metavar="OUT", nargs="?", help="the file to write (default: as IN, with the language: report.de.md)"
    )
    parser.add_argument("--format", metavar="NAME", help="what IN is (default: what its name ends with)")
    parser.add_argument(
        "--select",
        metavar="PART",
        action="append",
        default=[],
        help="translate this part only, where a format has parts to choose; can be given several times",
    )
    parser.add_argument("--encoding", metavar="NAME", help="of a text file: cp1252, for example (default: UTF-8)")
    parser.add_argument("--force", action="store_true", help="replace OUT, if it is there")


def translate_file(given, model: dict, options: dict) -> int:
    """Translate the file that `given` names, and print the name of what was written.

    Raises CpunmtError if the model or a file cannot be used, or an option does not fit the model.
    """
    translator = Translator(**model)
    with contextlib.ExitStack() as stack:
        bar = None

        def progress(done: int, total: int) -> None:
            nonlocal bar
            if bar is None:
                bar = stack.enter_context(progress_bar(total=total, unit=" texts", dynamic_ncols=True))
            bar.update(done - bar.n)

        try:
            written = translator.translate_document(
                given.path,
                given.out,
                format=given.format,
                select=given.select,
                encoding=given.encoding,
                force=given.force,
                progress=progress if is_watched() else None,
                **options,
            )
        except ValueError as error:
            raise CpunmtError(str(error)) from None
    tell(str(written))
    return 0

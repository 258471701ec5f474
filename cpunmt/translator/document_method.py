"""`translate_document`, of whatever translates texts."""

from __future__ import annotations

import abc
import importlib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cpunmt.decoding.call_settings import watch_of
from cpunmt.options.arguments import AnyPath
from cpunmt.process.first_use import LOCK
from cpunmt.process.stopping import under
from cpunmt.translator.text_pipeline import TextCall, translate_units

if TYPE_CHECKING:
    from cpunmt.markup.pages import Page
    from cpunmt.markup.units import Unit

_ABOVE = "cpunmt.documents.translate"  # formats are a level above: found by name, as `cpunmt` finds what it offers


class DocumentMethod(abc.ABC):
    """What a Translator and a Pivot do with files."""

    @property
    @abc.abstractmethod
    def target_language(self) -> str | None:
        """The language that it translates into; None: not known."""

    @abc.abstractmethod
    def text_call(self, given: Mapping[str, Any]) -> TextCall:
        """Validates options of `translate`, and returns how texts are translated with them."""

    def translating(self, given: Mapping[str, Any], pages: bool = False) -> Callable[[Sequence[Unit]], list[Page]]:
        """Validates options of `translate`, and returns a function that translates units of documents with them.

        `pages`: whether there are pages of HTML among the units, which the option `tags` is for.
        """
        own = {"html": True} if pages else {"tags": None}
        call = self.text_call({**given, **own} if pages or "tags" in given else given)
        return lambda units: translate_units(units, call)

    def translate_document(
        self,
        path: AnyPath,
        out: AnyPath | None = None,
        *,
        format: str | None = None,
        select: Sequence[str] = (),
        encoding: str | None = None,
        force: bool = False,
        progress: Callable[[int, int], object] | None = None,
        **given: Any,
    ) -> Path:
        """Translate the texts in a file of another format, and keep all else in it, to the byte.

        Equal texts are translated once. The file is written when all of it is done. Returns its path.

        Parameters
        ----------
        out : the file to write; None: as `path`, with the target language before the ending: report.de.md
        format : its name, of those in docs/documents.md, such as "md"; None: what the name of `path` ends with
        select : which parts are translated, in formats that have parts to choose: paths or columns, as
            docs/documents.md tells; none: the usual ones
        encoding : of a text file, "cp1252" for example; None: UTF-8, or UTF-16 with its byte order mark
        force : replace `out`, if it is there
        progress : is called with how many texts are done, and how many there are
        given : options of `translate`

        Raises CpunmtError for a file that cannot be used, and ValueError for a wrong option; nothing is written then.
        """
        with LOCK:
            translate_document = importlib.import_module(_ABOVE).translate_document
        chosen = {"format": format, "select": select, "encoding": encoding, "force": force, "progress": progress}
        with under(watch_of(given)):
            found: Path = translate_document(self, path, out, self.target_language, given, **chosen)
        return found

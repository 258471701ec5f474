"""`translate_document` for everything that translates texts."""

from __future__ import annotations

import abc
import importlib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cpunmt.decoding.call_settings import watch_of
from cpunmt.options.arguments import AnyPath
from cpunmt.options.options import SPOKEN
from cpunmt.process.first_use import LOCK
from cpunmt.process.stopping import under
from cpunmt.translator.text_pipeline import TextCall, translate_units

if TYPE_CHECKING:
    from cpunmt.markup.pages import Page
    from cpunmt.markup.units import Unit
else:
    Page = Unit = Any  # annotations can be evaluated, and pages are imported only if there are some

_ABOVE = "cpunmt.documents.translate"  # a level above, so imported by name, as `cpunmt` imports its public names


class DocumentMethod(abc.ABC):
    """The file translation shared by Translator and Pivot."""

    @property
    @abc.abstractmethod
    def target_language(self) -> str | None:
        """The target language; None if unknown."""

    @abc.abstractmethod
    def text_call(self, given: Mapping[str, Any]) -> TextCall:
        """Validates options of `translate`, and returns how texts are translated with them."""

    def language_into(self, given: Mapping[str, Any]) -> str | None:
        """Returns the target language of a call with these options; None if unknown."""
        named = {name: given[name] for name in SPOKEN if given.get(name) is not None}
        return self.text_call(named).languages.target if named else self.target_language

    def translating(self, given: Mapping[str, Any], pages: bool = False) -> Callable[[Sequence[Unit]], list[Page]]:
        """Validates options of `translate`, and returns a function that translates units of documents with them.

        `pages`: whether the units include pages of HTML, to which the option `tags` applies.
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
        """Translates the texts in a file of another format; keeps all else in it, to the byte.

        Equal texts are translated once. The file is written only when all of it is done. Returns its path.

        Parameters
        ----------
        out : the file to write; None: `path` with the target language before the ending: report.de.md
        format : name of a format in docs/documents.md, such as "md"; None: by the ending of `path`
        select : the parts to translate, in formats with selectable parts: paths or columns, see docs/documents.md;
            empty: the usual ones
        encoding : of a text file, such as "cp1252"; None: UTF-8, or UTF-16 with its byte order mark
        force : whether to replace an existing `out`
        progress : called with the number of finished texts and the total
        given : options of `translate`

        Raises CpunmtError for a file that cannot be used, and ValueError for a wrong option; nothing is written then.
        """
        with LOCK:
            translate_document = importlib.import_module(_ABOVE).translate_document
        chosen = {"format": format, "select": select, "encoding": encoding, "force": force, "progress": progress}
        with under(watch_of(given)):
            found: Path = translate_document(self, path, out, self.language_into(given), given, **chosen)
        return found

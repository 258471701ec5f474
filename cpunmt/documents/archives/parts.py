"""Several documents in one archive, as one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from cpunmt.documents.archives.zip_file import Archive
from cpunmt.documents.document import Contents, Unit


class Parts:
    """Those members of an archive that have texts, each read by a reader of its own: `Contents` of the whole file."""

    def __init__(self, archive: Archive, parts: Mapping[str, Contents]):
        self.archive, self.parts = archive, parts
        self._units = {name: part.units for name, part in parts.items()}

    @property
    def units(self) -> list[Unit]:
        """Those of all parts, in the parts' order."""
        return [unit for units in self._units.values() for unit in units]

    def rendered(self, translations: Sequence[str]) -> bytes:
        """The file; its bytes are those that were read, if no part's are others."""
        changed, at = {}, 0
        for name, units in self._units.items():
            end = at + len(units)
            if any(new != unit.text for new, unit in zip(translations[at:end], units, strict=True)):
                changed[name] = self.parts[name].rendered(translations[at:end])
            at = end
        return self.archive.rewritten(changed)

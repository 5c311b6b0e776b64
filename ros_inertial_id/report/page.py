"""Page: a head and a list of sections, made of the numbers of a result; ``sections`` has them."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Generic, TypeVar

from .drawings import Drawings
from .sheet import Section, Sheet, write_sheet

Numbers = TypeVar('Numbers')
Head = Callable[[Numbers, Drawings], Sheet]
Part = Callable[[Numbers, Drawings], Iterable[Section]]


@dataclass(frozen=True)
class Page(Generic[Numbers]):
    """
    A page about numbers of one kind.

    head : numbers, drawings -> title and what stands at the top, as a Sheet
    sections : each numbers, drawings -> its Section, none, or several alike
    """

    head: Head[Numbers]
    sections: Sequence[Part[Numbers]]

    def sheet(self, numbers: Numbers) -> Sheet:
        """Return the content of the page of ``numbers``."""
        drawings = Drawings()
        sections = [section for part in self.sections for section in part(numbers, drawings)]
        head = self.head(numbers, drawings)
        return replace(head, sections=sections, drawings=drawings)

    def write(self, numbers: Numbers, path: str | Path) -> Path:
        """Write the page of ``numbers`` as one HTML file to ``path``; return the path."""
        return Path(write_sheet(self.sheet(numbers), path, ()))

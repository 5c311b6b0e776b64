"""
Start tags: places in the text of an XML file, and edits of them that leave all else as it is.

An edit is (first byte, byte after the last, text instead); ``edited`` makes all of them at once.
"""

from collections.abc import Iterable, Mapping
import re
from typing import Any

Span = tuple[int, int]  # byte range of a start tag
Edit = tuple[int, int, str]


def edited(data: bytes, edits: Iterable[Edit]) -> str:
    """Return the text of an XML file with ``edits``, which do not overlap."""
    for start, end, text in sorted(edits, reverse=True):
        data = data[:start] + text.encode() + data[end:]
    return data.decode()


def text_at(data: bytes, span: Span) -> str:
    """Return the text in a byte range."""
    return data[slice(*span)].decode()


def tag_end(data: bytes, low: int) -> int:
    """Return the index after the > that closes the start tag at ``low``; quotes may hold one."""
    tag = re.compile(rb"""(?:[^"'>]|"[^"]*"|'[^']*')*>""").match(data, low)  # noqa: Q001
    assert tag is not None  # expat has read it
    return tag.end()


def attribute_of(text: str, name: str, default: Any = None) -> Any:
    """Return the value of an attribute in a start tag, ``default`` where it has none."""
    match = re.search(rf"""\s{name}\s*=\s*(["'])(.*?)\1""", text, re.DOTALL)  # noqa: Q001
    if match is None:
        return default
    return match.group(2)


def with_attributes(text: str, attributes: Mapping[str, str]) -> str:
    """Return a start tag with attributes set, the others and all blanks as they were."""
    for name, value in attributes.items():
        pattern = rf"""(\s{name}\s*=\s*)(?:"[^"]*"|'[^']*')"""  # noqa: Q001
        given = re.search(pattern, text)
        if given:
            text = f'{text[: given.start()]}{given.group(1)}"{value}"{text[given.end() :]}'
        else:
            body = re.sub(r'\s*/?>$', '', text)
            text = f'{body} {name}="{value}"{text[len(body) :]}'
    return text


def without_attributes(text: str, names: Iterable[str]) -> str:
    """Return a start tag without attributes of these ``names``."""
    for name in names:
        text = re.sub(rf"""\s+{name}\s*=\s*(?:"[^"]*"|'[^']*')""", '', text)  # noqa: Q001
    return text


def inserted(data: bytes, span: Span, inside: str, tag: str) -> Edit:
    """Return the edit that puts ``inside`` first into an element, empty or not."""
    text = text_at(data, span)
    if text.endswith('/>'):
        return (*span, f'{text[:-2].rstrip()}>{inside}</{tag}>')
    return (span[1], span[1], inside)

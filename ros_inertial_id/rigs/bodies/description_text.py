"""Description text: numbers put into a YAML description, all else left as it was written."""

from typing import Any, Mapping, Sequence

import numpy as np
import yaml

from ...errors import ConfigError

BODIES = ('links', 'bodies')  # of a platform, of rigid_body


def with_entries(text: str, path: Sequence[str], values: Mapping[str, Any]) -> str:
    """
    Return the YAML text with entries of the mapping at ``path`` (keys) set to ``values``.

    values : {key: number, array or list of texts}; what is there already is replaced, the rest
    comes last in the mapping; comments, order and style of everything else stay.
    """
    try:
        node = yaml.compose(text, Loader=yaml.SafeLoader)
    except yaml.YAMLError as error:
        raise ConfigError('the description is not YAML',
                          found=' '.join(str(error).split())) from None
    for key in path:
        pairs = {k.value: v for k, v in node.value} if isinstance(node, yaml.MappingNode) else {}
        if not isinstance(pairs.get(key), yaml.MappingNode):
            raise ConfigError('the description', expected=f"a mapping {': '.join(path)}",
                              found=f'no {key}')
        node = pairs[key]
    indent = ' ' * node.value[0][0].start_mark.column
    between = ', ' if node.flow_style else '\n' + indent
    present, last, edits = {k.value: (k, v) for k, v in node.value}, _end(text, node), []
    for key, value in values.items():
        words = ': ' + _flow(value, '' if node.flow_style else indent + '  ')
        if key in present:
            start, end = present[key][0].end_mark.index, present[key][1].end_mark.index
            # The end of a block is where the next key begins.
            edits.append((start, start + len(text[start:end].rstrip()), words))
        else:
            edits.append((last, last, between + key + words))
    # From the end; of those at one place the last one first.
    for start, end, words in sorted(edits[::-1], key=lambda edit: -edit[0]):  # noqa: C415
        text = text[:start] + words + text[end:]
    return text


def _end(text, node):
    """Return the index where a further entry of a mapping can be written."""
    if node.flow_style:
        return node.end_mark.index - 1
    while isinstance(node, yaml.CollectionNode) and node.value and not node.flow_style:
        node = node.value[-1]
        node = node[1] if isinstance(node, tuple) else node
    end = node.start_mark.index + len(
        text[node.start_mark.index:node.end_mark.index].rstrip())
    line = text.find('\n', end)
    return line if line >= 0 else len(text)


def with_inertials(text: str, links: Mapping[str, Sequence[float]]) -> str:
    """
    Return the YAML text with ``inertial`` of {link: (10,)} set; see the methods' rigs.

    text : of a rig's description; links : ten parameters by name of link or body
    """
    section, = (key for key in BODIES if key in yaml.safe_load(text))
    for link, ten in links.items():
        text = with_entries(text, (section, link), {'inertial': ten})
    return text


def _flow(value, indent):
    """Return a number, text or list as YAML in flow style; rows of a matrix on their own lines."""
    if isinstance(value, str):
        return f"'{value}'"
    if np.ndim(value) == 0:
        return repr(float(value))
    rows = [_flow(x, '') for x in value]
    long = isinstance(value[0], str) or np.ndim(value) > 1
    return f"[{(',' + chr(10) + indent if long and indent else ', ').join(rows)}]"

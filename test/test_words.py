"""One word per idea, the field's word: doc/glossary.md, and what is never said."""

from pathlib import Path
import re

ROOT = Path(__file__).parents[1]
# Words of no textbook, each with the standard term to say instead.
INSTEAD = {
    'told': 'found, significant',
    'felt': 'predicted',
    'news': 'effective samples',
    'ride|rides|riding': 'fused motion',
    'seat|seats|seated': 'extrinsics',
    'slip|slips': 'extrinsic sensitivity',
    'feel|feels': 'IMU measurement model',
    'struck|blow|blows': 'impact',
    'lateness': 'time offset',
    'livelier|liveliest': 'bandwidth',
    'unexplained': 'relative residual',
    'twin|twins': 'alternative',
    'belief|beliefs': 'prior',
    'heard': 'received',
    'can exist': 'physically consistent',
    'measured side': 'measured torque',
    'are silent': 'are uninformative',
}
# Words of this house that no reader knows, in what people read: pages, terminal, documentation.
UNKNOWN_TO_READERS = {
    'nats': 'log-likelihood difference, odds',
    'stretch|stretches': 'segment, fold or block',
    'ripe': 'old enough to be filtered',
    'moderated': 'shrunk',
    'lasting': 'autocorrelated',
    'everyday': 'incremental',
    'surprise|surprising': 'likelihood',
    'undescribed': 'likelihood',
    'as wide': 'widened',
    'mended': 'corrected',
    'insisted': 'given',
    'promise|promises': 'RMS in validation',
    'house|roof|wing': 'package',
    'small triangles': 'R factors of a QR',
    'known well|known roughly': 'standard error up to 10 %',
    'cannot be seen': 'not identifiable',
    'weighs nothing': 'small',
}
FILES = sorted(
    path
    for folder in ('ros_inertial_id', 'doc', 'config', 'launch', 'examples')
    for path in (ROOT / folder).rglob('*')
    if path.suffix in ('.py', '.html', '.md', '.yaml', '.js')
) + [ROOT / 'README.md']


READ = [
    path
    for path in FILES
    if path.parts[-2] in ('report', 'cli')
    or path.suffix == '.md'
    and path.parts[-2] != 'tutorials'
]


def said(path, instead):
    """Return what a file says of the words that have others instead, identifiers by word."""
    text = re.sub(
        r'^FORMER_KEYS.*?\n\n',
        '',
        path.read_text(encoding='utf-8'),
        flags=re.DOTALL | re.MULTILINE,
    )
    words = re.sub(r'_', ' ', text)
    return sorted(
        {
            f'{path.relative_to(ROOT)}: {match[0]!r} (say {term})'
            for pattern, term in instead.items()
            for match in re.finditer(rf'\b(?:{pattern})\b', words, re.IGNORECASE)
        }
    )


def test_only_words_that_a_roboticist_uses():
    assert not [words for path in FILES for words in said(path, INSTEAD)]


def test_nothing_that_people_read_has_words_of_this_house():
    assert not [words for path in READ for words in said(path, UNKNOWN_TO_READERS)]

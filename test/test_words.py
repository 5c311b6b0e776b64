"""One word per idea, the field's word: doc/glossary.md, and what is never said."""

from pathlib import Path
import re

ROOT = Path(__file__).parents[1]
# Words of no textbook, each with the standard term to say instead.
INSTEAD = {
    'told': 'found, significant', 'felt': 'predicted', 'news': 'effective samples',
    'ride|rides|riding': 'fused motion', 'seat|seats|seated': 'extrinsics',
    'slip|slips': 'extrinsic sensitivity', 'feel|feels': 'IMU measurement model',
    'struck|blow|blows': 'impact', 'lateness': 'time offset', 'livelier|liveliest': 'bandwidth',
    'unexplained': 'relative residual', 'twin|twins': 'alternative',
    'belief|beliefs': 'prior', 'heard': 'received', 'can exist': 'physically consistent',
    'measured side': 'measured torque', 'are silent': 'are uninformative',
}
FILES = sorted(path for folder in ('ros_inertial_id', 'doc', 'config', 'launch', 'examples')
               for path in (ROOT / folder).rglob('*')
               if path.suffix in ('.py', '.html', '.md', '.yaml', '.js')) + [ROOT / 'README.md']


def test_only_words_that_a_roboticist_uses():
    said = []
    for path in FILES:
        text = path.read_text(encoding='utf-8')
        text = re.sub(r'^FORMER_KEYS.*?\n\n', '', text, flags=re.DOTALL | re.MULTILINE)
        # Identifiers count word by word, whatever joins them.
        words = re.sub(r'_', ' ', text)
        said += [f'{path.relative_to(ROOT)}: {match[0]!r} (say {term})'
                 for pattern, term in INSTEAD.items()
                 for match in re.finditer(rf'\b(?:{pattern})\b', words, re.IGNORECASE)]
    assert not said, '\n'.join(sorted(set(said)))

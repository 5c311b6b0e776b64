"""Protocols: which files of which repository are a recording, and how it is split."""

from dataclasses import dataclass
import hashlib
from pathlib import Path
from typing import Any

import yaml

from .readers import READERS
from .signals import Recording

PROTOCOLS = Path(__file__).parent / 'recordings'


class NotRun(Exception):
    """Why a split or an entry could not be run, in a sentence."""


@dataclass(frozen=True)
class Split:
    """What an entry is fitted to and judged by: Recordings, and a description as text."""

    robot: str
    name: str
    training: list[Recording]
    test: Recording
    description: str


class Protocol:
    """A file of ``recordings/``; its ``splits`` are read from ``folder``/owner/repository/path."""

    def __init__(self, path: Path, folder: Path) -> None:
        self._entry: dict[str, Any] = yaml.safe_load(path.read_text(encoding='utf-8'))
        self._folder = folder
        self.name = path.stem
        self.robot: str = self._entry['robot']
        self.cutoff_hz: float = self._entry.get('cutoff_hz', 0.0)
        self.split_names = [split['name'] for split in self._entry['splits']]

    @property
    def by_replay(self) -> bool:
        """Return whether commands are recorded, and models are judged by replaying them."""
        return 'stiffness' in self._entry

    def split(self, name: str) -> Split:
        """Return a Split by its name; NotRun where a file is absent or another one."""
        chosen = next(split for split in self._entry['splits'] if split['name'] == name)
        training = [
            self._recording(part).part(chosen.get('train_from'), chosen.get('train_to'))
            for part in chosen['train']
        ]
        test = self._recording(chosen['test']).part(chosen.get('from'), chosen.get('to'))
        return Split(self.robot, name, training, test, self._description())

    def _recording(self, name: str) -> Recording:
        source = self._entry['recordings'][name]
        files = {'': source}
        if 'path' not in source:
            files = source
        paths = {key: self._file(file) for key, file in files.items()}
        return READERS[self._entry['reader']](paths, self._entry)

    def _description(self) -> str:
        return self._file(self._entry['description']).read_text(encoding='utf-8')

    def _file(self, file: dict[str, Any]) -> Path:
        """Return the path of a file of the repository whose bytes are those of the protocol."""
        repository = file.get('repository', self._entry['repository'])
        commit = file.get('commit', self._entry['commit'])
        path = self._folder / repository / file['path']
        if not path.is_file():
            raise NotRun(f'absent: {path} (https://github.com/{repository} at {commit[:10]})')
        found = hashlib.sha256(path.read_bytes()).hexdigest()
        if found not in file['sha256']:
            raise NotRun(f'{path} is another file: its sha256 is {found}')
        return path


def protocols(folder: Path, names: list[str]) -> list[Protocol]:
    """Return the protocols of these names, all of them where none is given."""
    paths = sorted(PROTOCOLS.glob('*.yaml'))
    return [Protocol(path, folder) for path in paths if not names or path.stem in names]

"""An entry that is a program of any language, or a container: files in, files out."""

from collections.abc import Callable, Sequence
from pathlib import Path
import shlex
import subprocess
import tempfile

import numpy as np

from .protocol import NotRun
from .signals import Recording

CONTAINERS = 'docker', 'podman'  # whose work is that of no child of ours
Predict = Callable[..., tuple[np.ndarray, np.ndarray]]


class Program:
    """
    The entry NAME=COMMAND, which is called as ``COMMAND fit`` and then as ``COMMAND predict``.

    ``{folder}`` in COMMAND stands for the folder that it reads and writes: at ``fit`` robot.urdf
    and train_0.npz, train_1.npz, ... (joints, t, q, tau, and v where it was recorded), at
    ``predict`` test.npz besides (t, q, v, a); then it writes predicted.npz (tau, and sd).
    """

    def __init__(self, entry: str) -> None:
        self.name, _, self._command = entry.partition('=')
        self._folder = tempfile.TemporaryDirectory()

    @property
    def has_cpu_time(self) -> bool:
        """Return whether the CPU time of our children is what it needs."""
        return Path(shlex.split(self._command)[0]).name not in CONTAINERS

    def fit(self, train: Sequence[Recording], urdf: str) -> Predict:
        """Return predict(t, q, v, a) -> (tau, sd) after the program has learnt."""
        folder = Path(self._folder.name)
        (folder / 'robot.urdf').write_text(urdf, encoding='utf-8')
        for k, recording in enumerate(train):
            arrays = {'t': recording.t, 'q': recording.q, 'tau': recording.tau}
            if recording.v is not None:
                arrays['v'] = recording.v
            np.savez(folder / f'train_{k}.npz', joints=np.array(recording.joints), **arrays)
        self._run('fit')
        return self._predict

    def _predict(
        self, t: np.ndarray, q: np.ndarray, v: np.ndarray, a: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        folder = Path(self._folder.name)
        np.savez(folder / 'test.npz', t=t, q=q, v=v, a=a)
        self._run('predict')
        try:
            with np.load(folder / 'predicted.npz') as arrays:
                found = {name: np.asarray(arrays[name], float) for name in arrays.files}
        except OSError as error:
            raise NotRun(f'{self.name} wrote no predicted.npz: {error}') from None
        tau = found.get('tau', np.empty(0))
        sd = found.get('sd', np.full(q.shape, np.nan))
        if tau.shape != q.shape or sd.shape != q.shape:
            raise NotRun(f'{self.name} wrote tau {tau.shape}, sd {sd.shape} for q {q.shape}')
        return tau, sd

    def _run(self, verb: str) -> None:
        folder = self._folder.name
        words = [word.replace('{folder}', folder) for word in shlex.split(self._command)]
        done = subprocess.run([*words, verb], capture_output=True, text=True, check=False)
        if done.returncode:
            last = (done.stderr.strip().splitlines() or ['no message'])[-1]
            raise NotRun(f'{self.name} {verb} ended with status {done.returncode}: {last}')

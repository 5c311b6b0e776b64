"""
Make the pictures of README and documentation: report and live page of a simulated arm.

    python doc/make_pictures.py

Needs mujoco and chromium; nothing is fetched.  The live page is the one that the node ``watch``
serves, with what is shown at one moment in it; its curves are the identified model on a motion
that it has not seen.  Two minutes.
"""

import json
import os
from pathlib import Path
import shutil
import subprocess
import sys
import tempfile

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

import numpy as np  # noqa: E402

import ros_inertial_id as rid  # noqa: E402
from ros_inertial_id.nodes.watch_server import WatchState  # noqa: E402
from ros_inertial_id.report import watch_page  # noqa: E402

PICTURES = Path(__file__).resolve().parent / 'pictures'
BROWSER = shutil.which('chromium') or shutil.which('google-chrome')
BUTTONS = ('record', 'stop recording', 'identify', 'estimate anew')
OVERVIEW = '''<style>body{margin:0;background:#e4e7eb;display:flex;gap:24px;padding:24px}
img{width:630px;height:760px;object-fit:cover;object-position:top;border-radius:8px}</style>
<img src="report.png"><img src="live.png">'''


def photograph(page, picture, width, height):
    """Write what a browser shows of an HTML file as a .png."""
    with tempfile.TemporaryDirectory() as profile:
        subprocess.run([BROWSER, '--headless', '--no-sandbox', '--disable-gpu',
                        '--hide-scrollbars', f'--user-data-dir={profile}',
                        f'--window-size={width},{height}',
                        '--virtual-time-budget=4000', f'--screenshot={picture}', str(page)],
                       check=True, capture_output=True, timeout=120)


def live(model, recording):
    """Return the live page as it is while an arm moves."""
    prediction, state = model.predict(recording), WatchState()
    curves = {'measured': prediction.measured, 'predicted': prediction.torque,
              'residual': prediction.residual}
    for name, values in curves.items():
        for t, row in zip(prediction.t, values):
            state.add(name, t, prediction.names, row)
    promised = model.identified.statistics['validation']['filtered']['rms']
    health = {}
    for name, values in zip(prediction.names, prediction.residual.T):
        health[f'{name} rms'] = f'{np.sqrt(np.mean(values[-2500:] ** 2)):.4g}'
        health[f'{name} rms promised'] = f'{promised[name]:.4g}'
    for role, words, values in (('prediction', 'as promised', health),
                                ('identification', 'model published, verdict: good', {}),
                                ('recorder', 'recording', {}),
                                ('excitation', 'playing, period 2 of 2', {})):
        state.set(role, {'level': 'ok', 'message': words, 'values': values})
    state.set('services', ['stop recording', 'identify', 'estimate anew'])
    state.set('online', [[b['name'], b['value'], b['standard_error']]
                         for b in model.identified.base])
    data = json.dumps(state.since(0)[1])
    return watch_page(BUTTONS).replace(
        '\nlook();', f"\n$('link').textContent = 'connected';\nshow({data});")


def main():
    """Make all pictures."""
    PICTURES.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        subprocess.run([sys.executable, ROOT / 'examples' / 'simulated_log.py', '--arm', 'arm3',
                        '--out', folder], check=True, cwd=ROOT,
                       env={**os.environ, 'PYTHONPATH': str(ROOT), 'OPENBLAS_NUM_THREADS': '1'})
        urdf = folder / 'robot.urdf'
        first, second = (rid.read_log(folder / f'{k}.csv', urdf=urdf) for k in ('first', 'second'))
        result = rid.identify(first, validate=second, urdf=urdf)
        result.report(folder / 'report.html')
        (folder / 'live.html').write_text(live(result.model, second), encoding='utf-8')
        (folder / 'overview.html').write_text(OVERVIEW)
        for page, width, height in (('report', 1000, 1250), ('live', 1000, 1250),
                                    ('overview', 1332, 808)):
            photograph(folder / f'{page}.html', folder / f'{page}.png', width, height)
            shutil.copy(folder / f'{page}.png', PICTURES)
    for path in sorted(PICTURES.glob('*.png')):
        print(f'{path.name}: {path.stat().st_size / 1e3:.0f} kB')


if __name__ == '__main__':
    main()

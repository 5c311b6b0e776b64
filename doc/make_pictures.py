"""
Make the pictures of README and documentation from a public recording of a Franka Panda.

    python doc/make_pictures.py FOLDER

FOLDER holds panda/excitation.npz and panda/panda.urdf (Gaz et al. 2019; see doc/accuracy.md).
Needs chromium and Pillow; nothing is fetched.  The live page is the one that the node ``watch``
serves, with what is shown at one moment in it: the model on a part of the motion that it has not
seen.  The moving picture is the top of the report on that part, one frame after the other.
"""

import json
from pathlib import Path
import shutil
import subprocess
import sys
import tempfile

import numpy as np
from PIL import Image

import ros_inertial_id as rid
from ros_inertial_id.nodes.watch_server import WatchState
from ros_inertial_id.report import watch_page

PICTURES = Path(__file__).resolve().parent / 'pictures'
BROWSER = shutil.which('chromium') or shutil.which('google-chrome')
BUTTONS = ('record', 'stop recording', 'identify', 'estimate anew')
FRAMES, COLUMNS = 64, 4  # of the moving picture; side by side in one photograph
FRAME_SIZE, FRAME_TIME = (860, 460), 125  # [px], [ms]
COLOURS = 64
SHOWN = (2, 4, 5, 7)  # joints of the moving picture, from 1
FILM_STYLE = """.film { display: grid; grid-template-columns: repeat(%d, %dpx);
  width: max-content; }
.frame { width: %dpx; height: %dpx; overflow: hidden; display: grid; background: #fff;
  grid-template: 1.8rem 1fr 1.4rem / 340px 1fr; gap: 0 10px;
  padding: 8px 12px; align-content: start; }
.frame .title { white-space: nowrap; }
.frame h1, .frame p { grid-column: 1 / -1; margin: 0; font-size: 1.1rem; }
.frame p { font-size: .8rem; }
.frame .arm { height: 360px; border: 0; }
.frame .small { grid-template-columns: 1fr 1fr; gap: 0 8px; }
body { max-width: none; padding: 0; margin: 0; }
.stage { width: 340px; height: 360px !important; }
.multiples { grid-template-columns: repeat(7, 238px) !important; }
.readout, .svg { display: none; }
"""
# Frames are copies of the page's own arm and plots, at times one after the other.
FILM = """
const [count, shown, words] = %s, film = document.createElement('div');
const scrub = document.querySelector('.scrub');
const words_of = name => document.querySelector(name).textContent;
const charts = document.querySelectorAll('.multiples .chart');
film.className = 'film';
for (let k = 0; k < count; k++) {
  scrub.value = Math.round(Number(scrub.max) * k / count);
  scrub.dispatchEvent(new Event('input'));
  const frame = document.createElement('div'), plots = document.createElement('div');
  frame.className = 'frame'; plots.className = 'small';
  frame.innerHTML = '<h1></h1><p></p>';
  frame.firstChild.textContent = words;
  const legend = words_of('.viewer .legend').split('band:')[0];
  frame.lastChild.textContent = `${legend}band. ${words_of('.clock')}`;
  for (const number of shown) plots.append(charts[number - 1].cloneNode(true));
  frame.firstChild.after(document.querySelector('.arm').cloneNode(true), plots);
  film.append(frame);
}
document.body.replaceChildren(film);
"""


def photograph(page, picture, width, height):
    """Write what a browser shows of an HTML file as a .png."""
    with tempfile.TemporaryDirectory() as profile:
        subprocess.run(
            [
                BROWSER,
                '--headless',
                '--no-sandbox',
                '--disable-gpu',
                '--hide-scrollbars',
                f'--user-data-dir={profile}',
                f'--window-size={width},{height}',
                '--virtual-time-budget=4000',
                f'--screenshot={picture}',
                str(page),
            ],
            check=True,
            capture_output=True,
            timeout=120,
        )


def live(model, prediction):
    """Return the live page as it is while an arm moves."""
    state = WatchState()
    for name, values in (
        ('measured', prediction.measured),
        ('predicted', prediction.torque),
        ('residual', prediction.residual),
    ):
        for t, row in zip(prediction.t, values):
            state.add(name, t, prediction.names, row)
    promised = model.identified.statistics['validation']['filtered']['rms']
    health = {}
    for name, values in zip(prediction.names, prediction.residual.T):
        health[f'{name} rms'] = f'{np.sqrt(np.mean(values**2)):.4g}'
        health[f'{name} rms expected'] = f'{promised[name]:.4g}'
        health[f'{name} unit'] = 'N m'
    for role, words, values in (
        ('prediction', 'predicting; residual RMS as that of the model', health),
        ('identification', 'model published, verdict: good', {}),
        ('recorder', 'recording', {}),
        ('excitation', 'playing, period 2 of 2', {}),
    ):
        state.set(role, {'level': 'ok', 'message': words, 'values': values})
    state.set('services', ['stop recording', 'identify', 'estimate anew'])
    state.set(
        'online', [[b['name'], b['value'], b['standard_error']] for b in model.identified.base]
    )
    data = json.dumps(state.since(0)[1])
    return watch_page(BUTTONS).replace(
        '\nlook();', f"\n$('link').textContent = 'connected';\nshow({data});"
    )


def film(result):
    """Return a page of all frames of the moving picture: arm, residuals and verdict."""
    model = result.model
    percent = model.identified.statistics['validation']['filtered']['relative_percent']
    words = (
        f'Franka Panda, verdict: {model.identified.statistics["verdict"]["word"]}; '
        f'{percent:.2f} % residual on 8 s that the model had not seen'
    )
    width, height = FRAME_SIZE
    style = FILM_STYLE % (COLUMNS, width, width, height)
    script = FILM % json.dumps([FRAMES, SHOWN, words])
    with tempfile.TemporaryDirectory() as name:
        text = Path(result.report(Path(name, 'report.html'))).read_text('utf-8')
    text = text.replace('<html', '<html data-theme="light"').replace(
        '</style>', f'{style}</style>', 1
    )
    return text.replace('</body>', f'<script>setTimeout(() => {{{script}}}, 500);</script></body>')


def moving_picture(photo, path):
    """Write the frames in a photograph as a .gif."""
    width, height = FRAME_SIZE
    with Image.open(photo) as sheet:
        frames = []
        sheet = sheet.convert('RGB').quantize(COLOURS, Image.Quantize.MAXCOVERAGE)
        for k in range(FRAMES):
            left, top = width * (k % COLUMNS), height * (k // COLUMNS)
            frames.append(sheet.crop((left, top, left + width, top + height)))
    first, *others = frames
    first.save(
        path, save_all=True, append_images=others, duration=FRAME_TIME, loop=0, optimize=True
    )


def main():
    """Make all pictures."""
    data = Path(sys.argv[1]) / 'panda'
    urdf, log = data / 'panda.urdf', data / 'excitation.npz'
    result = rid.identify(f'{log}@:12.6', validate=f'{log}@12.6:', urdf=urdf)
    prediction = result.model.predict(f'{log}@12.6:')
    width, height = FRAME_SIZE
    with tempfile.TemporaryDirectory() as name:
        live_page, film_page = Path(name, 'live.html'), Path(name, 'film.html')
        live_page.write_text(live(result.model, prediction), encoding='utf-8')
        film_page.write_text(film(result), encoding='utf-8')
        photograph(live_page, PICTURES / 'live.png', 1000, 1250)
        photo = Path(name, 'film.png')
        photograph(film_page, photo, width * COLUMNS, height * FRAMES // COLUMNS)
        moving_picture(photo, PICTURES / 'moving.gif')
    for picture in ('live.png', 'moving.gif'):
        print(f'{picture}: {(PICTURES / picture).stat().st_size / 1e3:.0f} kB')


if __name__ == '__main__':
    main()

"""
Make the pictures of README and documentation from a public recording of a Franka Panda.

    python doc/make_pictures.py FOLDER

FOLDER holds panda/excitation.npz and panda/panda.urdf (Gaz et al. 2019; see doc/accuracy.md).
Needs chromium; nothing is fetched.  The live page is the one that the node ``watch`` serves, with
what is shown at one moment in it: the model on a part of the motion that it has not seen.
"""

import json
from pathlib import Path
import shutil
import subprocess
import sys
import tempfile

import numpy as np
import pinocchio as pin

import ros_inertial_id as rid
from ros_inertial_id.nodes.watch_server import WatchState
from ros_inertial_id.report import watch_page

PICTURES = Path(__file__).resolve().parent / 'pictures'
BROWSER = shutil.which('chromium') or shutil.which('google-chrome')
BUTTONS = ('record', 'stop recording', 'identify', 'estimate anew')
MEASURED, PREDICTED, DESCRIBED = '#1f2937', '#e8590c', '#868e96'
SHOWN = (1, 3, 4, 5)  # joints, from 0
VIEW = np.array([[0.80, -0.60, 0.0], [-0.18, -0.24, 0.95]])  # world to picture, right and up


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


def curve(t, values, place):
    """Return the points of a curve in a place (x, y, width, height) of lowest to highest value."""
    x, y, width, height, low, high = place
    return ' '.join(
        f'{x + width * (a - t[0]) / (t[-1] - t[0]):.1f},'
        f'{y + height * (high - b) / (high - low):.1f}'
        for a, b in zip(t, values)
    )


def torques(prediction):
    """Return measured and predicted torques with the band, a chart for each joint shown."""
    out = []
    for row, k in enumerate(SHOWN):
        low, high = prediction.lower[:, k].min(), prediction.upper[:, k].max()
        place = (70, 66 + 128 * row, 620, 96, low, high)
        band = f'{curve(prediction.t, prediction.upper[:, k], place)} ' + ' '.join(
            curve(prediction.t, prediction.lower[:, k], place).split()[::-1]
        )
        share = (
            100
            * np.linalg.norm(prediction.residual[:, k])
            / np.linalg.norm(prediction.measured[:, k])
        )
        out.append(f'''<polygon points="{band}" fill="{PREDICTED}" opacity=".18"/>
<polyline points="{curve(prediction.t, prediction.measured[:, k], place)}" fill="none"
 stroke="{MEASURED}" stroke-width="3.4"/>
<polyline points="{curve(prediction.t, prediction.torque[:, k], place)}" fill="none"
 stroke="{PREDICTED}" stroke-width="1.8"/>
<text x="70" y="{place[1] - 9}" class="b">joint {k + 1}</text>
<text x="690" y="{place[1] - 9}" text-anchor="end">residual {share:.1f} % of the torque</text>
<text x="62" y="{place[1] + 12}" text-anchor="end">{high:.0f}</text>
<text x="62" y="{place[1] + 96}" text-anchor="end">{low:.0f}</text>''')
    return '\n'.join(out)


def ellipsoid(body, placement, style):
    """Return the ellipse that a body's radii of gyration make as they are seen."""
    moments = 0.5 * np.trace(body.inertia) * np.eye(3) - body.inertia
    turned = VIEW @ placement.rotation @ moments @ placement.rotation.T @ VIEW.T / body.mass
    (a, b), axes = np.linalg.eigh(turned)
    x, y = VIEW @ placement.act(body.lever)
    angle = -np.degrees(np.arctan2(axes[1, 1], axes[0, 1]))
    return (
        f'<ellipse rx="{np.sqrt(b):.4f}" ry="{np.sqrt(a):.4f}" {style} '
        f'transform="translate({x:.4f},{-y:.4f}) rotate({angle:.1f})"/>'
    )


def arm(model, described, q):
    """Return the arm at q with its bodies as identified and as described."""
    robot = model.to_pinocchio()
    data = robot.createData()
    pin.forwardKinematics(robot, data, q)
    joints = [np.zeros(2), *(VIEW @ data.oMi[k].translation for k in range(1, robot.njoints))]
    points = ' '.join(f'{x:.4f},{-y:.4f}' for x, y in joints)
    out = [
        f'<polyline points="{points}" fill="none" stroke="#dee2e6" stroke-width=".05" '
        'stroke-linejoin="round" stroke-linecap="round"/>'
    ]
    for name, style in (
        (
            described,
            f'fill="none" stroke="{DESCRIBED}" stroke-width=".006" stroke-dasharray=".02 .012"',
        ),
        (robot, f'fill="{PREDICTED}" fill-opacity=".30" stroke="{PREDICTED}" stroke-width=".004"'),
    ):
        out += [
            ellipsoid(name.inertias[k], data.oMi[k], style) for k in range(2, robot.njoints)
        ]  # upright, torques show little of link 1
    return f'<g transform="translate(860,530) scale(560)">{"".join(out)}</g>'


def overview(result, prediction, described, q):
    """Return the picture of the README."""
    word = result.model.statistics['verdict']['word']
    total = np.linalg.norm(prediction.residual) / np.linalg.norm(prediction.measured)
    return f'''<style>body{{margin:0;background:#fff}} text{{font:15px sans-serif;fill:#495057}}
.b{{font-weight:600;fill:#1f2937}} .big{{font:600 22px sans-serif;fill:#1f2937}}</style>
<svg width="1160" height="610" viewBox="0 0 1160 610">
<text x="70" y="30" class="big">Torque [N m] that the model had not seen</text>
{torques(prediction)}
<line x1="70" y1="585" x2="110" y2="585" stroke="{MEASURED}" stroke-width="3.4"/>
<text x="118" y="590">measured</text>
<line x1="210" y1="585" x2="250" y2="585" stroke="{PREDICTED}" stroke-width="1.8"/>
<text x="258" y="590">predicted, with its 95 % band; {np.ptp(prediction.t):.0f} s</text>
<text x="750" y="30" class="big">Franka Panda, verdict: {word}</text>
<text x="750" y="56">{100 * total:.2f} % residual of all torques behind the automatic</text>
<text x="750" y="76">low-pass (at 10 Hz see the table), from 13 s of motion</text>
{arm(result.model, described, q)}
<rect x="750" y="556" width="18" height="12" fill="{PREDICTED}" opacity=".45"/>
<text x="776" y="567">links as identified (centre, radii of gyration)</text>
<line x1="750" y1="585" x2="768" y2="585" stroke="{DESCRIBED}" stroke-width="2"
 stroke-dasharray="5 3"/>
<text x="776" y="590">as described in the URDF</text></svg>'''


def main():
    """Make all pictures."""
    data = Path(sys.argv[1]) / 'panda'
    urdf, log = data / 'panda.urdf', data / 'excitation.npz'
    result = rid.identify(f'{log}@:12.6', validate=f'{log}@12.6:', urdf=urdf)
    prediction = result.model.predict(f'{log}@12.6:')
    described = rid.Model.from_description(urdf.read_text()).to_pinocchio()
    q = np.array([0.5, 0.35, 0.0, -1.7, 0.0, 2.0, 0.0])
    with tempfile.TemporaryDirectory() as name:
        for page, text, width, height in (
            ('live', live(result.model, prediction), 1000, 1250),
            ('overview', overview(result, prediction, described, q), 1160, 610),
        ):
            path = Path(name, f'{page}.html')
            path.write_text(text, encoding='utf-8')
            photograph(path, PICTURES / f'{page}.png', width, height)
            print(f'{page}.png: {(PICTURES / f"{page}.png").stat().st_size / 1e3:.0f} kB')


if __name__ == '__main__':
    main()

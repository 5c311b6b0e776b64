"""The report in a real browser: its script draws, sorts and filters, and fits a phone."""

import base64
import html
import json
from pathlib import Path
import re
import shutil
import subprocess

from falsified_descriptions import Falsified, walker
import numpy as np
import pinocchio
import pytest
from test_report import OPTIONS, record

import ros_inertial_id as rid
from ros_inertial_id.identification.identify import identify
from ros_inertial_id.report import write_report

BROWSER = (
    shutil.which('chromium') or shutil.which('chromium-browser') or shutil.which('google-chrome')
)
ARM3 = Path(__file__).parents[2] / 'urdf' / 'arm3.urdf'
pytestmark = pytest.mark.skipif(BROWSER is None, reason='no browser is installed')
FLAGS = (
    '--headless',
    '--no-sandbox',
    '--disable-gpu',
    '--disable-background-networking',
    '--no-first-run',
    '--disable-component-update',
    '--disable-sync',
    '--enable-logging=stderr',
    '--virtual-time-budget=3000',
    '--dump-dom',
)


@pytest.fixture(scope='module')
def text(tmp_path_factory):
    """Return the HTML text of a report with validation."""
    result = identify([record()], OPTIONS, validate=[record(seed=1)])
    return write_report(result, tmp_path_factory.mktemp('browser') / 'r.html').read_text('utf-8')


def seen(text, folder, width, script):
    """Return what a script finds on the page, as it is shown in a window so wide."""
    # Phones are narrower than the smallest window: a frame is as wide as it is told to be.
    page = text.replace(
        '</body>',
        f'<script>parent.postMessage(JSON.stringify((() => {{{script}}})()), "*")</script></body>',
    )
    (folder / 'inner.html').write_text(page, encoding='utf-8')
    (folder / 'outer.html').write_text(
        f'<iframe src="inner.html" style="width:{width}px;height:900px;border:0"></iframe>'
        '<script>addEventListener("message", e => { const o = document.createElement("output");'
        'o.textContent = e.data; document.body.append(o); })</script>',
        encoding='utf-8',
    )
    done = subprocess.run(
        [
            BROWSER,
            *FLAGS,
            f'--user-data-dir={folder / "profile"}',
            f'--window-size={max(600, width + 40)},1000',
            str(folder / 'outer.html'),
        ],
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert 'Uncaught' not in done.stderr, done.stderr
    found = re.search(r'<output>(.*?)</output>', done.stdout, re.S)
    assert found, done.stderr[-2000:]
    return json.loads(html.unescape(found[1]))


@pytest.mark.parametrize('width', [390, 1400])
def test_every_chart_is_drawn_and_nothing_sticks_out(text, tmp_path, width):
    found = seen(
        text,
        tmp_path,
        width,
        """
      const charts = [...document.querySelectorAll('[data-chart]')];
      const folded = document.querySelectorAll('details:not([open])').length;
      document.querySelectorAll('details').forEach(part => { part.open = true; });
      document.querySelector('#reset').click();
      document.querySelector('button[data-series=raw]').click();
      document.querySelector('button[data-series=raw]').click();
      const drawn = charts.filter(c => c.querySelector('text'));
      return {charts: charts.length, folded,
        over: document.documentElement.scrollWidth - innerWidth,
        lines: drawn.map(c => [...c.querySelectorAll('path')].filter(
          p => p.getAttribute('d').length > 100).length),
        across: drawn.map(c => c.querySelectorAll('line.axis[y1]:not([visibility])').length),
        up: drawn.map(c => c.querySelectorAll('line.grid').length
          / c.querySelectorAll('clipPath').length),
        names: [...document.querySelectorAll('svg[role=img]')].every(
          s => s.getAttribute('aria-label'))};""",
    )
    joint = [5, 5, 1, 1]  # three lines, band, residual, twice; two clouds
    assert found['charts'] == 2 + 2 * len(joint) + 2 and found['over'] <= 0 and found['names']
    assert found['folded'] == 7  # all sections
    # Both joints small, without raw; dots, a band and a line of friction.
    assert found['lines'] == [4, 4, *joint, *joint, 3, 3]
    assert min(found['across']) >= 3, found  # ticks
    assert min(found['up'][:2]) >= 2 and min(found['up'][2:]) >= 3, found


def test_tables_sort_and_filter(text, tmp_path):
    found = seen(
        text,
        tmp_path,
        1000,
        """
      document.querySelectorAll('details').forEach(part => { part.open = true; });
      const table = document.querySelector('table.sortable'), section = table.closest('details');
      const heads = [...table.tHead.rows[0].cells], column = heads.findIndex(
        h => h.textContent.startsWith('value'));
      const values = () => [...table.tBodies[0].rows].map(r => r.cells[column].dataset.sort);
      heads[column].querySelector('button').click();
      const up = values();
      heads[column].querySelector('button').click();
      const down = values(), sort = heads[column].getAttribute('aria-sort');
      const filter = section.querySelector('.filter');
      filter.value = 'fv'; filter.dispatchEvent(new Event('input'));
      const left = [...table.tBodies[0].rows].filter(r => !r.hidden).map(
        r => r.cells[0].textContent);
      return {up, down, sort, left};""",
    )
    up = [float(x) for x in found['up'] if x != '']
    assert len(up) > 5 and up == sorted(up)
    assert [float(x) for x in found['down'] if x != ''] == up[::-1]
    assert found['sort'] == 'descending'
    assert {'fv1', 'fv2'} <= set(found['left']) and len(found['left']) < len(up)


def test_all_joints_zoom_together_and_say_their_values(text, tmp_path):
    found = seen(
        text,
        tmp_path,
        1000,
        """
      document.querySelectorAll('details').forEach(part => { part.open = true; });
      const of = p => Object.keys(D_charts()).filter(k => D_charts()[k].link === p);
      function D_charts() {
        return JSON.parse(document.getElementById('data').textContent).charts; }
      const boxes = of('validation').map(
        n => document.querySelector(`[data-chart="${n}"]`));
      document.querySelector('button[data-series=raw]').click();
      const svg = boxes[0].querySelector('svg'), place = svg.getBoundingClientRect();
      const ends = box => { const t = [...box.querySelectorAll('svg text[text-anchor=middle]')]
        .map(t => Number(t.textContent)); return [Math.min(...t), Math.max(...t)]; };
      const at = (type, share) => svg.dispatchEvent(new PointerEvent(type, {bubbles: true,
        button: 0, pointerType: 'touch', clientX: place.left + 52 + share * (place.width - 60),
        clientY: place.top + 40}));
      const before = boxes.map(ends);
      at('pointermove', 0.5);
      const words = boxes.map(b => b.querySelector('.readout').textContent);
      at('pointerdown', 0.2); at('pointermove', 0.4); at('pointerup', 0.4);
      return {before, after: boxes.map(ends), words};""",
    )
    # Ten seconds are recorded; from 0.2 to 0.4 of them are left, less what filtering takes.
    assert found['before'][0] == found['before'][1] and found['before'][0][1] >= 5.0
    assert found['after'][0] == found['after'][1]
    assert 1.5 < found['after'][0][0] and found['after'][0][1] < 4.5
    assert all('predicted' in words and 'residual' in words for words in found['words'])


@pytest.mark.parametrize('width', [390, 1400])
def test_the_moving_arm_and_its_curves_follow_the_time(motion_text, tmp_path, width):
    found = seen(
        motion_text,
        tmp_path,
        width,
        """
      const scrub = document.querySelector('.scrub'), arm = document.querySelector('.arm');
      const parts = () => [...arm.querySelectorAll('.body')].map(p => p.getAttribute('d'));
      const at = step => { scrub.value = step; scrub.dispatchEvent(new Event('input'));
        return {time: document.querySelector('.clock').textContent, arm: parts(),
          lines: [...document.querySelectorAll('[data-chart]')].map(
            c => c.querySelector('line.axis[y1="15"]').getAttribute('x1'))}; };
      const charts = [...document.querySelectorAll('[data-chart]')];
      return {first: at(0), half: at(200), again: at(0), play: document.querySelector(
          '.play').textContent, spheres: arm.querySelectorAll('circle.limit').length,
        over: document.documentElement.scrollWidth - innerWidth,
        curves: charts.map(c => c.querySelectorAll('path:not(.limit)').length),
        limits: charts.map(c => c.querySelectorAll('path.limit').length)};""",
    )
    first, half = found['first'], found['half']
    assert first == found['again'] and (first['time'], half['time']) == ('0.00 s', '5.00 s')
    assert len(first['arm']) == 4 and first['arm'][1:] != half['arm'][1:]  # three links, tool
    assert len(set(first['lines'])) == len(set(half['lines'])) == 1  # one time, one width
    assert float(first['lines'][0]) == 52.0 < float(half['lines'][0])
    assert found['play'] == 'Play' and found['spheres'] == 1 and found['over'] <= 0
    assert found['curves'] == [3, 3, 3, 3] and min(found['limits'][:3]) >= 4
    assert _as_pinocchio_places(motion_text, half['arm'], 200)


def arrays_of(text):
    """Return {name: values} of the arrays of a page."""
    data = json.loads(re.search(r'id="data">(.*?)</script>', text, re.S)[1])
    return {
        name: low + step * np.frombuffer(base64.b64decode(codes), '<u2').astype(float)
        for name, (low, step, codes) in data['arrays'].items()
    }


def view_of(text):
    """Return the first view of a page."""
    return json.loads(html.unescape(re.search(r"data-view='(.*?)'", text, re.S)[1]))


def _as_pinocchio_places(text, paths, sample):
    """Return whether links stand as pinocchio places them, in some scale, somewhere."""
    robot, arrays = pinocchio.buildModelFromXML(ARM3.read_text()), arrays_of(text)
    *joints, tool = view_of(text)['frames'][1:]
    q = np.array([arrays[joint['q']][sample] for joint in joints])
    data = robot.createData()
    pinocchio.forwardKinematics(robot, data, q)
    points = [np.zeros(3), *(placed.translation for placed in list(data.oMi)[1:])]
    points.append(data.oMi[3].act(np.array(tool['p'])))
    ends = [re.findall(r'-?[\d.]+', path) for path in paths]
    seen_at = np.array([ends[0][:2], *(end[2:] for end in ends)], float)
    c, s, low, high = np.cos(0.7), np.sin(0.7), np.sin(0.35), np.cos(0.35)
    as_seen = points @ np.array([[c, -low * s], [-s, -low * c], [0.0, -high]])
    columns = np.zeros((2 * len(points), 3))
    columns[:, 0] = as_seen.ravel()
    columns[::2, 1] = columns[1::2, 2] = 1.0
    fitted, *_ = np.linalg.lstsq(columns, seen_at.ravel(), rcond=None)
    error = columns @ fitted - seen_at.ravel()
    return fitted[0] > 20.0 and np.abs(error).max() < 0.2  # px; of the path 0.05, of q 0.02


def test_a_joint_has_the_colour_of_its_residual_at_the_time_of_the_plots(text, tmp_path):
    found = seen(
        text,
        tmp_path,
        1400,
        """
      const viewer = document.querySelector('.viewer'), part = name => viewer.querySelector(name);
      const now = () => ({words: part('.clock').textContent, levels: [...viewer.querySelectorAll(
          '.joint-face')].map(p => Number(p.getAttribute('class').slice(-1))),
        arm: [...viewer.querySelectorAll('.bar-link')].map(p => p.getAttribute('d'))});
      const start = now(), scrub = part('.scrub');
      const at = sample => { scrub.value = sample;
        scrub.dispatchEvent(new Event('input')); return now(); };
      const scrubbed = [0, 100, 200, 300].map(at);
      const svg = document.querySelector('.multiples svg'), place = svg.getBoundingClientRect();
      svg.dispatchEvent(new PointerEvent('pointermove', {bubbles: true,
        clientX: place.left + 52 + 0.5 * (place.width - 60), clientY: place.top + 40}));
      return {start, scrubbed, pointed: now(), play: part('.play').textContent};""",
    )
    view, arrays = view_of(text), arrays_of(text)
    t, joints = arrays[view['t']], [f for f in view['frames'] if 'half' in f]
    shares = np.array([np.abs(arrays[j['residual']]) / arrays[j['half']] for j in joints])
    for sample, shown in zip((0, 100, 200, 300), found['scrubbed']):
        share = shares[:, sample]
        worst = joints[share.argmax()]['name']
        assert shown['words'].startswith(f'{t[sample] - t[0]:.2f} s: {worst} ')
        assert shown['words'].endswith(f'at {share.max():.1f} of its band')
        levels = np.searchsorted([0.5, 1.0, 2.0], share)
        assert sorted(shown['levels']) == sorted(levels)
    assert len({tuple(shown['arm']) for shown in found['scrubbed']}) == 4
    assert f'at {shares.max():.1f} of its band' in found['start']['words']
    seconds = float(found['pointed']['words'].split()[0])
    assert seconds == pytest.approx(0.5 * (t[-1] - t[0]), abs=0.05)
    assert found['play'] == 'Play'


def test_an_audited_robot_is_as_large_as_its_picture_where_a_centre_is_in_millimetres(tmp_path):
    falsified = Falsified(walker(), 'right_thigh')
    falsified.move([1e3] * 3)
    page = rid.audit(falsified.text()).page(tmp_path / 'audit.html').read_text('utf-8')
    found = seen(
        page,
        tmp_path,
        390,
        """
      const arm = document.querySelector('.arm'), place = arm.getBoundingClientRect();
      arm.dispatchEvent(new PointerEvent('pointermove', {buttons: 1}));  // draws
      const boxes = kind => [...arm.querySelectorAll(kind)].map(e => e.getBoundingClientRect());
      const hulls = boxes('.hull.nominal, .hull.wrong'), red = boxes('.hull.wrong');
      const top = Math.min(...hulls.map(b => b.top)), low = Math.max(...hulls.map(b => b.bottom));
      return {over: document.documentElement.scrollWidth - innerWidth, red: red.length,
        share: (low - top) / place.height, inside: hulls.every(
          b => b.top >= place.top - 1 && b.bottom <= place.bottom + 1),
        ellipsoids: arm.querySelectorAll('.ellipsoid').length,
        note: document.body.innerText.includes('to be drawn: right_thigh.')};""",
    )
    assert found['over'] <= 0 and found['inside'] and found['note']
    assert found['red'] > 10 and found['ellipsoids'] == 6 and found['share'] > 0.3, found

"""Every page in a real browser, light and dark: axe-core finds nothing to complain of."""

import html
from importlib.util import find_spec
import json
from pathlib import Path
import re
import shutil
import subprocess

from falsified_descriptions import Falsified, walker
import pytest
from test_report import OPTIONS, record
from test_sheet import ARM, FOUND, LOAD

import ros_inertial_id as rid
from ros_inertial_id.identification.identify import identify
from ros_inertial_id.report import watch_page, write_report
from ros_inertial_id.report.comparison import compare_models
from ros_inertial_id.report.sheet import write_sheet
from ros_inertial_id.report.sheets import checkup_sheet, comparison_sheet, payload_sheet

BROWSER = (
    shutil.which('chromium') or shutil.which('chromium-browser') or shutil.which('google-chrome')
)
AXE = find_spec('axe_core_python')
pytestmark = [
    pytest.mark.skipif(BROWSER is None, reason='no browser is installed'),
    pytest.mark.skipif(AXE is None, reason='axe_core_python is not installed'),
]
FLAGS = (
    '--headless',
    '--no-sandbox',
    '--disable-gpu',
    '--disable-background-networking',
    '--no-first-run',
    '--disable-component-update',
    '--disable-sync',
    '--allow-file-access-from-files',
    '--virtual-time-budget=60000',
    '--dump-dom',
)
WORDS = ['inertial-id', 'verb', 'a bag']
# One browser for all pages: each in a frame with axe-core beside it, one after the other.
FRAMES = """<!DOCTYPE html><html lang="en"><title>all</title><body><script>
addEventListener('load', async () => {
  const found = {};
  for (const [name, text] of Object.entries(PAGES)) {
    const frame = document.createElement('iframe');
    frame.style = 'width:1200px;height:900px';
    frame.srcdoc = text;
    document.body.append(frame);
    await new Promise(done => { frame.onload = done; });
    const run = document.createElement('script');
    run.src = 'axe.min.js';
    frame.contentDocument.body.append(run);
    await new Promise(done => { run.onload = done; });
    const seen = await frame.contentWindow.axe.run(frame.contentDocument);
    found[name] = [seen.passes.length, seen.violations.map(v => [v.impact, v.help,
      v.nodes.map(n => n.html.slice(0, 200))])];
    frame.remove();
  }
  const out = document.createElement('output');
  out.textContent = JSON.stringify(found);
  document.body.append(out);
});
const PAGES = """


@pytest.fixture(scope='module')
def pages(tmp_path_factory, motion_text):
    """Return {name: HTML text} of one page of each kind, and of one with a mistake."""
    folder = tmp_path_factory.mktemp('pages')
    result = identify([record()], OPTIONS, validate=[record(seed=1)])
    write_report(result, folder / 'report.html')
    compared = compare_models(['a', 'b'], [result.model, result.model], {})
    for name, sheet in (
        ('compare', comparison_sheet(compared)),
        ('payload', payload_sheet(LOAD, ARM, 'bare.yaml')),
        ('check', checkup_sheet(FOUND, ['a bag'], [record()])),
    ):
        write_sheet(sheet, folder / f'{name}.html', WORDS)
    falsified = Falsified(walker(), 'right_thigh')
    falsified.move([1e3] * 3)
    rid.audit(falsified.text()).page(folder / 'audit.html')
    (folder / 'motion.html').write_text(motion_text, encoding='utf-8')
    (folder / 'watch.html').write_text(watch_page(['record']), encoding='utf-8')
    # Folded parts are looked at as well.
    texts = {
        path.stem: path.read_text('utf-8').replace('<details ', '<details open ')
        for path in folder.iterdir()
    }
    faulty = texts['payload'].replace(
        '<h1>', '<img src="data:,"><h1 style="color:#888;background:#999">'
    )
    return {**texts, 'faulty': faulty}


def test_axe_has_nothing_to_complain_of(pages, tmp_path):
    shutil.copy(Path(AXE.origin).with_name('axe.min.js'), tmp_path)
    head = '<html lang="en"'
    texts = json.dumps(
        {
            f'{name}, {scheme}': text.replace(head, f'{head} data-theme="{scheme}"')
            for name, text in pages.items()
            for scheme in ('light', 'dark')
        }
    ).replace('</', '<\\/')
    (tmp_path / 'all.html').write_text(f'{FRAMES}{texts}</script></body></html>', encoding='utf-8')
    done = subprocess.run(
        [BROWSER, *FLAGS, f'--user-data-dir={tmp_path / "profile"}', str(tmp_path / 'all.html')],
        capture_output=True,
        text=True,
        timeout=120,
    )
    found = re.search(r'<output>(.*?)</output>', done.stdout, re.S)
    assert found, done.stderr[-2000:]
    seen = json.loads(html.unescape(found[1]))
    assert len(seen) == 2 * len(pages) == 16
    for scheme in ('light', 'dark'):  # a picture without a text, grey on grey
        mistakes = {impact for impact, _, _ in seen.pop(f'faulty, {scheme}')[1]}
        assert {'critical', 'serious'} <= mistakes
    assert all(passes > 15 for passes, _ in seen.values())
    assert {name: wrong for name, (_, wrong) in seen.items() if wrong} == {}

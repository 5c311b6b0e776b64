// The live page: draws what the node watch sends as it is asked for.
const WINDOW = 20, TALL = 110, LOW = 46, BREAK = 0.5;  // s, px, px, s
const curves = {}, live = {}, history = {}, reached = {}, units = {};  // units: of a joint, once they are known
const make = (name, parent, text, attributes) => {
  const made = document.createElement(name);
  if (text !== undefined) made.textContent = text;
  for (const [key, value] of Object.entries(attributes || {})) made.setAttribute(key, value);
  parent.append(made);
  return made;
};

function take(name, more) {
  const old = curves[name], same = old && old.joints.join() === more.joints.join()
    && more.t[0] > old.t[old.t.length - 1];
  const kept = same ? {joints: old.joints, t: [...old.t, ...more.t], y: [...old.y, ...more.y]} : more;
  const from = kept.t[kept.t.length - 1] - WINDOW;
  let cut = 0;
  while (kept.t[cut] < from) cut++;
  curves[name] = {joints: kept.joints, t: kept.t.slice(cut), y: kept.y.slice(cut)};
}
// A line of a joint over the time before the last sample, broken where samples are missing.
function series(name, joint, last) {
  const c = curves[name], k = c ? c.joints.indexOf(joint) : -1, x = [], y = [];
  if (k < 0) return [];
  c.t.forEach((t, i) => {
    if (i && t - c.t[i - 1] > BREAK) { x.push(t - last); y.push(NaN); }
    x.push(t - last); y.push(c.y[i][k] ?? NaN);
  });
  return [{kind: 'line', name, cls: name, x, y}];
}
// The band of a joint where both of its ends were received.
function band(joint, last) {
  const {lower, upper} = curves, k = lower && upper ? lower.joints.indexOf(joint) : -1;
  if (k < 0) return [];
  const ends = new Map(upper.t.map((t, i) => [t, upper.y[i][upper.joints.indexOf(joint)]]));
  const there = lower.t.map((t, i) => [t - last, lower.y[i][k], ends.get(t)]).filter(row => row[1] != null && row[2] != null);
  const [x, low, high] = [0, 1, 2].map(column => there.map(row => row[column]));
  return x.length ? [{kind: 'band', half: true, x, low, high}] : [];
}
function frame(joint) {
  const box = make('div', $('charts'), '', {class: 'chart'});
  live[joint] = new Chart(box, {title: joint, unit: 's', xlabel: 'time [s]', link: 'live', whole: [-WINDOW, 0],
    label: `${joint}: measured, predicted and residual torque`, panes: [
      {height: TALL, series: []}, {height: LOW, from: 0, series: []}]});
}
function draw(joint) {
  const last = Math.max(...Object.values(curves).map(c => c.t[c.t.length - 1]));
  [['measured', 'predicted'], ['residual']].forEach((names, p) => {
    const words = p ? 'residual' : units[joint] === 'N' ? 'force' : 'torque';
    live[joint].panes[p].label = units[joint] ? `${words} [${units[joint]}]` : words;
    live[joint].panes[p].series = [...(p ? [] : band(joint, last)), ...names.flatMap(name => series(name, joint, last))];
  });
  live[joint].draw();
}

function bars(values) {
  const body = $('bars'), joints = Object.keys(values).filter(k => k.endsWith(' rms expected'))
    .map(k => k.slice(0, -' rms expected'.length));
  body.replaceChildren();
  for (const joint of joints) {
    const unit = units[joint] = values[`${joint} unit`] || '';
    const now = Number(values[`${joint} rms`]), expected = Number(values[`${joint} rms expected`]);
    const times = expected ? now / expected : 0, row = make('tr', body);
    make('th', row, joint, {scope: 'row'});
    for (const rms of [now, expected]) make('td', row, `${short(rms)} ${unit}`, {class: 'unit'});
    make('td', row, `${times.toFixed(1)}${times > 2 ? ' !' : ''}`, times > 2 ? {class: 'flag'} : {});
    const svg = node('svg', {class: 'bar-line', viewBox: '0 0 300 12', role: 'img',
      'aria-label': `${times.toFixed(1)} times the RMS in validation`}, make('td', row));
    node('rect', {class: times > 2 ? 'worse' : 'fine', x: 0, y: 2, height: 8, width: Math.min(300, 100 * times)}, svg);
    node('line', {class: 'one', x1: 100, x2: 100, y1: 0, y2: 12}, svg);
  }
}
function parameters(rows, source) {
  const table = $('estimates'), body = table.tBodies[0], well = Number(table.dataset.well);
  const rough = Number(table.dataset.rough), count = {yes: 0, roughly: 0};
  body.replaceChildren();
  for (const [name, value, error] of rows) {
    const share = value && error !== null ? 100 * error / Math.abs(value) : null;
    const word = share === null || share > rough ? 'not yet' : share > well ? 'roughly' : 'yes';
    if (word in count) count[word]++;
    const past = history[name] ||= [], row = make('tr', body);
    if (error) past.push(error);
    make('th', row, name, {scope: 'row'});
    make('td', row, value === null ? 'not determined' : short(value)); make('td', row, short(error));
    make('td', row, share === null ? '-' : share >= 1e4 ? '> 9999' : String(Number(share.toPrecision(2))));
    make('td', row, {yes: '✓ yes', roughly: '~ roughly', 'not yet': '· not yet'}[word], {class: `l ${word === 'yes' ? 'is-well' : 'dim'}`});
    const svg = node('svg', {class: 'spark', viewBox: '0 0 100 14', 'aria-hidden': 'true'}, make('td', row));
    const log = past.slice(-300).map(Math.log10), low = Math.min(...log), span = Math.max(...log) - low || 1;
    if (log.length > 1) node('path', {class: 's-residual', d: `M${log.map((y, i) =>
      `${(100 * i / (log.length - 1)).toFixed(1)} ${(13 - 12 * (y - low) / span).toFixed(1)}`).join('L')}`}, svg);
  }
  $('enough').textContent = `${source}: ${count.yes} of ${rows.length} with a standard error up to ${well} %, ${count.roughly} up to ${rough} %`
    + (count.yes === rows.length ? '; enough.' : '.');
}
function state(role, fact) {
  const card = document.querySelector(`[data-role="${role}"]`), names = {ok: '✓', warn: '! warning', error: '✗ error', stale: '? stale'};
  card.classList.toggle('alarm', fact.level === 'error' || fact.level === 'stale');
  card.classList.toggle('warning', fact.level === 'warn');
  card.lastElementChild.textContent = `${names[fact.level]} ${fact.message}`;
  let box = reached[role];
  if (!box) { box = reached[role] = make('details', $('facts')); make('summary', box, card.firstElementChild.textContent); make('table', box); }
  box.lastElementChild.replaceChildren();
  for (const [key, value] of Object.entries(fact.values)) {
    const row = make('tr', box.lastElementChild);
    make('th', row, key, {scope: 'row'}); make('td', row, value, {class: 'l break'});
  }
}
function show({curves: more, facts}) {
  if (facts.prediction) bars(facts.prediction.values);  // and units, before a chart names them
  for (const [name, curve] of Object.entries(more)) take(name, curve);
  if (Object.keys(more).length) {
    $('none')?.remove();
    const joints = (curves.predicted || curves.residual || curves.measured).joints;
    joints.filter(joint => !live[joint]).forEach(frame);  // all, before one is drawn: they share the width
    joints.forEach(draw);
  }
  for (const role of ['identification', 'prediction', 'recorder', 'excitation'])
    if (facts[role]) state(role, facts[role]);
  if (facts.identified) parameters(facts.identified, 'Identified from the last bag');
  if (facts.online) parameters(facts.online, 'Online, while the robot moves');
  for (const fact of ['answer', 'bag']) if (facts[fact] !== undefined) $(fact).textContent = facts[fact];
  if (facts.services) for (const button of document.querySelectorAll('[data-call]'))
    button.disabled = !facts.services.includes(button.dataset.call);
}
for (const button of document.querySelectorAll('[data-call]'))
  button.addEventListener('click', () => fetch(`/call/${encodeURIComponent(button.dataset.call)}`,
    {method: 'POST', headers: {'X-Inertial-Id': '1'}})
    .then(async r => { if (!r.ok) throw new Error(await r.text()); })
    .catch(error => { $('answer').textContent = `${button.dataset.call}: ${error.message}`; }));
let known = 0;
async function look() {
  const answer = await fetch(`/since/${known}`).then(r => r.json()).catch(() => null);
  $('link').textContent = answer ? 'connected' : 'the node watch does not answer; trying again';
  known = answer ? answer[0] : 0;  // a node that was started again counts anew
  setTimeout(look, 200);
  if (answer) show(answer[1]);
}
look();

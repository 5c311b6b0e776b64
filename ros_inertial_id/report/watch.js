// The live page: draws what the node watch sends as server-sent events.
'use strict';
(() => {
const NS = 'http://www.w3.org/2000/svg', WINDOW = 20, TALL = 110, LOW = 46, LEFT = 46, GAP = 6;
const $ = id => document.getElementById(id);
const curves = {}, charts = {}, history = {}, reached = {};
const short = x => x === null || x === undefined ? '-' : String(Number(x.toPrecision(4)));
const make = (name, parent, text, attributes) => {
  const made = document.createElement(name);
  if (text !== undefined) made.textContent = text;
  for (const [key, value] of Object.entries(attributes || {})) made.setAttribute(key, value);
  parent.append(made);
  return made;
};
const draw = (name, attributes, parent, text) => {
  const made = document.createElementNS(NS, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  if (text !== undefined) made.textContent = text;
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
function panes(joint) {
  return [['measured', 'predicted'], ['residual']].map(names => names.flatMap(name => {
    const c = curves[name], k = c ? c.joints.indexOf(joint) : -1;
    return k < 0 ? [] : [{name, t: c.t, y: c.y.map(row => row[k])}];
  }));
}
function frame(joint) {
  const figure = make('figure', $('charts'));
  make('figcaption', figure, joint);
  charts[joint] = draw('svg', {role: 'img', 'aria-label': `${joint}: measured, predicted and residual torque`,
    height: TALL + LOW + 3 * GAP + 14, class: 'live'}, figure);
}
function chart(joint) {
  const svg = charts[joint], width = svg.clientWidth || svg.parentNode.clientWidth;
  const last = Math.max(...Object.values(curves).map(c => c.t[c.t.length - 1]));
  const X = t => LEFT + (width - LEFT - 4) * (1 + (t - last) / WINDOW);
  svg.replaceChildren();
  let top = GAP;
  panes(joint).forEach((series, p) => {
    const tall = p ? LOW : TALL, all = series.flatMap(s => s.y).filter(y => y !== null);
    let low = Math.min(...all, p ? 0 : Infinity), high = Math.max(...all, p ? 0 : -Infinity);
    if (!(high > low)) { low = (isFinite(low) ? low : 0) - 1; high = low + 2; }
    const margin = 0.06 * (high - low), Y = y => top + tall * (1 - (y - low + margin) / (high - low + 2 * margin));
    for (const y of p ? [low, 0, high] : [low, (low + high) / 2, high]) {
      draw('line', {class: 'grid', x1: LEFT, x2: width - 4, y1: Y(y), y2: Y(y)}, svg);
      draw('text', {x: LEFT - 4, y: Y(y) + 4, 'text-anchor': 'end'}, svg, short(Number(y.toFixed(Math.max(0, 2 - Math.floor(Math.log10(high - low)))))));
    }
    for (const s of series) {
      let d = '', pen = false, before = -Infinity;
      s.t.forEach((t, i) => {
        pen = pen && s.y[i] !== null && t - before < 0.5;
        if (s.y[i] !== null) { d += `${pen ? 'L' : 'M'}${X(t).toFixed(1)} ${Y(s.y[i]).toFixed(1)}`; pen = true; }
        before = t;
      });
      if (d) draw('path', {class: `s-${s.name}`, d}, svg);
    }
    top += tall + GAP;
  });
  for (const t of [-20, -10, 0])
    draw('text', {x: X(last + t), y: top + 12, 'text-anchor': t ? 'start' : 'end'}, svg, `${t} s`);
}

function bars(values) {
  const body = $('bars'), joints = Object.keys(values).filter(k => k.endsWith(' rms promised'))
    .map(k => k.slice(0, -' rms promised'.length));
  body.replaceChildren();
  for (const joint of joints) {
    const now = Number(values[`${joint} rms`]), promised = Number(values[`${joint} rms promised`]);
    const times = promised ? now / promised : 0, row = make('tr', body);
    make('th', row, joint, {scope: 'row'});
    make('td', row, short(now)); make('td', row, short(promised));
    make('td', row, `${times.toFixed(1)}${times > 2 ? ' !' : ''}`, times > 2 ? {class: 'flag'} : {});
    const svg = draw('svg', {class: 'bar-line', viewBox: '0 0 300 12', role: 'img',
      'aria-label': `${times.toFixed(1)} times the promise`}, make('td', row));
    draw('rect', {class: times > 2 ? 'worse' : 'fine', x: 0, y: 2, height: 8, width: Math.min(300, 100 * times)}, svg);
    draw('line', {class: 'promise', x1: 100, x2: 100, y1: 0, y2: 12}, svg);
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
    const svg = draw('svg', {class: 'spark', viewBox: '0 0 100 14', 'aria-hidden': 'true'}, make('td', row));
    const log = past.slice(-300).map(Math.log10), low = Math.min(...log), span = Math.max(...log) - low || 1;
    if (log.length > 1) draw('path', {class: 's-residual', d: `M${log.map((y, i) =>
      `${(100 * i / (log.length - 1)).toFixed(1)} ${(13 - 12 * (y - low) / span).toFixed(1)}`).join('L')}`}, svg);
  }
  $('enough').textContent = `${source}: ${count.yes} of ${rows.length} known well, ${count.roughly} roughly`
    + (count.yes === rows.length ? '; enough.' : '.');
}
function state(role, fact) {
  const card = document.querySelector(`[data-role="${role}"]`), names = {ok: '✓', warn: '! warning', error: '✗ error', stale: '? stale'};
  card.classList.toggle('alarm', fact.level !== 'ok');
  card.lastElementChild.textContent = `${names[fact.level]} ${fact.message}`;
  let box = reached[role];
  if (!box) { box = reached[role] = make('details', $('facts')); make('summary', box, card.firstElementChild.textContent); make('table', box); }
  box.lastElementChild.replaceChildren();
  for (const [key, value] of Object.entries(fact.values)) {
    const row = make('tr', box.lastElementChild);
    make('th', row, key, {scope: 'row'}); make('td', row, value, {class: 'l break'});
  }
}
function show(event) {
  const {curves: more, facts} = JSON.parse(event.data);
  for (const [name, curve] of Object.entries(more)) take(name, curve);
  if (Object.keys(more).length) {
    $('none')?.remove();
    const joints = (curves.predicted || curves.residual || curves.measured).joints;
    joints.filter(joint => !charts[joint]).forEach(frame);  // all, before one is drawn: they share the width
    joints.forEach(chart);
  }
  for (const role of ['identification', 'prediction', 'recorder', 'excitation'])
    if (facts[role]) state(role, facts[role]);
  if (facts.prediction) bars(facts.prediction.values);
  if (facts.identified) parameters(facts.identified, 'Identified from the last bag');
  if (facts.online) parameters(facts.online, 'Online, while the robot moves');
  for (const fact of ['answer', 'bag']) if (facts[fact] !== undefined) $(fact).textContent = facts[fact];
  if (facts.services) for (const button of document.querySelectorAll('[data-call]'))
    button.disabled = !facts.services.includes(button.dataset.call);
}
for (const button of document.querySelectorAll('[data-call]'))
  button.addEventListener('click', () => fetch(`/call/${encodeURIComponent(button.dataset.call)}`,
    {method: 'POST', headers: {'X-Inertial-Id': '1'}}).then(r => { if (!r.ok) throw new Error(r.status); })
    .catch(error => { $('answer').textContent = `${button.dataset.call}: ${error.message}`; }));
const events = new EventSource('/events');
events.onopen = () => { $('link').textContent = 'connected'; };
events.onerror = () => { $('link').textContent = 'the node watch does not answer; trying again'; };
events.onmessage = show;
})();

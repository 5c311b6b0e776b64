"""The HTML document of page.py: markup, style and a small viewer, without any other file."""

TEMPLATE = """<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1"><title>@TITLE@</title>
<style>
:root{color-scheme:light;--ink:#1c1c1c;--paper:#fff;--soft:#59606b;--line:#d5d9df;--pale:#f4f5f7;
 --bar:#0072b2;--note:#8a5a00}
@media (prefers-color-scheme:dark){:root:not([data-theme=light]){color-scheme:dark;--ink:#e7e8ea;
 --paper:#16181c;--soft:#a5abb5;--line:#3a3f47;--pale:#22252b;--bar:#5db7ef;--note:#ffc561}}
:root[data-theme=dark]{color-scheme:dark;--ink:#e7e8ea;--paper:#16181c;--soft:#a5abb5;
 --line:#3a3f47;--pale:#22252b;--bar:#5db7ef;--note:#ffc561}
*{box-sizing:border-box}
body{font:.94rem/1.5 system-ui,-apple-system,"Segoe UI","Liberation Sans",sans-serif;
 margin:0 auto;max-width:1120px;padding:1rem 1.2rem 4rem;color:var(--ink);background:var(--paper)}
h1{font-size:1.7rem;margin:.3rem 0 .6rem;overflow-wrap:anywhere}
h2{font-size:1rem;margin:1.2rem 0 .3rem}
.scroll{overflow-x:auto;max-width:100%}
table{border-collapse:collapse;font-size:.86rem}
td,th{padding:.22rem .6rem;text-align:right;border-bottom:1px solid var(--line);
 font-variant-numeric:tabular-nums}
td{white-space:nowrap}td:first-child,th:first-child{text-align:left}
caption{text-align:left;color:var(--soft)}th{font-weight:600}thead th{background:var(--pale)}
.notice{background:var(--pale);padding:.4em .8em;border-left:4px solid var(--note)}
button,select{font:inherit;color:var(--ink);background:var(--pale);border:1px solid var(--soft);
 border-radius:5px;padding:.15rem .6rem;min-height:1.9rem}
#theme{float:right}
#arm{width:100%;height:440px;border:1px solid var(--line);touch-action:none;cursor:grab}
#controls{display:flex;flex-wrap:wrap;gap:.5rem .8rem;align-items:center;margin:.4em 0 1em}
#scrub{flex:1;min-width:8rem}.plot{width:100%;height:210px;display:block}
#keys{display:flex;flex-wrap:wrap;gap:.2rem 1rem}
#keys svg{width:2em;height:.8em;margin-right:.35em;vertical-align:middle}
:focus-visible{outline:2px solid var(--bar);outline-offset:2px}
@media (max-width:560px){body{padding:.6rem .7rem 3rem}#arm{height:330px}
 td,th{padding:.2rem .35rem}}
@media print{:root,:root[data-theme=dark],:root:not([data-theme=light]){color-scheme:light;
 --ink:#000;--paper:#fff;--soft:#444;--line:#ccc;--pale:#f1f1f1;--bar:#0072b2;--note:#8a5a00}
 #controls,#theme{display:none}canvas,table{break-inside:avoid}h2{break-after:avoid}}
</style></head><body><main>
<button id="theme" type="button">dark / light</button>
<h1>@TITLE@</h1>@NOTICES@<div class="scroll" tabindex="0" role="region" aria-label="use of limits">
@TABLE@</div>
<h2>The arm (drag to turn)</h2>
<canvas id="arm" role="img"
 aria-label="the moving arm; joints in the colours of the curves"></canvas>
<div id="controls"><button id="play" type="button">Pause</button>
<label>speed <select id="speed"><option>0.1</option><option>0.5</option>
<option selected>1</option><option>2</option></select></label>
<input id="scrub" type="range" min="0" value="0" aria-label="time"><span id="clock"></span></div>
<div id="keys"></div><div id="plots"></div>
<h2>Singular values of the weighted base regressor</h2>
<canvas class="plot" id="singular" role="img"
 aria-label="singular values, largest first; their ratio is the condition number"></canvas></main>
<script>
'use strict';
const D = @DATA@;
const N = D.t.length, T = D.t[N - 1], $ = id => document.getElementById(id);
// Okabe and Ito 2008, distinct for all eyes; beyond eight joints the dashes change.
const light = ['#0072b2', '#d55e00', '#00805d', '#b0578d', '#8a6d00', '#1c1c1c', '#3f8fc4',
  '#7a4b00'];
const dark = ['#5db7ef', '#ff9442', '#35c79a', '#e79ac8', '#f0e442', '#f0f0f0', '#9fd4f7',
  '#d8a86a'];
const root = document.documentElement;
const isDark = () => root.dataset.theme ? root.dataset.theme === 'dark'
  : matchMedia('(prefers-color-scheme: dark)').matches;
const hue = j => (printing || !isDark() ? light : dark)[j % 8];
const dash = j => j < 8 ? [] : [7, 3];
const tone = name => getComputedStyle(root).getPropertyValue(`--${name}`).trim();
let printing = false, time = 0, playing = true, before = null, yaw = 0.7, pitch = 0.35;

function surface(canvas) {
  const ratio = window.devicePixelRatio || 1, w = canvas.clientWidth, h = canvas.clientHeight;
  canvas.width = w * ratio; canvas.height = h * ratio;
  const c = canvas.getContext('2d'); c.scale(ratio, ratio); c.font = '11px sans-serif';
  return [c, w, h];
}
function line(c, points, color, width, dash) {
  c.strokeStyle = color; c.lineWidth = width; c.setLineDash(dash || []); c.beginPath();
  points.forEach((p, i) => i ? c.lineTo(p[0], p[1]) : c.moveTo(p[0], p[1])); c.stroke();
}
const heights = D.points.flat().map(p => p[2]);  // the first point of each frame is the base
const middle = (Math.max(...heights) + Math.min(...heights)) / 2;
let far = 0.1;
for (const frame of D.points) for (const [x, y, z] of frame)
  far = Math.max(far, Math.hypot(x, y, z - middle));
function project(p, w, h) {
  const s = 0.46 * Math.min(w, h) / far, cy = Math.cos(yaw), sy = Math.sin(yaw);
  const x = cy * p[0] - sy * p[1], y = sy * p[0] + cy * p[1];
  return [w / 2 + s * x, h / 2 - s * (Math.cos(pitch) * (p[2] - middle) - Math.sin(pitch) * y)];
}
function drawArm() {
  const [c, w, h] = surface($('arm')), at = p => project(p, w, h);
  const frame = D.points[Math.round(time / T * (N - 1))], size = 0.6 * far, O = [0, 0, 0];
  for (let k = -2; k <= 2; k++) {
    line(c, [at([k * size / 2, -size, 0]), at([k * size / 2, size, 0])], tone('line'), 1);
    line(c, [at([-size, k * size / 2, 0]), at([size, k * size / 2, 0])], tone('line'), 1);
  }
  [['x', [1, 0, 0]], ['y', [0, 1, 0]], ['z', [0, 0, 1]]].forEach(([name, e], k) => {
    const tip = at(e.map(x => 0.25 * far * x));
    line(c, [at(O), tip], tone('soft'), 1);
    c.fillStyle = tone('soft'); c.fillText(name, tip[0], tip[1]);
  });
  const g = Math.hypot(...D.gravity) || 1, foot = D.gravity.map(x => 0.35 * far * x / g);
  line(c, [at(O), at(foot)], tone('soft'), 2, [5, 4]);
  c.fillStyle = tone('soft'); c.fillText('gravity', ...at(foot));
  if (D.box) drawBox(c, at);
  if (D.sphere) {
    c.strokeStyle = tone('soft'); c.setLineDash([4, 4]); c.beginPath();
    c.arc(...at(O), 0.46 * Math.min(w, h) / far * D.sphere, 0, 7); c.stroke();
  }
  line(c, D.points.map(f => at(f[f.length - 1])), tone('soft'), 0.5);
  D.links.forEach(([a, b], j) => line(c, [at(frame[a]), at(frame[b])],
    j < D.joints.length ? hue(j) : tone('ink'), 5));
  for (const p of frame) {
    c.fillStyle = tone('ink'); c.beginPath(); c.arc(...at(p), 3, 0, 7); c.fill();
  }
}
function drawBox(c, at) {
  const [a, b] = D.box, corner = i => [0, 1, 2].map(k => (i >> k & 1 ? b : a)[k]);
  for (let i = 0; i < 8; i++) for (let k = 0; k < 3; k++)
    if (!(i >> k & 1)) line(c, [at(corner(i)), at(corner(i | 1 << k))], tone('soft'), 1, [4, 4]);
}
const canvases = [];
function ticks(low, high) {
  const raw = (high - low || 1) / 6, ten = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 5, 10].find(k => k * ten >= raw) * ten, found = [];
  for (let k = Math.ceil(low / step); k * step <= high + 1e-9 * step; k++) found.push(k * step);
  return found;
}
function drawPlot(canvas, plot) {
  const [c, w, h] = surface(canvas), left = 48, right = w - 6, top = 8, bottom = h - 18;
  let low = Infinity, high = -Infinity;
  for (const y of plot.y) for (const v of y) { low = Math.min(low, v); high = Math.max(high, v); }
  const reach = 1.6 * Math.max(high - low, 1e-6), shown = v => v !== null &&
    v > low - reach && v < high + reach;
  for (const v of plot.lower.concat(plot.upper)) if (shown(v)) {
    low = Math.min(low, v); high = Math.max(high, v);
  }
  const X = t => left + (right - left) * t / T;
  const Y = v => bottom - (bottom - top) * (v - low) / (high - low || 1);
  c.fillStyle = tone('soft');
  for (const v of ticks(low, high)) {
    line(c, [[left, Y(v)], [right, Y(v)]], tone('line'), 1);
    c.fillText(String(Number(v.toPrecision(6))), 2, Y(v) + 4);
  }
  for (const t of ticks(0, T))
    c.fillText(Number(t.toPrecision(6)) + ' s', Math.min(X(t), right - 26), h - 4);
  plot.y.forEach((y, j) => {
    for (const v of [plot.lower[j], plot.upper[j]])
      if (shown(v)) line(c, [[left, Y(v)], [right, Y(v)]], hue(j), 1, [3, 5]);
    line(c, y.map((v, i) => [X(D.t[i]), Y(v)]), hue(j), 1.5, dash(j));
  });
  line(c, [[X(time), top], [X(time), bottom]], tone('ink'), 1);
}
function drawSingular() {
  const [c, w, h] = surface($('singular')), s = D.singular, n = s.length;
  const low = Math.log10(s[n - 1]) - 0.1, high = Math.log10(s[0]) + 0.1;
  const Y = v => h - 18 - (h - 30) * (Math.log10(v) - low) / (high - low);
  c.fillStyle = tone('bar');
  s.forEach((v, i) => c.fillRect(48 + (w - 56) * i / n, Y(v), (w - 56) / n * 0.7, h - 18 - Y(v)));
  c.fillStyle = tone('soft');
  c.fillText(s[0].toPrecision(3), 2, Y(s[0]) + 4);
  c.fillText(s[n - 1].toPrecision(3), 2, Y(s[n - 1]) + 4);
}
function drawCurves() { canvases.forEach((c, i) => drawPlot(c, D.plots[i])); }
function drawAll() {
  [...$('keys').querySelectorAll('path')].forEach((path, j) => {
    path.setAttribute('stroke', hue(j)); path.setAttribute('stroke-dasharray', dash(j).join(' '));
  });
  drawArm(); drawCurves(); drawSingular();
  $('scrub').value = Math.round(time / T * (N - 1));
  $('scrub').setAttribute('aria-valuetext', time.toFixed(2) + ' s');
  $('clock').textContent = time.toFixed(2) + ' s';
}
function tick(now) {
  if (playing && before !== null) {
    time = (time + (now - before) / 1000 * Number($('speed').value)) % T; drawAll();
  }
  before = now; requestAnimationFrame(tick);
}
D.joints.forEach((name, j) => {
  const key = document.createElement('span');
  key.innerHTML = '<svg viewBox="0 0 20 8" aria-hidden="true">'
    + '<path d="M0 4h20" stroke-width="3"/></svg>';
  key.append(name); $('keys').append(key);
});
D.plots.forEach(plot => {
  const title = document.createElement('h2'), canvas = document.createElement('canvas');
  title.textContent = plot.title; canvas.className = 'plot';
  canvas.setAttribute('role', 'img');
  canvas.setAttribute('aria-label', `${plot.title} over time, limits dashed`);
  $('plots').append(title, canvas); canvases.push(canvas);
});
$('scrub').max = N - 1;
$('scrub').oninput = e => { playing = false; $('play').textContent = 'Play';
  time = D.t[e.target.value]; drawAll(); };
$('play').onclick = () => { playing = !playing;
  $('play').textContent = playing ? 'Pause' : 'Play'; };
$('arm').onpointermove = e => { if (e.buttons) { yaw += 0.01 * e.movementX;
  pitch = Math.max(-1.5, Math.min(1.5, pitch + 0.01 * e.movementY)); drawArm(); } };
$('theme').onclick = () => { root.dataset.theme = isDark() ? 'light' : 'dark'; drawAll(); };
matchMedia('(prefers-color-scheme: dark)').addEventListener('change', drawAll);
window.addEventListener('beforeprint', () => { printing = true; drawAll(); });
window.addEventListener('afterprint', () => { printing = false; drawAll(); });
if (matchMedia('(prefers-reduced-motion: reduce)').matches) $('play').onclick();
window.onresize = drawAll; drawAll(); requestAnimationFrame(tick);
</script></body></html>
"""

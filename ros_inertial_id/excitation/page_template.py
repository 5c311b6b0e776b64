"""The HTML document of page.py: markup, style and a small viewer, without any other file."""

TEMPLATE = '''<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>@TITLE@</title>
<style>
body{font:14px system-ui,sans-serif;margin:1.5em auto;max-width:1100px;padding:0 1em;
 color:#222;background:#fff}
h1{font-size:1.4em}h2{font-size:1em;margin:.8em 0 .2em}
table{border-collapse:collapse}td,th{padding:.15em .7em;text-align:right}
caption{text-align:left;color:#666}th{font-weight:600}
.notice{background:#fff3cd;padding:.4em .8em;border-left:4px solid #d39e00}
#arm{width:100%;height:440px;border:1px solid #ccc;touch-action:none;cursor:grab}
#controls{display:flex;gap:.8em;align-items:center;margin:.4em 0 1em}
#scrub{flex:1}.plot{width:100%;height:210px}
#keys span{margin-right:1em;white-space:nowrap}
#keys i{display:inline-block;width:1.2em;height:.3em;margin-right:.3em;vertical-align:middle}
</style></head><body>
<h1>@TITLE@</h1>@NOTICESTABLE@
<h2>The arm (drag to turn)</h2><canvas id="arm"></canvas>
<div id="controls"><button id="play">Pause</button>
<label>speed <select id="speed"><option>0.1</option><option>0.5</option>
<option selected>1</option><option>2</option></select></label>
<input id="scrub" type="range" min="0" value="0" aria-label="time"><span id="clock"></span></div>
<div id="keys"></div><div id="plots"></div>
<h2>Singular values of the weighted base regressor</h2>
<canvas class="plot" id="singular"></canvas>
<script>
'use strict';
const D = @DATA@;
const N = D.t.length, T = D.t[N - 1], $ = id => document.getElementById(id);
const hue = j => `hsl(${Math.round(360 * j / D.joints.length)} 75% 42%)`;
let time = 0, playing = true, before = null, yaw = 0.7, pitch = 0.35;

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
let far = 0.1;
for (const frame of D.points) for (const p of frame) far = Math.max(far, Math.hypot(...p));
function project(p, w, h) {
  const s = 0.46 * Math.min(w, h) / far, cy = Math.cos(yaw), sy = Math.sin(yaw);
  const x = cy * p[0] - sy * p[1], y = sy * p[0] + cy * p[1];
  return [w / 2 + s * x, h / 2 - s * (Math.cos(pitch) * p[2] - Math.sin(pitch) * y)];
}
function drawArm() {
  const [c, w, h] = surface($('arm')), at = p => project(p, w, h);
  const frame = D.points[Math.round(time / T * (N - 1))], size = 0.6 * far, O = [0, 0, 0];
  for (let k = -2; k <= 2; k++) {
    line(c, [at([k * size / 2, -size, 0]), at([k * size / 2, size, 0])], '#eee', 1);
    line(c, [at([-size, k * size / 2, 0]), at([size, k * size / 2, 0])], '#eee', 1);
  }
  [['x', [1, 0, 0]], ['y', [0, 1, 0]], ['z', [0, 0, 1]]].forEach(([name, e], k) => {
    const tip = at(e.map(x => 0.25 * far * x));
    line(c, [at(O), tip], ['#c33', '#393', '#33c'][k], 1);
    c.fillStyle = '#666'; c.fillText(name, tip[0], tip[1]);
  });
  const g = Math.hypot(...D.gravity) || 1, foot = D.gravity.map(x => 0.35 * far * x / g);
  line(c, [at(O), at(foot)], '#888', 2, [5, 4]);
  c.fillStyle = '#666'; c.fillText('gravity', ...at(foot));
  if (D.box) drawBox(c, at);
  if (D.sphere) {
    c.strokeStyle = '#bbb'; c.setLineDash([4, 4]); c.beginPath();
    c.arc(...at(O), 0.46 * Math.min(w, h) / far * D.sphere, 0, 7); c.stroke();
  }
  line(c, D.points.map(f => at(f[f.length - 1])), '#cde', 1);
  D.links.forEach(([a, b], j) => line(c, [at(frame[a]), at(frame[b])],
    j < D.joints.length ? hue(j) : '#222', 5));
  for (const p of frame) {
    c.fillStyle = '#222'; c.beginPath(); c.arc(...at(p), 3, 0, 7); c.fill();
  }
}
function drawBox(c, at) {
  const [a, b] = D.box, corner = i => [0, 1, 2].map(k => (i >> k & 1 ? b : a)[k]);
  for (let i = 0; i < 8; i++) for (let k = 0; k < 3; k++)
    if (!(i >> k & 1)) line(c, [at(corner(i)), at(corner(i | 1 << k))], '#bbb', 1, [4, 4]);
}
const canvases = [];
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
  c.fillStyle = '#666';
  for (let k = 0; k <= 4; k++) {
    const v = low + (high - low) * k / 4;
    line(c, [[left, Y(v)], [right, Y(v)]], '#eee', 1);
    c.fillText(v.toPrecision(3), 2, Y(v) + 4);
    c.fillText((T * k / 4).toPrecision(3) + ' s', Math.min(X(T * k / 4), right - 32), h - 4);
  }
  plot.y.forEach((y, j) => {
    for (const v of [plot.lower[j], plot.upper[j]])
      if (shown(v)) line(c, [[left, Y(v)], [right, Y(v)]], hue(j), 1, [3, 5]);
    line(c, y.map((v, i) => [X(D.t[i]), Y(v)]), hue(j), 1.5);
  });
  line(c, [[X(time), top], [X(time), bottom]], '#000', 1);
}
function drawSingular() {
  const [c, w, h] = surface($('singular')), s = D.singular, n = s.length;
  const low = Math.log10(s[n - 1]) - 0.1, high = Math.log10(s[0]) + 0.1;
  const Y = v => h - 18 - (h - 30) * (Math.log10(v) - low) / (high - low);
  c.fillStyle = '#36c';
  s.forEach((v, i) => c.fillRect(48 + (w - 56) * i / n, Y(v), (w - 56) / n * 0.7, h - 18 - Y(v)));
  c.fillStyle = '#666';
  c.fillText(s[0].toPrecision(4), 2, Y(s[0]) + 4);
  c.fillText(s[n - 1].toPrecision(4), 2, Y(s[n - 1]) + 4);
}
function drawCurves() { canvases.forEach((c, i) => drawPlot(c, D.plots[i])); }
function drawAll() {
  drawArm(); drawCurves(); drawSingular();
  $('scrub').value = Math.round(time / T * (N - 1));
  $('clock').textContent = time.toFixed(2) + ' s';
}
function tick(now) {
  if (playing && before !== null) {
    time = (time + (now - before) / 1000 * Number($('speed').value)) % T; drawAll();
  }
  before = now; requestAnimationFrame(tick);
}
D.joints.forEach((name, j) => {
  const key = document.createElement('span'), bar = document.createElement('i');
  bar.style.background = hue(j); key.append(bar, name); $('keys').append(key);
});
D.plots.forEach(plot => {
  const title = document.createElement('h2'), canvas = document.createElement('canvas');
  title.textContent = plot.title; canvas.className = 'plot';
  $('plots').append(title, canvas); canvases.push(canvas);
});
$('scrub').max = N - 1;
$('scrub').oninput = e => { playing = false; $('play').textContent = 'Play';
  time = D.t[e.target.value]; drawAll(); };
$('play').onclick = () => { playing = !playing;
  $('play').textContent = playing ? 'Pause' : 'Play'; };
$('arm').onpointermove = e => { if (e.buttons) { yaw += 0.01 * e.movementX;
  pitch = Math.max(-1.5, Math.min(1.5, pitch + 0.01 * e.movementY)); drawArm(); } };
window.onresize = drawAll; drawAll(); requestAnimationFrame(tick);
</script></body></html>
'''

// An arm in 3D.  Of a motion a line in every curve goes with its time.
const arm = $('arm'), view = JSON.parse(arm.dataset.view), points = numbers(view.points);
const last = points.length / (3 * view.count) - 1;
const point = (frame, k) => {
  const from = 3 * (frame * view.count + k);
  return points.subarray(from, from + 3);
};
const heights = points.filter((_, k) => k % 3 === 2);
const middle = (Math.max(...heights) + Math.min(...heights)) / 2;
let far = 0.1, time = 0, playing = false, before = null, yaw = 0.7, pitch = 0.35;
const include = ([x, y, z], more = 0) => { far = Math.max(far, Math.hypot(x, y, z - middle) + more); };
for (let k = 0; k < points.length; k += 3) include(points.subarray(k, k + 3));
for (const [, edges] of view.hulls || []) edges.flat().forEach(corner => include(corner));
for (const [, center, axes] of view.ellipsoids || []) include(center, Math.hypot(...axes.flat()) / 2);

function drawArm() {
  const w = arm.clientWidth, h = arm.clientHeight, scale = 0.46 * Math.min(w, h) / far;
  const cy = Math.cos(yaw), sy = Math.sin(yaw), origin = [0, 0, 0];
  const at = ([x, y, z]) => [w / 2 + scale * (cy * x - sy * y), h / 2 - scale
    * (Math.cos(pitch) * (z - middle) - Math.sin(pitch) * (sy * x + cy * y))];
  const stroke = (cls, ...through) => node('path', {class: cls, d: `M${through.map(
    p => at(p).map(x => x.toFixed(1)).join(' ')).join('L')}`}, arm);
  const word = (p, text) => node('text', {x: at(p)[0], y: at(p)[1]}, arm, text);
  const circle = (cls, p, r) => node('circle', {class: cls, cx: at(p)[0], cy: at(p)[1], r}, arm);
  // The outline of an ellipsoid with half axes B, as seen, is L times a circle, with L L' = B B'.
  const ellipsoid = (kind, center, axes) => {
    const zero = at(origin), B = [0, 1].map(i => [0, 1, 2].map(k => at(axes.map(row => row[k]))[i] - zero[i]));
    const [xx, xy, yy] = [[0, 0], [0, 1], [1, 1]].map(([i, j]) => B[i].reduce((sum, x, k) => sum + x * B[j][k], 0));
    const l = Math.sqrt(xx) || 1e-9, m = xy / l, n = Math.sqrt(Math.max(0, yy - m * m));
    node('circle', {class: `ellipsoid ${kind}`, r: 1, transform: `matrix(${[l, m, 0, n, ...at(center)].join(' ')})`}, arm);
  };
  arm.replaceChildren();
  arm.setAttribute('viewBox', `0 0 ${w} ${h}`);
  const size = 0.6 * far;
  for (let k = -1; k <= 1; k += 0.5) {
    stroke('grid', [k * size, -size, 0], [k * size, size, 0]);
    stroke('grid', [-size, k * size, 0], [size, k * size, 0]);
  }
  ['x', 'y', 'z'].forEach((name, axis) => {
    const tip = origin.map((_, k) => k === axis ? 0.25 * far : 0);
    stroke('axis', origin, tip); word(tip, name);
  });
  const g = Math.hypot(...view.gravity) || 1, foot = view.gravity.map(x => 0.35 * far * x / g);
  stroke('axis limit', origin, foot); word(foot, 'gravity');
  if (view.box) for (let i = 0; i < 8; i++) for (let k = 0; k < 3; k++) if (!(i >> k & 1)) {
    const corner = number => origin.map((_, axis) => view.box[number >> axis & 1][axis]);
    stroke('axis limit', corner(i), corner(i | 1 << k));
  }
  if (view.sphere) circle('axis limit', origin, scale * view.sphere);
  if (last) stroke('axis', ...Array.from({length: last + 1}, (_, frame) => point(frame, view.count - 1)));
  for (const [cls, edges] of view.hulls || []) for (const edge of edges) stroke(cls, ...edge);
  for (const one of view.ellipsoids || []) ellipsoid(...one);
  const frame = last && Math.round(time / view.period * last);
  for (const [from, to, cls] of view.links) stroke(`${cls} body`, point(frame, from), point(frame, to));
  for (let k = 0; k < view.count; k++) circle('joint', point(frame, k), 3);
}
function drawNow() {
  drawArm();
  links.motion.now = time;
  for (const chart of links.motion.charts) if (chart.X) chart.place(chart.now, time);
  $('scrub').value = Math.round(time / view.period * last);
  $('scrub').setAttribute('aria-valuetext', `${time.toFixed(2)} s`);
  $('clock').textContent = `${time.toFixed(2)} s`;
}
function play(on) { playing = on; $('play').textContent = on ? 'Pause' : 'Play'; }
function tick(now) {
  if (playing && before !== null) {
    time = (time + (now - before) / 1000 * Number($('speed').value)) % view.period;
    drawNow();
  }
  before = now;
  requestAnimationFrame(tick);
}
arm.addEventListener('pointermove', e => { if (e.buttons) { yaw += 0.01 * e.movementX;
  pitch = Math.max(-1.5, Math.min(1.5, pitch + 0.01 * e.movementY)); drawArm(); } });
new ResizeObserver(drawArm).observe(arm);
if (view.period) {
  $('scrub').max = last;
  $('scrub').addEventListener('input', e => { play(false);
    time = view.period * e.target.value / last; drawNow(); });
  $('play').addEventListener('click', () => play(!playing));
  play(!matchMedia('(prefers-reduced-motion: reduce)').matches);
  drawNow();
  requestAnimationFrame(tick);
}

// An arm in 3D.  Of a motion it follows the time of the charts of one link, and they follow it.
const plus = (a, b) => a.map((x, i) => x + b[i]);
const turned = (R, v) => [0, 3, 6].map(i => R[i] * v[0] + R[i + 1] * v[1] + R[i + 2] * v[2]);
const product = (A, B) => [0, 3, 6].flatMap(i => [0, 1, 2].map(
  j => A[i] * B[j] + A[i + 1] * B[3 + j] + A[i + 2] * B[6 + j]));
const UNIT = [1, 0, 0, 0, 1, 0, 0, 0, 1], ORIGIN = [0, 0, 0];
// Rotation by an angle about a unit vector (Rodrigues).
function rotation([x, y, z], angle) {
  const c = Math.cos(angle), s = Math.sin(angle), d = 1 - c;
  return [c + d * x * x, d * x * y - s * z, d * x * z + s * y, d * x * y + s * z, c + d * y * y,
    d * y * z - s * x, d * x * z - s * y, d * y * z + s * x, c + d * z * z];
}
class Viewer {
  constructor(box) {
    this.box = box; this.yaw = 0.7; this.pitch = 0.35; this.playing = false; this.far = 0.1;
    this.view = JSON.parse(box.dataset.view);
    this.svg = this.part('arm');
    this.frames = this.view.frames.map(frame => ({...frame, R: frame.R || UNIT,
      ...frame.q && {q: numbers(frame.q)},
      ...frame.half && {residual: numbers(frame.residual), half: numbers(frame.half)}}));
    this.t = this.view.t && numbers(this.view.t);
    this.path = [];
    const last = this.t ? this.t.length - 1 : 0, step = Math.max(1, Math.floor(last / 400));
    for (let k = 0; k <= last; k += step) this.path.push(this.placed(k).map(place => place.p));
    this.measure();
    this.listen();
    everyChart.push(this);
    if (this.t) this.clock(last);
    this.draw();
    new ResizeObserver(() => this.draw()).observe(this.svg);
  }
  part(name) { return this.box.querySelector(`.${name}`); }
  // Middle and size of all that is drawn.
  measure() {
    const heights = this.path.flat().map(p => p[2]), {hulls = [], ellipsoids = []} = this.view;
    this.middle = (Math.max(...heights) + Math.min(...heights)) / 2;
    const include = ([x, y, z], more = 0) => {
      this.far = Math.max(this.far, Math.hypot(x, y, z - this.middle) + more); };
    this.path.flat().forEach(p => include(p));
    for (const [, edges] of hulls) edges.flat().forEach(corner => include(corner));
    for (const [, center, axes] of ellipsoids) include(center, Math.hypot(...axes.flat()) / 2);
  }
  // Rotation R, origin p and axis z of every frame at a sample, parents first.
  placed(sample) {
    const places = [];
    for (const {parent, R, p, axis, slides, q} of this.frames) {
      const base = places[parent] || {R: UNIT, p: ORIGIN};
      const place = {R: product(base.R, R), p: plus(base.p, turned(base.R, p))};
      if (axis) {
        const at = q[Math.min(sample, q.length - 1)], z = turned(place.R, axis);
        if (slides) place.p = plus(place.p, z.map(x => at * x));
        else place.R = product(place.R, rotation(axis, at));
        place.z = z;
      }
      places.push(place);
    }
    return places;
  }
  get sample() {
    if (!this.t) return 0;
    let k = nearest(this.t, this.time);  // a break has no positions
    while (k && this.frames.some(frame => frame.q && !isFinite(frame.q[k]))) k--;
    return k;
  }
  draw(width = this.svg.clientWidth) {
    const {svg, view} = this, w = width, h = svg.clientHeight, {far, middle, pitch} = this;
    if (!w || !h) return;
    const scale = 0.46 * Math.min(w, h) / far, cy = Math.cos(this.yaw), sy = Math.sin(this.yaw);
    const at = ([x, y, z]) => [w / 2 + scale * (cy * x - sy * y), h / 2 - scale
      * (Math.cos(pitch) * (z - middle) + Math.sin(pitch) * (sy * x + cy * y))];
    const near = ([x, y, z]) => Math.sin(pitch) * z - Math.cos(pitch) * (sy * x + cy * y);
    const stroke = (cls, ...through) => node('path', {class: cls, d: `M${through.map(
      p => at(p).map(x => x.toFixed(1)).join(' ')).join('L')}`}, svg);
    const word = (p, text, x = 0) => node('text', {x: at(p)[0] + x, y: at(p)[1] + 4}, svg, text);
    const circle = (cls, p, r) => node('circle', {class: cls, cx: at(p)[0], cy: at(p)[1], r}, svg);
    // The outline of an ellipsoid with half axes B, as seen, is L times a circle, L L' = B B'.
    const ellipsoid = (kind, center, axes) => {
      const zero = at(ORIGIN), B = [0, 1].map(i => [0, 1, 2].map(k => at(axes.map(row => row[k]))[i] - zero[i]));
      const [xx, xy, yy] = [[0, 0], [0, 1], [1, 1]].map(([i, j]) => B[i].reduce((sum, x, k) => sum + x * B[j][k], 0));
      const l = Math.sqrt(xx) || 1e-9, m = xy / l, n = Math.sqrt(Math.max(0, yy - m * m));
      node('circle', {class: `ellipsoid ${kind}`, r: 1, transform: `matrix(${[l, m, 0, n, ...at(center)].join(' ')})`}, svg);
    };
    svg.replaceChildren();
    svg.setAttribute('viewBox', `0 0 ${w} ${h}`);
    const size = 0.6 * far;
    for (let k = -1; k <= 1; k += 0.5) {
      stroke('grid', [k * size, -size, 0], [k * size, size, 0]);
      stroke('grid', [-size, k * size, 0], [size, k * size, 0]);
    }
    ['x', 'y', 'z'].forEach((name, axis) => {
      const tip = ORIGIN.map((_, k) => k === axis ? 0.25 * far : 0);
      stroke('axis', ORIGIN, tip); word(tip, name);
    });
    const g = Math.hypot(...view.gravity) || 1, foot = view.gravity.map(x => 0.22 * far * x / g);
    stroke('axis limit', ORIGIN, foot); word(foot, 'gravity');
    if (view.box) for (let i = 0; i < 8; i++) for (let k = 0; k < 3; k++) if (!(i >> k & 1)) {
      const corner = number => ORIGIN.map((_, axis) => view.box[number >> axis & 1][axis]);
      stroke('axis limit', corner(i), corner(i | 1 << k));
    }
    if (view.sphere) circle('axis limit', ORIGIN, scale * view.sphere);
    if (this.t && !view.levels) stroke('axis', ...this.path.map(points => points[points.length - 1]));
    for (const [cls, edges] of view.hulls || []) for (const edge of edges) stroke(cls, ...edge);
    for (const one of view.ellipsoids || []) ellipsoid(...one);
    const places = this.placed(this.sample), points = places.map(place => place.p);
    if (view.levels) this.drawJoints(places, {stroke, word, near});
    else {
      for (const [from, to, cls] of view.links) stroke(`${cls} body`, points[from], points[to]);
      for (const p of points) circle('joint', p, 3);
    }
  }
  // Links as bars, joints as cylinders about their axes in the colour of the residual, the far first.
  drawJoints(places, {stroke, word, near}) {
    const {frames, view, sample} = this, long = 0.055 * this.far, parts = [];
    for (const [from, to] of view.links) {
      const ends = [places[from].p, places[to].p];
      parts.push([Math.min(...ends.map(near)) - long, () => stroke('bar-edge', ...ends), () => stroke('bar-link', ...ends)]);
    }
    let worst = null;
    frames.forEach((frame, k) => {
      if (!frame.half) return;
      const share = Math.abs(frame.residual[sample]) / frame.half[sample], {p, z} = places[k];
      const level = view.levels.filter(limit => share > limit).length;
      const ends = length => [-length, length].map(x => plus(p, z.map(axis => x * axis)));
      parts.push([near(p), () => stroke(`joint-edge level${level}`, ...ends(1.15 * long)),
        () => stroke(`joint-face s-${isFinite(share) ? `level${level}` : 'raw'} level${level}`, ...ends(long))]);
      if (isFinite(share) && !(worst && worst.share >= share)) worst = {name: frame.name, share, p};
    });
    for (const [, ...strokes] of parts.sort((a, b) => a[0] - b[0])) strokes.forEach(make => make());
    this.words = '';
    if (!worst) return;
    this.words = `: ${worst.name} ${worst.share > 1 ? 'outside, ' : ''}at ${worst.share.toFixed(1)} of its band`;
    if (worst.share > 1) word(worst.p, `${worst.name} ${worst.share.toFixed(1)}`, 18).classList.add('worst');
  }
  // Show a time of the motion, here and in the charts.
  go(time) {
    this.time = time;
    this.draw();
    const link = links[this.view.link], scrub = this.part('scrub');
    link.now = time;
    for (const chart of link.charts) if (chart.X) chart.place(chart.now, time);
    const words = `${(time - this.t[0]).toFixed(2)} s${this.words || ''}`;
    scrub.value = this.sample;
    scrub.setAttribute('aria-valuetext', words);
    this.part('clock').textContent = words;
  }
  play(on) {
    const starts = on && !this.playing;
    this.playing = on; this.part('play').textContent = on ? 'Pause' : 'Play';
    if (starts) requestAnimationFrame(now => this.tick(now, now));
  }
  tick(before, now) {
    if (!this.playing) return;
    const first = this.t[0], span = this.t[this.t.length - 1] - first;
    this.go(first + (this.time - first + (now - before) / 1000 * Number(this.part('speed').value)) % span);
    requestAnimationFrame(next => this.tick(now, next));
  }
  listen() {
    const turn = (x, y) => { this.yaw += x; this.pitch = Math.max(-1.5, Math.min(1.5, this.pitch + y)); this.draw(); };
    this.svg.addEventListener('pointermove', e => { if (e.buttons) turn(0.01 * e.movementX, 0.01 * e.movementY); });
    this.svg.addEventListener('keydown', e => {
      const by = {ArrowLeft: [-0.1, 0], ArrowRight: [0.1, 0], ArrowUp: [0, -0.1], ArrowDown: [0, 0.1]}[e.key];
      if (by) { turn(...by); e.preventDefault(); }
    });
  }
  clock(last) {
    const scrub = this.part('scrub');
    const stop = time => { this.play(false); this.go(time); };
    scrub.max = last;
    scrub.addEventListener('input', () => stop(this.t[scrub.value]));
    this.part('play').addEventListener('click', () => this.play(!this.playing));
    // A plot under the pointer moves the arm, which then stands beside it where it is out of sight.
    Object.assign(links[this.view.link], {follow: (time, event) => { stop(time); this.beside(event); },
      leave: () => this.svg.classList.remove('beside')});
    this.go(this.view.start ?? this.t[0]);
    this.play(!this.view.levels && !matchMedia('(prefers-reduced-motion: reduce)').matches);
  }
  beside(event) {
    const {top, bottom} = this.part('stage').getBoundingClientRect(), list = this.svg.classList;
    list.toggle('beside', innerWidth > 800 && (bottom < 60 || top > innerHeight - 60));
    list.toggle('left', event.clientX > innerWidth / 2); list.toggle('low', event.clientY < innerHeight / 2);
  }
}
for (const box of document.querySelectorAll('.viewer')) new Viewer(box);

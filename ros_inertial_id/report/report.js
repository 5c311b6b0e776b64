// Charts with zoom, linked axes and values under the pointer; tables that sort and filter.
const NS = 'http://www.w3.org/2000/svg', LEFT = 52, RIGHT = 8, BOTTOM = 18, GAP = 17, TOP = 15;
const $ = id => document.getElementById(id);
const D = JSON.parse($('data').textContent), arrays = {}, links = {};
// Sixteen bits a number from the lowest value on; the highest code is "not a number".
const numbers = name => arrays[name] ||= (([low, step, text]) => Float32Array.from(new Uint16Array(
  Uint8Array.from(atob(text), c => c.charCodeAt(0)).buffer),
  code => code === 65535 ? NaN : low + step * code))(D.arrays[name]);
const node = (name, attributes, parent, text) => {
  const made = document.createElementNS(NS, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  if (text !== undefined) made.textContent = text;
  parent.append(made);
  return made;
};
const short = x => x === null || !isFinite(x) ? '-' : Math.abs(x) >= 1e5 || x && Math.abs(x) < 1e-4
  ? Number(x.toPrecision(3)).toExponential() : String(Number(x.toPrecision(4)));

// At least three ticks, about so many as asked for.
function ticks(low, high, count) {
  const raw = (high - low) / Math.max(3, count), power = 10 ** Math.floor(Math.log10(raw));
  const many = step => Math.floor(high / step + 1e-9) - Math.ceil(low / step - 1e-9) + 1;
  const steps = [10, 5, 2, 1, 0.5, 0.2].map(k => k * power).filter(s => s < 2 * raw);
  const step = steps.find(s => many(s) >= 3) || steps[steps.length - 1], out = [];
  for (let k = Math.ceil(low / step - 1e-9); k * step <= high + 1e-9 * step; k++)
    out.push(Number((k * step).toPrecision(12)));
  return out;
}
function nearest(x, at) {
  let a = 0, b = x.length - 1;
  while (b - a > 1) { const m = (a + b) >> 1; if (x[m] < at) a = m; else b = m; }
  return at - x[a] < x[b] - at ? a : b;
}
// Every sample where they are few; else the first, extreme and last ones of every pixel.
function line(x, y, X, Y, first, last) {
  const parts = [], many = last - first > 2 * (X(x[last]) - X(x[first]));
  let pen = false, i = first;
  const put = (k) => { parts.push(pen ? 'L' : 'M', X(x[k]).toFixed(1), ' ', Y(y[k]).toFixed(1));
    pen = true; };
  while (i <= last) {
    if (!isFinite(y[i])) { pen = false; i++; continue; }
    if (!many) { put(i++); continue; }
    const column = Math.floor(X(x[i]));
    let low = i, high = i, end = i;
    while (end + 1 <= last && isFinite(y[end + 1]) && Math.floor(X(x[end + 1])) === column) {
      end++;
      if (y[end] < y[low]) low = end;
      if (y[end] > y[high]) high = end;
    }
    [...new Set([i, low, high, end])].sort((a, b) => a - b).forEach(put);
    i = end + 1;
  }
  return parts.join('');
}

const everyChart = [], PAPER = {pair: 450, small: 300, multiples: 300};  // px of a chart for print, by its grid
class Chart {
  constructor(box, spec) {
    this.spec = spec; this.box = box; this.width = 0; everyChart.push(this);
    this.link = spec.link && links[spec.link] || {range: null, charts: []};
    if (spec.link) links[spec.link] = this.link;
    this.link.charts.push(this);
    this.panes = spec.panes.map(pane => ({...pane, series: pane.series.map(s => this.read(s))}));
    const title = document.createElement('div');
    title.className = 'title'; title.textContent = spec.title;
    this.svg = node('svg', {role: 'img', tabindex: 0, 'aria-label': spec.label}, box);
    this.readout = document.createElement('output');
    this.readout.className = 'readout';
    box.prepend(title); box.append(this.readout);
    let low = Infinity, high = -Infinity;
    for (const pane of this.panes) for (const s of pane.series)
      for (const x of s.kind === 'dots' ? s.x : [s.x[0], s.x[s.x.length - 1]]) {
        if (x < low) low = x;
        if (x > high) high = x;
      }
    this.whole = spec.whole || [low, high];
    this.listen();
    this.draw();
    new ResizeObserver(() => { if (box.clientWidth && box.clientWidth !== this.width) this.draw(); })
      .observe(box);
  }
  read(s) {
    const x = numbers(s.x || this.spec.x), half = s.half && numbers(s.half);
    let y = s.y ? numbers(s.y) : x.map(() => 0);
    if (s.minus) y = y.map((value, i) => value - numbers(s.minus)[i]);
    return {...s, x, y, ...half && {low: y.map((value, i) => value - half[i]),
      high: y.map((value, i) => value + half[i])}};
  }
  get range() { return this.link.range || this.whole; }
  draw(width = this.box.clientWidth) {
    this.width = width;
    if (!this.width) return;
    const svg = this.svg, tall = this.panes.reduce((sum, p) => sum + p.height + GAP, TOP) - GAP + BOTTOM + 14;
    svg.replaceChildren(); svg.setAttribute('height', tall);
    svg.setAttribute('viewBox', `0 0 ${this.width} ${tall}`);
    const [low, high] = this.range, right = this.width - RIGHT, span = high - low || 1;
    this.X = x => LEFT + (right - LEFT) * (x - low) / span;
    this.at = px => low + (px - LEFT) / (right - LEFT) * span;
    let top = TOP;
    for (const pane of this.panes) { this.drawPane(pane, top); top += pane.height + GAP; }
    this.bottom = top - GAP;
    let free = -Infinity;
    for (const t of ticks(low, high, this.width / 110)) {
      const px = this.X(t);
      if (px < free) continue;
      free = px + 7 * String(t).length + 8;
      node('line', {class: 'axis', x1: px, x2: px, y1: this.bottom, y2: this.bottom + 4}, svg);
      node('text', {x: px, y: this.bottom + 15, 'text-anchor': 'middle'}, svg, String(t));
    }
    node('text', {x: right, y: this.bottom + 29, 'text-anchor': 'end'}, svg, this.spec.xlabel);
    for (const {x, to = x, name} of this.spec.marks || []) if (to >= low && x <= high) {
      const px = this.X(Math.max(low, x)), end = this.X(Math.min(high, to));
      if (!name) node('line', {class: 'axis start', x1: px, x2: px, y1: TOP, y2: this.bottom}, svg);
      else node('title', {}, node('rect', {class: 'found', x: px - 1.5, width: end - px + 3, y: TOP, height: this.bottom - TOP}, svg),
        `${name}: ${short(x)} to ${short(to)} s`);
    }
    this.cursor = node('line', {class: 'cursor', y1: TOP, y2: this.bottom, visibility: 'hidden'}, svg);
    this.now = node('line', {class: 'axis', y1: TOP, y2: this.bottom, visibility: 'hidden'}, svg);
    if (this.link.now !== undefined) this.place(this.now, this.link.now);
    this.band = node('rect', {class: 'zoom', y: TOP, height: this.bottom - TOP, visibility: 'hidden'}, svg);
  }
  place(line, x) {
    const [low, high] = this.range;
    line.setAttribute('visibility', x >= low && x <= high ? 'visible' : 'hidden');
    line.setAttribute('x1', this.X(x)); line.setAttribute('x2', this.X(x));
  }
  drawPane(pane, top) {
    const [a, b] = this.range, shown = [];
    let low = pane.from ?? Infinity, high = pane.from ?? -Infinity;
    for (const s of pane.series) {
      if (s.cls && this.box.closest(`.hide-${s.cls}`)) continue;
      const ordered = s.kind !== 'dots';
      let first = ordered ? nearest(s.x, a) : 0, last = ordered ? nearest(s.x, b) : s.x.length - 1;
      if (ordered) { first = Math.max(0, first - 1); last = Math.min(s.x.length - 1, last + 1); }
      for (const y of s.half ? [s.low, s.high] : [s.y]) for (let i = first; i <= last; i++) {
        if (y[i] < low) low = y[i];
        if (y[i] > high) high = y[i];
      }
      shown.push([s, first, last]);
    }
    if (!(high > low)) { const c = isFinite(low) ? low : 0; low = c - 1; high = c + 1; }
    const margin = 0.04 * (high - low), bottom = top + pane.height;
    if (low !== pane.from) low -= margin;
    high += margin;
    const Y = y => bottom - (bottom - top) * (y - low) / (high - low);
    let free = Infinity;
    for (const t of ticks(low, high, Math.max(2.5, pane.height / 34))) {
      if (Y(t) > free) continue;
      free = Y(t) - 12;
      node('line', {class: 'grid', x1: LEFT, x2: this.width - RIGHT, y1: Y(t), y2: Y(t)}, this.svg);
      node('text', {x: LEFT - 5, y: Y(t) + 4, 'text-anchor': 'end'}, this.svg, short(t));
    }
    node('text', {x: LEFT, y: top - 4}, this.svg, pane.label);
    const id = `clip-${Chart.count = (Chart.count || 0) + 1}`;
    const clip = node('clipPath', {id}, this.svg);
    node('rect', {x: LEFT, y: top, width: this.width - RIGHT - LEFT, height: pane.height}, clip);
    const group = node('g', {'clip-path': `url(#${id})`}, this.svg);
    for (const [s, first, last] of shown) this.drawSeries(s, first, last, Y, group);
  }
  drawSeries(s, first, last, Y, group) {
    const X = this.X;
    if (s.kind === 'band') {
      const there = [], back = [];
      for (let i = first; i <= last; i++) if (isFinite(s.low[i])) {
        there.push(`${X(s.x[i]).toFixed(1)} ${Y(s.high[i]).toFixed(1)}`);
        back.unshift(`${X(s.x[i]).toFixed(1)} ${Y(s.low[i]).toFixed(1)}`);
      }
      if (there.length) node('path', {class: 'band', d: `M${[...there, ...back].join('L')}Z`}, group);
    } else if (s.kind === 'dots') {
      let d = '';
      for (let i = first; i <= last; i++) if (isFinite(s.y[i]))
        d += `M${X(s.x[i]).toFixed(1)} ${Y(s.y[i]).toFixed(1)}h0`;
      node('path', {class: 'dots', d}, group);
    } else if (s.kind === 'bars') {
      for (let i = first; i <= last; i++) {
        node('path', {class: 'spread', d: `M${X(s.x[i]).toFixed(1)} ${Y(s.low[i]).toFixed(1)}V${Y(s.high[i]).toFixed(1)}`}, group);
        node('circle', {class: 'mean', cx: X(s.x[i]).toFixed(1), cy: Y(s.y[i]).toFixed(1), r: 2.4}, group);
      }
    } else node('path', {class: `s-${s.cls}${s.kind === 'limit' ? ' limit' : ''}`,
      d: line(s.x, s.y, X, Y, first, last)}, group);
  }
  listen() {
    const svg = this.svg;
    let start = null;
    const px = event => event.clientX - svg.getBoundingClientRect().left;
    svg.addEventListener('pointerdown', e => { if (e.button === 0) {
      start = px(e); if (e.pointerType !== 'touch') svg.setPointerCapture(e.pointerId); } });
    svg.addEventListener('pointermove', e => {
      this.show(this.at(px(e)), e);
      if (start !== null && Math.abs(px(e) - start) > 4) {
        this.band.setAttribute('visibility', 'visible');
        this.band.setAttribute('x', Math.min(start, px(e)));
        this.band.setAttribute('width', Math.abs(px(e) - start));
      }
    });
    svg.addEventListener('pointerup', e => {
      const end = px(e), from = start;
      start = null;
      if (from === null || Math.abs(end - from) < 8) { this.band.setAttribute('visibility', 'hidden'); return; }
      this.zoom([this.at(Math.min(from, end)), this.at(Math.max(from, end))]);
    });
    svg.addEventListener('pointercancel', () => { start = null; this.band.setAttribute('visibility', 'hidden'); });
    svg.addEventListener('pointerleave', () => { if (start === null) this.hide(); });
    svg.addEventListener('dblclick', () => this.zoom(null));
    svg.addEventListener('wheel', e => { if (!e.ctrlKey) return;
      e.preventDefault(); this.scale(this.at(px(e)), e.deltaY > 0 ? 1.25 : 0.8); }, {passive: false});
    svg.addEventListener('keydown', e => {
      const [low, high] = this.range, middle = (low + high) / 2;
      const step = {ArrowLeft: -0.2, ArrowRight: 0.2}[e.key];
      if (step) this.zoom([low + step * (high - low), high + step * (high - low)]);
      else if (e.key === '+' || e.key === '=') this.scale(middle, 0.6);
      else if (e.key === '-') this.scale(middle, 1.6);
      else if (e.key === 'Escape' || e.key === '0') this.zoom(null);
      else return;
      e.preventDefault();
    });
  }
  scale(about, factor) {
    const [low, high] = this.range;
    this.zoom([about - factor * (about - low), about + factor * (high - about)]);
  }
  zoom(range) {
    const [low, high] = this.whole;
    if (range) {
      range = [Math.max(low, range[0]), Math.min(high, range[1])];
      if (range[1] - range[0] < 1e-6 * (high - low)) return;
      if (range[0] <= low && range[1] >= high) range = null;
    }
    this.link.range = range;
    this.link.charts.forEach(chart => chart.draw());
  }
  show(x, event) {
    this.link.follow?.(x, event);
    for (const chart of this.link.charts) {
      if (!chart.X || x < chart.range[0] || x > chart.range[1]) continue;
      chart.place(chart.cursor, x);
      const texts = [`${short(x)} ${chart.spec.unit}:`];
      for (const pane of chart.panes) for (const s of pane.series) if (s.kind === 'line') {
        const i = nearest(s.x, x);
        if (isFinite(s.y[i])) texts.push(`${s.name} ${short(s.y[i])}`);
      }
      chart.readout.textContent = texts.join('  ');
    }
  }
  hide() {
    this.link.leave?.();
    for (const chart of this.link.charts) { chart.readout.textContent = '';
      chart.cursor?.setAttribute('visibility', 'hidden'); }
  }
}
// A chart as a file for print: what the style sheet says stands in its elements.
const STYLES = ['stroke', 'stroke-width', 'stroke-dasharray', 'fill', 'opacity', 'font-size', 'visibility'];
function drawing(svg) {
  const copy = svg.cloneNode(true), parts = [...copy.querySelectorAll('*')];
  svg.querySelectorAll('*').forEach((part, k) => STYLES.forEach(
    name => parts[k].style.setProperty(name, getComputedStyle(part).getPropertyValue(name))));
  copy.setAttribute('xmlns', NS); copy.setAttribute('font-family', 'sans-serif');
  return copy.outerHTML;
}
const charts = [...document.querySelectorAll('[data-chart]')].map(
  box => new Chart(box, D.charts[box.dataset.chart]));

for (const button of document.querySelectorAll('button[data-series]'))
  button.addEventListener('click', () => {
    const on = button.getAttribute('aria-pressed') !== 'true';
    button.setAttribute('aria-pressed', on);
    button.closest('details').classList.toggle(`hide-${button.dataset.series}`, !on);
    charts.forEach(chart => chart.draw());
  });
$('reset')?.addEventListener('click', () =>
  charts.forEach(chart => chart.link.range && chart.zoom(null)));

const key = cell => cell === undefined ? '' : cell.dataset.sort ?? cell.textContent.trim();
for (const table of document.querySelectorAll('table.sortable')) {
  const heads = [...table.tHead.rows[0].cells], rows = [...table.tBodies[0].rows];
  heads.forEach((head, k) => head.querySelector('button')?.addEventListener('click', () => {
    const down = head.getAttribute('aria-sort') === 'ascending';
    heads.forEach(h => h.removeAttribute('aria-sort'));
    head.setAttribute('aria-sort', down ? 'descending' : 'ascending');
    const compare = (a, b) => {
      const x = key(a.cells[k]), y = key(b.cells[k]);
      if (x === '' || y === '') return (x === '') - (y === '');  // nothing stands last
      const sign = down ? -1 : 1;
      return sign * (isNaN(x) || isNaN(y) ? x.localeCompare(y, 'en', {numeric: true}) : x - y);
    };
    table.tBodies[0].append(...[...rows].sort(compare));
  }));
  const tools = table.closest('.scroll').previousElementSibling;
  const [filter, grade, count] = ['.filter', '.grade', '.count'].map(c => tools.querySelector(c));
  const apply = () => {
    let left = 0;
    for (const row of rows) {
      const fits = row.textContent.toLowerCase().includes(filter.value.trim().toLowerCase())
        && (!grade.value || row.dataset.grade === grade.value);
      row.hidden = !fits; left += fits;
    }
    count.textContent = `${left} of ${rows.length}`;
  };
  filter.addEventListener('input', apply); grade.addEventListener('change', apply);
}

// A value with two standard errors, and where the description's lies, eight errors away at most.
for (const cell of document.querySelectorAll('.whisker')) if (cell.dataset.sort) {
  const x = 40 + 4.5 * Math.max(-8, Math.min(8, cell.dataset.sort));
  const svg = node('svg', {class: 'spark', viewBox: '0 0 80 12', 'aria-hidden': 'true'}, cell);
  node('path', {class: 'bar', d: 'M31 6h18M40 3v6'}, svg);
  node('path', {class: 'nominal', d: `M${x - 3} 6l3 -3l3 3l-3 3z`}, svg);
}

// Shares of a sum, side by side, in the order of the columns behind.
for (const cell of document.querySelectorAll('.shares')) {
  const svg = node('svg', {class: 'bar-line', viewBox: '0 0 300 12', 'aria-hidden': 'true'}, cell);
  let x = 0;
  cell.dataset.sort.split(' ').forEach((share, k) => {
    node('path', {class: `s-j${k}`, style: 'stroke-width:12', d: `M${x} 6h${300 * share}`}, svg);
    x += 300 * share; });
}

// Tables and numbers as files: made when they are asked for, since most are not.
const save = (link, name, type, text) => { link.download = name;
  link.setAttribute('href', URL.createObjectURL(new Blob([text], {type}))); };
$('json')?.addEventListener('click', e =>
  save(e.currentTarget, 'numbers.json', 'application/json', JSON.stringify(D.numbers, null, 1)));
for (const [k, box] of document.querySelectorAll('.scroll').entries()) {
  const table = box.querySelector('table'), part = box.closest('details')?.querySelector('h2');
  const title = `${part ? part.textContent : 'uses'}, table ${k + 1}`, link = document.createElement('a');
  link.textContent = 'CSV'; link.setAttribute('href', '#'); link.className = 'csv no-print';
  link.setAttribute('aria-label', `${title} as CSV`);
  link.addEventListener('click', () => save(link, `${title}.csv`, 'text/csv', [...table.rows].map(
    row => [...row.cells].map(c => `"${c.textContent.trim().replaceAll('"', '""')}"`).join(',')
  ).join('\n')));
  box.after(link);
  const reach = () => { if (box.scrollWidth <= box.clientWidth) return;
    box.tabIndex = 0;  // the keyboard scrolls what it can reach
    box.setAttribute('role', 'region'); box.setAttribute('aria-label', title); };
  reach();
  new ResizeObserver(reach).observe(box);
}

for (const box of document.querySelectorAll('[data-chart]')) {
  const name = D.charts[box.dataset.chart].label, link = document.createElement('a');
  link.textContent = 'SVG'; link.setAttribute('href', '#'); link.className = 'svg no-print';
  link.setAttribute('aria-label', `${name} as SVG`);
  link.addEventListener('click', () => save(link, `${name}.svg`, 'image/svg+xml',
    drawing(box.querySelector('svg'))));
  box.append(link);
}

for (const button of document.querySelectorAll('.copy')) button.addEventListener('click', async () => {
  await navigator.clipboard.writeText(button.previousElementSibling.textContent);
  button.textContent = 'copied';
});

// What is linked to or printed is unfolded, and charts in the width of paper: else their text shrinks.
const unfold = () => { const part = $(location.hash.slice(1)); if (part) part.open = true; };
addEventListener('hashchange', unfold);
addEventListener('beforeprint', () => {
  document.querySelectorAll('details').forEach(part => { part.open = true; });
  for (const chart of everyChart) chart.draw(PAPER[chart.box.parentElement.classList[0]]);
});
addEventListener('afterprint', () => everyChart.forEach(chart => chart.draw()));
unfold();

$('theme').addEventListener('click', () => {
  const root = document.documentElement, dark = root.dataset.theme ? root.dataset.theme === 'dark'
    : matchMedia('(prefers-color-scheme: dark)').matches;
  root.dataset.theme = dark ? 'light' : 'dark';
});

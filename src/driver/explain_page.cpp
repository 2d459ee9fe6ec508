// SPDX-License-Identifier: Apache-2.0
// The page of `explain --html`, without its data: that stands between kPageHead and kPageTail as
// `const D = {…};`. Everything that comes from the model is set as text, never as markup.
#include "driver/explain_page.h"

namespace tilewright::driver {

const char* const kPageHead = R"page(<!doctype html>
<html lang="en"><head><meta charset="utf-8">
<meta name="viewport" content="width=device-width,initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'">
<title>Tilewright report</title>
<style>
:root{color-scheme:light dark;--line:#8885;--soft:#8882;--mark:#e8590c;--node:#4c6ef5}
*{box-sizing:border-box}
body{margin:0;font:14px/1.45 system-ui,sans-serif}
header,section{padding:10px 16px}
h1{font-size:18px;margin:0}h2{font-size:15px;margin:0 0 6px}
.facts{display:flex;flex-wrap:wrap;gap:4px 22px;margin-top:6px}
.facts b{font-weight:600}
.split{display:grid;grid-template-columns:minmax(0,1fr) 360px;gap:12px;padding:0 16px}
#graph,#memory{border:1px solid var(--line);border-radius:6px;width:100%;display:block;touch-action:none}
#graph{height:62vh;cursor:grab}#memory{height:260px}
#details{border:1px solid var(--line);border-radius:6px;padding:10px;height:62vh;overflow:auto;overflow-wrap:anywhere}
#details ul{margin:4px 0 10px;padding-left:18px}#details h3{margin:0 0 6px;font-size:14px}
#details h4{margin:8px 0 2px;font-size:12px;text-transform:uppercase;opacity:.7}
#graph .node{cursor:pointer}
#graph .node rect{stroke:var(--line);rx:4}
#graph .node.on rect{stroke:var(--mark);stroke-width:3}
#graph text{font-size:11px;pointer-events:none;fill:CanvasText}
#graph path{fill:none;stroke:#8889}
#graph path.on{stroke:var(--mark);stroke-width:2}
#memory rect.on{stroke:var(--mark);stroke-width:2}
table{border-collapse:collapse;width:100%;font-variant-numeric:tabular-nums}
th,td{padding:2px 8px;text-align:right;border-bottom:1px solid var(--soft);white-space:nowrap}
th{cursor:pointer;position:sticky;top:0;background:Canvas}
td:first-child,th:first-child{text-align:left;max-width:420px;overflow:hidden;text-overflow:ellipsis}
tbody tr{cursor:pointer}tbody tr:hover,tbody tr.on{background:var(--soft)}
.bar{display:inline-block;height:9px;background:var(--node);vertical-align:middle;margin-left:6px}
.note{opacity:.75;margin:4px 0}
input{font:inherit;padding:2px 6px;width:220px}
@media(max-width:800px){.split{grid-template-columns:1fr}}
</style></head><body>
<header><h1></h1><div class="facts"></div></header>
<div class="split"><svg id="graph" role="img" aria-label="the kernels and what flows between them"></svg>
<aside id="details"></aside></div>
<section><h2>Memory over time</h2><svg id="memory" role="img" aria-label="places of values in the arena"></svg>
<p class="note" id="memnote"></p></section>
<section><h2>Kernels</h2><p><input id="find" placeholder="filter by name or node" aria-label="filter"></p>
<div style="overflow-x:auto"><table id="kernels"><thead></thead><tbody></tbody></table></div>
<p class="note" id="roofnote"></p></section>
<script>
'use strict';
addEventListener('error', e => document.documentElement.dataset.error = e.message);
)page";

const char* const kPageTail = R"page(
const $ = s => document.querySelector(s);
const el = (tag, text, attrs) => {
  const e = document.createElement(tag);
  if (text !== undefined) e.textContent = text;
  for (const k in attrs || {}) e.setAttribute(k, attrs[k]);
  return e;
};
const svg = (tag, attrs, text) => {
  const e = document.createElementNS('http://www.w3.org/2000/svg', tag);
  for (const k in attrs) e.setAttribute(k, attrs[k]);
  if (text !== undefined) e.textContent = text;
  return e;
};
const bytes = n => n === null ? '?' : n < 1e3 ? n + ' B' : n < 1e6 ? (n / 1e3).toFixed(1) + ' kB' : n < 1e9 ? (n / 1e6).toFixed(2) + ' MB' : (n / 1e9).toFixed(2) + ' GB';
const ms = n => n.toFixed(n < 1 ? 4 : 3) + ' ms';
const part = n => n === null ? '' : (100 * n).toFixed(n < 0.1 ? 1 : 0) + ' %';
const total = D.steps.reduce((t, s) => t + s.ms, 0) || 1;
const valueName = v => D.values[v].name || 'value ' + v;

$('h1').textContent = D.model;
document.title = D.model + ' – Tilewright';
for (const [what, value] of [
  ['median run', ms(D.median_ms) + ', ' + D.threads + (D.threads === 1 ? ' thread' : ' threads')],
  ['kernels', D.steps.filter(s => !s.host).length + ' calls of ' + new Set(D.steps.filter(s => !s.host).map(s => s.kernel)).size],
  ['host operators', D.steps.filter(s => s.host).length],
  ['weights', bytes(D.constant_bytes)], ['arena', bytes(D.arena_bytes)],
  ['live at most', bytes(D.live_bytes)],
  ['FMA peak', (D.roofs.flops / 1e9).toFixed(0) + ' GFLOP/s'],
  ...D.roofs.memory.map((m, i) => [i + 1 < D.roofs.memory.length ? 'up to ' + bytes(m.bytes) : 'memory', (m.rate / 1e9).toFixed(0) + ' GB/s']),
]) {
  const f = el('span', what + ' ');
  f.append(el('b', value));
  $('.facts').append(f);
}

// The graph: a step's row is the longest way to it; in a row, nodes stand below what they read.
const nodes = D.steps.map((s, i) => ({step: i, label: s.name, from: new Set(), row: 0}));
const makers = new Map();
const ports = new Map();
const portNode = (v, label) => {
  if (!ports.has(v)) { ports.set(v, nodes.length); nodes.push({value: v, label, from: new Set(), row: 0}); }
  return ports.get(v);
};
const wholeOf = v => D.values[v].part_of === null ? v : D.values[v].part_of, within = new Map();
D.steps.forEach((s, i) => {
  for (const v of s.reads) {
    if (makers.has(v)) nodes[i].from.add(makers.get(v));
    else if (within.has(wholeOf(v))) for (const p of within.get(wholeOf(v))) nodes[i].from.add(p);
    else if (D.values[v].storage === 'input') nodes[i].from.add(portNode(v, 'input ' + valueName(v)));
  }
  for (const v of s.writes) {
    makers.set(v, i);
    const w = wholeOf(v);
    if (!within.has(w)) within.set(w, new Set());
    within.get(w).add(i);
  }
});
nodes.slice(0, D.steps.length).forEach((n, i) => {
  for (const v of D.steps[i].writes)
    if (D.values[v].storage === 'output') nodes[portNode(v, 'output ' + valueName(v))].from.add(i);
});
for (const [v, i] of ports) if (nodes[i].from.size === 0) nodes[i].row = 0;
nodes.forEach((n, i) => { if (n.step !== undefined) for (const p of n.from) if (p < i || nodes[p].step === undefined) n.row = Math.max(n.row, nodes[p].row + 1); });
for (const n of nodes) if (n.step === undefined) for (const p of n.from) n.row = Math.max(n.row, nodes[p].row + 1);
const rows = [];
for (const n of nodes) (rows[n.row] = rows[n.row] || []).push(n);
const W = 190, H = 30, GX = 44, GY = 22;
rows.forEach((row, y) => {
  if (!row) return;
  for (const n of row) {
    const above = [...n.from].map(p => nodes[p].x).filter(x => x !== undefined);
    n.want = above.length ? above.reduce((a, b) => a + b, 0) / above.length : 0;
  }
  row.sort((a, b) => a.want - b.want);
  let x = -Infinity;
  for (const n of row) { x = n.x = Math.max(n.want, x + W + GX); n.y = y * (H + GY); }
  const shift = row.reduce((t, n) => t + n.want - n.x, 0) / row.length;
  for (const n of row) n.x += shift;
});
const graph = $('#graph'), scene = svg('g', {});
graph.append(scene);
const edges = [];
nodes.forEach((n, i) => { for (const p of n.from) {
  const a = nodes[p], y1 = a.y + H, y2 = n.y, m = (y1 + y2) / 2, x1 = a.x + W / 2, x2 = n.x + W / 2;
  const side = Math.max(x1, x2) + 20 + 4 * Math.min(20, n.row - a.row);  // past what stands between
  const e = svg('path', {d: n.row - a.row < 2 ? `M${a.x} ${y1}C${a.x} ${m} ${n.x} ${m} ${n.x} ${y2}`
    : `M${x1} ${y1 - H / 2}C${side} ${y1} ${side} ${y1} ${side} ${m}S${side} ${y2} ${x2} ${y2 + H / 2}`});
  scene.append(e); edges.push({a: p, b: i, e});
} });
nodes.forEach((n, i) => {
  const s = D.steps[n.step], heat = s ? Math.min(1, 4 * s.ms / total) : 0;
  const g = svg('g', {class: 'node', transform: `translate(${n.x - W / 2},${n.y})`, tabindex: 0});
  if (s) g.dataset.step = n.step;
  g.append(svg('rect', {width: W, height: H, fill: 'Canvas'}));
  g.append(svg('rect', {width: W, height: H, fill: s ? (s.host ? '#8883' : `rgba(232,89,12,${(0.08 + 0.8 * heat).toFixed(2)})`) : '#4c6ef533'}));
  g.append(svg('text', {x: 6, y: 13}, n.label.length > 30 ? n.label.slice(0, 29) + '…' : n.label));
  g.append(svg('text', {x: 6, y: 26, opacity: 0.7}, s ? ms(s.ms) + (s.share === null ? '' : ', ' + part(s.share) + ' of roof') : D.values[n.value].type));
  g.append(svg('title', {}, n.label));
  g.addEventListener('click', () => s ? select(n.step) : selectValue(n.value));
  g.addEventListener('keydown', e => { if (e.key === 'Enter') s ? select(n.step) : selectValue(n.value); });
  n.g = g;
  scene.append(g);
});
const xs = nodes.map(n => n.x), left = Math.min(...xs, 0) - W, right = Math.max(...xs, 0) + W;
let view = {x: 0, y: 0, k: 1};
const paint = () => scene.setAttribute('transform', `translate(${view.x},${view.y}) scale(${view.k})`);
const fit = () => {
  const w = graph.clientWidth || 800;
  view.k = Math.min(1, w / (right - left));
  view.x = w / 2 - view.k * (left + right) / 2; view.y = 12; paint();
};
graph.addEventListener('wheel', e => {
  e.preventDefault();
  const box = graph.getBoundingClientRect(), x = e.clientX - box.left, y = e.clientY - box.top;
  const k = Math.min(4, Math.max(0.02, view.k * Math.exp(-e.deltaY / 500)));
  view.x = x - (x - view.x) * k / view.k; view.y = y - (y - view.y) * k / view.k; view.k = k; paint();
}, {passive: false});
let drag = null;
graph.addEventListener('pointerdown', e => drag = {x: e.clientX - view.x, y: e.clientY - view.y});
addEventListener('pointermove', e => { if (drag) { view.x = e.clientX - drag.x; view.y = e.clientY - drag.y; paint(); } });
addEventListener('pointerup', () => drag = null);
graph.addEventListener('dblclick', fit);
const show = n => {
  const w = graph.clientWidth || 800, h = graph.clientHeight || 500;
  if (view.k < 0.5) view.k = 0.8;
  view.x = w / 2 - view.k * n.x; view.y = h / 2 - view.k * n.y; paint();
};

// Details.
const list = (panel, title, items) => {
  if (!items.length) return;
  panel.append(el('h4', title));
  const ul = el('ul');
  for (const i of items) ul.append(el('li', i));
  panel.append(ul);
};
const clear = () => { for (const e of document.querySelectorAll('.on')) e.classList.remove('on'); $('#details').replaceChildren(); };
const describe = v => valueName(v) + ': ' + D.values[v].type + ', ' + bytes(D.values[v].bytes) + ', ' + D.values[v].storage + (D.values[v].offset === null ? '' : ' at ' + D.values[v].offset) + (wholeOf(v) === v ? '' : ', a part of ' + valueName(wholeOf(v)));
function select(i, move) {
  clear();
  const s = D.steps[i], p = $('#details');
  p.append(el('h3', s.name + ' (step ' + i + ')'));
  const work = [];
  if (s.calls) work.push(ms(s.ms) + (s.calls > 1 ? ' in ' + s.calls + ' calls' : '') + ', ' + part(s.ms / total) + ' of all');
  if (s.flops !== null && s.calls) work.push((s.flops * s.calls / s.ms / 1e6).toFixed(1) + ' GFLOP/s of ' + (s.flops / 1e6).toFixed(2) + ' MFLOP a call');
  if (s.bytes !== null && s.calls) work.push((s.bytes * s.calls / s.ms / 1e6).toFixed(1) + ' GB/s of ' + bytes(s.bytes) + ' a call');
  if (s.share !== null) work.push(part(s.share) + ' of the roof, which is ' + (s.compute_bound ? 'arithmetic' : 'memory'));
  list(p, 'Time', work);
  if (s.plain) list(p, 'Slow', ['runs as plain loops: ' + s.plain]);
  if (s.members.length) list(p, 'Schedule', [s.schedule]);
  list(p, 'Operators', s.members.map(m => m[0] + (m[1] ? ' → ' + m[1] : '') + (m[2] ? ', from ' + m[2] : '')));
  list(p, 'Why this kernel', s.reasons);
  list(p, 'Layouts', s.layouts);
  list(p, 'Reads', s.reads.map(describe));
  list(p, 'Writes', s.writes.map(describe));
  nodes[i].g.classList.add('on');
  for (const e of edges) if (e.a === i || e.b === i) e.e.classList.add('on');
  for (const v of [...s.reads, ...s.writes].map(wholeOf)) if (places.has(v)) places.get(v).classList.add('on');
  const row = document.querySelector(`#kernels tr[data-step="${i}"]`);
  if (row) row.classList.add('on');
  if (move) show(nodes[i]);
}
function selectValue(v) {
  clear();
  const d = D.values[v], p = $('#details');
  p.append(el('h3', valueName(v)));
  list(p, 'Value', [d.type, bytes(d.bytes), d.storage + (d.offset === null ? '' : ' from byte ' + d.offset + ' on')]);
  if (d.first >= 0) list(p, 'Lives', ['from step ' + d.first + ', ' + D.steps[d.first].name, 'to step ' + d.last + ', ' + D.steps[d.last].name]);
  if (places.has(v)) places.get(v).classList.add('on');
}

// Memory: steps to the right, bytes of the arena upwards.
const memory = $('#memory'), places = new Map();
const placed = D.values.map((d, v) => [d, v]).filter(([d]) => d.offset !== null && d.bytes && d.first >= 0 && d.part_of === null);
memory.setAttribute('viewBox', `0 0 ${Math.max(D.steps.length, 1)} 100`);
memory.setAttribute('preserveAspectRatio', 'none');
for (const [d, v] of placed) {
  const h = 100 * d.bytes / D.arena_bytes;
  const r = svg('rect', {x: d.first, y: 100 - 100 * d.offset / D.arena_bytes - h, width: d.last - d.first + 1, height: h,
    fill: `hsl(${v * 47 % 360} 55% 60% / .8)`, stroke: '#0005', 'vector-effect': 'non-scaling-stroke'});
  r.append(svg('title', {}, describe(v)));
  r.addEventListener('click', () => selectValue(v));
  places.set(v, r);
  memory.append(r);
}
$('#memnote').textContent = placed.length
  ? `${placed.length} values in ${bytes(D.arena_bytes)}: steps go to the right, bytes upwards. At most ${bytes(D.live_bytes)} are live at one step; no plan needs less.`
  : 'No value lies in the arena.';

// The table.
const columns = [['kernel', s => s.name], ['calls', s => s.calls], ['ms', s => s.ms], ['of all', s => s.ms / total],
  ['GFLOP/s', s => s.flops === null || !s.calls ? null : s.flops * s.calls / s.ms / 1e6],
  ['GB/s', s => s.bytes === null || !s.calls ? null : s.bytes * s.calls / s.ms / 1e6],
  ['of roof', s => s.share], ['bound by', s => s.share === null ? '' : s.compute_bound ? 'arithmetic' : 'memory']];
let by = 2, down = true;
const head = el('tr');
columns.forEach(([name], c) => {
  const th = el('th', name);
  th.addEventListener('click', () => { down = by === c ? !down : true; by = c; table(); });
  head.append(th);
});
$('#kernels thead').append(head);
const texts = D.steps.map(s => (s.name + ' ' + s.members.map(m => m.join(' ')).join(' ')).toLowerCase());
function table() {
  const body = $('#kernels tbody'), wanted = $('#find').value.toLowerCase();
  const order = D.steps.map((s, i) => i).filter(i => texts[i].includes(wanted));
  const key = columns[by][1];
  order.sort((a, b) => {
    const x = key(D.steps[a]), y = key(D.steps[b]);
    const c = typeof x === 'string' ? y.localeCompare(x) : (x ?? -1) - (y ?? -1);
    return down ? -c : c;
  });
  body.replaceChildren(...order.map(i => {
    const s = D.steps[i], tr = el('tr', undefined, {'data-step': i});
    columns.forEach(([name, get], c) => {
      const v = get(s);
      const td = el('td', v === null ? '' : c === 2 ? v.toFixed(4) : c === 3 || c === 6 ? part(v) : c === 4 || c === 5 ? v.toFixed(1) : v);
      if (c === 3) td.append(el('span', '', {class: 'bar', style: `width:${(80 * v).toFixed(1)}px`}));
      tr.append(td);
    });
    tr.addEventListener('click', () => select(i, true));
    return tr;
  }));
}
$('#find').addEventListener('input', table);
$('#roofnote').textContent = 'The roof of a kernel is the slower of its arithmetic at the FMA peak and of its bytes at the bandwidth of the smallest memory they fit in, both measured in this run. Operations count as the model states them.';
table();
fit();
if (D.steps.length) select(D.steps.reduce((b, s, i) => s.ms > D.steps[b].ms ? i : b, 0));
document.documentElement.dataset.ready = '1';
</script></body></html>
)page";

}  // namespace tilewright::driver

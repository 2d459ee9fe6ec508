# SPDX-License-Identifier: Apache-2.0
"""A bar chart as SVG: how many times faster than the best peer each model is."""
from xml.sax.saxutils import escape

LEFT, TOP, BAR, GAP, WIDTH = 150, 46, 9, 9, 560
COLORS = {1: "#2a6f97", 2: "#89c2d9"}


def chart(title, rows):
    """`rows` is {model: {threads: (ratio, (low, high))}}; the line at 1 is the best peer."""
    longest = max([1.5] + [high for by_threads in rows.values() for _, (_, high) in by_threads.values()])
    x = lambda ratio: LEFT + WIDTH * ratio / longest
    height = TOP + sum(BAR * len(r) + GAP for r in rows.values()) + 30
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{LEFT + WIDTH + 70}" height="{height}" '
             'font-family="sans-serif" font-size="11">',
             f'<rect width="100%" height="100%" fill="white"/><text x="10" y="20" font-size="14">{escape(title)}</text>']
    for n, threads in enumerate(sorted({t for r in rows.values() for t in r})):
        parts.append(f'<rect x="{LEFT + 110 * n}" y="28" width="10" height="10" fill="{COLORS[threads]}"/>'
                     f'<text x="{LEFT + 110 * n + 15}" y="37">{threads} thread{"s" if threads > 1 else ""}</text>')
    y = TOP
    for name, by_threads in rows.items():
        parts.append(f'<text x="{LEFT - 8}" y="{y + 4 + BAR * len(by_threads) / 2}" text-anchor="end">{escape(name)}</text>')
        for threads, (ratio, (low, high)) in sorted(by_threads.items()):
            middle = y + BAR / 2
            parts.append(f'<rect x="{LEFT}" y="{y}" width="{x(ratio) - LEFT:.1f}" height="{BAR - 1}" fill="{COLORS[threads]}"/>'
                         f'<path d="M{x(low):.1f} {middle}H{x(high):.1f}" stroke="black"/>'
                         f'<text x="{x(max(ratio, high)) + 5:.1f}" y="{y + BAR - 1}" font-size="9">{ratio:.2f}</text>')
            y += BAR
        y += GAP
    parts.append(f'<path d="M{x(1):.1f} {TOP - 4}V{y}" stroke="#c1121f" stroke-dasharray="4 3"/>'
                 f'<text x="{x(1):.1f}" y="{y + 14}" text-anchor="middle" fill="#c1121f">the best peer</text></svg>')
    return "\n".join(parts) + "\n"

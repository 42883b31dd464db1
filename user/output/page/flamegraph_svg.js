/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * flamegraph_svg.js - the present view as a picture: the time strip, the boxes with their patterns,
 * and the meaning of the colours. Any name becomes valid XML text.
 */
const KraitSvg = (() => {
	'use strict';

	const { nameOf, whereOf } = KraitText;
	const ROW = 20, WIDTH = 1600, CHAR = 7.3, PATTERNS = ['mark', 'native', 'kernel'];

	/* XML allows no control characters and no lone surrogates. */
	const xml = text => text.replace(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]/g, '\ufffd')
		.replace(/\p{Cs}/gu, '\ufffd').replace(/[&<>"']/g, c => `&#${c.charCodeAt(0)};`);

	const rect = (x, y, w, h, fill) => `<rect x="${x.toFixed(2)}" y="${y}" width="${Math.max(0.2, w).toFixed(2)}" height="${h}" fill="${fill}"/>`;
	const label = (x, y, text, ink) => `<text x="${x.toFixed(2)}" y="${y}"${ink ? ` fill="${ink}"` : ''}>${xml(text)}</text>`;
	const cut = (text, most) => text.length > most ? text.slice(0, Math.max(0, most - 1)) + '…' : text;

	/* The page's patterns (flamegraph_colours.js). */
	const patterns = () => '<defs>' + [
		['mark', 6, '<path d="M0 6L6 0M-1 1L1 -1M5 7L7 5" stroke="#67635b" stroke-opacity="0.5"/>'],
		['native', 5, '<rect x="1" y="1" width="1" height="1" fill="#1b1712" opacity="0.4"/>'],
		['kernel', 6, '<path d="M0 0L6 6M-1 5L1 7M5 -1L7 1" stroke="#1b1712" stroke-opacity="0.25"/>'],
	].map(([kind, size, what]) => `<pattern id="krait-${kind}" width="${size}" height="${size}" patternUnits="userSpaceOnUse">${what}</pattern>`)
		.join('') + '</defs>\n';

	/* Draws swatches with words, side by side. Returns where the next would begin. */
	function legend(items, y, out) {
		let x = 4;

		for (const { fill, pattern, text } of items) {
			out.push(rect(x, y, 11, 11, fill), pattern ? rect(x, y, 11, 11, `url(#krait-${pattern})`) : '', label(x + 16, y + 10, text), '\n');
			x += 34 + CHAR * text.length;
		}
	}

	/* Draws the time strip, paler outside the selection. */
	function stripOf(lanes, out) {
		const names = 210, { rows, fills, words, from, to, row } = lanes.picture(WIDTH - names, 700), high = rows.length * row;

		rows.forEach(({ name, off, paths }, i) => {
			out.push(`<g${off ? ' opacity="0.35"' : ''}>${label(4, i * row + 13, cut(name, 27))}` +
				paths.map((d, s) => d && `<path transform="translate(${names} 0)" fill="${fills[s]}" d="${d}"/>`).join('') + '</g>\n');
		});
		for (const [at, wide] of [[0, from], [to, WIDTH - names - to]])
			if (wide > 0.5)
				out.push(`<rect x="${(names + at).toFixed(1)}" y="0" width="${wide.toFixed(1)}" height="${high}" fill="#ffffff" opacity="0.7"/>\n`);
		legend(words.map((text, s) => ({ fill: fills[s], text })), high + 7, out);
		return high + 28;
	}

	/*
	 * Draws the strip, the zoomed box's callers, every box below it that is wide enough, and
	 * the legend; root at the top.
	 */
	function of(state, view, lanes) {
		const { tree, zoom } = state, scale = WIDTH / (tree.total[zoom] || 1);
		const levels = tree.low[zoom] + 1, out = [], top = lanes ? stripOf(lanes, out) : 0, high = top + levels * ROW + 24;

		/* A name, not an address to load; a test checks that the page has none of those. */
		const namespace = ['http', '//www.w3.org/2000/svg'].join(':');
		out.unshift(`<svg xmlns="${namespace}" width="${WIDTH}" height="${high}" ` +
			`viewBox="0 0 ${WIDTH} ${high}" font-family="monospace" font-size="12">\n`, patterns(), lanes ? '<g class="strip">\n' : '');
		out.push(lanes ? '</g>\n' : '');
		function box(i, x, w) {
			const f = tree.frames[tree.frame[i]], name = i ? nameOf(f) : state.rootLabel, where = i ? whereOf(f) : '';
			const y = top + tree.depth[i] * ROW, room = Math.floor((w - 8) / CHAR), ink = i && !tree.other ? view.inkOf(f) : '';
			const isOver = i && w >= 6 && !tree.other && !ink && PATTERNS.includes(f.category);
			out.push(`<g><title>${xml(`${name} ${where}\n${KraitText.counted(tree.total[i])}`)}</title>`, rect(x, y, w - 0.5, ROW - 1, view.colorOf(i)),
				isOver ? rect(x, y, w - 0.5, ROW - 1, `url(#krait-${f.category})`) : '',
				/* Callers in C are hidden: the box has a torn edge there. */
				tree.edge[i] ? `<path d="M${x.toFixed(2)} ${y + 1}h${w.toFixed(2)}" stroke="#ffffff" stroke-width="3" stroke-dasharray="4 4"/>` : '',
				room > 2 ? label(x + 4, y + 14, cut(name, room), ink) : '', '</g>\n');
		}
		for (let i = tree.parent[zoom]; i >= 0; i = tree.parent[i])
			box(i, 0, WIDTH);
		for (let i = zoom; i < tree.end[zoom];) {
			const w = tree.total[i] * scale;
			if (w < view.NARROW || tree.rest[i]) {
				i = tree.end[i];
				continue;
			}
			box(i, (tree.start[i] - tree.start[zoom]) * scale, w);
			i++;
		}
		legend(KraitText.legendOf(state.base).map(({ category, wait, tone, text }) => ({ text,
			fill: wait ? view.fillOf(wait) : category ? view.legendFill(category) : view.fillOfChange(tone), pattern: PATTERNS.includes(category) ? category : '' })), high - 17, out);
		out.push('</svg>\n');
		return out;
	}

	return { of };
})();

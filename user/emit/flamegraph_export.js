/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * flamegraph_export.js - what is seen, taken elsewhere: as a picture, a table, or text on the clipboard. Nothing leaves the
 * browser but the file that it saves. Names become text of the format, whatever is in them.
 */
const KraitExport = (() => {
	'use strict';

	const { nameOf, whereOf } = KraitText;
	const ROW = 20;

	function save(name, type, parts) {
		const url = URL.createObjectURL(new Blob(parts, { type })), link = document.createElement('a');

		link.href = url;
		link.download = name;
		link.click();
		setTimeout(() => URL.revokeObjectURL(url), 10000);
	}

	/* Control characters are no characters of XML. */
	const xml = text => text.replace(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]/g, '\ufffd')
		.replace(/[&<>"']/g, c => `&#${c.charCodeAt(0)};`);

	/* A colour of CSS as the six digits that every program reads. */
	function rgbOf() {
		const pixel = Object.assign(document.createElement('canvas'), { width: 1, height: 1 })
			.getContext('2d', { willReadFrequently: true });
		const known = new Map();

		return fill => {
			if (!known.has(fill)) {
				pixel.fillStyle = fill;
				pixel.fillRect(0, 0, 1, 1);
				known.set(fill, '#' + [...pixel.getImageData(0, 0, 1, 1).data].slice(0, 3)
					.map(v => v.toString(16).padStart(2, '0')).join(''));
			}
			return known.get(fill);
		};
	}

	/* Every box below the zoomed one that is wide enough to be drawn, and its callers; root at the top. */
	function svgOf(state, view) {
		const { tree, zoom } = state, width = 1600, scale = width / (tree.total[zoom] || 1), rgb = rgbOf();
		const levels = tree.low[zoom] + 1, out = [];

		/* A name and no address; the page has none of these, and a test for it. */
		const namespace = ['http', '//www.w3.org/2000/svg'].join(':');
		out.push(`<svg xmlns="${namespace}" width="${width}" height="${levels * ROW}" ` +
			`viewBox="0 0 ${width} ${levels * ROW}" font-family="monospace" font-size="12">\n`);
		function box(i, x, w) {
			const f = tree.frames[tree.frame[i]], name = i ? nameOf(f) : state.rootLabel, where = i ? whereOf(f) : '';
			const y = tree.depth[i] * ROW, room = Math.floor((w - 8) / 7.3);
			const text = name.length > room ? name.slice(0, Math.max(0, room - 1)) + '…' : name;
			out.push(`<g><title>${xml(`${name} ${where}\n${KraitText.counted(tree.total[i])}`)}</title>` +
				`<rect x="${x.toFixed(2)}" y="${y}" width="${Math.max(0.2, w - 0.5).toFixed(2)}" height="${ROW - 1}" ` +
				`fill="${rgb(view.colorOf(i))}"/>` +
				(room > 2 ? `<text x="${(x + 4).toFixed(2)}" y="${y + 14}">${xml(text)}</text>` : '') + '</g>\n');
		}
		for (let i = tree.parent[zoom]; i >= 0; i = tree.parent[i])
			box(i, 0, width);
		for (let i = zoom; i < tree.end[zoom];) {
			const w = tree.total[i] * scale;
			if (w < view.NARROW) {
				i = tree.end[i];
				continue;
			}
			box(i, (tree.start[i] - tree.start[zoom]) * scale, w);
			i++;
		}
		out.push('</svg>\n');
		return out;
	}

	/* A cell that begins with one of these is a formula to a spreadsheet. */
	function cell(value) {
		const text = String(value), safe = /^[=+\-@\t\r]/.test(text) && typeof value === 'string' ? `'${text}` : text;

		return /[",\n\r]/.test(safe) ? `"${safe.replace(/"/g, '""')}"` : safe;
	}

	function csvOf(state) {
		const zoom = state.tree === state.base ? state.zoom : 0;
		const rows = KraitTable.rowsOf(state.base, zoom, state.sort);

		return ['self,total,kind,function,file,line\n', ...rows.map(({ f, self, total }) =>
			[self, total, f.kind, f.name, f.file, f.line > 0 ? f.line : f.firstLine].map(cell).join(',') + '\n')];
	}

	/* Root first, as folded text has it. */
	function stackOf(tree, node) {
		const names = [];

		for (; node > 0; node = tree.parent[node]) {
			const f = tree.frames[tree.frame[node]];
			names.unshift(nameOf(f) + (whereOf(f) ? ` (${whereOf(f)})` : ''));
		}
		return names.join('\n');
	}

	/* Says whether it could. Pages from files may have no clipboard of their own. */
	function copy(text) {
		const field = document.createElement('textarea');

		field.value = text;
		field.className = 'unseen';
		document.body.append(field);
		field.select();
		const done = document.execCommand('copy');
		field.remove();
		return done;
	}

	return { save, svgOf, csvOf, stackOf, copy };
})();

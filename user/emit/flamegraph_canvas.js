/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * flamegraph_canvas.js - draws the visible part of a tree. Only boxes in sight are touched: what is
 * too narrow is skipped with everything below it, what is above or below the window is not drawn.
 */
const KraitCanvas = (canvas, stage, spacer) => {
	'use strict';

	const ROW = 20, FONT_SIZE = 12, PAD = 5;
	const NARROW = 0.3; /* px; narrower boxes are folded */
	/* First hue and range, in oklch, where equal lightness looks equally light. */
	const HUES = {
		own: [38, 58], package: [132, 52], stdlib: [226, 46], unknown: [300, 30],
		native: [188, 30], kernel: [336, 30],
	};
	const context = canvas.getContext('2d');
	const fills = new Map();
	let theme = {}, charWidth = 7, width = 0, height = 0, scene = null;

	function readTheme() {
		const style = getComputedStyle(document.documentElement);
		const value = name => style.getPropertyValue(name).trim();

		theme = {
			back: value('--back'), text: value('--box-text'), ink: value('--text'),
			muted: value('--muted'), focus: value('--focus'), match: value('--match'),
			grey: value('--box-grey'), mark: value('--box-mark'), line: value('--line'),
			light: parseFloat(value('--box-light')), chroma: value('--box-chroma'),
			mono: value('--mono'),
		};
		fills.clear();
	}

	function hash(text) {
		let h = 0x811c9dc5;
		for (let i = 0; i < text.length; i++)
			h = Math.imul(h ^ text.charCodeAt(i), 0x01000193);
		h ^= h >>> 15;
		h = Math.imul(h, 0x2c1b3c6d);
		return (h ^ h >>> 13) >>> 0;
	}

	/* The hue says whose code and which module, the lightness tells its functions apart. */
	function fillOf(f) {
		if (f.category === 'task')
			return theme.grey;
		if (f.category === 'mark')
			return theme.mark;
		const key = f.category + '\0' + f.module + '\0' + f.name;
		let fill = fills.get(key);
		if (!fill) {
			const [hue, span] = HUES[f.category];
			const light = theme.light + hash(f.name) % 7 - 3;
			fill = `oklch(${light}% ${theme.chroma} ${hue + hash(f.module) % span})`;
			fills.set(key, fill);
		}
		return fill;
	}

	function legendFill(category) {
		if (category === 'mark')
			return theme.mark;
		const [hue, span] = HUES[category];
		return `oklch(${theme.light}% ${theme.chroma} ${hue + span / 2})`;
	}

	function resize() {
		const scale = window.devicePixelRatio || 1;

		width = stage.clientWidth;
		height = stage.clientHeight;
		canvas.style.height = height + 'px';
		canvas.width = Math.max(1, Math.round(width * scale));
		canvas.height = Math.max(1, Math.round(height * scale));
		context.setTransform(scale, 0, 0, scale, 0, 0);
		context.font = `${FONT_SIZE}px ${theme.mono}`;
		context.textBaseline = 'middle';
		charWidth = context.measureText('0'.repeat(40)).width / 40;
	}

	function levels() {
		return scene.tree.low[scene.zoom] + 1;
	}

	/* In pixels from the top of all rows, whether in sight or not. */
	function topOf(depth) {
		return scene.flame ? Math.max(levels() * ROW, height) - (depth + 1) * ROW : depth * ROW;
	}

	function boxOf(node) {
		const { tree, zoom } = scene;
		const ancestor = node < zoom && tree.end[node] >= tree.end[zoom];
		const scale = width / (tree.total[zoom] || 1);

		return {
			x: ancestor ? 0 : (tree.start[node] - tree.start[zoom]) * scale,
			y: topOf(tree.depth[node]) - stage.scrollTop,
			w: ancestor ? width : tree.total[node] * scale, h: ROW,
		};
	}

	/* Fits the scrolled height to the zoomed tree and counts what is folded. */
	function layout() {
		const { tree, zoom } = scene, least = NARROW * tree.total[zoom] / (width || 1);
		let folded = 0;

		spacer.style.height = Math.max(0, levels() * ROW - height) + 'px';
		for (let i = zoom; i < tree.end[zoom];) {
			if (tree.total[i] < least) {
				folded += tree.end[i] - i;
				i = tree.end[i];
			} else {
				i++;
			}
		}
		return folded;
	}

	function cut(text, room) {
		if (/^[\x20-\x7e]*$/.test(text)) {
			const chars = Math.floor(room / charWidth);
			return text.length <= chars ? text : text.slice(0, chars - 1) + '…';
		}
		const chars = Array.from(text);
		let low = 0, high = chars.length;
		if (context.measureText(text).width <= room)
			return text;
		while (low < high) {
			const middle = (low + high + 1) >> 1;
			if (context.measureText(chars.slice(0, middle).join('') + '…').width <= room)
				low = middle;
			else
				high = middle - 1;
		}
		return chars.slice(0, low).join('') + '…';
	}

	function drawText(f, label, where, x, y, w) {
		const left = Math.max(x, 0) + PAD, room = Math.min(x + w, width) - left - PAD + 2;

		if (room < 4 * charWidth)
			return;
		/* What does not fit loses its qualifiers first: "Query.parse" is told by "parse". */
		let text = cut(label, room);
		if (text !== label && f.kind === KraitModel.PYTHON) {
			const last = label.slice(label.lastIndexOf('.') + 1);
			text = cut(last.length < label.length && last ? '…' + last : label, room);
			if (text.startsWith('…') && text.endsWith('…'))
				text = cut(last, room);
		}
		context.fillText(text, left, y + ROW / 2);
		if (!where || text !== label)
			return;
		const used = context.measureText(text).width + 2 * charWidth;
		if (used + context.measureText(where).width > room)
			return;
		context.save();
		context.globalAlpha *= 0.6;
		context.fillText(where, left + used, y + ROW / 2);
		context.restore();
	}

	function drawBox(node, x, y, w) {
		const f = scene.tree.frames[scene.tree.frame[node]], root = node === 0;
		const matched = scene.matches && !root && scene.matches[scene.tree.frame[node]];

		context.globalAlpha = scene.matches && !matched ? 0.45 : node < scene.zoom ? 0.6 : 1;
		context.fillStyle = matched ? theme.match : root ? theme.grey : fillOf(f);
		context.fillRect(x, y, w - Math.min(1, w * 0.25), ROW - 1);
		if (w < 4 * charWidth)
			return;
		context.globalAlpha = Math.max(context.globalAlpha, 0.75);
		context.fillStyle = matched ? theme.back : theme.text;
		drawText(f, root ? scene.rootLabel : scene.labelOf(f), root ? '' : scene.whereOf(f), x, y, w);
	}

	/* Boxes too narrow to draw, side by side: one grey stub in their place. */
	function drawFolded(run) {
		if (run.w < 0.5 || run.y < -ROW || run.y > height)
			return;
		context.globalAlpha = scene.matches ? 0.3 : 0.6;
		context.fillStyle = theme.grey;
		context.fillRect(run.x, run.y + ROW * 0.25, run.w, ROW * 0.5 - 1);
	}

	function drawTree() {
		const { tree, zoom } = scene, scale = width / (tree.total[zoom] || 1);
		const run = { parent: -1, x: 0, y: 0, w: 0 };

		for (let node = tree.parent[zoom]; node >= 0; node = tree.parent[node]) {
			const y = topOf(tree.depth[node]) - stage.scrollTop;
			if (y > -ROW && y < height)
				drawBox(node, 0, y, width);
		}
		for (let i = zoom; i < tree.end[zoom];) {
			const w = tree.total[i] * scale, x = (tree.start[i] - tree.start[zoom]) * scale;
			const y = topOf(tree.depth[i]) - stage.scrollTop;

			if (w < NARROW) {
				if (run.parent !== tree.parent[i]) {
					drawFolded(run);
					Object.assign(run, { parent: tree.parent[i], x, y, w: 0 });
				}
				run.w += w;
				i = tree.end[i];
				continue;
			}
			/* Beyond the far edge nothing below this box is in sight either. */
			if (scene.flame ? y < -ROW : y > height) {
				i = tree.end[i];
				continue;
			}
			if (scene.flame ? y < height : y > -ROW)
				drawBox(i, x, y, w);
			i++;
		}
		drawFolded(run);
	}

	function outline(node, color, thickness) {
		const b = boxOf(node);

		if (b.w < NARROW)
			return;
		context.globalAlpha = 1;
		context.strokeStyle = color;
		context.lineWidth = thickness;
		context.strokeRect(b.x + thickness / 2, b.y + thickness / 2,
			Math.max(1, b.w - thickness - 1), ROW - 1 - thickness);
	}

	/* scene: tree, zoom, focus, hover (-1 none), matches (by frame, or null), flame, labels. */
	function draw(next) {
		scene = next;
		context.globalAlpha = 1;
		context.fillStyle = theme.back;
		context.fillRect(0, 0, width, height);
		if (!scene.tree.total[0]) {
			context.fillStyle = theme.muted;
			context.fillText('No samples were recorded.', 14, ROW * 1.5);
			return;
		}
		drawTree();
		if (scene.hover >= 0)
			outline(scene.hover, theme.ink, 1);
		if (scene.focused)
			outline(scene.focus, theme.focus, 2);
	}

	function nodeAt(x, y) {
		const { tree, zoom } = scene, scale = width / (tree.total[zoom] || 1);
		const below = scene.flame ? Math.max(levels() * ROW, height) - 1 - y - stage.scrollTop :
			y + stage.scrollTop;
		const depth = Math.floor(below / ROW);
		const sample = tree.start[zoom] + x / scale;
		let node = zoom;

		if (depth < 0 || x < 0 || x >= width)
			return -1;
		while (tree.depth[node] > depth)
			node = tree.parent[node];
		while (tree.depth[node] < depth) {
			let child = node + 1;
			while (child < tree.end[node] && sample >= tree.start[child] + tree.total[child])
				child = tree.end[child];
			if (child >= tree.end[node] || tree.total[child] * scale < NARROW)
				return -1;
			node = child;
		}
		return node;
	}

	/* Scrolls so that the box is in sight; to the top edge, below a few callers, if asked. */
	function reveal(node, lead) {
		const y = topOf(scene.tree.depth[node]);

		if (lead)
			stage.scrollTop = scene.flame ? y + 4 * ROW - height : y - 3 * ROW;
		else if (y < stage.scrollTop + ROW)
			stage.scrollTop = y - ROW;
		else if (y + 2 * ROW > stage.scrollTop + height)
			stage.scrollTop = y + 2 * ROW - height;
	}

	readTheme();
	return { readTheme, resize, layout, draw, nodeAt, reveal, boxOf, legendFill, fillOf, NARROW,
		setScene: next => { scene = next; }, width: () => width, overflows: () => levels() * ROW > height,
		levels };
};

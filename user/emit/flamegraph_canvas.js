/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * flamegraph_canvas.js - draws the visible part of a tree. Only boxes in sight are touched: what is
 * too narrow is skipped with everything below it, what is above or below the window is not drawn.
 */
const KraitCanvas = (canvas, stage, spacer) => {
	'use strict';

	const ROW = 20, FONT_SIZE = 12, PAD = 5;
	const NARROW = 0.3; /* px; narrower boxes are folded */
	const KINDS = ['own', 'package', 'stdlib', 'unknown', 'native', 'kernel'];
	const context = canvas.getContext('2d');
	const fills = new Map();
	/* On paper all levels are drawn, up to so many pixels. */
	const PAPER = 4000;
	let theme = {}, charWidth = 7, width = 0, height = 0, scene = null, paper = false;

	function readTheme() {
		const style = getComputedStyle(document.documentElement);
		const value = name => style.getPropertyValue(name).trim();

		theme = {
			back: value('--back'), text: value('--box-text'), ink: value('--text'),
			muted: value('--muted'), focus: value('--focus'), match: value('--match'),
			grey: value('--box-grey'), mark: value('--box-mark'), line: value('--line'),
			mono: value('--mono'), changed: parseFloat(value('--changed')), kinds: {},
		};
		for (const kind of KINDS)
			theme.kinds[kind] = value(`--${kind}`).split(' ').map(Number);
		theme.hatch = hatch();
		fills.clear();
	}

	/* What is no code: lines across it, so that it is told from all kinds without any colour. */
	function hatch() {
		const tile = Object.assign(document.createElement('canvas'), { width: 6, height: 6 });
		const lines = tile.getContext('2d');

		lines.fillStyle = theme.mark;
		lines.fillRect(0, 0, 6, 6);
		lines.strokeStyle = theme.muted;
		lines.globalAlpha = 0.35;
		lines.beginPath();
		for (const x of [-6, 0, 6]) {
			lines.moveTo(x, 6);
			lines.lineTo(x + 6, 0);
		}
		lines.stroke();
		return context.createPattern(tile, 'repeat');
	}

	function hash(text) {
		let h = 0x811c9dc5;
		for (let i = 0; i < text.length; i++)
			h = Math.imul(h ^ text.charCodeAt(i), 0x01000193);
		h ^= h >>> 15;
		h = Math.imul(h, 0x2c1b3c6d);
		return (h ^ h >>> 13) >>> 0;
	}

	/* The colour says whose code; within it the hue tells modules apart, and the lightness functions. */
	function fillOf(f) {
		if (f.category === 'task')
			return theme.grey;
		if (f.category === 'mark')
			return theme.mark;
		const key = f.category + '\0' + f.module + '\0' + f.name;
		let fill = fills.get(key);
		if (!fill) {
			const [light, chroma, hue] = theme.kinds[f.category];
			fill = `oklch(${light + hash(f.name) % 5 - 2}% ${chroma} ${hue + hash(f.module) % 17 - 8})`;
			fills.set(key, fill);
		}
		return fill;
	}

	/* By how many points a share has changed: red has grown, blue has shrunk, grey is as it was. */
	function fillOfChange(points) {
		const strength = Math.min(1, Math.abs(points) / 10);

		if (Math.abs(points) < 0.05)
			return theme.grey;
		return `oklch(${theme.changed}% ${(0.03 + 0.13 * strength).toFixed(3)} ${points > 0 ? 28 : 255})`;
	}

	function legendFill(category) {
		if (category === 'mark')
			return theme.mark;
		const [light, chroma, hue] = theme.kinds[category];
		return `oklch(${light}% ${chroma} ${hue})`;
	}

	function resize() {
		const scale = window.devicePixelRatio || 1;

		width = stage.clientWidth;
		height = paper ? Math.min(PAPER, levels() * ROW + 4) : stage.clientHeight;
		canvas.style.height = height + 'px';
		canvas.width = Math.max(1, Math.round(width * scale));
		canvas.height = Math.max(1, Math.round(height * scale));
		context.setTransform(scale, 0, 0, scale, 0, 0);
		context.font = `${FONT_SIZE}px ${theme.mono}`;
		context.textBaseline = 'middle';
		charWidth = context.measureText('0'.repeat(40)).width / 40;
	}

	/* How many levels fit. */
	function forPaper(on) {
		paper = on;
		stage.scrollTop = 0;
		resize();
		return Math.min(levels(), Math.floor(height / ROW));
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

	/* Of a box, whether it is in sight or not. */
	function colorOf(node) {
		const { tree } = scene;

		return !node ? theme.grey : tree.other ? fillOfChange(KraitModel.changeOf(tree, node)) :
			fillOf(tree.frames[tree.frame[node]]);
	}

	const isMark = node => node > 0 && scene.tree.frames[scene.tree.frame[node]].category === 'mark';

	function drawBox(node, x, y, w) {
		const f = scene.tree.frames[scene.tree.frame[node]], root = node === 0;
		const matched = scene.matches && !root && scene.matches[scene.tree.frame[node]];

		context.globalAlpha = scene.matches && !matched ? 0.45 : node < scene.zoom ? 0.6 : 1;
		context.fillStyle = matched ? theme.match : isMark(node) ? theme.hatch : colorOf(node);
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
	return { readTheme, resize, forPaper, layout, draw, nodeAt, reveal, boxOf, legendFill, fillOfChange, colorOf, NARROW,
		setScene: next => { scene = next; }, width: () => width, overflows: () => levels() * ROW > height,
		levels };
};

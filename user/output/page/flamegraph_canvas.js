/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * flamegraph_canvas.js - draws the visible part of a tree. Touches only visible boxes: skips narrow
 * boxes with everything below them, and all rows above or below the window.
 */
const KraitCanvas = (canvas, stage, spacer) => {
	'use strict';

	const ROW = 20, PAD = 5;
	const NARROW = 0.5; /* px; narrower boxes are folded */
	/* px; narrower boxes have no text, edge or pattern: they are drawn as pixels */
	const WIDE = 4;
	const context = canvas.getContext('2d'), colours = KraitColours(context), pixels = KraitPixels(context), labels = KraitLabels(context, PAD);
	/* On paper we draw all levels, up to so many pixels. */
	const PAPER = 4000;
	let theme = null, width = 0, height = 0, scene = null, paper = false, notes = [];

	function resize() {
		const scale = window.devicePixelRatio || 1;

		width = stage.clientWidth;
		height = paper ? Math.min(PAPER, levels() * ROW + 4) : stage.clientHeight;
		const wide = Math.max(1, Math.round(width * scale)), high = Math.max(1, Math.round(height * scale));
		/* Setting a canvas's size clears it, which takes time. */
		if (canvas.width === wide && canvas.height === high && labels.charWidth())
			return;
		canvas.style.height = height + 'px';
		if (canvas.width !== wide)
			canvas.width = wide;
		if (canvas.height !== high)
			canvas.height = high;
		context.setTransform(scale, 0, 0, scale, 0, 0);
		labels.setFont(theme.mono);
	}

	/* How many levels fit. */
	function forPaper(on) {
		paper = on;
		stage.scrollTop = 0;
		resize();
		return Math.min(levels(), Math.floor(height / ROW));
	}

	/* Returns pieces of whole rows to draw for paper; none: draws on the screen. */
	function cutUp() {
		const scale = canvas.height / (height || 1), most = 8 * ROW, pieces = [];

		for (let y = 0; paper && y < height; y += most) {
			const high = Math.min(most, height - y), piece = Object.assign(document.createElement('canvas'),
				{ className: 'slice', width: canvas.width, height: Math.round(high * scale) });
			piece.style.height = high + 'px';
			piece.getContext('2d').drawImage(canvas, 0, -y * scale);
			pieces.push(piece);
		}
		for (const old of stage.querySelectorAll('.slice'))
			old.remove();
		stage.append(...pieces);
	}

	function levels() {
		return scene.tree.low[scene.zoom] + 1;
	}

	/* In pixels from the top of all rows, visible or not. */
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

	/* Fits the scroll height to the zoomed tree and counts folded boxes. */
	function layout() {
		const { tree, zoom } = scene, least = NARROW * tree.total[zoom] / (width || 1);
		let folded = 0;

		spacer.style.height = Math.max(0, levels() * ROW - height) + 'px';
		for (let i = zoom; i < tree.end[zoom];) {
			if (tree.total[i] < least || tree.rest[i]) {
				folded += tree.rest[i] || (tree.total[i] ? tree.end[i] - i : 0);
				i = tree.end[i];
			} else {
				i++;
			}
		}
		return folded;
	}

	/* Returns a box's paint as KraitColours has it, visible or not. */
	function paintOf(node) {
		const { tree } = scene;

		return !node ? colours.paintOf(theme.grey) : tree.other ? colours.ofChange(KraitTree.toneOf(tree, node)) :
			colours.ofKind(tree.frames[tree.frame[node]]);
	}

	const isMatch = node => Boolean(scene.matches && node && KraitTree.isMatch(scene.tree, scene.matches, node));
	const colorOf = node => isMatch(node) ? theme.match : paintOf(node)[0];
	const isMark = node => node > 0 && scene.tree.frames[scene.tree.frame[node]].category === 'mark';

	function drawBox(node, x, y, w) {
		const f = scene.tree.frames[scene.tree.frame[node]], root = node === 0;
		const matched = isMatch(node);

		context.globalAlpha = scene.matches && !matched ? 0.45 : node < scene.zoom ? 0.6 : 1;
		const wait = !root && !matched && !scene.tree.other && colours.isWait(f);
		context.fillStyle = !matched && !wait && isMark(node) ? theme.hatch : colorOf(node);
		context.fillRect(x, y, w - Math.min(1, w * 0.25), ROW - 1);
		if (w >= 6 && theme.over[f.category] && !matched && !root) {
			context.fillStyle = theme.over[f.category];
			context.fillRect(x, y, w - 1, ROW - 1);
		}
		/* Callers in C are hidden: the box has a torn edge there. */
		if (scene.tree.edge[node])
			drawEdge(x, scene.flame ? y + ROW - 1 : y, w - 1, scene.flame ? -1 : 1);
		if (w < 4 * labels.charWidth())
			return;
		context.globalAlpha = Math.max(context.globalAlpha, 0.75);
		context.fillStyle = matched ? theme.back : wait ? colours.inkOn(f) : theme.text;
		labels.draw(f, root ? scene.rootLabel : scene.labelOf(f), root ? '' : scene.whereOf(f), Math.max(x, 0) + PAD, y + ROW / 2, Math.min(x + w, width));
	}

	function drawEdge(x, y, w, down) {
		context.fillStyle = theme.back;
		context.beginPath();
		context.moveTo(x, y);
		for (let at = 0, tooth = 0; at < w; at += 4, tooth++)
			context.lineTo(x + Math.min(at, w), y + (tooth % 2 ? 3 * down : 0));
		context.lineTo(x + w, y);
		context.fill();
	}

	const HIT = 2; /* px: least width of a stub with a match, even at the edge of the window */

	/*
	 * Draws one grey stub for a run of boxes that are too narrow, with their number if there is
	 * room; visible in any case if one of them matches.
	 */
	function drawFolded(run) {
		if ((run.w < 0.5 && !run.hit) || run.y <= -ROW || run.y >= height)
			return;
		pixels.stub(run.hit ? Math.min(run.x, width - HIT) : run.x, run.y, Math.max(run.hit ? HIT : 0, run.w), colours.paintOf(run.hit ? theme.match : theme.grey)[1],
			run.hit ? 1 : scene.matches ? 0.3 : 0.6);
		if (run.cnt > 1 && run.w > 13 * labels.charWidth())
			notes.push(Object.assign({}, run));
	}

	function writeNote({ x, y, w, hit, cnt }) {
		const text = `${KraitText.number.format(cnt)} too narrow`;

		if (w < (text.length + 2) * labels.charWidth())
			return;
		context.globalAlpha = 1;
		context.fillStyle = hit ? theme.back : theme.muted;
		context.fillText(text, Math.max(x, 0) + PAD, y + ROW / 2);
	}

	/* Returns a function from a level to its top, in pixels from the window's top. */
	function placer() {
		const base = (scene.flame ? Math.max(levels() * ROW, height) - ROW : 0) - stage.scrollTop, step = scene.flame ? -ROW : ROW;

		return depth => base + depth * step;
	}

	/* Draws narrow boxes as pixels and wider ones over them: nodes with left edges and widths. */
	function drawTree() {
		const { tree, zoom, matches, flame } = scene, scale = width / (tree.total[zoom] || 1), wide = [], yOf = placer();
		const { total, start, depth, rest, end, parent, frame } = tree, match = matches && colours.paintOf(theme.match)[1];
		const run = { parent: -1, x: 0, y: 0, w: 0, hit: false, cnt: 0 };

		notes = [];
		for (let i = zoom; i < end[zoom];) {
			const w = total[i] * scale, x = (start[i] - start[zoom]) * scale, y = yOf(depth[i]);

			if (w < NARROW || rest[i]) {
				const hit = Boolean(matches && scene.isHit && scene.isHit(i));
				if (run.parent !== parent[i] || run.hit !== hit) {
					drawFolded(run);
					Object.assign(run, { parent: parent[i], x, y, w: 0, hit, cnt: 0 });
				}
				run.w += w;
				run.cnt += rest[i] || 1;
				i = end[i];
				continue;
			}
			/* Nothing below this box is visible: it is beyond the far edge. */
			if (flame ? y <= -ROW : y >= height) {
				i = end[i];
				continue;
			}
			if (flame ? y < height : y > -ROW) {
				if (w >= WIDE || !i)
					wide.push(i, x, w);
				else if (matches && matches[frame[i]])
					pixels.box(x, y, w - Math.min(1, w * 0.25), match, 1);
				else
					pixels.box(x, y, w - Math.min(1, w * 0.25), paintOf(i)[1], matches ? 0.45 : 1);
			}
			i++;
		}
		drawFolded(run);
		pixels.end();
		for (let node = parent[zoom]; node >= 0; node = parent[node]) {
			const y = yOf(depth[node]);
			if (y > -ROW && y < height)
				drawBox(node, 0, y, width);
		}
		for (let k = 0; k < wide.length; k += 3)
			drawBox(wide[k], wide[k + 1], yOf(depth[wide[k]]), wide[k + 2]);
		notes.forEach(writeNote);
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

	/*
	 * scene: tree, zoom, focus, hover (-1: none), matches (by frame, or null), flame, labels,
	 * and isHit for a narrow box.
	 */
	function draw(next) {
		scene = next;
		context.globalAlpha = 1;
		if (!scene.tree.total[0]) {
			context.fillStyle = theme.back;
			context.fillRect(0, 0, width, height);
			context.fillStyle = theme.muted;
			context.fillText('No samples were recorded.', 14, ROW * 1.5);
			return;
		}
		if (!canvas.width || !canvas.height)
			return;
		pixels.begin(canvas, height, ROW, colours.paintOf(theme.back)[1]);
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
			if (child >= tree.end[node] || tree.total[child] * scale < NARROW || tree.rest[child])
				return -1;
			node = child;
		}
		return node;
	}

	/* Scrolls so that the box is visible; on request to the top edge, below a few callers. */
	function reveal(node, lead) {
		const y = topOf(scene.tree.depth[node]);

		if (lead)
			stage.scrollTop = scene.flame ? y + 4 * ROW - height : y - 3 * ROW;
		else if (y < stage.scrollTop + ROW)
			stage.scrollTop = y - ROW;
		else if (y + 2 * ROW > stage.scrollTop + height)
			stage.scrollTop = y + 2 * ROW - height;
	}

	const readTheme = () => { theme = colours.readTheme(); };

	readTheme();
	return { readTheme, resize, forPaper, cutUp, layout, draw, nodeAt, reveal, boxOf, legendFill: colours.legendFill, fillOf: colours.chipFill,
		inkOf: f => colours.isWait(f) ? colours.inkOn(f) : '', fillOfChange: tone => colours.ofChange(tone)[0], colorOf, NARROW, ROW,
		setScene: next => { scene = next; }, width: () => width, overflows: () => levels() * ROW > stage.clientHeight, patterns: () => Object.keys(theme.over).filter(k => theme.over[k]).sort(),
		levels };
};

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * flamegraph_depths.js - a bar beside a graph that is deeper than its window: how much is on each
 * level, which levels are visible, and a way to scroll there.
 */
const KraitDepths = (canvas, stage) => {
	'use strict';

	let sums = [], flame = false, fill = '', back = '';

	/* Measures the zoomed frame: the width of the boxes on each level. */
	function measure(tree, zoom) {
		sums = new Array(tree.low[zoom] + 1).fill(0);
		for (let i = zoom; i < tree.end[zoom]; i++)
			sums[tree.depth[i]] += tree.total[i];
		for (let k = 0; k < tree.depth[zoom]; k++)
			sums[k] = tree.total[zoom];
	}

	function draw() {
		const context = canvas.getContext('2d'), height = stage.clientHeight, most = Math.max(...sums.slice(0, 1), 1);
		const row = height / sums.length, scale = height / Math.max(1, stage.scrollHeight);

		if (canvas.hidden)
			return;
		canvas.width = 16;
		canvas.height = height;
		canvas.style.height = height + 'px';
		context.fillStyle = fill;
		sums.forEach((sum, depth) => {
			const y = (flame ? sums.length - 1 - depth : depth) * row;
			context.fillRect(0, y, 16 * sum / most, Math.max(row, 0.75));
		});
		context.fillStyle = back;
		context.globalAlpha = 0.35;
		context.fillRect(0, stage.scrollTop * scale, 16, Math.max(3, height * scale));
		context.globalAlpha = 1;
	}

	/* Chooses what to draw. */
	function show(state, overflows) {
		const style = getComputedStyle(document.documentElement);

		canvas.hidden = !overflows;
		if (canvas.hidden)
			return;
		fill = style.getPropertyValue('--accent').trim();
		back = style.getPropertyValue('--text').trim();
		flame = state.flame;
		measure(state.tree, state.zoom);
	}

	canvas.addEventListener('pointerdown', event => {
		const at = (event.clientY - canvas.getBoundingClientRect().top) / stage.clientHeight;
		stage.scrollTop = at * stage.scrollHeight - stage.clientHeight / 2;
	});
	return { show, draw };
};

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * flamegraph_callers.js - the upper half of "callers and callees": who calls the function, with the
 * function itself next to the lower half. For eyes and mouse; keys and screen readers have the
 * callers view instead.
 */
const KraitCallers = (below, onChoice) => {
	'use strict';

	const $ = id => document.getElementById(id);
	const { nameOf, whereOf } = KraitText, { redraw, relayout, tipFor, afterPicture, settle } = below;
	const stage = $('callers'), canvas = $('callers-canvas'), view = KraitCanvas(canvas, stage, $('callers-spacer'));
	const TURN = 12; /* ms, after the first picture */
	let scene = null, round = 0, growing = false;

	/* test: the search. */
	function rematch(test) {
		if (!scene)
			return;
		scene.test = test;
		scene.matches = KraitSearch.marksOf(scene.tree.frames, test);
	}

	/*
	 * base and frame: a frame of the stacks; frame below 0: another view is shown. ms: time
	 * until the first picture.
	 */
	function show(base, frame, test, least, ms) {
		stage.hidden = frame < 0;
		if (frame < 0) {
			scene = null;
			growing = false;
			settle();
			return;
		}
		const grown = KraitGrow.grow(base, { up: true, frame, least }), mine = ++round;
		grown.want(0);
		growing = !grown.step(ms);
		if (growing)
			afterPicture(() => growOn(grown, mine));
		scene = { tree: grown.tree(), zoom: 0, focus: 0, hover: -1, matches: null,
			flame: true, focused: false, rootLabel: `callers of ${nameOf(base.frames[frame])}`, labelOf: nameOf, whereOf };
		rematch(test);
	}

	/* Grows the missing parts while the browser is idle. */
	function growOn(grown, mine) {
		if (mine !== round || !scene)
			return;
		growing = !grown.step(TURN);
		if (growing)
			setTimeout(growOn, 0, grown, mine);
		const { test } = scene;
		scene.tree = grown.tree();
		scene.hover = -1;
		rematch(test);
		relayout();
		if (!growing)
			settle();
	}

	function layout() {
		if (!scene)
			return;
		view.setScene(scene);
		stage.style.height = `${view.levels() * view.ROW + 2}px`;
		view.resize();
		view.layout();
		stage.scrollTop = stage.scrollHeight;
	}

	function nodeAt(event) {
		const box = canvas.getBoundingClientRect();
		return view.nodeAt(event.clientX - box.left, event.clientY - box.top);
	}

	canvas.addEventListener('mousemove', event => {
		const node = scene.hover = nodeAt(event);
		redraw();
		tipFor(node < 0 ? null : KraitText.describe(scene.tree, 0, node, true), event);
	});
	canvas.addEventListener('mouseleave', event => {
		if (scene)
			scene.hover = -1;
		redraw();
		tipFor(null, event);
	});
	canvas.addEventListener('click', event => {
		const node = nodeAt(event);
		if (node > 0)
			onChoice(scene.tree.frames[scene.tree.frame[node]]);
	});
	stage.addEventListener('scroll', redraw);

	return { show, layout, rematch, draw: () => scene && view.draw(scene), readTheme: view.readTheme, scene: () => scene, isGrowing: () => growing };
};

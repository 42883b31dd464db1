/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * flamegraph_scene.js - what is drawn: the tree grown for the view, its zoom and focus, and the
 * boxes' text. A tree that takes long is drawn as far as it has grown, and grows on while the
 * browser is idle.
 */
const KraitScene = app => {
	'use strict';

	const $ = id => document.getElementById(id);
	const { state, view, depths } = app, stage = $('stage');
	const { number, samples, percent, nameOf } = KraitText;
	/*
	 * In ms. FIRST: until the first picture, including the sums; LEAST: of that for growing;
	 * TURN: each later turn; PICTURES: between the first two pictures, then each interval
	 * doubles.
	 */
	const FIRST = 10, LEAST = 2, TURN = 12, PICTURES = 100;
	const LINES = 3; /* in the tooltip */
	let lines = [], pending = 0, grown = null, growing = false, round = 0, drawnAt = 0, pictures = 0, settled = [], begun = 0, size = '';

	const frameOf = node => state.tree.frames[state.tree.frame[node]];
	const isTurned = () => ['bottom-up', 'callers'].includes($('view').value);
	const describe = node => KraitText.describe(state.tree, state.zoom, node, isTurned());
	const isSource = () => $('view').value === 'source';
	/* The view begins with one function. */
	const isAbout = () => ['callers', 'callees', 'sandwich'].includes($('view').value);
	const aboutFrame = () => state.about ? state.base.frames.findIndex(KraitFrames.same(state.about)) : -1;

	/* ---- text ---- */

	function showDetail() {
		KraitText.fill($('detail'), isSource() ? { name: 'Lines', where: '', counts: 'Click a line\'s number to see who calls it.' } :
			describe(state.hover >= 0 ? state.hover : state.focus));
	}

	function announce() {
		const d = describe(state.focus);
		$('live').textContent = `${d.name}, ${d.where ? d.where + ', ' : ''}${d.counts}`;
	}

	function placeTip(text, x, y) {
		const tip = $('tip');

		KraitText.fill(tip, text);
		const w = tip.offsetWidth, h = tip.offsetHeight;
		tip.style.left = Math.max(4, Math.min(x + 14, innerWidth - w - 6)) + 'px';
		tip.style.top = (y + 20 + h < innerHeight ? y + 20 : Math.max(4, y - h - 12)) + 'px';
	}

	/* null: nothing is there. */
	function tipFor(text, event) {
		$('tip').hidden = !text;
		if (text)
			placeTip(text, event.clientX, event.clientY);
	}

	/*
	 * For a Python function, the lines with most samples or calls: their share of the box, and
	 * their text.
	 */
	function hotLines(node) {
		const sums = new Map(), { tree, base } = state;

		if (node <= 0 || tree.rest[node] || base.folded || frameOf(node).kind !== KraitFrames.PYTHON)
			return [];
		grown.eachMember(tree.box[node], (member, weight) => {
			const { line } = app.stacks.placeOf(member);
			if (line > 0)
				sums.set(line, (sums.get(line) || 0) + weight);
		});
		return [...sums].filter(([, sum]) => sum > 0).sort((a, b) => b[1] - a[1]).slice(0, LINES)
			.map(([line, sum]) => ({ line, share: percent(sum, tree.total[node]), text: app.source.textOf(frameOf(node).file, line).trim() }));
	}

	function hover(node, event) {
		if (node !== state.hover) {
			state.hover = node;
			lines = hotLines(node);
			redraw();
		}
		tipFor(node < 0 ? null : Object.assign(describe(node), { lines }), event);
	}

	/* ---- drawing ---- */

	function redrawNow() {
		cancelAnimationFrame(pending);
		pending = 0;
		view.draw(state);
		depths.draw();
		app.callers.draw();
		showDetail();
	}

	function redraw() {
		if (!pending)
			pending = requestAnimationFrame(redrawNow);
	}

	const sizeNow = () => `${stage.clientWidth} ${stage.clientHeight} ${window.devicePixelRatio}`;

	/* done: nothing follows immediately. */
	function relayout(done = true) {
		/* What is above takes room from what is below. */
		app.callers.layout();
		view.setScene(state);
		const deep = view.overflows();
		/* So does what is beside it; it must not flicker while a tree grows. */
		if (done && (deep || !growing || app.callers.scene()))
			depths.show(state, deep && !app.callers.scene());
		view.resize();
		size = sizeNow();
		state.folded = view.layout();
		const notes = growing || app.callers.isGrowing() ? ['still being drawn\u2026'] : [];
		if (deep)
			notes.push(`${number.format(view.levels())} levels deep`);
		if (state.folded)
			notes.push(`${number.format(state.folded)} frames too narrow to draw`);
		$('hidden').textContent = isSource() ? '' : notes.join(' \u00b7 ');
		$('hidden').title = state.folded ? `Below ${view.NARROW} px; zoom in to see them` : '';
		redraw();
	}

	/* The picture comes first; a hidden page draws none. */
	function afterPicture(act) {
		if (document.hidden)
			setTimeout(act);
		else
			requestAnimationFrame(() => setTimeout(act));
	}

	/* ---- growing ---- */

	/* Everything until the browser's next turn belongs to one picture. */
	function begin() {
		if (!begun)
			queueMicrotask(() => { begun = 0; });
		begun = begun || performance.now();
	}

	const left = () => Math.max(LEAST, FIRST - (begun ? performance.now() - begun : 0));

	/* Fine enough for the window and for saved pictures. */
	const least = () => view.NARROW / Math.max(1600, view.width());

	function plant() {
		const kind = $('view').value, frame = aboutFrame(), about = isAbout() && frame >= 0;

		return KraitGrow.grow(state.base, { up: kind === 'bottom-up' || (about && kind === 'callers'), frame: about ? frame : -1, least: least(),
			trunks: kind === 'stacks' && $('trunks').value === 'folded' });
	}

	/* Draws the new growth; zoom and focus are boxes. */
	function adopt(zoom, focus) {
		state.tree = grown.tree();
		state.zoom = grown.place(zoom);
		state.focus = grown.place(focus);
		state.hover = -1;
	}

	function settle() {
		const list = settled;

		settled = [];
		for (const done of list)
			done();
	}

	function growOn(mine) {
		const { tree, zoom, focus } = state;

		/* Another box fills the view by now. */
		if (mine !== round)
			return;
		growing = !grown.step(TURN);
		if (growing)
			setTimeout(growOn, 0, mine);
		if (growing && performance.now() - drawnAt < PICTURES << pictures)
			return;
		drawnAt = performance.now();
		pictures++;
		adopt(tree.box[zoom], tree.box[focus]);
		relayout(!growing);
		if (!growing) {
			app.search.show();
			settle();
		}
	}

	/* Makes the box fill the view. */
	function showBox(box, ms = left()) {
		const mine = ++round;

		grown.want(box);
		growing = !grown.step(ms);
		if (growing)
			afterPicture(() => growOn(mine));
		drawnAt = performance.now();
		pictures = 0;
		adopt(box, box);
		if (!growing)
			settle();
	}

	/*
	 * Grows another tree; path: frames from below the root to the box that should fill the
	 * view, as far as they exist.
	 */
	function regrow(path = []) {
		grown = plant();
		/* Beside source lines nobody sees it. */
		showBox(grown.descend(path), isSource() ? 0 : left());
	}

	/* A promise that resolves when everything visible has grown. */
	async function whenSettled() {
		while (growing || app.callers.isGrowing())
			await new Promise(done => settled.push(done));
	}

	/* ---- zoom and focus ---- */

	function zoomTo(node) {
		showBox(state.tree.box[node]);
		afterZoom();
	}

	/* Zooms to the box that contains that node of the stacks. */
	function zoomToStack(node) {
		const path = [];

		for (let i = state.base.alias[node]; i > 0; i = state.base.parent[i])
			path.unshift(state.base.frame[i]);
		if (grown.up || isAbout())
			return;
		showBox(grown.descend(path));
		afterZoom();
	}

	function afterZoom() {
		$('tip').hidden = true;
		$('reset').disabled = !state.zoom;
		relayout();
		view.reveal(state.zoom, true);
		app.search.show();
		app.showTable();
		announce();
		app.address.remember(true);
	}

	function focusOn(node) {
		if (node < 0)
			return;
		const box = state.tree.box[node];
		/* To show a frame outside the zoomed one, zoom out. */
		if (node >= state.tree.end[state.zoom])
			zoomTo(0);
		state.focus = grown.place(box);
		state.hover = -1;
		$('tip').hidden = true;
		view.reveal(state.focus, false);
		redraw();
		announce();
	}

	function setRootLabel() {
		const what = { sandwich: 'callees' }[$('view').value] || $('view').value;

		state.rootLabel = (state.about && isAbout() ? `${what} of ` +
			`${nameOf(state.about)}` : 'all') + ` \u00b7 ${samples(state.tree.total[0])}`;
	}

	/* Shows callers above the callees. */
	function showCallers() {
		const on = state.about && $('view').value === 'sandwich';

		app.callers.show(state.base, on ? aboutFrame() : -1, state.test, least(), left());
	}

	/*
	 * A wider window shows boxes that were too narrow. This event also comes for size changes
	 * of our own.
	 */
	function resized() {
		if (size === sizeNow())
			return;
		if (grown && least() < grown.least) {
			const path = KraitTree.pathTo(state.tree, state.zoom);
			regrow(path);
		}
		relayout();
	}

	return { begin, frameOf, describe, isAbout, isTurned, announce, tipFor, hover, redraw, redrawNow, afterPicture, settle, relayout, resized, regrow, whenSettled, zoomTo,
		zoomToStack, focusOn, setRootLabel, showCallers, grown: () => grown,
		/* A node of the stacks in the zoomed box; 0: the root. */
		stackOfZoom: () => state.zoom && !grown.up && !isAbout() ? grown.membersOf(state.tree.box[state.zoom])[0] : 0,
		membersOfZoom: () => state.zoom ? grown.membersOf(state.tree.box[state.zoom]) : null };
};

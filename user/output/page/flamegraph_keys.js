/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * flamegraph_keys.js - keyboard and pointer: moving to callers, callees, neighbours and the hottest
 * function, and everything that the buttons do.
 */
const KraitKeys = app => {
	'use strict';

	const $ = id => document.getElementById(id);
	const { state, scene, view, search, takers } = app, stage = $('stage'), canvas = $('canvas');

	function neighbour(step) {
		const { tree, zoom, focus } = state, depth = tree.depth[focus];
		const least = view.NARROW * tree.total[zoom] / view.width();

		for (let i = focus + step; i > zoom && i < tree.end[zoom]; i += step)
			if (tree.depth[i] === depth && tree.total[i] >= least && !tree.rest[i])
				return i;
		return -1;
	}

	function callee(focus = state.focus) {
		const { tree, zoom } = state;
		if (focus < zoom) { /* a caller of the zoomed frame: one step back towards it */
			let i = zoom;
			while (tree.parent[i] !== focus)
				i = tree.parent[i];
			return i;
		}
		let best = -1;
		for (let i = focus + 1; i < tree.end[focus]; i = tree.end[i])
			if (tree.total[i] && !tree.rest[i] && (best < 0 || tree.total[i] > tree.total[best]))
				best = i;
		return best;
	}

	/* Returns the box with the largest self below the zoomed frame. */
	function hottest() {
		const { tree, zoom } = state;
		let best = -1;

		for (let i = zoom; i < tree.end[zoom]; i++)
			if (i && tree.self[i] && !tree.rest[i] && (best < 0 || tree.self[i] > tree.self[best]))
				best = i;
		return best;
	}

	/* Ten steps, or as many as possible. */
	function along(next) {
		let at = state.focus;

		for (let k = 0; k < 10; k++) {
			const to = next(at);
			if (to < 0)
				break;
			at = to;
		}
		scene.focusOn(at);
	}

	/* Of recursion and trunks. */
	function fold(what) {
		$(what).value = $(what).value === 'folded' ? 'shown' : 'folded';
		app.rebuild(KraitTree.pathTo(state.tree, state.zoom));
	}

	/* All code, Python, my own. */
	function nextCode() {
		$('only').selectedIndex = ($('only').selectedIndex + 1) % $('only').options.length;
		app.rebuild();
	}

	function flip() {
		state.flame = !state.flame;
		$('flip').setAttribute('aria-pressed', String(state.flame));
		scene.relayout();
		view.reveal(state.zoom, true);
	}

	function escape() {
		if ($('more').open)
			$('more').open = false;
		else if (state.zoom)
			scene.zoomTo(0);
		else if ($('search').value || state.test)
			search.clear();
		else if (app.lanes)
			app.lanes.clear();
	}

	function openHelp() {
		$('help').showModal();
	}

	function startSearch() {
		$('search').focus();
		$('search').select();
	}

	/* A trunk shows its frames, any other box fills the view. */
	function goInto(node) {
		if (state.tree.trunks.has(node))
			fold('trunks');
		else
			scene.zoomTo(node);
	}

	const up = () => state.tree.parent[state.focus];
	const keys = {
		ArrowUp: () => scene.focusOn(state.flame ? callee() : up()),
		ArrowDown: () => scene.focusOn(state.flame ? up() : callee()),
		ArrowLeft: () => scene.focusOn(neighbour(-1)),
		ArrowRight: () => scene.focusOn(neighbour(1)),
		Home: () => scene.focusOn(state.zoom),
		End: () => scene.focusOn(hottest()),
		PageUp: () => along(i => state.tree.parent[i]),
		PageDown: () => along(callee),
		Enter: () => goInto(state.focus),
		' ': () => goInto(state.focus),
		Backspace: () => scene.zoomTo(Math.max(0, state.tree.parent[state.zoom])),
		h: () => state.focus && !state.tree.trunks.has(state.focus) && search.highlight(scene.frameOf(state.focus)),
		o: () => (f => app.editor.open(f.file, f.line > 0 ? f.line : f.firstLine))(scene.frameOf(state.focus)),
		y: takers.name, Y: takers.stack,
		c: () => app.toggleView('callers'),
		e: () => app.toggleView('callees'),
		w: () => app.toggleView('sandwich'),
	};
	const anywhere = {
		'/': startSearch, Escape: escape, i: flip, t: app.toggleTable, '?': openHelp,
		p: nextCode, b: () => app.toggleView('bottom-up'), m: app.measures.next, s: app.toSource, r: () => fold('recursion'), u: () => fold('trunks'),
		n: () => search.next(1), N: () => search.next(-1),
	};

	/* Returns whether the search field handles the key. */
	function onSearchKey(key) {
		if (key === 'Enter')
			search.largest();
		else if (key === 'Escape')
			search.clear();
		else
			return false;
		stage.focus();
		return true;
	}

	function onKey(event) {
		const typing = event.target === $('search'), control = event.ctrlKey || event.metaKey;

		if ($('help').open)
			return;
		if (control && event.key === 'f' && !event.altKey) {
			/* A second Ctrl-F in the field opens the browser's own search. */
			if (typing)
				return;
			startSearch();
		} else if (typing) {
			if (!onSearchKey(event.key))
				return;
		} else if (control || event.altKey || event.target.tagName === 'SELECT' || event.target.tagName === 'INPUT') {
			return;
		} else if (keys[event.key] && (event.target === stage || (event.target === document.body && !$('graph').hidden))) {
			/* Nobody has to click first. */
			stage.focus({ preventScroll: true });
			keys[event.key]();
		} else if (anywhere[event.key]) {
			anywhere[event.key]();
		} else {
			return;
		}
		event.preventDefault();
	}

	function nodeAt(event) {
		const box = canvas.getBoundingClientRect();
		return view.nodeAt(event.clientX - box.left, event.clientY - box.top);
	}

	function onMove(event) {
		const node = nodeAt(event);

		canvas.classList.toggle('over', node >= 0);
		scene.hover(node, event);
	}

	const onLeave = () => scene.hover(-1, null);

	function onClick(event) {
		const node = nodeAt(event);

		if (node >= 0)
			goInto(node);
	}

	canvas.addEventListener('mousemove', onMove);
	canvas.addEventListener('mouseleave', onLeave);
	canvas.addEventListener('click', onClick);
	stage.addEventListener('scroll', onLeave);
	stage.addEventListener('focus', () => { state.focused = true; scene.redraw(); });
	stage.addEventListener('blur', () => { state.focused = false; scene.redraw(); });
	document.addEventListener('keydown', onKey);
	document.addEventListener('click', event => { $('more').open = $('more').open && $('more').contains(event.target); });
	$('flip').addEventListener('click', flip);
	$('help-button').addEventListener('click', openHelp);
	$('reset').addEventListener('click', () => { scene.zoomTo(0); stage.focus(); });
};

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * flamegraph_address.js - the part of the address behind "#": a link leads to the present view, and
 * Back to the previous one. An invalid address shows everything. The zoomed box is identified by
 * one of its nodes of the stacks.
 */
const KraitAddress = app => {
	'use strict';

	const $ = id => document.getElementById(id);
	const { state, scene } = app;
	const CHOICES = ['view', 'roots', 'lines', 'recursion', 'trunks', 'measure', 'only', 'by'];
	/* For the strip: the range, the chosen lanes, and the kind of lane. */
	const LANES = ['time', 'lane', 'lanes'];
	let initial = null, initialLanes = [], restoring = false, next = null, pushed = false;

	const choices = () => CHOICES.map(id => $(id).value);
	const params = () => new URLSearchParams(location.hash.slice(1));

	function remember(push) {
		const p = new URLSearchParams();

		if (!initial || restoring)
			return;
		choices().forEach((value, i) => value !== initial[i] && p.set(CHOICES[i], value));
		if (state.about && scene.isAbout())
			p.set('of', state.base.frames.findIndex(KraitFrames.same(state.about)));
		if (scene.stackOfZoom())
			p.set('zoom', scene.stackOfZoom());
		if (app.lanes)
			app.lanes.toText().forEach((value, i) => value && value !== initialLanes[i] && p.set(LANES[i], value));
		if ($('search').value)
			p.set('search', $('search').value);
		next = '#' + p.toString();
		pushed = pushed || push;
		/* This takes the browser a while: draw the picture first. */
		scene.afterPicture(write);
	}

	/* Writes to the address what must be remembered. */
	function write() {
		if (next !== null && next !== (location.hash || '#'))
			history[pushed ? 'pushState' : 'replaceState'](null, '', next);
		next = null;
		pushed = false;
	}

	function restore() {
		const p = params(), zoom = Number(p.get('zoom'));

		restoring = true;
		next = null;
		CHOICES.forEach((id, i) => {
			const value = p.get(id), option = [...$(id).options].find(o => o.value === value && !o.disabled);
			$(id).value = option ? value : initial[i];
		});
		state.about = null;
		if (app.lanes)
			app.lanes.fromText(p.get(LANES[0]), p.get(LANES[1]), p.get(LANES[2]) || initialLanes[2]);
		app.rebuild();
		/* The last one is no function. */
		state.about = state.base.frames.slice(0, -1)[Number(p.get('of') || -1)] || null;
		if ($('view').value !== 'stacks')
			app.reshape();
		else if (Number.isInteger(zoom) && zoom > 0 && zoom < state.base.cnt)
			scene.zoomToStack(zoom);
		$('search').value = p.get('search') || '';
		app.search.search();
		app.measures.showTotal();
		restoring = false;
	}

	/* Without an address, the page stays as it is. */
	function start() {
		initial = choices();
		if (location.hash.length > 1)
			restore();
		addEventListener('popstate', restore);
	}

	/* The strip is loaded later. */
	function withLanes() {
		initialLanes = app.lanes.toText();
		if (LANES.some(name => params().has(name)))
			restore();
	}

	return { remember, write, start, withLanes };
};

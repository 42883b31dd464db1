/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * flamegraph_page.js - what the user does to the graph. One state, one function that redraws.
 * Names are put into the page as text only.
 */
(() => {
	'use strict';

	const $ = id => document.getElementById(id);
	const M = KraitModel;
	const { number, samples, percent, nameOf, whereOf } = KraitText;
	const data = JSON.parse($('data').textContent);
	const { meta, accounts } = data;
	const allFrames = M.readFrames(data);
	const stage = $('stage'), canvas = $('canvas');
	const view = KraitCanvas(canvas, stage, $('spacer')), depths = KraitDepths($('depths'), stage);
	const callers = KraitCallers(redraw, tipFor, frame => {
		state.about = frame;
		reshape();
	});
	const state = { tree: null, base: null, about: null, zoom: 0, focus: 0, hover: -1, matches: null, flame: false, focused: false,
		rootLabel: '', labelOf: nameOf, whereOf, test: null, chosen: null, sort: 'self', folded: 0 };
	let pending = 0, strip = null, lanes = null, lineTree = null, source = null;

	const frameOf = node => state.tree.frames[state.tree.frame[node]];

	const isTurned = () => ['bottom-up', 'callers'].includes($('view').value);

	const describe = node => KraitText.describe(state.tree, state.zoom, node, isTurned());

	function showDetail() {
		KraitText.fill($('detail'), describe(state.hover >= 0 ? state.hover : state.focus));
	}

	function announce() {
		const d = describe(state.focus);
		$('live').textContent = `${d.name}, ${d.where ? d.where + ', ' : ''}${d.counts}`;
	}

	function showTip(x, y) {
		const tip = $('tip');

		tip.hidden = state.hover < 0;
		if (tip.hidden)
			return;
		placeTip(describe(state.hover), x, y);
	}

	/* null: nothing is there. */
	function tipFor(text, event) {
		$('tip').hidden = !text;
		if (text)
			placeTip(text, event.clientX, event.clientY);
	}

	function placeTip(text, x, y) {
		const tip = $('tip');

		KraitText.fill(tip, text);
		const w = tip.offsetWidth, h = tip.offsetHeight;
		tip.style.left = Math.max(4, Math.min(x + 14, innerWidth - w - 6)) + 'px';
		tip.style.top = (y + 20 + h < innerHeight ? y + 20 : Math.max(4, y - h - 12)) + 'px';
	}

	/* ---- drawing ---- */

	function redrawNow() {
		cancelAnimationFrame(pending);
		pending = 0;
		view.draw(state);
		showDetail();
	}

	function redraw() {
		if (pending)
			return;
		pending = requestAnimationFrame(() => {
			pending = 0;
			view.draw(state);
			depths.draw();
			callers.draw();
			showDetail();
		});
	}

	/* done: nothing follows at once. */
	function relayout(done = true) {
		view.setScene(state);
		view.resize();
		state.folded = view.layout();
		if (done)
			depths.show(state, view.overflows() && !callers.scene());
		callers.layout();
		const notes = [];
		if (view.overflows())
			notes.push(`${number.format(view.levels())} levels deep`);
		if (state.folded)
			notes.push(`${number.format(state.folded)} frames too narrow to draw`);
		$('hidden').textContent = notes.join(' · ');
		$('hidden').title = state.folded ? `Below ${view.NARROW} px; zoom in to see them` : '';
		redraw();
	}

	/* What of the view begins with one function. */
	const isAbout = () => ['callers', 'callees', 'sandwich'].includes($('view').value);

	/* Above the callees those who call. */
	function showCallers() {
		const on = state.about && $('view').value === 'sandwich';

		callers.show(state.base, on ? state.base.frames.findIndex(sameFrame(state.about)) : -1, state.test);
	}

	const sameFrame = f => g => g.kind === f.kind && g.name === f.name && g.file === f.file &&
		g.firstLine === f.firstLine && (g.line === f.line || f.line < 0);

	/* The stacks, and what the view makes of them; within: frames of the box that is to be seen in full. */
	function newTree(within = []) {
		const kind = $('view').value, { base } = state;
		const frame = state.about ? base.frames.findIndex(sameFrame(state.about)) : -1;

		if (kind === 'bottom-up')
			return KraitViews.bottomUp(base, within);
		if (kind === 'callers' && frame >= 0)
			return KraitViews.callers(base, frame, within);
		if ((kind === 'callees' || kind === 'sandwich') && frame >= 0)
			return KraitViews.callees(base, frame);
		return base;
	}

	const nodeCnt = data.nodes.length / 3;

	/* Those of the range and the lanes that are chosen; null: all. */
	function selected() {
		const chosen = lanes && lanes.selection();
		return chosen ? KraitStrip.selves(strip, nodeCnt, chosen, $('measure').value) : null;
	}

	/* roots: null of all stacks as they are. */
	function treeOf(roots, lines) {
		const folded = $('recursion').value === 'folded' && roots !== null;
		const tree = M.buildTree(data, allFrames, { roots: roots || 'merged', lines, folded, measure: $('measure').value, compared: meta.compared });
		const own = selected();

		if (own)
			M.refill(tree, own);
		return tree;
	}

	function rebuild() {
		state.base = treeOf($('roots').value, $('lines').value === 'line');
		lineTree = null;
		reshape();
	}

	/* Another range, or other lanes: the same boxes of other widths. */
	function reselect(selection, done) {
		const measure = $('measure').value, turned = state.tree !== state.base;
		const own = selected() || M.selfOf(data, measure);

		state.part = Boolean(selection);

		M.refill(state.base, own);
		if (lineTree)
			M.refill(lineTree, own);
		if (turned) {
			const path = KraitViews.pathTo(state.tree, state.zoom), old = state.tree;
			state.tree = newTree(path);
			rematch();
			state.zoom = state.focus = M.sameStack(old, state.zoom, state.tree);
		}
		state.hover = -1;
		$('tip').hidden = true;
		setRootLabel();
		showCallers();
		relayout(done);
		showTotal();
		showMatched();
		if (isSource())
			showSource();
		else if (done)
			showTable();
		if (done) {
			showLegend();
			announce();
			remember(true);
		}
	}

	/* ---- source ---- */

	const isSource = () => $('view').value === 'source';

	function showSource() {
		lineTree = lineTree || treeOf(null, true);
		source.show(lineTree);
	}

	function showView() {
		const on = isSource();

		$('source').hidden = !on;
		$('graph').hidden = on;
		$('depths').classList.toggle('unused', on);
		for (const id of ['flip', 'reset', 'roots', 'lines', 'recursion', 'search'])
			$(id).closest('label, #finder, button').classList.toggle('unused', on);
		if (on)
			showSource();
	}

	/* From a line to who calls it. */
	function callersOfLine(frame) {
		state.about = lineTree.frames[frame];
		$('lines').value = 'line';
		$('view').value = 'callers';
		rebuild();
		stage.focus();
	}

	/* From a frame to its line; again: back. */
	function toSource() {
		const f = state.focus ? frameOf(state.focus) : state.chosen;

		if (isSource()) {
			$('view').value = 'stacks';
		} else {
			if (f && f.file)
				source.want(f.file, f.line > 0 ? f.line : f.firstLine);
			$('view').value = 'source';
		}
		changeView();
	}

	function reshape() {
		state.tree = newTree();
		setRootLabel();
		showCallers();
		showView();
		state.zoom = state.focus = 0;
		state.hover = -1;
		rematch();
		zoomTo(0);
	}

	function setRootLabel() {
		const what = { sandwich: 'callees' }[$('view').value] || $('view').value;

		state.rootLabel = (state.about && isAbout() ? `${what} of ` +
			`${nameOf(state.about)}` : 'all') + ` · ${samples(state.tree.total[0])}`;
	}

	/* The function that callers and callees are of: the one in focus, or chosen, or the hottest. */
	function aboutWhat() {
		if (state.focus)
			return frameOf(state.focus);
		return state.chosen || state.about || (KraitTable.rowsOf(state.base, 0, 'self')[0] || {}).f || null;
	}

	function changeView() {
		if (isAbout())
			state.about = aboutWhat();
		reshape();
	}

	/* By key; the same key again goes back to the stacks. */
	function toggleView(kind) {
		$('view').value = $('view').value === kind ? 'stacks' : kind;
		changeView();
	}

	/* What time is shown. The zoomed stack stays, as far as there is anything of it. */
	function measure() {
		const old = state.tree, zoom = state.zoom;

		rebuild();
		zoomTo(M.sameStack(old, zoom, state.tree));
		showTotal();
		showLegend();
	}

	function nextMeasure() {
		const choice = $('measure');

		if (choice.parentNode.hidden)
			return;
		choice.selectedIndex = (choice.selectedIndex + 1) % choice.options.length;
		measure();
	}

	function showTotal() {
		const choice = $('measure').selectedOptions[0];

		KraitText.showTotal(state.base.total[0], meta.measure ? choice.title : meta.event);
	}

	/* What was too narrow to be taken apart is wide now. */
	function refine(node) {
		const kind = $('view').value;

		if (kind !== 'bottom-up' && kind !== 'callers')
			return node;
		const old = state.tree;
		state.tree = newTree(KraitViews.pathTo(old, node));
		rematch();
		return M.sameStack(old, node, state.tree);
	}

	function zoomTo(node) {
		if (node)
			node = refine(node);
		state.zoom = state.focus = node;
		state.hover = -1;
		$('tip').hidden = true;
		$('reset').disabled = !node;
		relayout();
		view.reveal(node, true);
		showMatched();
		showTable();
		announce();
		remember(true);
	}

	/* ---- the address: a link leads to what is seen, and Back to what was ---- */

	const CHOICES = ['view', 'roots', 'lines', 'recursion', 'measure'];
	/* Of the strip: the range, the lanes that are chosen, and what a lane is. */
	const LANES = ['time', 'lane', 'lanes'];
	let ready = null, initial = null, initialLanes = [], restoring = false;

	const choices = () => CHOICES.map(id => $(id).value);

	function remember(push) {
		const p = new URLSearchParams();

		if (!initial || restoring)
			return;
		choices().forEach((value, i) => value !== initial[i] && p.set(CHOICES[i], value));
		if (state.about && isAbout())
			p.set('of', state.base.frames.findIndex(sameFrame(state.about)));
		if (state.zoom && state.tree === state.base)
			p.set('zoom', state.zoom);
		if (lanes)
			lanes.toText().forEach((value, i) => value && value !== initialLanes[i] && p.set(LANES[i], value));
		if ($('search').value)
			p.set('search', $('search').value);
		const hash = '#' + p.toString();
		if (hash !== (location.hash || '#'))
			history[push ? 'pushState' : 'replaceState'](null, '', hash);
	}

	/* Whatever the address says: what is not there is not shown. */
	function restore() {
		const p = new URLSearchParams(location.hash.slice(1)), zoom = Number(p.get('zoom'));

		restoring = true;
		CHOICES.forEach((id, i) => {
			const value = p.get(id), option = [...$(id).options].find(o => o.value === value && !o.disabled);
			$(id).value = option ? value : initial[i];
		});
		state.about = null;
		if (lanes)
			lanes.fromText(p.get(LANES[0]), p.get(LANES[1]), p.get(LANES[2]) || initialLanes[2]);
		rebuild();
		state.about = state.base.frames[Number(p.get('of') || -1)] || null;
		if ($('view').value !== 'stacks')
			reshape();
		else if (Number.isInteger(zoom) && zoom > 0 && zoom < state.tree.cnt)
			zoomTo(zoom);
		$('search').value = p.get('search') || '';
		search();
		showTotal();
		restoring = false;
	}

	function focusOn(node) {
		if (node < 0)
			return;
		/* A frame outside of the zoomed one is shown by zooming out. */
		if (node >= state.tree.end[state.zoom])
			zoomTo(0);
		state.focus = node;
		state.hover = -1;
		$('tip').hidden = true;
		view.reveal(node, false);
		redraw();
		announce();
	}

	/* ---- search ---- */

	function rematch() {
		state.matches = state.test ? Uint8Array.from(state.tree.frames, f => state.test(f) ? 1 : 0) : null;
	}

	function showMatched() {
		const out = $('matched'), { tree, zoom } = state;

		$('clear').hidden = !state.test && !$('search').value;
		if (out.classList.contains('bad'))
			return;
		const found = state.matches ? state.matches.reduce((sum, m) => sum + m, 0) : 0;
		out.textContent = state.matches ?
			`${percent(M.countMatches(tree, zoom, state.matches), tree.total[zoom])} matched` +
			(state.chosen ? '' : ` by ${number.format(found)} ${found === 1 ? 'name' : 'names'}`) : '';
		out.title = state.matches && zoom ? 'Share of the zoomed frame' : '';
	}

	function setTest(test, chosen) {
		state.test = test;
		state.chosen = chosen;
		rematch();
		callers.rematch(test);
		showMatched();
		showTable();
		redraw();
	}

	function search() {
		const text = $('search').value, test = text ? M.makeMatcher(text) : null;
		const bad = Boolean(text && !test);

		$('search').setAttribute('aria-invalid', String(bad));
		$('matched').classList.toggle('bad', bad);
		if (bad)
			$('matched').textContent = 'invalid regular expression';
		setTest(test, null);
		remember(false);
	}

	function clearSearch() {
		$('search').value = '';
		search();
	}

	function highlight(f) {
		const again = state.chosen && sameFrame(state.chosen)(f);

		clearSearch();
		if (!again)
			setTest(sameFrame(f), f);
	}

	/* Next box in sight that matches, in reading order, around the end. */
	function nextMatch(step) {
		const { tree, zoom, matches, focus } = state, least = view.NARROW * tree.total[zoom] / view.width();
		const cnt = tree.end[zoom] - zoom;

		if (!matches)
			return;
		for (let k = 1; k <= cnt; k++) {
			const i = zoom + (((focus - zoom + step * k) % cnt) + cnt) % cnt;
			if (i && matches[tree.frame[i]] && tree.total[i] >= least) {
				focusOn(i);
				return;
			}
		}
	}

	function largestMatch() {
		const { tree, zoom, matches } = state;
		let best = -1;

		for (let i = Math.max(zoom, 1); matches && i < tree.end[zoom]; i++)
			if (matches[tree.frame[i]] && (best < 0 || tree.total[i] > tree.total[best]))
				best = i;
		focusOn(best);
	}

	/* ---- the table ---- */

	function showTable() {
		if (!$('panel').hidden && state.tree)
			KraitTable.show(state);
	}

	function toggleTable() {
		$('panel').hidden = !$('panel').hidden;
		$('table-button').setAttribute('aria-expanded', String(!$('panel').hidden));
		showTable();
		relayout();
	}

	/* ---- keyboard and mouse ---- */

	function neighbour(step) {
		const { tree, zoom, focus } = state, depth = tree.depth[focus];
		const least = view.NARROW * tree.total[zoom] / view.width();

		for (let i = focus + step; i > zoom && i < tree.end[zoom]; i += step)
			if (tree.depth[i] === depth && tree.total[i] >= least)
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
			if (tree.total[i] && (best < 0 || tree.total[i] > tree.total[best]))
				best = i;
		return best;
	}

	/* Of the functions below the zoomed frame that ran themselves: the box with the most. */
	function hottest() {
		const { tree, zoom } = state;
		let best = -1;

		for (let i = zoom; i < tree.end[zoom]; i++)
			if (i && tree.self[i] && (best < 0 || tree.self[i] > tree.self[best]))
				best = i;
		return best;
	}

	/* Ten steps, or as many as there are. */
	function along(next) {
		let at = state.focus;

		for (let k = 0; k < 10; k++) {
			const to = next(at);
			if (to < 0)
				break;
			at = to;
		}
		focusOn(at);
	}

	function foldRecursion() {
		$('recursion').value = $('recursion').value === 'folded' ? 'shown' : 'folded';
		rebuild();
	}

	function flip() {
		state.flame = !state.flame;
		$('flip').setAttribute('aria-pressed', String(state.flame));
		relayout();
		view.reveal(state.zoom, true);
	}

	function escape() {
		if (state.zoom)
			zoomTo(0);
		else if ($('search').value || state.test)
			clearSearch();
		else if (lanes)
			lanes.clear();
	}

	function openHelp() {
		$('help').showModal();
	}

	function startSearch() {
		$('search').focus();
		$('search').select();
	}

	/* ---- taken elsewhere ---- */

	const takers = {
		svg: () => KraitExport.save('krait.svg', 'image/svg+xml', KraitExport.svgOf(state, view)),
		png: () => canvas.toBlob(blob => blob && KraitExport.save('krait.png', 'image/png', [blob])),
		csv: () => KraitExport.save('krait.csv', 'text/csv', KraitExport.csvOf(state)),
		name: () => say(KraitExport.copy(state.focus ? nameOf(frameOf(state.focus)) : 'all'), 'the name'),
		stack: () => say(KraitExport.copy(KraitExport.stackOf(state.tree, state.focus)), 'the stack'),
		link: () => say(KraitExport.copy(location.href), 'the link'),
	};

	function say(done, what) {
		stage.focus();
		$('live').textContent = done ? `copied ${what}` : `the browser does not let this page copy ${what}`;
		$('hidden').textContent = $('live').textContent;
	}

	function take() {
		const what = $('take').value;

		$('take').value = '';
		if (takers[what])
			takers[what]();
	}

	const keys = {
		ArrowUp: () => focusOn(state.flame ? callee() : state.tree.parent[state.focus]),
		ArrowDown: () => focusOn(state.flame ? state.tree.parent[state.focus] : callee()),
		ArrowLeft: () => focusOn(neighbour(-1)),
		ArrowRight: () => focusOn(neighbour(1)),
		Home: () => focusOn(state.zoom),
		End: () => focusOn(hottest()),
		PageUp: () => along(i => state.tree.parent[i]),
		PageDown: () => along(callee),
		Enter: () => zoomTo(state.focus),
		' ': () => zoomTo(state.focus),
		Backspace: () => zoomTo(Math.max(0, state.tree.parent[state.zoom])),
		h: () => state.focus && highlight(frameOf(state.focus)),
		y: takers.name, Y: takers.stack,
		c: () => toggleView('callers'),
		e: () => toggleView('callees'),
		w: () => toggleView('sandwich'),
	};
	const anywhere = {
		'/': startSearch, Escape: escape, i: flip, t: toggleTable, '?': openHelp,
		b: () => toggleView('bottom-up'), m: nextMeasure, s: toSource, r: foldRecursion, n: () => nextMatch(1), N: () => nextMatch(-1),
	};

	function onKey(event) {
		const typing = event.target === $('search'), control = event.ctrlKey || event.metaKey;

		if ($('help').open)
			return;
		if (control && event.key === 'f' && !event.altKey) {
			/* A second Ctrl-F in the field is the browser's own. */
			if (typing)
				return;
			startSearch();
		} else if (typing) {
			if (event.key === 'Enter')
				largestMatch();
			else if (event.key === 'Escape')
				clearSearch();
			else
				return;
			stage.focus();
		} else if (control || event.altKey || event.target.tagName === 'SELECT' || event.target.tagName === 'INPUT') {
			return;
		} else if (keys[event.key] && event.target === stage) {
			keys[event.key]();
		} else if (anywhere[event.key]) {
			anywhere[event.key]();
		} else {
			return;
		}
		event.preventDefault();
	}

	function onMove(event) {
		const box = canvas.getBoundingClientRect();
		const node = view.nodeAt(event.clientX - box.left, event.clientY - box.top);

		canvas.classList.toggle('over', node >= 0);
		if (node !== state.hover) {
			state.hover = node;
			redraw();
		}
		showTip(event.clientX, event.clientY);
	}

	function onLeave() {
		state.hover = -1;
		$('tip').hidden = true;
		redraw();
	}

	function onClick(event) {
		const box = canvas.getBoundingClientRect();
		const node = view.nodeAt(event.clientX - box.left, event.clientY - box.top);

		if (node >= 0)
			zoomTo(node);
	}

	/* ---- start ---- */

	/* Processes: from so many on they are shown by program first. */
	const MANY = 20;
	const countOf = kind => allFrames.filter(f => f.kind === kind).length;
	const hasSeveral = kind => countOf(kind) > 1;

	function showLegend() {
		KraitText.showLegend(state.base, view.legendFill, view.fillOfChange);
	}

	/* Before and after where two recordings are compared, else the times of one. */
	function setUpMeasures() {
		const choice = $('measure');

		for (const option of [...choice.options])
			if (['before', 'after'].includes(option.value) !== meta.compared)
				option.remove();
		choice.parentNode.hidden = !meta.measure;
		if (!meta.compared)
			return;
		choice.parentNode.firstChild.data = 'As wide as ';
		const head = document.querySelector('#time-head button');
		head.textContent = 'Change';
		head.title = 'Of Self, in points of the share';
		head.dataset.sort = state.sort = 'change';
	}

	/* ---- light and dark, paper ---- */

	function onColors() {
		view.readTheme();
		callers.readTheme();
		showLegend();
		relayout();
		if (lanes)
			lanes.redraw();
		if (isSource())
			source.drawAgain();
	}

	function onPaper(on) {
		const levels = view.forPaper(on);

		if (!on)
			return;
		if (levels < view.levels())
			$('hidden').textContent = `${number.format(levels)} of ${number.format(view.levels())} levels are printed`;
		redrawNow();
		if (isSource())
			source.drawAll();
	}

	/* What is packed comes a moment after the first frame. */
	async function openStrip() {
		try {
			strip = KraitStrip.open(data, await KraitPacked.unpack(data.strip.data));
		} catch (error) {
			$('strip').hidden = false;
			$('strip-head').textContent = 'This browser cannot unpack the samples in the order of time.';
			return;
		}
		data.strip.data = '';
		lanes = KraitLanes(data, strip, reselect);
		initialLanes = lanes.toText();
		const p = new URLSearchParams(location.hash.slice(1));
		if (LANES.some(name => p.has(name)))
			restore();
	}

	async function openTexts() {
		let bytes = null;
		try {
			bytes = await KraitPacked.unpack(data.sources.data);
		} catch (error) {
			$('hidden').textContent = 'This browser cannot unpack the sources.';
		}
		data.sources.data = '';
		source.setTexts(KraitHeat.readTexts(data, allFrames, bytes));
	}

	function setUpStrip() {
		if (!data.strip)
			return null;
		if (data.strip.data)
			return openStrip();
		$('strip').hidden = false;
		$('strip-head').textContent = `${number.format(data.strip.samples)} samples in too many different stacks: ` +
			'they are not here in the order of time; krait convert --time makes a page of a part of them.';
		return null;
	}

	function start() {
		KraitTheme(onColors, onPaper);
		view.readTheme();
		callers.readTheme();
		const hasLevel = kind => allFrames.some(f => f.kind === kind);

		$('roots').options[1].disabled = !hasLevel(M.PROCESS);
		$('roots').options[2].disabled = !hasLevel(M.PROCESS);
		$('roots').options[3].disabled = !hasLevel(M.THREAD);
		if (meta.threads && hasLevel(M.THREAD))
			$('roots').value = 'thread';
		else if (!meta.compared && hasSeveral(M.PROCESS))
			$('roots').value = countOf(M.PROCESS) > MANY ? 'program' : 'process';
		source = KraitSource(data, allFrames, callersOfLine);
		if (meta.view === 'source') {
			$('view').value = 'source';
			source.want(meta.file, meta.line);
		}
		$('lines').value = meta.lines ? 'line' : 'function';
		KraitText.setUnit(meta.unit, meta.unitNs);
		if (!meta.compared)
			document.querySelector('#time-head button').textContent = KraitText.amountTitle();
		setUpMeasures();
		$('measure').value = meta.measure || 'wall';
		rebuild();
		KraitText.showHeader(meta, accounts, state.base.total[0]);
		showTotal();
		showLegend();

		$('view').addEventListener('change', changeView);
		$('take').addEventListener('change', take);
		$('roots').addEventListener('change', rebuild);
		$('lines').addEventListener('change', rebuild);
		$('recursion').addEventListener('change', rebuild);
		$('measure').addEventListener('change', measure);
		$('flip').addEventListener('click', flip);
		$('reset').addEventListener('click', () => { zoomTo(0); stage.focus(); });
		$('search').addEventListener('input', search);
		$('clear').addEventListener('click', () => { clearSearch(); stage.focus(); });
		$('table-button').addEventListener('click', toggleTable);
		$('help-button').addEventListener('click', openHelp);
		$('functions').addEventListener('click', event => {
			const row = event.target.closest('tr');
			if (row && row.frame)
				highlight(row.frame);
			else if (row)
				KraitTable.showMore(state);
		});
		for (const b of document.querySelectorAll('#panel th button')) {
			b.addEventListener('click', () => {
				state.sort = b.dataset.sort;
				showTable();
			});
		}
		canvas.addEventListener('mousemove', onMove);
		canvas.addEventListener('mouseleave', onLeave);
		canvas.addEventListener('click', onClick);
		stage.addEventListener('scroll', () => { onLeave(); });
		stage.addEventListener('focus', () => { state.focused = true; redraw(); });
		stage.addEventListener('blur', () => { state.focused = false; redraw(); });
		document.addEventListener('keydown', onKey);
		new ResizeObserver(() => relayout()).observe(stage);
		addEventListener('popstate', restore);
		initial = choices();
		ready = Promise.all([setUpStrip(), data.sources && openTexts()]);
		if (location.hash.length > 1)
			restore();
	}

	start();

	/* For scripts and tests: what is drawn where. */
	window.krait = {
		state,
		callers: () => callers.scene(),
		ready: () => ready.then(() => true),
		strip: () => strip, lanes: () => lanes, source: () => source, lineTree: () => lineTree || (lineTree = treeOf(null, true)),
		svg: () => KraitExport.svgOf(state, view).join(''),
		csv: () => KraitExport.csvOf(state).join(''),
		boxes: () => {
			const list = [];
			for (let i = 0; i < state.tree.cnt; i++)
				list.push(Object.assign({ node: i, name: i ? nameOf(frameOf(i)) : 'all',
					where: i ? whereOf(frameOf(i)) : '', total: state.tree.total[i],
					self: state.tree.self[i], depth: state.tree.depth[i] }, view.boxOf(i)));
			return list;
		},
		functions: () => KraitTable.rowsOf(state.base, state.tree === state.base ? state.zoom : 0, state.sort).map(r => ({ name: r.f.name, self: r.self, total: r.total })),
	};
})();

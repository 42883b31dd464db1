/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * flamegraph_page.js - assembles the page: its views, what is counted and over which time, and
 * exports. Names enter the page only as text.
 */
(() => {
	'use strict';

	const $ = id => document.getElementById(id);
	const { number, nameOf, whereOf } = KraitText;
	const data = JSON.parse($('data').textContent);
	const { meta, accounts } = data, frames = KraitFrames.read(data);
	const stage = $('stage'), canvas = $('canvas');
	const stacks = KraitStacks.open(data, frames);
	/* Shared by the modules: the state, and the modules themselves. */
	const state = { tree: null, base: stacks.shown, about: null, zoom: 0, focus: 0, hover: -1, matches: null, flame: false, focused: false,
		rootLabel: '', labelOf: nameOf, whereOf, isHit: node => app.search.isHit(node), test: null, chosen: null, sort: 'self', folded: 0,
		tops: () => app.scene.isTurned() || app.scene.isAbout() ? null : app.scene.membersOfZoom() };
	const app = { data, meta, frames, state, stacks, strip: null, lanes: null, source: null,
		view: KraitCanvas(canvas, stage, $('spacer')), depths: KraitDepths($('depths'), stage),
		editor: KraitEditor(meta.editor), rebuild, reshape, showTable, toggleTable, toggleView, toSource };
	const scene = app.scene = KraitScene(app);
	const search = app.search = KraitSearch.open(app);
	const address = app.address = KraitAddress(app);
	const { view } = app;
	const measures = app.measures = KraitMeasures(app);
	app.callers = KraitCallers(scene, frame => {
		state.about = frame;
		reshape();
	});

	/* From this width on the graph has room beside the table, and the page opens with both. */
	const WIDE = 1200, ROOMY = 1600; /* beside source lines */
	let selectedLast = '', preparing = 0, started = false, own = null /* selves of the selection */;

	/* ---- views ---- */

	/* Selves of the chosen range and lanes; null: everything. */
	function selected() {
		const chosen = app.lanes && app.lanes.selection();
		return chosen ? KraitStrip.selves(app.strip, own = own || new Float64Array(state.base.cnt), chosen, $('measure').value) : null;
	}

	/* Builds other boxes; path: the box, by their frames, that should fill the view. */
	function rebuild(path = []) {
		scene.begin();
		const part = selected();

		selectedLast = '';
		stacks.choose({ roots: $('roots').value, boxes: $('lines').value, folded: $('recursion').value === 'folded', only: $('only').value, by: $('by').value,
			measure: $('measure').value });
		if (part)
			stacks.refill(part);
		reshape(path);
	}

	function reshape(path = []) {
		scene.begin();
		search.rematch();
		scene.regrow(Array.isArray(path) ? path : []);
		scene.setRootLabel();
		scene.showCallers();
		showView();
		$('tip').hidden = true;
		$('reset').disabled = !state.zoom;
		scene.relayout();
		view.reveal(state.zoom, true);
		search.show();
		showTable();
		scene.announce();
		address.remember(true);
		prepareTable();
	}

	/* For another range or other lanes: boxes keep their places and change their widths. */
	function reselect(selection, done) {
		scene.begin();
		const path = KraitTree.pathTo(state.tree, state.zoom), key = JSON.stringify([selection, $('measure').value]);

		state.part = Boolean(selection);
		/* On release the range equals the last one shown. */
		if (key !== selectedLast) {
			selectedLast = key;
			stacks.refill(selected());
			search.rematch();
			scene.regrow(path);
		}
		$('tip').hidden = true;
		scene.setRootLabel();
		scene.showCallers();
		/* The header takes room from the graph. */
		measures.showTotal();
		scene.relayout(done);
		search.show();
		if (isSource())
			showSource();
		if (done) {
			/* Draw boxes first. */
			scene.afterPicture(() => { showTable(); measures.showLegend(); });
			scene.announce();
			address.remember(true);
			prepareTable();
		} else {
			scene.redrawNow();
		}
	}

	const isSource = () => $('view').value === 'source';

	function showSource() {
		app.source.show(stacks.finest());
	}

	function showView() {
		const on = isSource();

		$('source').hidden = !on;
		$('graph').hidden = on;
		$('depths').classList.toggle('unused', on);
		$('panel').classList.toggle('unused', on && innerWidth < ROOMY);
		for (const id of ['flip', 'reset', 'roots', 'lines', 'recursion', 'trunks', 'only', 'search', 'legend'])
			$(id).closest('label, #finder, button, #legend').classList.toggle('unused', on);
		if (on)
			showSource();
	}

	/* Goes from a line to its callers or callees. */
	function aroundLine(frame, view) {
		$('lines').value = 'line';
		$('view').value = view;
		state.about = Object.assign({}, frames[frame]);
		rebuild();
		stage.focus();
	}

	/* Goes from a frame to its line; a second time: back. */
	function toSource() {
		const f = state.focus ? scene.frameOf(state.focus) : state.chosen;

		if (isSource()) {
			$('view').value = 'stacks';
		} else {
			if (f && f.file)
				app.source.want(f.file, f.line > 0 ? f.line : f.firstLine);
			$('view').value = 'source';
		}
		changeView();
	}

	/*
	 * Returns the function for "callers and callees": the one in focus, or chosen, or the
	 * hottest.
	 */
	function aboutWhat() {
		if (state.focus && !state.tree.trunks.has(state.focus))
			return scene.frameOf(state.focus);
		return state.chosen || state.about || KraitTable.hottest(state.base);
	}

	function changeView() {
		if (scene.isAbout())
			state.about = aboutWhat();
		reshape();
	}

	/* For keys; the same key again returns to the stacks. */
	function toggleView(kind) {
		$('view').value = $('view').value === kind ? 'stacks' : kind;
		changeView();
	}

	/* ---- the table ---- */

	function showTable() {
		if (!$('panel').hidden && started)
			KraitTable.show(state, scene.afterPicture);
	}

	/* While the browser is idle: prepares the table, then the lines. */
	function prepareTable() {
		cancelIdleCallback(preparing);
		preparing = requestIdleCallback(() => {
			stacks.prepare();
			KraitTable.prepare(state);
			preparing = requestIdleCallback(() => app.source.prepare(stacks.finest()));
		});
	}

	function toggleTable() {
		$('panel').hidden = !$('panel').hidden;
		$('table-button').setAttribute('aria-expanded', String(!$('panel').hidden));
		showTable();
		scene.relayout();
		/* On a phone it is below the window. */
		if (!$('panel').hidden)
			$('panel').scrollIntoView({ block: 'nearest' });
	}

	/* ---- taken elsewhere ---- */

	app.takers = {
		svg: () => KraitExport.save('krait.svg', 'image/svg+xml', KraitSvg.of(state, view, app.lanes)),
		png: () => canvas.toBlob(blob => blob && KraitExport.save('krait.png', 'image/png', [blob])),
		csv: () => KraitExport.save('krait.csv', 'text/csv', KraitExport.csvOf(state)),
		name: () => say(KraitExport.copy(state.focus ? nameOf(scene.frameOf(state.focus)) : 'all'), 'the name'),
		stack: () => say(KraitExport.copy(KraitExport.stackOf(state.tree, state.focus)), 'the stack'),
		link: () => {
			address.write();
			say(KraitExport.copy(location.href), 'the link');
		},
	};

	function say(done, what) {
		stage.focus();
		$('live').textContent = done ? `copied ${what}` : `the browser does not let this page copy ${what}`;
		$('hidden').textContent = $('live').textContent;
	}

	function take() {
		const what = $('take').value;

		$('take').value = '';
		if (app.takers[what])
			app.takers[what]();
	}

	/* ---- light and dark, paper ---- */

	function onColors() {
		view.readTheme();
		app.callers.readTheme();
		measures.showLegend();
		showTable();
		scene.relayout();
		if (app.lanes)
			app.lanes.redraw();
		if (isSource())
			app.source.drawAgain();
	}

	function onPaper(on) {
		const levels = view.forPaper(on);

		if (!on) {
			view.cutUp();
			return;
		}
		if (levels < view.levels())
			$('hidden').textContent = `${number.format(levels)} of ${number.format(view.levels())} levels are printed`;
		scene.redrawNow();
		view.cutUp();
		if (isSource())
			app.source.drawAll();
	}

	/* ---- start ---- */

	/* Packed data is ready a moment after the first frame. */
	async function openStrip() {
		try {
			app.strip = KraitStrip.open(data, await KraitPacked.unpack(data.strip.data));
		} catch (error) {
			$('strip').hidden = false;
			$('strip-head').textContent = 'This browser cannot unpack the samples in the order of time.';
			return;
		}
		data.strip.data = '';
		app.lanes = KraitLanes(data, app.strip, reselect);
		address.withLanes();
	}

	async function openTexts() {
		let bytes = null;
		try {
			bytes = await KraitPacked.unpack(data.sources.data);
		} catch (error) {
			$('hidden').textContent = 'This browser cannot unpack the sources.';
		}
		data.sources.data = '';
		app.source.setTexts(KraitHeat.readTexts(data, frames, bytes));
	}

	function setUpStrip() {
		if (!data.strip)
			return null;
		if (data.strip.data) {
			KraitLanes.keepRoom(data);
			return openStrip();
		}
		$('strip').hidden = false;
		$('strip-head').textContent = `${number.format(data.strip.samples)} samples in too many different stacks: ` +
			'they are not here in the order of time; krait convert --time makes a page of a part of them.';
		return null;
	}

	function listen() {
		const on = (id, what, act) => $(id).addEventListener(what, act);

		on('view', 'change', changeView);
		on('take', 'change', take);
		on('of', 'change', showTable);
		for (const id of ['roots', 'lines', 'recursion', 'trunks', 'only', 'by'])
			on(id, 'change', () => rebuild());
		on('search', 'input', search.search);
		on('next', 'click', () => search.next(1));
		on('previous', 'click', () => search.next(-1));
		on('clear', 'click', () => { search.clear(); stage.focus(); });
		on('table-button', 'click', toggleTable);
		on('functions', 'click', event => {
			const row = event.target.closest('tr');
			if (row && row.frame)
				search.highlight(row.frame);
			else if (row)
				KraitTable.showMore(state, scene.afterPicture);
		});
		for (const b of document.querySelectorAll('#panel thead button')) {
			b.addEventListener('click', () => {
				state.sort = b.dataset.sort;
				showTable();
			});
		}
		KraitKeys(app);
		new ResizeObserver(scene.resized).observe(stage);
	}

	function start() {
		KraitText.setMeanings(data.meanings);
		KraitTheme(onColors, onPaper);
		view.readTheme();
		app.callers.readTheme();
		state.fillOf = view.fillOf;
		measures.start();
		app.source = KraitSource(data, frames, aroundLine, app.editor);
		if (meta.view === 'source') {
			$('view').value = 'source';
			app.source.want(meta.file, meta.line);
		} else if (innerWidth >= WIDE) {
			$('panel').hidden = false;
			$('table-button').setAttribute('aria-expanded', 'true');
		}
		rebuild();
		/* Boxes are drawn first. */
		started = true;
		scene.afterPicture(showTable);
		KraitText.showHeader(meta, accounts, state.base.total[0]);
		measures.showTotal();
		measures.showLegend();
		listen();
		const ready = Promise.all([setUpStrip(), data.sources && openTexts()]);
		address.start();
		if (location.hash.length < 2)
			scene.whenSettled().then(widen);
		ready.then(() => requestIdleCallback(() => app.source.prepare(stacks.finest())));
		return ready;
	}

	/* Where nearly everything is too narrow to see, boxes of files are wide enough. */
	function widen() {
		const { rest, total } = state.tree, narrow = rest.reduce((sum, cnt, i) => sum + (cnt ? total[i] : 0), 0);

		if (location.hash.length > 1 || $('view').value !== 'stacks' || $('lines').value !== 'function' || narrow < 0.5 * total[0])
			return;
		$('lines').value = 'file';
		rebuild();
	}

	const ready = start();

	/* For scripts and tests: says what is drawn where. */
	window.krait = {
		state, view, patterns: view.patterns,
		callers: () => app.callers.scene(),
		ready: () => ready.then(() => true),
		settled: () => scene.whenSettled().then(() => true),
		strip: () => app.strip, lanes: () => app.lanes, source: () => app.source, finest: stacks.finest,
		svg: () => KraitSvg.of(state, view, app.lanes).join(''),
		csv: () => KraitExport.csvOf(state).join(''),
		boxes: () => {
			const list = [];
			for (let i = 0; i < state.tree.cnt; i++) {
				const f = scene.frameOf(i);
				list.push(Object.assign({ node: i, name: i ? nameOf(f) : 'all', where: i ? whereOf(f) : '', total: state.tree.total[i],
					self: state.tree.self[i], depth: state.tree.depth[i] }, view.boxOf(i)));
			}
			return list;
		},
		functions: () => KraitTable.rowsOf(state.base, state.tops(), state.sort).map(r => ({ name: r.f.name, self: r.self, total: r.total })),
	};
})();

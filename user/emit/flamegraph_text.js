/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * flamegraph_text.js - numbers and names as text, and the header. Whatever comes from the profiled
 * program becomes text nodes only.
 */
const KraitText = (() => {
	'use strict';

	const $ = id => document.getElementById(id);
	const M = KraitModel;
	const number = new Intl.NumberFormat('en');

	/* What is counted: "samples", or "events" where samples stand for different numbers of them. */
	let unit = 'samples';
	const samples = n => number.format(n) + ' ' + (n === 1 ? unit.slice(0, -1) : unit);
	const setUnit = name => {
		unit = name || unit;
	};
	const percent = (n, of) => {
		const p = of > 0 ? 100 * n / of : 0;
		return (p > 0 && p < 0.05 ? '<0.1' : p.toFixed(1)) + '\u2009%';
	};

	function nameOf(f) {
		if (f.kind === M.PROCESS && f.pid > 0)
			return `${f.name} (${f.pid})`;
		return f.kind === M.THREAD && f.tid > 0 ? `${f.name} (${f.tid})` : f.name;
	}

	function lineOf(f) {
		return f.line > 0 ? f.line : f.firstLine;
	}

	function whereOf(f) {
		return f.file && f.kind === M.NATIVE ? f.path : f.file && f.kind === M.PYTHON ? f.path + (lineOf(f) > 0 ? ':' + lineOf(f) : '') : '';
	}

	function element(tag, className, text) {
		const e = document.createElement(tag);
		if (className)
			e.className = className;
		if (text !== undefined)
			e.textContent = text;
		return e;
	}

	/* Name, place and counts of a node. */
	function describe(tree, zoom, node) {
		const f = tree.frames[tree.frame[node]];
		const whole = tree.total[0];
		let counts = `${samples(tree.total[node])} · ${percent(tree.total[node], whole)} total · ` +
			`${percent(tree.self[node], whole)} self`;

		if (zoom && node >= zoom)
			counts += ` · ${percent(tree.total[node], tree.total[zoom])} of the zoomed frame`;
		if (!node)
			return { name: 'all', where: samples(whole),
				counts: 'Click a box to zoom in; / searches, ? shows all keys.' };
		let where = f.kind === M.PYTHON ? f.file : '';
		if (where && f.line > 0)
			where += `:${f.line}`;
		else if (where && f.firstLine > 0)
			where += `:${f.firstLine}`;
		if (f.kind === M.PROCESS)
			where = 'process';
		else if (f.kind === M.THREAD)
			where = 'thread';
		return { name: nameOf(f), where, counts };
	}

	function fill(box, d) {
		const top = element('div'), bottom = element('div', '', d.counts);
		top.append(element('span', 'name', d.name), ' ', element('span', 'file', d.where));
		box.replaceChildren(top, bottom);
	}

	function addMeta(label, value) {
		if (!value)
			return;
		const item = element('li', '', label ? label + ' ' : '');
		item.append(element('b', '', value));
		$('meta').append(item);
	}

	function duration(ms) {
		const s = ms / 1000;
		return !ms ? '' : s < 60 ? `${s.toFixed(s < 10 ? 2 : 1)} s` :
			`${Math.floor(s / 60)} min ${Math.round(s % 60)} s`;
	}

	function showHeader(meta, accounts, total) {
		/* A title that is only our name says less than the command. */
		const own = meta.title !== 'krait' && meta.title;
		const title = own || meta.commandLine || 'CPU profile';

		$('title').textContent = $('title').title = title;
		$('brand').hidden = title.startsWith('krait');
		document.title = `${title} - krait`;
		addMeta('', samples(total) + (meta.event ? ` of ${meta.event}` : ''));
		addMeta('in', duration(meta.milliseconds));
		addMeta('at', meta.frequency ? `${number.format(meta.frequency)} Hz` : '');
		addMeta('on', meta.host);
		addMeta('kernel', meta.kernel);
		addMeta('', meta.date);
		if (own)
			addMeta('command', meta.commandLine);
		addMeta('', accounts.interrupts ? accounts.text : '');
		addMeta('', accounts.unknownFrames ? `${number.format(accounts.unknownFrames)} unknown frames` : '');
		addMeta('', accounts.eventsDropped ?
			`${number.format(accounts.eventsDropped)} process events dropped` : '');

		const lost = accounts.lost / (accounts.interrupts || 1);
		const cut = accounts.truncated / (accounts.interrupts || 1);
		const share = [];
		if (lost > 0.01)
			share.push(`${percent(lost, 1)} of the interrupts were lost, so shares below are of the rest.`);
		if (cut > 0.01)
			share.push(`${percent(cut, 1)} of the stacks have no root; they are below a box that says so.`);
		$('loss').hidden = !share.length;
		$('loss').textContent = share.join(' ');
	}

	/* Whose code the samples end in; a colour and its share. */
	function showLegend(tree, fillOf) {
		const names = { own: 'own code', package: 'packages', stdlib: 'standard library',
			unknown: 'no file', native: 'native', kernel: 'kernel', mark: 'remarks' };
		const sums = {}, seen = {}, items = document.createDocumentFragment();

		for (let i = 0; i < tree.cnt; i++) {
			const { category } = tree.frames[tree.frame[i]];
			sums[category] = (sums[category] || 0) + tree.self[i];
			/* A box that never is a leaf has a colour all the same. */
			seen[category] = seen[category] || i > 0;
		}
		for (const category of Object.keys(names)) {
			if (!seen[category])
				continue;
			const item = element('li'), color = element('i');
			color.style.background = fillOf(category);
			item.title = category === 'mark' ?
				'What krait says in place of code. [truncated]: C code without frame pointers hides ' +
				'its callers in C; no sample is lost by it' :
				'Share of samples in functions of this kind themselves';
			item.append(color, `${names[category]} ${percent(sums[category], tree.total[0])}`);
			items.append(item);
		}
		$('legend').replaceChildren(items);
	}

	return { number, samples, setUnit, percent, nameOf, whereOf, element, describe, fill, showHeader,
		showLegend };
})();

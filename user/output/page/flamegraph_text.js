/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * flamegraph_text.js - numbers and names as text, and the header. Whatever comes from the profiled
 * program becomes text nodes only.
 */
const KraitText = (() => {
	'use strict';

	const $ = id => document.getElementById(id);
	const M = KraitFrames;
	const number = new Intl.NumberFormat('en');

	/*
	 * What is counted: "samples", or "events" if samples stand for different numbers of them;
	 * "nanoseconds" are shown as a time, "bytes" as a size.
	 */
	let unit = 'samples', unitNs = 0;
	const time = ns => {
		const [size, name] = [[1e9, 's'], [1e6, 'ms'], [1e3, 'µs'], [1, 'ns']].find(([s]) => ns >= s) || [1, 'ns'];
		const n = ns / size;
		return `${n.toFixed(size === 1 || n >= 100 ? 0 : n >= 10 ? 1 : 2)}\u2009${name}`;
	};
	const size = n => {
		const [by, name] = [[2 ** 30, 'GiB'], [2 ** 20, 'MiB'], [2 ** 10, 'KiB']].find(([s]) => n >= s) || [1, 'bytes'];
		return `${(n / by).toFixed(by === 1 || n >= 100 * by ? 0 : 1)}\u2009${name}`;
	};
	const samples = n => unit === 'nanoseconds' ? time(n) : unit === 'bytes' ? size(n) :
		number.format(n) + ' ' + (n === 1 ? unit.slice(0, -1) : unit);
	/* "811 samples · 813 ms"; needs the time per sample. */
	const counted = n => samples(n) + (unit === 'samples' && unitNs ? ` · ${time(n * unitNs)}` : '');
	/* Alone in a column: a time if known, else a number. */
	const amount = n => unit === 'nanoseconds' ? time(n) : unit === 'bytes' ? size(n) : unit === 'samples' && unitNs ? time(n * unitNs) : number.format(n);
	const amountTitle = () => unit === 'nanoseconds' || (unit === 'samples' && unitNs) ? 'Self time' : unit === 'bytes' ? 'Self size' : `Self ${unit}`;
	const setUnit = (name, ns) => {
		unit = name || unit;
		unitNs = ns || 0;
	};
	const percent = (n, of) => {
		const p = of > 0 ? 100 * n / of : 0;
		return (p > 0 && p < 0.05 ? '<0.1' : p.toFixed(1)) + '\u2009%';
	};

	function nameOf(f) {
		/*
		 * Unnamed functions of a library are named after its file; an interpreter's
		 * libraries share a tag, which we drop.
		 */
		if (f.kind === M.NATIVE)
			return f.name.replace(/\.cpython-[^.]+\.so\]$/, '.so]');
		if (f.kind === M.PROCESS && f.pid > 0)
			return `${f.name} (${f.pid})`;
		return f.kind === M.THREAD && f.tid > 0 ? `${f.name} (${f.tid})` : f.name;
	}

	function lineOf(f) {
		return f.line > 0 ? f.line : f.firstLine;
	}

	function whereOf(f) {
		return f.isFile ? '' : f.file && f.kind === M.NATIVE ? f.path : f.file && f.kind === M.PYTHON ? f.path + (lineOf(f) > 0 ? ':' + lineOf(f) : '') : '';
	}

	function element(tag, className, text) {
		const e = document.createElement(tag);
		if (className)
			e.className = className;
		if (text !== undefined)
			e.textContent = text;
		return e;
	}

	/* Meanings of the marks that the page shows, in words (profile/marks.c). */
	let meanings = {};
	const setMeanings = words => { meanings = words; };
	const meaningOf = name => Object.hasOwn(meanings, name) ? meanings[name] : 'a remark of krait, not a function';

	const sign = n => n > 0 ? '+' : n < 0 ? '\u2212' : '';
	/* A change, or one side of it without a sign, by points, an amount, or an amount per second. */
	const sideText = (by, n) => by === 'share' ? `${Math.abs(n).toFixed(1)}\u2009%` : amount(Math.abs(by === 'rate' && unit !== 'nanoseconds' ? Math.round(n) : n)) + (by === 'rate' ? '/s' : '');
	const changeText = (by, n) => by === 'share' ? `${sign(Number(n.toFixed(1)))}${Math.abs(n).toFixed(1)} points` : sign(n) + sideText(by, n);

	/* "before 12.0 % · 1.20 s, +3.1 points" */
	function changed(tree, node) {
		const what = tree.measure === 'before' ? 'after' : 'before';
		return `${what} ${percent(tree.other[node], tree.other[0])} · ${counted(tree.other[node])}, ` +
			changeText(tree.by, KraitTree.changeOf(tree, tree.total[node], tree.other[node]));
	}

	/* Describes a node: name, place and counts. */
	function describe(tree, zoom, node, turned) {
		const f = tree.frames[tree.frame[node]];
		const whole = tree.total[0];
		/* In an inverted tree, self is what nobody called. */
		let counts = `${counted(tree.total[node])} · ${percent(tree.total[node], whole)} total` +
			(turned ? '' : ` · ${percent(tree.self[node], whole)} self`);

		if (tree.other)
			counts += ` · ${changed(tree, node)}`;
		if (zoom && node >= zoom)
			counts += ` · ${percent(tree.total[node], tree.total[zoom])} of the zoomed frame`;
		if (!node)
			return { name: 'all', where: counted(whole),
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
		else if (f.kind === M.NATIVE)
			where = `native code · ${f.file}`;
		else if (f.kind === M.KERNEL)
			where = 'kernel';
		else if (f.kind === M.MARK)
			where = meaningOf(f.name);
		else if (f.kind === M.TRUNK)
			where = `Most calls come through these; a click shows each: ${f.names.join(' \u203a ')}`;
		if (tree.edge[node])
			counts += ` · ${KraitFrames.HIDING.filter((_, i) => tree.edge[node] >> i & 1).map(meaningOf).join(' · ')}`;
		return { name: nameOf(f), where, counts };
	}

	/* d: from describe(); lines: of its function, those with most samples. */
	function fill(box, d) {
		const top = element('div'), bottom = element('div', '', d.counts);
		top.append(element('span', 'name', d.name), ' ', element('span', 'file', d.where));
		box.replaceChildren(top, bottom, ...(d.lines || []).map(({ line, share, text }) => {
			const row = element('div', 'hot');
			row.append(element('b', '', share), ` line ${line} `, element('code', '', text));
			return row;
		}));
	}

	function addMeta(label, value) {
		if (!value)
			return null;
		const item = element('li', '', label ? label + ' ' : '');
		item.append(element('b', '', value));
		$('meta').append(item);
		return item;
	}

	/* Shows the total and its unit; words: instead of that. */
	function showTotal(total, what, words = counted(total) + (what ? ` of ${what}` : '')) {
		$('total').replaceChildren(element('b', '', words));
	}

	function duration(ms) {
		const s = ms / 1000;
		return !ms ? '' : ms < 1000 ? time(ms * 1e6) : s < 60 ? `${s.toFixed(s < 10 ? 2 : 1)} s` :
			`${Math.floor(s / 60)} min ${Math.round(s % 60)} s`;
	}

	/* How long the recording, or the chosen part of it, lasted. */
	function showLength(ms) {
		$('length').hidden = !ms;
		$('length').lastChild.textContent = duration(ms);
	}

	function showHeader(meta, accounts, total) {
		/* The command says more than a title that is only our name. */
		const own = meta.title !== 'krait' && meta.title;
		const title = own || meta.commandLine || 'CPU profile';

		$('title').textContent = $('title').title = title;
		$('brand').hidden = title.startsWith('krait');
		document.title = `${title} - krait`;
		addMeta('', '\u2009').id = 'total';
		showTotal(total, meta.event);
		addMeta('in', duration(meta.milliseconds) || '\u2009').id = 'length';
		showLength(meta.milliseconds);
		addMeta('at', meta.frequency ? `${number.format(meta.frequency)} Hz` : '');
		addMeta('on', meta.host);
		addMeta('kernel', meta.kernel);
		addMeta('', meta.date);
		if (own)
			addMeta('command', meta.commandLine);
		/* In a comparison these numbers mean nothing. */
		addMeta('', accounts.interrupts && !meta.compared ? accounts.text.replace(/\d{4,}/g, n => number.format(Number(n))) : '');
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

	/*
	 * What a thread waited for is at the end of its stack, with a name from
	 * user/profile/states.c.
	 */
	const isWait = f => f.kind === M.MARK && /^\[(gil|lock|io|sleep|runnable|fault|stopped|waiting|stop-the-world|critical-section)[:\]]/.test(f.name);

	const waitOf = f => f.name.match(/^\[([a-z-]+)/)[1];
	/* In the order of the lanes. */
	const STATES = { python: 'Python', native: 'native, without the GIL', cpu: 'on a CPU', gil: 'waits for the GIL', lock: 'waits for a lock',
		io: 'input, output', sleep: 'asleep', runnable: 'could run', fault: 'waits for memory', stopped: 'stopped', waiting: 'waiting',
		'stop-the-world': 'world stopped', 'critical-section': 'waits for an object', '': 'samples' };
	/* Of smaller ones the legend says nothing. */
	const LEGEND_LEAST = 0.005;

	/*
	 * Legend of the colours: the change, or the origin of the code in which samples end, with
	 * its share of all stacks.
	 */
	function legendOf(tree) {
		const names = { own: 'own code', package: 'packages', stdlib: 'standard library',
			unknown: 'no file', native: 'native', kernel: 'kernel', mark: 'markers' };
		const sums = {}, seen = {};

		if (tree.other)
			return [[1, 'more than before'], [0, 'as before'], [-1, 'less'], tree.measure === 'before' ? ['gone', 'gone'] : ['new', 'new']].map(([tone, text]) => ({ tone, text }));
		const selves = new Float64Array(tree.frames.length), drawn = new Uint8Array(tree.frames.length), { cnt, frame, self, total } = tree;
		for (let i = 0; i < cnt; i++) {
			if (frame[i] < 0 || !total[i])
				continue;
			selves[frame[i]] += self[i];
			drawn[frame[i]] |= i > 0;
		}
		const waits = new Map();
		/* A box that is never a leaf has a colour as well. */
		tree.frames.forEach(({ category }, i) => {
			sums[category] = (sums[category] || 0) + selves[i];
			seen[category] = seen[category] || drawn[i];
			if (!isWait(tree.frames[i]) || !selves[i])
				return;
			const what = waitOf(tree.frames[i]), wait = waits.get(what) || { frame: tree.frames[i], sum: 0 };
			wait.sum += selves[i];
			sums.mark -= selves[i];
			waits.set(what, wait);
		});
		/* Rounding must not leave a part of nothing. */
		seen.mark = seen.mark && (!waits.size || sums.mark > total[0] * 1e-9);
		return [
			...Object.keys(names).filter(category => seen[category]).map(category => ({ category, text: `${names[category]} ${percent(sums[category], total[0])}`,
				title: category === 'mark' ? 'What krait says in place of code; point at one to read what it means' :
					'Share of samples in functions of this kind themselves' })),
			...[...waits].sort((a, b) => b[1].sum - a[1].sum).filter(([, { sum }]) => sum >= LEGEND_LEAST * total[0]).map(([what, { frame: wait, sum }]) => ({
				category: 'wait', wait, text: `${STATES[what] || what} ${percent(sum, total[0])}`, title: 'Share of the time in which threads waited so' })),
		];
	}

	function showLegend(tree, fillOf, fillOfChange, chipOf) {
		$('legend').replaceChildren(...legendOf(tree).map(({ category, wait, tone, text, title = '' }) => {
			const item = element('li'), color = element('i', category);
			color.style.backgroundColor = wait ? chipOf(wait) : category ? fillOf(category) : fillOfChange(tone);
			item.title = title;
			item.append(color, text);
			return item;
		}));
	}

	/*
	 * "python3 [worker.py] (4711)" in three parts: the program, what distinguishes it, its
	 * number.
	 */
	function taskParts(label) {
		const [, name, id = ''] = label.match(/^(.*?)( \(\d+\))?$/s), at = name.endsWith(']') ? name.lastIndexOf(' [') + 1 : 0;

		return [name.slice(0, at), name.slice(at), id];
	}

	return { number, samples, counted, sideText, changeText, amount, amountTitle, setUnit, setMeanings, percent, nameOf, taskParts, whereOf, element, describe, fill, showHeader,
		duration, STATES, LEGEND_LEAST, showTotal, showLength, legendOf, showLegend };
})();

/*
 * Links to an editor. template: "vscode://file/{file}:{line}"; "": none. It must name a program, so that no link is a script.
 */
const KraitEditor = template => {
	'use strict';

	const isGood = /^(?!javascript|data|vbscript|blob|file)[a-z][a-z0-9+.-]*:\/\//.test(template || '') && template.includes('{file}');
	const addressOf = (file, line) => template.replace(/\{file\}/g, () => file.toWellFormed().split('/').map(encodeURIComponent).join('/'))
		.replace(/\{line\}/g, () => String(line > 0 ? line : 1));

	function link(file, line, text) {
		const a = Object.assign(document.createElement('a'), { href: addressOf(file, line), textContent: text, title: `Open ${file}:${line} in the editor` });
		a.rel = 'noreferrer';
		return a;
	}

	return { has: () => isGood, link, open: (file, line) => isGood && file && link(file, line, '').click() };
};

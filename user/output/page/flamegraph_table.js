/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * flamegraph_table.js - the functions below the zoomed frame as rows.
 */
const KraitTable = (() => {
	'use strict';

	/*
	 * ROWS_MAX is more than anybody reads; the first AT_ONCE are visible immediately, the
	 * others a moment later.
	 */
	const ROWS_MAX = 300, AT_ONCE = 24;
	const $ = id => document.getElementById(id);
	let last = 0, known = [], knownKey = '', counts = [], countsKey = '';
	const M = KraitFrames;
	const { number, samples, counted, amount, points, percent, nameOf, whereOf, element } = KraitText;

	/* Counts all stacks, or those below some nodes; in the order of frames. */
	function count(tree, tops) {
		const { self, total } = KraitStacks.countFrames(tree, tops);
		const others = tree.other ? KraitStacks.countFrames(tree, tops, tree.otherSelf, tree.other) : null;
		const change = i => others ? KraitTree.changeOf(tree, i, self, others.self) : 0;
		const rows = [];

		tree.frames.forEach((f, i) => {
			if (f.kind === M.PYTHON || f.kind === M.NATIVE || f.kind === M.KERNEL ? total[i] > 0 : self[i] > 0)
				rows.push({ f, self: self[i], total: total[i], change: change(i), other: others ? others.self[i] : 0 });
		});
		return rows;
	}

	/* Returns a sorted copy. */
	function sorted(rows, sort) {
		const other = sort === 'total' ? 'self' : 'total';

		if (sort === 'change')
			return rows.slice().sort((a, b) => Math.abs(b.change) - Math.abs(a.change) || b.self - a.self);
		return rows.slice().sort((a, b) => (sort === 'name' ? 0 : b[sort] - a[sort] || b[other] - a[other]) ||
			(a.f.name < b.f.name ? -1 : a.f.name > b.f.name ? 1 : b.self - a.self));
	}

	const rowsOf = (tree, tops, sort) => sorted(count(tree, tops), sort);

	/* Returns the function with the largest Self, not a wait or another mark; null: none. */
	function hottest(tree) {
		const selves = KraitStacks.selvesByFrame(tree, tree.self), own = selves.map((self, i) => tree.frames[i].kind === M.MARK ? 0 : self);
		const most = own.reduce((a, b) => Math.max(a, b), 0), at = own.indexOf(most);

		if (most && own.indexOf(most, at + 1) < 0)
			return tree.frames[at];
		const rows = rowsOf(tree, null, 'self');
		return (rows.find(r => r.f.kind !== M.MARK && (r.self || !most)) || rows[0] || { f: null }).f;
	}

	function numberCell(n, of) {
		const cell = element('td', 'number', percent(n, of)), bar = element('i');
		bar.style.width = Math.min(100, of ? 100 * n / of : 0) + '%';
		cell.title = counted(n);
		cell.append(bar);
		return cell;
	}

	function changeCell(row, tree) {
		const cell = element('td', 'number', points(row.change).replace(' points', '')), before = tree.measure === 'before';

		cell.title = `Self, in points. ${before ? 'After' : 'Before'}: ${percent(row.other, tree.other[0])} \u00b7 ${counted(row.other)}`;
		return cell;
	}

	/* "Query.parse" is recognisable as "parse": the rest is cut first. */
	function parts(f) {
		const name = nameOf(f), at = f.kind === M.PYTHON ? name.lastIndexOf('.') + 1 : 0;

		return [...(at ? [element('span', 'most', name.slice(0, at))] : []), element('span', 'last', name.slice(at))];
	}

	function lineRow(row, state, whole) {
		const line = element('tr'), cell = element('td'), what = element('div', 'what');

		line.append(numberCell(row.self, whole), numberCell(row.total, whole));
		line.append(state.base.other ? changeCell(row, state.base) : element('td', 'number', amount(row.self)));
		const name = element('button', 'name');
		name.type = 'button';
		name.append(...parts(row.f));
		name.setAttribute('aria-pressed', String(row.f === state.chosen));
		const chip = element('i', `chip ${row.f.category}`);
		chip.style.backgroundColor = state.fillOf(row.f);
		what.append(chip, name, element('span', 'file', whereOf(row.f)));
		cell.append(what);
		cell.title = `${nameOf(row.f)}\n${row.f.file}`;
		line.classList.toggle('chosen', state.chosen === row.f);
		line.append(cell);
		line.frame = row.f;
		return line;
	}

	function moreRow(cnt) {
		const line = element('tr'), cell = element('td'), more = element('button', 'more', `${number.format(cnt)} more`);

		more.type = 'button';
		cell.colSpan = 4;
		cell.append(more);
		line.append(cell);
		return line;
	}

	/* All rows in order, cached as long as they stay the same. */
	function prepare(state) {
		const tree = state.base, tops = state.tops(), what = `${tree.version} ${tops ? `${tops[0]} ${tops.length}` : ''}`;
		const key = `${what} ${state.sort}`;

		if (what !== countsKey)
			counts = count(tree, tops);
		countsKey = what;
		if (key !== knownKey)
			known = sorted(counts, state.sort);
		knownKey = key;
		return known;
	}

	/* state: base, tree, zoom, tops(), sort and the chosen frame; afterPicture: of KraitScene. */
	function show(state, afterPicture) {
		/* Counts stacks, whatever the view; shows only what the search wants. */
		const tree = state.base, tops = state.tops(), zoom = tops ? state.zoom : 0, whole = zoom ? state.tree.total[zoom] : tree.total[0];
		const all = prepare(state);
		const rows = state.test && !state.chosen ? all.filter(r => state.test(r.f)) : all;
		const body = document.createDocumentFragment();

		const shown = Math.min(rows.length, state.rows || ROWS_MAX), lineOf = row => lineRow(row, state, whole);
		body.append(...rows.slice(0, Math.min(shown, AT_ONCE)).map(lineOf));
		$('functions').replaceChildren(body);
		const mine = ++last;
		if (shown > AT_ONCE || shown < rows.length)
			afterPicture(() => mine === last && $('functions').append(...rows.slice(AT_ONCE, shown).map(lineOf),
				...(shown < rows.length ? [moreRow(rows.length - shown)] : [])));
		const more = all.length > rows.length ? ` of ${number.format(all.length)}` : '';
		$('scope').textContent = (zoom ? `Within ${nameOf(state.tree.frames[state.tree.frame[zoom]])}: ` : state.part ? 'Chosen time: ' : 'Whole recording: ') +
			`${counted(whole)}, ${number.format(rows.length)}${more} functions`;
		for (const b of document.querySelectorAll('#panel th button')) {
			if (b.dataset.sort === state.sort)
				b.parentNode.setAttribute('aria-sort', state.sort === 'name' ? 'ascending' : 'descending');
			else
				b.parentNode.removeAttribute('aria-sort');
		}
	}

	/* Shows the next rows as well. */
	function showMore(state, afterPicture) {
		state.rows = (state.rows || ROWS_MAX) + 10 * ROWS_MAX;
		show(state, afterPicture);
	}

	return { rowsOf, hottest, prepare, show, showMore };
})();

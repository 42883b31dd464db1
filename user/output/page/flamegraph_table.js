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
	const { number, samples, counted, amount, sideText, changeText, percent, nameOf, whereOf, element } = KraitText;

	/* Counts all stacks, or those below some nodes; in the order of frames. */
	function count(tree, tops) {
		const { self, total } = KraitStacks.countFrames(tree, tops);
		const others = tree.other ? KraitStacks.countFrames(tree, tops, tree.otherSelf, tree.other) : null;
		const rows = [];

		tree.frames.forEach((f, i) => {
			const counts = f.kind === M.PYTHON || f.kind === M.NATIVE || f.kind === M.KERNEL ? 'total' : 'self';
			if ((counts === 'total' ? total : self)[i] > 0 || (others && others[counts][i] > 0))
				rows.push({ f, self: self[i], total: total[i], others: others && { self: others.self[i], total: others.total[i] } });
		});
		return rows;
	}

	/* Of Self or Total; from before to after, and how much that has changed. */
	const part = () => $('of').value;
	const changeOf = (tree, row) => KraitTree.changeOf(tree, row[part()], row.others[part()]);
	function sides(tree, row) {
		const [shown, other] = KraitTree.sidesOf(tree, row[part()], row.others[part()]);

		return tree.measure === 'before' ? { before: shown, after: other } : { before: other, after: shown };
	}

	/* Returns a sorted copy. */
	function sorted(tree, rows, sort) {
		const other = sort === 'total' ? 'self' : 'total';

		if (['change', 'before', 'after'].includes(sort)) {
			const key = new Map(rows.map(row => [row, sort === 'change' ? Math.abs(changeOf(tree, row)) : sides(tree, row)[sort]]));
			return rows.slice().sort((a, b) => key.get(b) - key.get(a) || b.self - a.self);
		}
		return rows.slice().sort((a, b) => (sort === 'name' ? 0 : b[sort] - a[sort] || b[other] - a[other]) ||
			(a.f.name < b.f.name ? -1 : a.f.name > b.f.name ? 1 : b.self - a.self));
	}

	const rowsOf = (tree, tops, sort) => sorted(tree, count(tree, tops), sort);

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

	/* Before, after, and the change. */
	function changeCells(row, tree) {
		const { before, after } = sides(tree, row), isBefore = tree.measure === 'before', mine = row[part()], other = row.others[part()];
		const cells = [sideText(tree.by, before), sideText(tree.by, after), changeText(tree.by, after - before).replace(' points', '')].map(text => element('td', 'number', text));

		[isBefore ? mine : other, isBefore ? other : mine].forEach((n, i) => { cells[i].title = counted(n); });
		return cells;
	}

	/* "Query.parse" is recognisable as "parse": the rest is cut first. */
	function parts(f) {
		const name = nameOf(f), at = f.kind === M.PYTHON ? name.lastIndexOf('.') + 1 : 0;

		return [...(at ? [element('span', 'most', name.slice(0, at))] : []), element('span', 'last', name.slice(at))];
	}

	function lineRow(row, state, whole) {
		const line = element('tr'), cell = element('td'), what = element('div', 'what');

		if (row.others)
			line.append(...changeCells(row, state.base));
		else
			line.append(numberCell(row.self, whole), numberCell(row.total, whole), element('td', 'number', amount(row.self)));
		line.classList.toggle('gone', Boolean(row.others) && !sides(state.base, row).after && !(state.base.measure === 'before' ? row.others : row).total);
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
		const tree = state.base, tops = state.tops(), now = `${tree.version} ${tops ? `${tops[0]} ${tops.length}` : ''}`;
		const key = `${now} ${state.sort} ${part()} ${tree.by}`;

		if (now !== countsKey)
			counts = count(tree, tops);
		countsKey = now;
		if (key !== knownKey)
			known = sorted(tree, counts, state.sort);
		knownKey = key;
		return known;
	}

	/* The hottest functions of one's own code come before all others, if they say something: then the order is only theirs. */
	const OWN_ROWS = 3, OWN_LEAST = 0.005;

	function ownFirst(rows, state, whole) {
		if (state.sort !== 'self' || state.test || state.base.other)
			return [rows, 0];
		const own = rows.filter(r => r.f.category === 'own' && r.self >= OWN_LEAST * whole).slice(0, OWN_ROWS);
		return [own.length ? [...own, ...rows.filter(r => !own.includes(r))] : rows, own.length];
	}

	/* state: base, tree, zoom, tops(), sort and the chosen frame; afterPicture: of KraitScene. */
	function show(state, afterPicture) {
		/* Counts stacks, whatever the view; shows only what the search wants. */
		const tree = state.base, tops = state.tops(), zoom = tops ? state.zoom : 0, whole = zoom ? state.tree.total[zoom] : tree.total[0];
		const all = prepare(state);
		const [rows, own] = ownFirst(state.test && !state.chosen ? all.filter(r => state.test(r.f)) : all, state, whole);
		const body = document.createDocumentFragment();

		const shown = Math.min(rows.length, state.rows || ROWS_MAX), lineOf = row => lineRow(row, state, whole);
		body.append(...rows.slice(0, Math.min(shown, AT_ONCE)).map(lineOf));
		if (own && own < rows.length)
			body.children[own - 1].classList.add('last-own');
		$('functions').replaceChildren(body);
		const mine = ++last;
		if (shown > AT_ONCE || shown < rows.length)
			afterPicture(() => mine === last && $('functions').append(...rows.slice(AT_ONCE, shown).map(lineOf),
				...(shown < rows.length ? [moreRow(rows.length - shown)] : [])));
		const more = all.length > rows.length ? ` of ${number.format(all.length)}` : '';
		$('scope').firstChild.textContent = (zoom ? `Within ${nameOf(state.tree.frames[state.tree.frame[zoom]])}: ` : state.part ? 'Chosen time: ' : 'Whole recording: ') +
			`${counted(whole)}, ${number.format(rows.length)}${more} functions`;
		for (const b of document.querySelectorAll('#panel thead button')) {
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

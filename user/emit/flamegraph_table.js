/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * flamegraph_table.js - the functions below the zoomed frame, as rows.
 */
const KraitTable = (() => {
	'use strict';

	const ROWS_MAX = 300; /* more than anybody reads, few enough to be instant */
	const $ = id => document.getElementById(id);
	const M = KraitModel;
	const { number, samples, counted, amount, points, percent, nameOf, whereOf, element } = KraitText;

	function rowsOf(tree, zoom, sort) {
		const { self, total } = M.countFrames(tree, zoom);
		const others = tree.other ? M.countFrames(tree, zoom, tree.otherSelf, tree.other) : null;
		const change = i => others ? M.changeOf(tree, i, self, others.self) : 0;
		const rows = [];

		tree.frames.forEach((f, i) => {
			if (f.kind === M.PYTHON || f.kind === M.NATIVE || f.kind === M.KERNEL ? total[i] > 0 : self[i] > 0)
				rows.push({ f, self: self[i], total: total[i], change: change(i) });
		});
		const other = sort === 'total' ? 'self' : 'total';

		if (sort === 'change')
			return rows.sort((a, b) => Math.abs(b.change) - Math.abs(a.change) || b.self - a.self);
		return rows.sort((a, b) => (sort === 'name' ? 0 : b[sort] - a[sort] || b[other] - a[other]) ||
			(a.f.name < b.f.name ? -1 : a.f.name > b.f.name ? 1 : b.self - a.self));
	}

	function numberCell(n, of) {
		const cell = element('td', 'number', percent(n, of)), bar = element('i');
		bar.style.width = Math.min(100, of ? 100 * n / of : 0) + '%';
		cell.title = counted(n);
		cell.append(bar);
		return cell;
	}

	/* state: base, tree, zoom, sort and the chosen frame. */
	function show(state) {
		/* Of the stacks, whatever the view; only what the search wants. */
		const tree = state.base, zoom = state.tree === tree ? state.zoom : 0;
		const all = rowsOf(tree, zoom, state.sort);
		const rows = state.test && !state.chosen ? all.filter(r => state.test(r.f)) : all;
		const body = document.createDocumentFragment();

		for (const row of rows.slice(0, state.rows || ROWS_MAX)) {
			const line = element('tr'), cell = element('td');
			line.append(numberCell(row.self, tree.total[zoom]), numberCell(row.total, tree.total[zoom]));
			line.append(element('td', 'number', tree.other ? points(row.change).replace(' points', '') : amount(row.self)));
			const name = element('button', 'name', nameOf(row.f));
			name.type = 'button';
			name.setAttribute('aria-pressed', String(row.f === state.chosen));
			cell.append(name, element('span', 'file', whereOf(row.f)));
			cell.title = `${nameOf(row.f)}\n${row.f.file}`;
			line.classList.toggle('chosen', state.chosen === row.f);
			line.append(cell);
			line.frame = row.f;
			body.append(line);
		}
		const shown = Math.min(rows.length, state.rows || ROWS_MAX);
		if (shown < rows.length) {
			const line = element('tr'), cell = element('td'), more = element('button', 'more', `${number.format(rows.length - shown)} more`);
			more.type = 'button';
			cell.colSpan = 4;
			cell.append(more);
			line.append(cell);
			body.append(line);
		}
		$('functions').replaceChildren(body);
		const more = all.length > rows.length ? ` of ${number.format(all.length)}` : '';
		$('scope').textContent = (zoom ? `Within ${nameOf(tree.frames[tree.frame[zoom]])}: ` : state.part ? 'Chosen time: ' : 'Whole recording: ') +
			`${counted(tree.total[zoom])}, ${number.format(rows.length)}${more} functions`;
		for (const b of document.querySelectorAll('#panel th button')) {
			if (b.dataset.sort === state.sort)
				b.parentNode.setAttribute('aria-sort', state.sort === 'name' ? 'ascending' : 'descending');
			else
				b.parentNode.removeAttribute('aria-sort');
		}
	}

	/* The next rows are shown, too. */
	function showMore(state) {
		state.rows = (state.rows || ROWS_MAX) + 10 * ROWS_MAX;
		show(state);
	}

	return { rowsOf, show, showMore };
})();

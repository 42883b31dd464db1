/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * flamegraph_table.js - the functions below the zoomed frame, as rows.
 */
const KraitTable = (() => {
	'use strict';

	const ROWS_MAX = 300; /* more than anybody reads, few enough to be instant */
	const $ = id => document.getElementById(id);
	const M = KraitModel;
	const { number, samples, percent, nameOf, whereOf, element } = KraitText;

	function rowsOf(tree, zoom, sort) {
		const { self, total } = M.countFrames(tree, zoom);
		const rows = [];

		tree.frames.forEach((f, i) => {
			if (f.kind === M.PYTHON || f.kind === M.NATIVE || f.kind === M.KERNEL ? total[i] > 0 : self[i] > 0)
				rows.push({ f, self: self[i], total: total[i] });
		});
		const other = sort === 'total' ? 'self' : 'total';
		return rows.sort((a, b) => (sort === 'name' ? 0 : b[sort] - a[sort] || b[other] - a[other]) ||
			(a.f.name < b.f.name ? -1 : a.f.name > b.f.name ? 1 : b.self - a.self));
	}

	function numberCell(n, of) {
		const cell = element('td', 'number', percent(n, of)), bar = element('i');
		bar.style.width = Math.min(100, of ? 100 * n / of : 0) + '%';
		cell.title = samples(n);
		cell.append(bar);
		return cell;
	}

	/* state: tree, zoom, sort and the chosen frame. */
	function show(state) {
		const { tree, zoom } = state, rows = rowsOf(tree, zoom, state.sort);
		const body = document.createDocumentFragment();

		for (const row of rows.slice(0, ROWS_MAX)) {
			const line = element('tr'), cell = element('td');
			line.append(numberCell(row.self, tree.total[zoom]), numberCell(row.total, tree.total[zoom]));
			const name = element('button', 'name', nameOf(row.f));
			name.type = 'button';
			name.setAttribute('aria-pressed', String(row.f === state.chosen));
			cell.append(name, element('span', 'file', whereOf(row.f)));
			cell.title = row.f.file;
			line.classList.toggle('chosen', state.chosen === row.f);
			line.append(cell);
			line.frame = row.f;
			body.append(line);
		}
		$('functions').replaceChildren(body);
		const more = rows.length > ROWS_MAX ? `, the first ${ROWS_MAX}` : '';
		$('scope').textContent = (zoom ? `Within ${nameOf(tree.frames[tree.frame[zoom]])}: ` : 'Whole recording: ') +
			`${samples(tree.total[zoom])}, ${number.format(rows.length)} functions${more}`;
		for (const b of document.querySelectorAll('#panel th button')) {
			if (b.dataset.sort === state.sort)
				b.parentNode.setAttribute('aria-sort', state.sort === 'name' ? 'ascending' : 'descending');
			else
				b.parentNode.removeAttribute('aria-sort');
		}
	}

	return { rowsOf, show };
})();

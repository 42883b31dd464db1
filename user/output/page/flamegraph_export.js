/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * flamegraph_export.js - takes the present view elsewhere: as a file, a table, or text on the
 * clipboard (pictures: flamegraph_svg.js). Nothing leaves the browser except the file it saves. Any
 * name becomes valid text of the format.
 */
const KraitExport = (() => {
	'use strict';

	const { nameOf, whereOf } = KraitText;

	function save(name, type, parts) {
		const url = URL.createObjectURL(new Blob(parts, { type })), link = document.createElement('a');

		link.href = url;
		link.download = name;
		link.click();
		setTimeout(() => URL.revokeObjectURL(url), 10000);
	}

	/* A spreadsheet takes a cell that begins with one of these as a formula. */
	function cell(value) {
		const text = String(value), safe = /^[=+\-@\t\r\n\uff1d\uff0b\uff0d\uff20]/.test(text) && typeof value === 'string' ? `'${text}` : text;

		return /[",\n\r]/.test(safe) ? `"${safe.replace(/"/g, '""')}"` : safe;
	}

	function csvOf(state) {
		const rows = KraitTable.rowsOf(state.base, state.tops(), state.sort), { other, measure } = state.base;
		const compared = measure === 'before' ? 'after' : 'before';

		return [`self,total,${other ? `${compared}_self,${compared}_total,` : ''}kind,function,file,line\n`, ...rows.map(({ f, self, total, others }) =>
			[self, total, ...(others ? [others.self, others.total] : []), f.kind, f.name, f.file, f.line > 0 ? f.line : f.firstLine].map(cell).join(',') + '\n')];
	}

	/* Root first, as in folded text. */
	function stackOf(tree, node) {
		const names = [];

		for (; node > 0; node = tree.parent[node]) {
			names.unshift(...(tree.trunks.get(node) || [tree.frame[node]]).map(i => tree.frames[i])
				.map(f => nameOf(f) + (whereOf(f) ? ` (${whereOf(f)})` : '')));
		}
		return names.join('\n');
	}

	/* Returns whether it worked. Pages from files may not have access to the clipboard. */
	function copy(text) {
		const field = document.createElement('textarea');

		field.value = text;
		field.className = 'unseen';
		document.body.append(field);
		field.select();
		const done = document.execCommand('copy');
		field.remove();
		return done;
	}

	return { save, csvOf, stackOf, copy };
})();

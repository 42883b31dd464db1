/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * flamegraph_source.js - the source view: folders and files on one side, the lines of one file on
 * the other, each with its heat. Only visible lines are in the page, since files are long. Text
 * enters the page only as text.
 */
const KraitSource = (data, allFrames, onLine, editor) => {
	'use strict';

	const $ = id => document.getElementById(id);
	const { number, amount, counted, percent, element } = KraitText;
	const ROW = 19, MAX_OPEN = 40;
	/* Extra rows beyond the visible ones: when a file is first shown, and while scrolling. */
	const AT_FIRST = 2, BEYOND = 20;
	const list = $('lines-box');
	/* Places within lines count the whole recording, whatever is chosen. */
	const wholeOf = data.nodes.reduce((sum, v, i) => sum + (i % 3 === 2 ? v : 0), 0);
	const places = KraitHeat.readPlaces(data, allFrames);
	let heat = null, count = null, version = -1, texts = new Map(), shown = null, rows = [], hottest = 1, drawn = '', wanted = null, aim = 0, closed = new Set();

	/* ---- folders and files ---- */

	function bar(value) {
		const e = element('i', 'bar');
		e.style.width = `${Math.max(0, Math.min(100, 100 * value / (heat.all || 1)))}%`;
		return e;
	}

	function numbersOf(what) {
		const span = element('span', 'shares'), self = element('span', '', percent(what.self, heat.all));
		const total = element('span', '', percent(what.total, heat.all));
		self.title = `Self: ${counted(what.self)}`;
		total.title = `Total: ${counted(what.total)}`;
		span.append(self, total);
		return span;
	}

	function fileItem(file) {
		const item = element('li'), button = element('button', 'file-button'), name = file.name.split('/').pop();

		button.type = 'button';
		button.path = file.path;
		button.title = file.path;
		button.append(bar(file.self), element('span', 'name', name), numbersOf(file));
		button.setAttribute('aria-current', String(file === shown));
		item.append(button);
		return item;
	}

	/* The first folders are open; deeper ones if they have much. */
	function folderItem(folder, depth) {
		const item = element('li'), details = element('details'), summary = element('summary'), inner = element('ul');
		const files = folder.files.map(i => heat.files[i]).filter(f => f.total).sort((a, b) => b.self - a.self || b.total - a.total);

		details.open = !closed.has(folder.path) && (folder.group >= 0 ? folder.group < 1 || folder.self > 0.2 * heat.all : depth < 3 || folder.total > 0.05 * heat.all);
		details.path = folder.path;
		summary.append(bar(folder.self), element('span', 'name', folder.group >= 0 ? folder.name : `${folder.name.replace(/\/$/, '')}/`), numbersOf(folder));
		for (const child of folder.folders)
			if (child.total)
				inner.append(folderItem(child, depth + 1));
		inner.append(...files.slice(0, MAX_OPEN).map(fileItem));
		if (files.length > MAX_OPEN) {
			const rest = element('details'), more = element('ul'), line = element('li');
			rest.append(element('summary', '', `${number.format(files.length - MAX_OPEN)} more files`), more);
			rest.addEventListener('toggle', () => rest.open && !more.firstChild && more.append(...files.slice(MAX_OPEN).map(fileItem)));
			line.append(rest);
			inner.append(line);
		}
		details.append(summary, inner);
		item.append(details);
		return item;
	}

	function showFiles() {
		const top = element('ul');

		for (const group of heat.folders.folders)
			if (group.total)
				top.append(folderItem(group, 0));
		const head = element('div', 'shares');
		head.append(element('span', '', 'Self'), element('span', '', 'Total'));
		$('files').replaceChildren(...(heat.files.length ? [head, top] : [element('p', '', 'No sample has a source line.')]));
	}

	/* ---- lines ---- */

	/* The text's lines (without text: the lines with samples), and a row for each gap. */
	function rowsOf(file) {
		const text = texts.get(file.path), hits = new Map(file.lines.map(i => [heat.lines[i].line, heat.lines[i]])), out = [];
		let next = 1;

		for (const part of text ? text.parts : []) {
			if (part.first > next)
				out.push({ gap: true });
			part.lines.forEach((line, i) => out.push({ line: part.first + i, text: line, hit: hits.get(part.first + i) }));
			next = part.first + part.lines.length;
		}
		const seen = new Set(out.map(r => r.line));
		for (const [line, hit] of hits)
			if (!seen.has(line) && hit.total)
				out.push({ line, text: text && !text.why ? '(not in the file as it is now)' : '', hit, away: true });
		return $('which-lines').value === 'hot' ? onlyHot(out) : out;
	}

	/* Only lines with samples, and a row for each gap. */
	function onlyHot(all) {
		const out = [];
		let last = -1;

		all.forEach((row, i) => {
			if (!row.hit || !row.hit.total)
				return;
			if (i > last + 1)
				out.push({ gap: true });
			out.push(row);
			last = i;
		});
		return out;
	}

	/* The value that decides a line's heat. */
	const heatOf = hit => hit ? hit[$('heat-by').value] : 0;
	/* Relative to the file's hottest line. */
	const warmth = value => Math.min(0.7, 0.08 + 0.62 * Math.sqrt(value / hottest)).toFixed(3);

	/* The instructions of a line, largest first, including those without samples. */
	function showInstructions(line, list) {
		const body = document.createDocumentFragment();

		for (const p of [...list].filter(i => i.opcode).sort((a, b) => b.self - a.self)) {
			const row = element('tr');
			row.append(element('td', 'number', p.self ? percent(p.self, wholeOf) : ''), element('td', '', p.opcode), element('td', '', p.form),
				element('td', 'number', p.from >= 0 ? `${p.from}\u2013${p.to}` : ''));
			body.append(row);
		}
		$('instructions').hidden = false;
		$('instructions-of').textContent = `Instructions of line ${line}, of the whole recording`;
		$('instruction-rows').replaceChildren(body);
	}

	function lineButton(hit, text, way, title) {
		const button = element('button', '', text);

		button.type = 'button';
		button.title = title;
		button.frame = hit.frame;
		button.way = way;
		return button;
	}

	function lineRow(row, index) {
		const line = element('div', row.gap ? 'line gap' : row.hit && row.hit.total ? 'line hit' : 'line');
		line.style.top = index * ROW + 'px';
		line.setAttribute('role', 'row');
		line.setAttribute('aria-rowindex', String(index + 1));
		const cell = (name, text) => {
			const e = element('span', name, text);
			e.setAttribute('role', 'cell');
			line.append(e);
			return e;
		};
		if (row.gap) {
			cell('code', '\u22ef');
			return line;
		}
		const { hit } = row;
		cell('number', hit && hit.self ? percent(hit.self, heat.all) : '');
		cell('number', hit && hit.total ? percent(hit.total, heat.all) : '');
		cell('number time', hit && hit.self ? amount(hit.self) : '');
		const at = cell('number place', '');
		if (hit && hit.total) {
			at.append(lineButton(hit, String(row.line), 'callers', 'Who calls this line'));
			cell('ways', '').append(lineButton(hit, '\u25b2', 'callers', 'Who calls this line'), lineButton(hit, '\u25bc', 'callees', 'What this line calls'));
		} else {
			at.textContent = row.line;
			cell('ways', '');
		}
		if (editor.has() && row.line > 0)
			at.replaceChildren(editor.link(shown.path, row.line, String(row.line)));
		const inLine = hit && hit.total ? places.get(`${shown.path}:${row.line}`) : null, code = cell('code', '');
		/* Parts of a line know only self time. */
		const bySelf = $('heat-by').value === 'self', parts = KraitHeat.pieces(row.text, inLine);
		for (const part of parts) {
			const piece = element('span', '', part.text);
			if (part.self && bySelf) {
				piece.style.setProperty('--hot', warmth(part.self));
				piece.title = `${percent(part.self, wholeOf)} of the whole recording ran in \u201c${part.text.trim()}\u201d` +
					(part.opcodes.length ? ` (${part.opcodes.join(', ')})` : '');
			}
			code.append(piece);
		}
		if (heatOf(hit))
			line.style.setProperty('--hot', warmth(heatOf(hit)));
		if (inLine && inLine.some(p => p.opcode)) {
			line.classList.add('deep');
			code.places = inLine;
			code.line = row.line;
		}
		if (row.away)
			code.classList.add('away');
		return line;
	}

	function draw(all, beyond = BEYOND) {
		const from = all ? 0 : Math.max(0, Math.floor(list.scrollTop / ROW) - beyond);
		const to = all ? rows.length : Math.min(rows.length, Math.ceil((list.scrollTop + list.clientHeight) / ROW) + beyond);
		const key = `${from}-${to}`;

		if (key === drawn)
			return;
		drawn = key;
		$('source-lines').replaceChildren(...rows.slice(from, to).map((row, i) => lineRow(row, from + i)));
		drawMap();
	}

	/* A map of the whole file beside its lines: where it is hot. */
	function drawMap() {
		const canvas = $('minimap'), context = canvas.getContext('2d'), height = list.clientHeight, style = getComputedStyle(canvas);

		canvas.width = 14;
		canvas.height = Math.max(1, height);
		context.fillStyle = style.getPropertyValue('--heat').trim();
		/* The hottest of the lines that share a pixel. */
		const most = new Float64Array(height + 1);
		rows.forEach((row, i) => {
			const at = Math.floor(i / rows.length * height);
			most[at] = Math.max(most[at], heatOf(row.hit));
		});
		most.forEach((value, at) => {
			if (!value)
				return;
			context.globalAlpha = 0.25 + 0.75 * Math.sqrt(value / hottest);
			context.fillRect(0, at, 14, Math.max(2, height / rows.length));
		});
	}

	function showHead() {
		const text = texts.get(shown.path), why = text ? text.why : data.sources ? 'not in this page' : 'this page has no source text';

		$('source-name').title = shown.path;
		$('source-name').replaceChildren(editor.has() ? editor.link(shown.path, Math.max(1, aim), shown.path) : /^cell \d+$/.test(shown.name) ? shown.name : shown.path);
		$('source-sums').textContent = `${percent(shown.self, heat.all)} self · ${percent(shown.total, heat.all)} total · ${counted(shown.self)}` +
			(heat.apart >= 0.005 * heat.all ? ` · not in lines: ${percent(heat.apart, heat.all)} in native threads${data.meta.charged ? '' : ' (--charge-waiters)'}` : '') + (why ? ` · ${why}` : '');
		$('lines-box').setAttribute('aria-label', `Lines of ${shown.path}`);
		$('source-lines').setAttribute('aria-rowcount', String(rows.length));
	}

	function setHottest() {
		hottest = shown.lines.reduce((most, i) => Math.max(most, heatOf(heat.lines[i])), 0) || 1;
	}

	/* line: to be visible; 0: the hottest. */
	function showFile(file, line, keep) {
		aim = keep ? aim : line;
		shown = file;
		drawn = '';
		$('instructions').hidden = true;
		if (!file) {
			rows = [];
			$('source-lines').style.height = 0;
			$('source-name').textContent = $('source-sums').textContent = '';
			draw();
			return;
		}
		rows = rowsOf(file);
		setHottest();
		for (const button of $('files').querySelectorAll('.file-button'))
			button.setAttribute('aria-current', String(button.path === file.path));
		showHead();
		$('source-lines').style.height = rows.length * ROW + 'px';
		const at = keep ? -1 : rows.findIndex(r => line ? r.line === line : heatOf(r.hit) === hottest);
		if (!keep)
			list.scrollTop = Math.max(0, at * ROW - list.clientHeight / 3);
		draw(false, AT_FIRST);
	}

	/* Computes sums ahead of time; valid as long as the selection. */
	function prepare(tree) {
		count = count || KraitHeat.open(tree, data.meta.sources);
		if (version !== tree.version)
			heat = count();
		version = tree.version;
	}

	/* tree: by lines, of the selection. */
	function show(tree) {
		const path = shown && shown.path;

		for (const details of $('files').querySelectorAll('details'))
			if (details.path && !details.open)
				closed.add(details.path);
			else
				closed.delete(details.path);
		prepare(tree);
		showFiles();
		const again = heat.files.find(f => f.path === path);
		const first = wanted && heat.files.find(f => f.path === wanted.file);
		showFile(first || again || [...heat.files].sort((a, b) => b.self - a.self || b.total - a.total)[0] || null,
			wanted ? wanted.line : 0, Boolean(again && !first));
		wanted = null;
	}

	/* For other views: go to that line once the view is shown. */
	function want(file, line) {
		wanted = { file, line };
	}

	$('files').addEventListener('click', event => {
		const button = event.target.closest('.file-button');
		if (button)
			showFile(heat.files.find(f => f.path === button.path), 0);
	});
	$('source-lines').addEventListener('click', event => {
		const code = event.target.closest('.code');
		if (event.target.frame !== undefined)
			onLine(event.target.frame, event.target.way);
		else if (code && code.places)
			showInstructions(code.line, code.places);
	});
	$('source-lines').addEventListener('focusin', event => {
		const row = event.target.closest('.line.deep');
		if (row)
			showInstructions(row.querySelector('.code').line, row.querySelector('.code').places);
	});
	$('heat-by').addEventListener('change', () => {
		drawn = '';
		if (shown) {
			setHottest();
			draw();
		}
	});
	$('which-lines').addEventListener('change', () => showFile(shown, aim, false));
	list.addEventListener('scroll', () => draw());
	new ResizeObserver(() => { drawn = ''; if (shown) draw(); }).observe(list);

	return { prepare, show, want, setTexts: map => { texts = map; if (shown) showFile(shown, aim, false); }, drawAll: () => { drawn = ''; draw(true); },
		textOf: (path, line) => KraitHeat.lineText(texts, path, line), drawAgain: () => { drawn = ''; draw(); }, heat: () => heat, shown: () => shown && shown.path };
};

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * flamegraph_heat.js - lines, files and folders with what was sampled in them. No DOM in here.
 *
 * A line's Self is what ran in it, with the C and the kernel that it called (as krait annotate has it); where native code
 * has lines itself, that is its own. Must hold: a sample counts once at a line, a file or a folder, however often that is
 * on its stack; Selves of lines, and what has no line, add up to all.
 */
const KraitHeat = (() => {
	'use strict';

	const M = KraitModel;

	/* What the lines of one frame are of; files by their number. */
	function linesOf(frames, nativeLines) {
		const files = [], byFile = new Map(), lines = [], byLine = new Map(), lineOf = new Int32Array(frames.length).fill(-1);

		frames.forEach((f, i) => {
			if (!(f.kind === M.PYTHON || (nativeLines && f.kind === M.NATIVE)) || !f.file || f.line <= 0)
				return;
			let file = byFile.get(f.file);
			if (file === undefined) {
				byFile.set(f.file, file = files.length);
				files.push({ path: f.file, category: f.category, self: 0, total: 0, lines: [] });
			}
			const key = `${file}:${f.line}`;
			let line = byLine.get(key);
			if (line === undefined) {
				byLine.set(key, line = lines.length);
				lines.push({ file, line: f.line, frame: i, self: 0, total: 0 });
				files[file].lines.push(line);
			}
			lineOf[i] = line;
		});
		for (const file of files)
			file.lines.sort((a, b) => lines[a].line - lines[b].line);
		return { files, lines, lineOf };
	}

	/* Totals by a number of each frame (-1: none): a sample counts at the outermost one. */
	function totals(tree, keyOf, cnt) {
		const sums = new Float64Array(cnt), covered = new Int32Array(cnt);

		for (let i = 1; i < tree.cnt; i++) {
			const key = keyOf[tree.frame[i]];
			if (key < 0 || i < covered[key])
				continue;
			sums[key] += tree.total[i];
			covered[key] = tree.end[i];
		}
		return sums;
	}

	/* Selves: what is called that has no line of its own is the caller's. */
	function selves(tree, lineOf, cnt, nativeLines) {
		const sums = new Float64Array(cnt), owner = new Int32Array(tree.cnt).fill(-1);

		for (let i = 1; i < tree.cnt; i++) {
			const frame = tree.frame[i], own = lineOf[frame];
			owner[i] = own >= 0 || (nativeLines && tree.frames[frame].kind === M.NATIVE) ? own : owner[tree.parent[i]];
			if (owner[i] >= 0)
				sums[owner[i]] += tree.self[i];
		}
		return sums;
	}

	/* tree: by lines. */
	function count(tree, nativeLines) {
		const heat = linesOf(tree.frames, nativeLines), { files, lines, lineOf } = heat;
		const fileOf = lineOf.map(line => line < 0 ? -1 : lines[line].file);
		const self = selves(tree, lineOf, lines.length, nativeLines), total = totals(tree, lineOf, lines.length);
		const ofFile = totals(tree, fileOf, files.length);

		lines.forEach((line, i) => {
			line.self = self[i];
			line.total = total[i];
			files[line.file].self += self[i];
		});
		files.forEach((file, i) => { file.total = ofFile[i]; });
		heat.all = tree.total[0];
		heat.folders = folders(tree, files, fileOf);
		return heat;
	}

	/* "/a/b/c.py" below "/", "/a", "/a/b"; what is in no folder is below "". Folders with one folder in them are one. */
	function folders(tree, files, fileOf) {
		const root = { name: '', path: '', self: 0, total: 0, folders: new Map(), files: [] }, levels = [];

		files.forEach((file, number) => {
			const parts = file.path.split('/');
			let at = root;
			parts.slice(0, -1).forEach((part, depth) => {
				const name = part || '/';
				if (!at.folders.has(name))
					at.folders.set(name, { name, path: parts.slice(0, depth + 1).join('/') || '/', self: 0, total: 0,
						folders: new Map(), files: [] });
				at = at.folders.get(name);
				at.self += file.self;
				levels[depth] = levels[depth] || new Map();
				levels[depth].set(number, at);
			});
			root.self += file.self;
			at.files.push(number);
		});
		for (const level of levels) {
			const list = [...new Set(level.values())], number = new Map(list.map((f, i) => [f, i]));
			const sums = totals(tree, fileOf.map(file => level.has(file) ? number.get(level.get(file)) : -1), list.length);
			list.forEach((folder, i) => { folder.total = sums[i]; });
		}
		return shorten(root);
	}

	function shorten(folder) {
		folder.folders = [...folder.folders.values()].map(shorten).sort((a, b) => b.total - a.total || (a.name < b.name ? -1 : 1));
		if (folder.folders.length !== 1 || folder.files.length)
			return folder;
		const [only] = folder.folders;
		return Object.assign(only, { name: folder.name ? `${folder.name.replace(/\/$/, '')}/${only.name.replace(/^\//, '')}` : only.name });
	}

	/* Text of the files that the page has: by path, { why, parts: [{ first, lines }] }. */
	function readTexts(data, frames, bytes) {
		const decoder = new TextDecoder(), texts = new Map();
		let at = 0;

		for (const [frame, why, ...parts] of data.sources.files) {
			const text = { why, parts: [] };
			for (let i = 0; i < parts.length; i += 2) {
				const lines = bytes ? decoder.decode(bytes.subarray(at, at += parts[i + 1])).split('\n') : [];
				if (lines[lines.length - 1] === '')
					lines.pop();
				text.parts.push({ first: parts[i], lines });
			}
			texts.set(frames[frame].file, text);
		}
		return texts;
	}

	/* Places in lines (html_put_instructions()): by "FILE:LINE" lists of { from, to, opcode, form, self }, narrow ones first. */
	function readPlaces(data, frames) {
		const flat = data.instructions || [], places = new Map();

		for (let i = 0; i < flat.length; i += 5) {
			const f = frames[flat[i]], key = `${f.file}:${f.line}`, opcode = flat[i + 3];
			if (!places.has(key))
				places.set(key, []);
			places.get(key).push({ from: flat[i + 1], to: flat[i + 2], self: flat[i + 4],
				opcode: opcode < 0 ? '' : data.opcodes[opcode], form: opcode < 0 ? '' : data.opcodeForms[opcode] });
		}
		for (const list of places.values())
			list.sort((a, b) => a.to - a.from - (b.to - b.from));
		return places;
	}

	const bytesOf = code => code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;

	/* A line in pieces: each is of the narrowest place that it lies in, or of none. */
	function pieces(line, places) {
		const spans = [], out = [];
		let byte = 0, column = 0, last;

		/* What several instructions do in one place is one. */
		for (const p of places || []) {
			const same = spans.find(s => s.from === p.from && s.to === p.to);
			if (same)
				same.self += p.self;
			else if (p.from >= 0 && p.to > p.from)
				spans.push({ from: p.from, to: p.to, self: p.self });
		}
		for (const c of line.replace(/\r$/, '')) {
			const span = spans.find(s => s.from <= byte && byte < s.to), [shown, width] = visible(c, column);
			if (!out.length || span !== last)
				out.push({ text: '', self: span ? span.self : 0, inside: Boolean(span) });
			out[out.length - 1].text += shown;
			last = span;
			byte += bytesOf(c.codePointAt(0));
			column += width;
		}
		return out;
	}

	/* What would not be seen, or turn text round, is written out. Tabs are eight columns. */
	function visible(c, column) {
		const code = c.codePointAt(0);
		let shown = c;

		if (c === '\t')
			shown = ' '.repeat(8 - column % 8);
		else if (code < 32 || (code >= 127 && code < 160))
			shown = '\\x' + code.toString(16).padStart(2, '0');
		else if (/[\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/.test(c))
			shown = '\\u' + code.toString(16).padStart(4, '0');
		return [shown, shown.length];
	}

	return { count, readTexts, readPlaces, pieces };
})();

if (typeof module !== 'undefined')
	module.exports = KraitHeat;

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * flamegraph_heat.js - samples by line, file and folder. No DOM in here.
 *
 * A line's Self is what ran in it, including the C and kernel code that it called (as in krait
 * annotate); native code that has lines itself counts there. Must hold: a sample counts once per
 * line, file or folder, however often that is on its stack. The Selves of lines, plus what has no
 * line, add up to everything.
 */
const KraitHeat = (() => {
	'use strict';

	const M = KraitFrames;

	/* Returns the line of each frame; files are numbered. */
	function linesOf(frames, nativeLines) {
		const files = [], byFile = new Map(), lines = [], byLine = new Map(), lineOf = new Int32Array(frames.length).fill(-1);

		frames.forEach((f, i) => {
			if (!(f.kind === M.PYTHON || (nativeLines && f.kind === M.NATIVE)) || !f.file || f.line <= 0)
				return;
			let file = byFile.get(f.file);
			if (file === undefined) {
				byFile.set(f.file, file = files.length);
				files.push({ path: f.file, name: f.path, category: f.category, self: 0, total: 0, lines: [] });
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

	/*
	 * Totals of lines, files and folders, in one list in this order. above: the file or folder
	 * of each; -1 for the outermost. A sample counts at the outermost box of a line, and
	 * likewise of a file or folder.
	 */
	function totals(tree, lineOf, above) {
		const sums = new Float64Array(above.length), covered = new Int32Array(above.length);
		const { cnt, frame, total, end } = tree;

		for (let i = 1; i < cnt; i++) {
			/* Nothing below it has any either. */
			if (!total[i]) {
				i = end[i] - 1;
				continue;
			}
			/* If a line is covered, so are its file and folders. */
			for (let at = lineOf[frame[i]]; at >= 0 && i >= covered[at]; at = above[at]) {
				sums[at] += total[i];
				covered[at] = end[i];
			}
		}
		return sums;
	}

	/* By node, which line its Self counts for: code without lines counts for its caller. */
	function ownersOf(tree, lineOf, nativeLines) {
		const { cnt, frame, parent, frames } = tree, owner = new Int32Array(cnt).fill(-1);

		for (let i = 1; i < cnt; i++) {
			const own = lineOf[frame[i]];
			owner[i] = own >= 0 || (nativeLines && frames[frame[i]].kind === M.NATIVE) ? own : owner[parent[i]];
		}
		return owner;
	}

	function selves({ cnt, self }, owner, lineCnt) {
		const sums = new Float64Array(lineCnt);

		for (let i = 1; i < cnt; i++)
			if (self[i] && owner[i] >= 0)
				sums[owner[i]] += self[i];
		return sums;
	}

	/* What native threads have, and no line: krait --charge-waiters gives it to those that wait for it. */
	function apartOf({ cnt, frame, frames, total }, owner) {
		const mark = frames.findIndex(f => f.kind === M.MARK && f.name === '[native thread]');
		let sum = 0;

		for (let i = 1; i < cnt && mark >= 0; i++)
			if (frame[i] === mark && owner[i] < 0)
				sum += total[i];
		return sum;
	}

	/*
	 * tree: by lines. Lines, files and owners are fixed; counts must be redone when numbers
	 * change.
	 */
	function open(tree, nativeLines) {
		const heat = linesOf(tree.frames, nativeLines), owner = ownersOf(tree, heat.lineOf, nativeLines);

		return () => count(tree, heat, owner);
	}

	function count(tree, heat, owner) {
		const { files, lines, lineOf } = heat, self = selves(tree, owner, lines.length);

		for (const file of files)
			file.self = 0;
		lines.forEach((line, i) => {
			line.self = self[i];
			files[line.file].self += self[i];
		});
		const { root, list, above } = folders(files), first = lines.length + files.length;
		const total = totals(tree, lineOf, Int32Array.from([...lines.map(line => lines.length + line.file),
			...[...files.map((_, i) => i), ...list.map((_, i) => files.length + i)].map(i => above[i] < 0 ? -1 : first + above[i])]));
		[...lines, ...files, ...list].forEach((what, i) => { what.total = total[i]; });
		heat.all = tree.total[0];
		heat.apart = apartOf(tree, owner);
		heat.folders = shorten(root);
		return heat;
	}

	/* One's own code comes first. */
	const GROUPS = [['own', 'My code'], ['package', 'Packages'], ['stdlib', 'Standard library'], ['native', 'Native code']];

	/*
	 * "/a/b/c.py" is below its group, "/", "/a" and "/a/b"; a file without a folder is below its group. above:
	 * the folder of each file, then of each folder.
	 */
	function folders(files) {
		const make = (name, path) => ({ name, path, self: 0, total: 0, folders: new Map(), files: [] });
		const root = make('', ''), list = [], ofFile = [], ofFolder = [];

		files.forEach((file, number) => {
			const group = Math.max(0, GROUPS.findIndex(([category]) => category === file.category)), parts = [GROUPS[group][1], ...file.path.split('/')];
			let at = root, above = -1;
			parts.slice(0, -1).forEach((part, depth) => {
				const name = part || '/';
				if (!at.folders.has(name)) {
					at.folders.set(name, Object.assign(make(name, depth ? parts.slice(1, depth + 1).join('/') || '/' : part),
						{ number: list.length, group: depth ? -1 : group }));
					list.push(at.folders.get(name));
					ofFolder.push(above);
				}
				at = at.folders.get(name);
				above = at.number;
				at.self += file.self;
			});
			root.self += file.self;
			at.files.push(number);
			ofFile.push(above);
		});
		return { root, list, above: [...ofFile, ...ofFolder] };
	}

	/* Merges a folder with its only child if that is a folder. */
	function shorten(folder) {
		folder.folders = [...folder.folders.values()].map(shorten).sort((a, b) => a.group - b.group || b.total - a.total || (a.name < b.name ? -1 : 1));
		if (folder.folders.length !== 1 || folder.files.length || folder.group >= 0 || !folder.name)
			return folder;
		const [only] = folder.folders;
		return Object.assign(only, { name: `${folder.name.replace(/\/$/, '')}/${only.name.replace(/^\//, '')}` });
	}

	/* Texts of the page's files: by path, { why, parts: [{ first, lines }] }. */
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

	/* Returns one line; "" if the page does not have it. */
	function lineText(texts, path, line) {
		const part = ((texts.get(path) || {}).parts || []).find(p => line >= p.first && line < p.first + p.lines.length);

		return part ? part.lines[line - part.first] : '';
	}

	/*
	 * Places within lines (html_put_instructions()): by "FILE:LINE", lists of { from, to,
	 * opcode, form, self }, narrow ones first.
	 */
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

	/* Splits a line into pieces; each belongs to the narrowest place around it, or to none. */
	function pieces(line, places) {
		const spans = [], out = [];
		let byte = 0, column = 0, last;

		/* Instructions in the same place are added up. */
		for (const p of (places || []).filter(place => place.self)) {
			const same = spans.find(s => s.from === p.from && s.to === p.to);
			if (same) {
				same.self += p.self;
				same.opcodes.add(p.opcode);
			} else if (p.from >= 0 && p.to > p.from) {
				spans.push({ from: p.from, to: p.to, self: p.self, opcodes: new Set([p.opcode]) });
			}
		}
		for (const c of line.replace(/\r$/, '')) {
			const span = spans.find(s => s.from <= byte && byte < s.to), [shown, width] = visible(c, column);
			if (!out.length || span !== last)
				out.push({ text: '', self: span ? span.self : 0, opcodes: span ? [...span.opcodes].filter(Boolean) : [] });
			out[out.length - 1].text += shown;
			last = span;
			byte += bytesOf(c.codePointAt(0));
			column += width;
		}
		return out;
	}

	/*
	 * Escapes invisible characters and those that change the text's direction. Tabs are eight
	 * columns.
	 */
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

	return { open, readTexts, lineText, readPlaces, pieces };
})();

if (typeof module !== 'undefined')
	module.exports = KraitHeat;

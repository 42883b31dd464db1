/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * flamegraph_frames.js - frames of the page's data: what each is, the origin of its code, and which
 * frames merge if processes, threads or lines are not distinguished. No DOM in here.
 */
const KraitFrames = (() => {
	'use strict';

	/* Kinds of frames; the data maps its numbers to these. */
	const PYTHON = 'python', PROCESS = 'process', THREAD = 'thread', MARK = 'mark',
		NATIVE = 'native', KERNEL = 'kernel', TRUNK = 'trunk' /* of the page: several frames in one box */;
	const FRAME_FIELDS = 7;
	/* Marks that only say that callers in C are hidden. frame.hides and an edge are a sum of 1, 2, …, by this list. */
	const HIDING = ['[truncated]', '[truncated: native depth]'];

	/* Returns the origin of the code, and its module or package. */
	function origin(kind, file, path) {
		if (kind === PROCESS || kind === THREAD)
			return ['task', ''];
		if (kind === MARK)
			return ['mark', ''];
		const packaged = file.match(/^.*\/(?:site|dist)-packages\/([^/.]+)/);

		/* A package has one name for Python and C code, but native code has its own hues. */
		if (kind === NATIVE)
			return ['native', packaged ? packaged[1] : path];
		if (kind === KERNEL)
			return ['kernel', file];
		if (packaged)
			return ['package', file.match(/^.*\/(?:site|dist)-packages\/([^/]+)/)[1]];
		const m = file.match(/^.*\/python3\.\d+[tbdm]*\/([^/]+)/) || file.match(/^<frozen ([^.>]+)/);
		if (m)
			return ['stdlib', m[1]];
		return file ? ['own', file] : ['unknown', ''];
	}

	/*
	 * A program may use names of any length. Nobody reads more than this; cut names stay
	 * distinct frames.
	 */
	const LONGEST = 4000;
	const shorten = (text, number) => text.length > LONGEST ? `${text.slice(0, LONGEST)}\u2026 (text ${number}, ${text.length} characters)` : text;

	/* Shortens names of functions, files and lanes, and in the header. */
	function shortenAll(data) {
		const cut = value => typeof value === 'string' ? shorten(value, 0) : value;

		data.strings = data.strings.map(shorten);
		for (const key of Object.keys(data.meta))
			data.meta[key] = cut(data.meta[key]);
		if (data.strip)
			data.strip.lanes = data.strip.lanes.map(lane => lane.map(cut));
	}

	function read(data) {
		shortenAll(data);
		const frames = [], flat = data.frames, shorter = new Map();

		for (let i = 0; i < data.shortFiles.length; i += 2)
			shorter.set(data.shortFiles[i], shorten(data.shortFiles[i + 1], data.shortFiles[i]));

		for (let i = 0; i < flat.length; i += FRAME_FIELDS) {
			const kind = data.kinds[flat[i]], file = data.strings[flat[i + 2]];
			const path = shorter.get(flat[i + 2]) || file, [category, module] = origin(kind, file, path);
			frames.push({
				kind, file, category, module,
				name: data.strings[flat[i + 1]] || data.noName,
				firstLine: flat[i + 3], line: flat[i + 4], pid: flat[i + 5], tid: flat[i + 6],
				path,
			});
		}
		frames[0].name = data.noStack;
		for (const f of frames)
			f.hides = f.kind === MARK ? HIDING.indexOf(f.name) + 1 : 0;
		return frames;
	}

	/*
	 * Stores in map, for each frame of the data, the shown frame; -1: its level is left out.
	 * The last shown frame is not in the data: it stands for everything too narrow to draw.
	 * options: roots "merged", "program", "process" or "thread"; boxes "function", "line" or
	 * "file"; compared true: a function is the same regardless of its file's folder and its first
	 * line; only: "python" or "own", the code that has boxes, what it calls counts for it.
	 */
	const WITHOUT = { python: '[no Python]', own: '[none of my code]' };

	/* Own code is what lies neither in a package nor in the standard library. Marks stay: they stand for waits. */
	function isWanted(f, only) {
		if (!WITHOUT[only] || f.kind === PROCESS || f.kind === THREAD)
			return true;
		if (f.kind === MARK)
			return !f.hides;
		return f.kind === PYTHON && (only === 'python' || f.category === 'own' || f.category === 'unknown');
	}

	function merge(frames, options) {
		const merged = [], byKey = new Map(), map = new Int32Array(frames.length);

		frames.forEach((f, i) => {
			if ((f.kind === PROCESS && options.roots === 'merged') ||
			    (f.kind === THREAD && options.roots !== 'thread') || !isWanted(f, options.only)) {
				map[i] = -1;
				return;
			}
			const line = options.boxes === 'line' ? f.line : -1, whole = options.boxes === 'file' && f.file && f.kind !== MARK;
			/* A program is all processes with the same name. */
			const pid = f.kind === PROCESS && options.roots === 'program' ? -1 : f.pid;
			const key = whole ? `${f.kind}\0${options.compared ? f.path : f.file}` : options.compared ? `${f.kind}\0${f.name}\0${f.path}\0${line}` :
				`${f.kind}\0${f.name}\0${f.file}\0${f.firstLine}\0${line}\0${pid}\0${f.tid}`;
			let id = byKey.get(key);
			if (id === undefined) {
				id = merged.length;
				byKey.set(key, id);
				merged.push(Object.assign({}, f, { line, pid, id }, whole && { name: f.path, firstLine: -1, isFile: true }));
			}
			map[i] = id;
		});
		/* What is below no box is the root's. */
		merged[0].name = WITHOUT[options.only] || merged[0].name;
		merged.push({ kind: MARK, file: '', category: 'mark', module: '', name: '[too narrow to draw]', firstLine: -1, line: -1, pid: -1, tid: -1,
			path: '', id: merged.length });
		/* levels: the ones left out. */
		return { merged, map, levels: `${options.roots === 'program' ? 'process' : options.roots} ${options.only} ${options.boxes === 'file'}` };
	}

	/* Each variant is computed once: the data never changes. */
	function merger(frames, compared) {
		const known = new Map();

		return (roots, boxes, only) => {
			const key = `${roots} ${boxes} ${only}`;
			if (!known.has(key))
				known.set(key, merge(frames, { roots, boxes, compared, only }));
			return known.get(key);
		};
	}

	const same = f => g => g.kind === f.kind && g.name === f.name && g.file === f.file &&
		g.firstLine === f.firstLine && (g.line === f.line || f.line < 0);

	return { PYTHON, PROCESS, THREAD, MARK, NATIVE, KERNEL, TRUNK, HIDING, read, merger, same };
})();

if (typeof module !== 'undefined')
	module.exports = KraitFrames;

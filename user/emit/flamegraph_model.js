/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * flamegraph_model.js - from the data of the page to the tree that is drawn. No DOM in here, so
 * tests run it in node.
 *
 * A tree is a set of arrays in depth-first order, as in profile/view.h: node 0 is the root, the
 * descendants of i are i + 1 .. end[i] - 1. No recursion: stacks are thousands deep.
 */
const KraitModel = (() => {
	'use strict';

	/* Kinds of frames; the data says which number is which. */
	const PYTHON = 'python', PROCESS = 'process', THREAD = 'thread', MARK = 'mark',
		NATIVE = 'native', KERNEL = 'kernel';
	const FRAME_FIELDS = 7, NODE_FIELDS = 3;

	/* As short_path() in util/short_path.c. */
	function shortPath(path) {
		if (!path.startsWith('/'))
			return path;
		const parts = path.match(/^.*\/(?:site|dist)-packages\/(.*)$/) ||
			path.match(/^.*\/python3\.\d+[tbdm]*\/(.*)$/) ||
			path.match(/([^/]+\/__(?:init|main)__\.py)$/) || path.match(/([^/]+)$/);
		return parts ? parts[1] : path;
	}

	/* Whose code it is, and which module or package of theirs. */
	function origin(kind, file) {
		if (kind === PROCESS || kind === THREAD)
			return ['task', ''];
		if (kind === MARK)
			return ['mark', ''];
		const packaged = file.match(/^.*\/(?:site|dist)-packages\/([^/.]+)/);

		/* A package's Python and C have one name, and native code its own hues. */
		if (kind === NATIVE)
			return ['native', packaged ? packaged[1] : shortPath(file)];
		if (kind === KERNEL)
			return ['kernel', file];
		if (packaged)
			return ['package', file.match(/^.*\/(?:site|dist)-packages\/([^/]+)/)[1]];
		const m = file.match(/^.*\/python3\.\d+[tbdm]*\/([^/]+)/) || file.match(/^<frozen ([^.>]+)/);
		if (m)
			return ['stdlib', m[1]];
		return file ? ['own', file] : ['unknown', ''];
	}

	function readFrames(data) {
		const frames = [], flat = data.frames;

		for (let i = 0; i < flat.length; i += FRAME_FIELDS) {
			const kind = data.kinds[flat[i]], file = data.strings[flat[i + 2]];
			const [category, module] = origin(kind, file);
			frames.push({
				kind, file, category, module,
				name: data.strings[flat[i + 1]] || data.noName,
				firstLine: flat[i + 3], line: flat[i + 4], pid: flat[i + 5], tid: flat[i + 6],
				path: shortPath(file),
			});
		}
		frames[0].name = data.noStack;
		return frames;
	}

	/* For each frame of the data the frame that is shown: null where its level is left out. */
	function mergeFrames(frames, options) {
		const merged = [], byKey = new Map(), map = new Int32Array(frames.length);

		frames.forEach((f, i) => {
			if ((f.kind === PROCESS && options.roots === 'merged') ||
			    (f.kind === THREAD && options.roots !== 'thread')) {
				map[i] = -1;
				return;
			}
			const line = options.lines ? f.line : -1;
			const key = JSON.stringify([f.kind, f.name, f.file, f.firstLine, line, f.pid, f.tid]);
			let id = byKey.get(key);
			if (id === undefined) {
				id = merged.length;
				byKey.set(key, id);
				merged.push(Object.assign({}, f, { line, id, self: 0, total: 0 }));
			}
			map[i] = id;
		});
		return { merged, map };
	}

	/* Frames first seen under one parent become one node; counts add up. Parents come first. */
	function mergeNodes(data, frameMap, frameCnt) {
		const flat = data.nodes, cnt = flat.length / NODE_FIELDS;
		const parent = new Int32Array(cnt), frame = new Int32Array(cnt);
		const self = new Float64Array(cnt), total = new Float64Array(cnt);
		const path = [0], ids = new Map();
		let used = 1;

		self[0] = flat[2];
		for (let i = 1; i < cnt; i++) {
			const depth = flat[i * NODE_FIELDS], f = frameMap[flat[i * NODE_FIELDS + 1]];
			let id = path[depth - 1];
			if (f >= 0) {
				const key = id * frameCnt + f, known = ids.get(key);
				if (known === undefined) {
					parent[used] = id;
					frame[used] = f;
					ids.set(key, used);
					id = used++;
				} else {
					id = known;
				}
			}
			path[depth] = id;
			self[id] += flat[i * NODE_FIELDS + 2];
		}
		for (let i = used - 1; i >= 0; i--) {
			total[i] += self[i];
			if (i)
				total[parent[i]] += total[i];
		}
		return { cnt: used, parent, frame, self, total };
	}

	function groupChildren(draft, frames) {
		const first = new Int32Array(draft.cnt + 2), children = new Int32Array(draft.cnt);

		for (let i = 1; i < draft.cnt; i++)
			first[draft.parent[i] + 2]++;
		for (let i = 2; i < first.length; i++)
			first[i] += first[i - 1];
		for (let i = 1; i < draft.cnt; i++)
			children[first[draft.parent[i] + 1]++] = i;
		for (let i = 0; i < draft.cnt; i++) {
			if (first[i + 1] - first[i] < 2)
				continue;
			children.subarray(first[i], first[i + 1]).sort((a, b) => {
				const x = frames[draft.frame[a]], y = frames[draft.frame[b]];
				return draft.total[b] - draft.total[a] ||
					(x.name < y.name ? -1 : x.name > y.name ? 1 : x.id - y.id);
			});
		}
		return { first, children };
	}

	function orderNodes(draft, frames) {
		const { first, children } = groupChildren(draft, frames);
		const cnt = draft.cnt, ends = first.slice(1), place = new Int32Array(cnt);
		const t = {
			cnt, frames,
			parent: new Int32Array(cnt).fill(-1), frame: new Int32Array(cnt),
			depth: new Int32Array(cnt), end: new Int32Array(cnt),
			low: new Int32Array(cnt), /* depth of the deepest descendant */
			self: new Float64Array(cnt), total: new Float64Array(cnt),
			start: new Float64Array(cnt), /* left edge, in samples */
		};
		const filled = new Float64Array(cnt);
		let used = 1, d = 0;

		t.frame[0] = 0;
		t.self[0] = draft.self[0];
		t.total[0] = draft.total[0];
		for (;;) {
			const at = place[d];
			if (first[d] === ends[d]) {
				t.end[at] = used;
				if (!d)
					break;
				d = draft.parent[d];
				continue;
			}
			const child = children[first[d]++], i = used++;
			place[child] = i;
			t.parent[i] = at;
			t.frame[i] = draft.frame[child];
			t.depth[i] = t.depth[at] + 1;
			t.self[i] = draft.self[child];
			t.total[i] = draft.total[child];
			t.start[i] = t.start[at] + filled[at];
			filled[at] += t.total[i];
			d = child;
		}
		for (let i = cnt - 1; i >= 0; i--) {
			t.low[i] = Math.max(t.low[i], t.depth[i]);
			if (i)
				t.low[t.parent[i]] = Math.max(t.low[t.parent[i]], t.low[i]);
		}
		return t;
	}

	/* options: roots "merged", "process" or "thread"; lines true for one box per line. */
	function buildTree(data, frames, options) {
		const { merged, map } = mergeFrames(frames, options);
		return orderNodes(mergeNodes(data, map, merged.length), merged);
	}

	/* Self and total of every frame below a node; recursion counts once. As count_frames(). */
	function countFrames(tree, root) {
		const cnt = tree.frames.length;
		const self = new Float64Array(cnt), total = new Float64Array(cnt);
		const covered = new Int32Array(cnt);

		for (let i = root; i < tree.end[root]; i++) {
			const f = tree.frame[i];
			if (!i && !tree.self[0])
				continue;
			self[f] += tree.self[i];
			if (i < covered[f])
				continue;
			total[f] += i ? tree.total[i] : tree.self[0];
			covered[f] = i ? tree.end[i] : 1;
		}
		return { self, total };
	}

	/* Samples below a node with a matching frame anywhere on the stack. */
	function countMatches(tree, root, matches) {
		let sum = 0;

		for (let i = Math.max(root, 1); i < tree.end[root];) {
			if (matches[tree.frame[i]]) {
				sum += tree.total[i];
				i = tree.end[i];
			} else {
				i++;
			}
		}
		return sum;
	}

	/*
	 * Text of a search to a test of frames. Without capitals it ignores case; where it has "/" or
	 * ".py" it looks at the file too. null for a regular expression that is none.
	 */
	function makeMatcher(text) {
		const flags = /\p{Lu}/u.test(text.replace(/\\./g, '')) ? '' : 'i';
		let regex;
		try {
			regex = new RegExp(text, flags + 'u');
		} catch (_) {
			try {
				/* "u" refuses what most people get away with, such as "\-". */
				regex = new RegExp(text, flags);
			} catch (__) {
				return null;
			}
		}
		const files = /\/|\.py/.test(text.replace(/\\/g, ''));
		return f => regex.test(f.name) || (files && regex.test(f.file));
	}

	return { PYTHON, PROCESS, THREAD, MARK, NATIVE, KERNEL, readFrames, buildTree, countFrames, countMatches,
		makeMatcher, shortPath };
})();

if (typeof module !== 'undefined')
	module.exports = KraitModel;

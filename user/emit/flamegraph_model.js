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
		/* Without the part of an extension's name that all of an interpreter's have, as put_short_file(). */
		return (parts ? parts[1] : path).replace(/\.cpython-[^.]+\.so$/, '.so');
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
			/* A program is all processes of one name. */
			const pid = f.kind === PROCESS && options.roots === 'program' ? -1 : f.pid;
			const key = (options.compared ? [f.kind, f.name, f.path, line] :
				[f.kind, f.name, f.file, f.firstLine, line, pid, f.tid]).join('\0');
			let id = byKey.get(key);
			if (id === undefined) {
				id = merged.length;
				byKey.set(key, id);
				merged.push(Object.assign({}, f, { line, pid, id }));
			}
			map[i] = id;
		});
		return { merged, map };
	}

	/* What a measure leaves out of the sum that the page has, or is alone. */
	const PARTS = {
		cpu: ['cpu', true], off: ['cpu', false], gil: ['gil', true],
		before: ['before', true], after: ['before', false],
	};

	/* The self of each node by a measure: of a sum the page has all but one part. */
	function selfOf(data, measure) {
		const flat = data.nodes, cnt = flat.length / NODE_FIELDS, self = new Float64Array(cnt);
		const [name, alone] = PARTS[measure] || [], part = name && data[name];

		if (!part || !alone)
			for (let i = 0; i < cnt; i++)
				self[i] = flat[i * NODE_FIELDS + 2];
		for (let i = 0, at = 0; part && i < part.length; i += 2) {
			at += part[i];
			self[at] += alone ? part[i + 1] : -part[i + 1];
		}
		return self;
	}

	/* What has nothing of the measure is not there. Parents come first. */
	function withoutEmpty(draft) {
		const place = new Int32Array(draft.cnt);
		let used = 1;

		for (let i = 1; i < draft.cnt; i++) {
			if (!draft.total[i])
				continue;
			place[i] = used;
			draft.parent[used] = place[draft.parent[i]];
			draft.frame[used] = draft.frame[i];
			draft.self[used] = draft.self[i];
			if (draft.other) {
				draft.other[used] = draft.other[i];
				draft.otherSelf[used] = draft.otherSelf[i];
			}
			draft.total[used++] = draft.total[i];
		}
		draft.cnt = used;
		moved(draft.nodeOf, place);
		return draft;
	}

	/* Where the data's nodes are now. */
	function moved(nodeOf, place) {
		for (let i = 0; i < nodeOf.length; i++)
			nodeOf[i] = place[nodeOf[i]];
	}

	/* Which box a frame has on the way to where we are: what calls itself again, by whatever way, is in that one. */
	function pathOf(frameMap) {
		const boxOf = new Int32Array(frameMap.reduce((most, f) => Math.max(most, f), 0) + 1), frames = [], before = [];

		return {
			/* Up to above that depth; the frame's box there, 0 none. */
			leave(depth, f) {
				for (; frames.length > depth; before.pop()) {
					const last = frames.pop(), old = before[before.length - 1];
					if (last >= 0)
						boxOf[last] = old;
				}
				return f >= 0 ? boxOf[f] : 0;
			},
			enter(depth, f, id) {
				while (frames.length < depth) {
					frames.push(-1);
					before.push(0);
				}
				frames[depth] = f;
				before[depth] = f >= 0 ? boxOf[f] : 0;
				if (f >= 0)
					boxOf[f] = id;
			},
		};
	}

	/* For each node of the data the one that it becomes, by parent and frame; draft gets those. */
	function joinNodes(data, frameMap, draft, folded) {
		const above = folded ? pathOf(frameMap) : null;
		const flat = data.nodes, cnt = flat.length / NODE_FIELDS, { parent, frame } = draft;
		const nodeOf = new Int32Array(cnt), path = [0];
		const bits = Math.max(4, Math.ceil(Math.log2(cnt + 1)) + 1);
		/* What has been seen, at a place that its parent and frame tell; 0: nothing. */
		const seen = new Int32Array(2 ** bits), last = seen.length - 1;
		let used = 1;

		for (let i = 1; i < cnt; i++) {
			const depth = flat[i * NODE_FIELDS], f = frameMap[flat[i * NODE_FIELDS + 1]];
			let id = path[depth - 1];
			const again = above && above.leave(depth, f);
			if (again) {
				id = again;
			} else if (f >= 0) {
				let at = Math.imul(Math.imul(id, 0x2c1b3c6d) + f | 0, 0x9e3779b1) >>> (32 - bits);
				while (seen[at] && (parent[seen[at]] !== id || frame[seen[at]] !== f))
					at = at + 1 & last;
				if (!seen[at]) {
					parent[used] = id;
					frame[used] = f;
					seen[at] = used++;
				}
				id = seen[at];
			}
			path[depth] = nodeOf[i] = id;
			if (above)
				above.enter(depth, f, id);
		}
		draft.cnt = used;
		draft.nodeOf = nodeOf;
		return draft;
	}

	/* Selves of the data's nodes summed up, and totals of these. Parents come first. */
	function sumUp(tree, own, self, total) {
		const { nodeOf, parent, cnt } = tree;

		self.fill(0);
		total.fill(0);
		for (let i = 0; i < nodeOf.length; i++)
			self[nodeOf[i]] += own[i];
		for (let i = cnt - 1; i > 0; i--) {
			total[i] += self[i];
			total[parent[i]] += total[i];
		}
		total[0] += self[0];
	}

	/* Frames first seen under one parent become one node; counts add up. */
	function mergeNodes(data, frameMap, own, others, folded) {
		const cnt = data.nodes.length / NODE_FIELDS, numbers = () => new Float64Array(cnt);
		const draft = joinNodes(data, frameMap, { parent: new Int32Array(cnt), frame: new Int32Array(cnt) }, folded);

		/* The other ones are of the recording that this one is compared with. */
		Object.assign(draft, { self: numbers(), total: numbers(), other: others && numbers(),
			otherSelf: others && numbers() });
		sumUp(draft, own, draft.self, draft.total);
		if (others)
			sumUp(draft, others, draft.otherSelf, draft.other);
		return withoutEmpty(draft);
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
			other: draft.other ? new Float64Array(cnt) : null, /* total of what this is compared with */
			otherSelf: draft.other ? new Float64Array(cnt) : null,
		};
		const compare = (i, from) => {
			if (!t.other)
				return;
			t.other[i] = draft.other[from];
			t.otherSelf[i] = draft.otherSelf[from];
		};
		const filled = new Float64Array(cnt);
		let used = 1, d = 0;

		t.frame[0] = 0;
		t.self[0] = draft.self[0];
		t.total[0] = draft.total[0];
		compare(0, 0);
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
			compare(i, child);
			t.start[i] = t.start[at] + filled[at];
			filled[at] += t.total[i];
			d = child;
		}
		setLow(t);
		if (draft.nodeOf) {
			moved(draft.nodeOf, place);
			t.nodeOf = draft.nodeOf;
		}
		return t;
	}

	function setLow(t) {
		t.low.set(t.depth);
		for (let i = t.cnt - 1; i > 0; i--)
			if (t.total[i] && t.low[t.parent[i]] < t.low[i])
				t.low[t.parent[i]] = t.low[i];
	}

	/*
	 * The same boxes with other numbers, of a part of the samples: own by node of the data. What has nothing keeps its
	 * place, without any width; so a zoom and a focus stay, and the order is that of the whole.
	 */
	function refill(t, own) {
		const filled = new Float64Array(t.cnt);

		sumUp(t, own, t.self, t.total);
		for (let i = 1; i < t.cnt; i++) {
			const parent = t.parent[i];
			t.start[i] = t.start[parent] + filled[parent];
			filled[parent] += t.total[i];
		}
		setLow(t);
	}

	/*
	 * options: roots "merged", "program", "process" or "thread"; lines true for one box per line; measure "wall", "cpu", "off"
	 * "gil", "before" or "after" where the data has them; folded: recursion is one box; compared
	 * true: a function is the same wherever its file lies and at whichever line it begins.
	 */
	function buildTree(data, frames, options) {
		const { merged, map } = mergeFrames(frames, options), own = selfOf(data, options.measure);
		const opposite = { before: 'after', after: 'before' }[options.measure];
		const tree = orderNodes(mergeNodes(data, map, own,
			data.before && opposite ? selfOf(data, opposite) : null, options.folded), merged);

		tree.measure = options.measure;
		return tree;
	}

	/* By how many points the share of a node is larger after than before. */
	function changeOf(tree, node, all = tree.total, others = tree.other) {
		const share = (values, sum) => sum ? 100 * values[node] / sum : 0;
		const points = share(all, tree.total[0]) - share(others, tree.other[0]);

		return tree.measure === 'before' ? -points : points;
	}

	/* The node of another tree of the same frames that has the same stack, or as much of it as there is. */
	function sameStack(tree, node, other) {
		const frames = [];
		let found = 0;

		for (; node > 0; node = tree.parent[node])
			frames.unshift(tree.frame[node]);
		for (const frame of frames) {
			let child = found + 1;
			while (child < other.end[found] && other.frame[child] !== frame)
				child = other.end[child];
			if (child >= other.end[found])
				break;
			found = child;
		}
		return found;
	}

	/* Self and total of every frame below a node; recursion counts once. As count_frames(). */
	function countFrames(tree, root, own = tree.self, all = tree.total) {
		const cnt = tree.frames.length;
		const self = new Float64Array(cnt), total = new Float64Array(cnt);
		const covered = new Int32Array(cnt);

		for (let i = root; i < tree.end[root]; i++) {
			const f = tree.frame[i];
			if (!i && !own[0])
				continue;
			self[f] += own[i];
			if (i < covered[f])
				continue;
			total[f] += i ? all[i] : own[0];
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

	/* What people call kinds of frames. */
	const KIND_WORDS = { python: 'python', process: 'process', thread: 'thread', mark: 'marker', native: 'native',
		kernel: 'kernel' };

	function regexOf(text) {
		const flags = /\p{Lu}/u.test(text.replace(/\\./g, '')) ? '' : 'i';

		try {
			return new RegExp(text, flags + 'u');
		} catch (_) {
			try {
				/* "u" refuses what most people get away with, such as "\-". */
				return new RegExp(text, flags);
			} catch (__) {
				return null;
			}
		}
	}

	/*
	 * Text of a search to a test of frames: the text as it is, or /a regular expression/. Looks at names, at
	 * file:line, and at kinds ("kernel"). Without capitals it ignores case. null for an expression that is none.
	 */
	function makeMatcher(text) {
		const expression = text.match(/^\/(.+)\/$/), regex = expression && regexOf(expression[1]);
		if (expression && !regex)
			return null;
		const exact = /\p{Lu}/u.test(text), small = text.toLowerCase();
		const has = s => regex ? regex.test(s) : exact ? s.includes(text) : s.toLowerCase().includes(small);
		const lineOf = f => f.line > 0 ? f.line : f.firstLine;

		return f => has(f.name) || (f.file && has(lineOf(f) > 0 ? `${f.file}:${lineOf(f)}` : f.file)) ||
			(!regex && KIND_WORDS[f.kind] === small);
	}

	return { PYTHON, PROCESS, THREAD, MARK, NATIVE, KERNEL, readFrames, selfOf, buildTree, refill, orderNodes, changeOf, sameStack,
		countFrames, countMatches, makeMatcher, shortPath };
})();

if (typeof module !== 'undefined')
	module.exports = KraitModel;

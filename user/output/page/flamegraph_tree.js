/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * flamegraph_tree.js - the grown tree (flamegraph_grow.js) in drawing order: arrays in depth-first
 * order; node 0 is the root, the descendants of i are i + 1 .. end[i] - 1. No recursion: stacks are
 * thousands deep. No DOM in here.
 */
const KraitTree = (() => {
	'use strict';

	const { PROCESS, THREAD, TRUNK } = KraitFrames;
	/* So many frames in a row are a trunk if that share of what the first of all has goes through them. */
	const LONG = 8, NEARLY = 0.75;

	/* Of each box its largest child, if it is one that others go through; else 0. */
	function heirsOf(draft) {
		const heir = new Int32Array(draft.cnt), { parent, order, gone, rest } = draft;

		for (let i = 1; i < draft.cnt; i++)
			if (!gone[i] && (!heir[parent[i]] || order[i] > order[heir[parent[i]]]))
				heir[parent[i]] = i;
		return heir.map(i => rest[i] ? 0 : i);
	}

	/*
	 * Runs of others' code that most calls of a program or thread come through, as lists of boxes; what the others call
	 * is below the run. One's own code is never in them; what leads only to a leaf, or only one's own code to others', is no trunk.
	 */
	function findTrunks(draft, frames) {
		const heir = heirsOf(draft), kindOf = box => frames[draft.frame[box]].kind, found = [], below = new Uint8Array(draft.cnt);
		/* A script that pip or a distribution put into a bin folder only starts others' code. */
		const starts = f => f.name === '<module>' && /\/bin\/[^/.]+$/.test(f.file);
		const isOwn = box => ['own', 'unknown'].includes(frames[draft.frame[box]].category) && !starts(frames[draft.frame[box]]);
		const isTask = box => kindOf(box) === PROCESS || kindOf(box) === THREAD;

		for (let i = draft.cnt - 1; i > 0; i--)
			if (!draft.gone[i] && (isOwn(i) || below[i]))
				below[draft.parent[i]] = 1;
		for (let top = 1; top < draft.cnt; top++) {
			if (draft.gone[top] || draft.rest[top] || isTask(top) || (draft.parent[top] && !isTask(draft.parent[top])))
				continue;
			const path = [top], least = NEARLY * draft.order[top];
			for (let at = heir[top]; at && draft.order[at] >= least && !isTask(at); at = heir[at])
				path.push(at);
			const last = path.pop(), isLeaf = !heir[last];
			for (let from = 0, to, own = false; from < path.length; from = to + 1) {
				for (to = from; to < path.length && !isOwn(path[to]);)
					to++;
				if (to - from >= LONG && (below[path[to - 1]] || (!own && !isLeaf)))
					found.push(path.slice(from, to));
				own = true;
			}
		}
		return found;
	}

	/*
	 * Children of each box, those with most of the whole recording first, so that a range keeps
	 * them in place. The first box of a trunk has the children of all.
	 */
	function groupChildren(draft, frames, headOf) {
		const first = new Int32Array(draft.cnt + 2), children = new Int32Array(draft.cnt), { gone } = draft;
		const above = i => headOf[draft.parent[i]] || draft.parent[i], isShown = i => !gone[i] && (!headOf[i] || headOf[i] === i);

		for (let i = 1; i < draft.cnt; i++)
			if (isShown(i))
				first[above(i) + 2]++;
		for (let i = 2; i < first.length; i++)
			first[i] += first[i - 1];
		for (let i = 1; i < draft.cnt; i++)
			if (isShown(i))
				children[first[above(i) + 1]++] = i;
		for (let i = 0; i < draft.cnt; i++) {
			if (first[i + 1] - first[i] < 2)
				continue;
			children.subarray(first[i], first[i + 1]).sort((a, b) => {
				if (draft.order[b] !== draft.order[a])
					return draft.order[b] - draft.order[a];
				const x = frames[draft.frame[a]], y = frames[draft.frame[b]];
				return x.name < y.name ? -1 : x.name > y.name ? 1 : x.id - y.id;
			});
		}
		return { first, children };
	}

	/* For the boxes of a trunk: one frame. */
	function trunkFrame(boxes, draft, frames, id) {
		const names = boxes.map(box => KraitText.nameOf(frames[draft.frame[box]]));

		return { kind: TRUNK, category: 'task', name: `${boxes.length} frames: ${names[0]} \u2026 ${names[names.length - 1]} \u25b8`, names,
			file: '', module: '', path: '', firstLine: -1, line: -1, pid: -1, tid: -1, id };
	}

	/* place: by box of the draft, its node. folded: a trunk is one box. */
	function order(draft, ofBase, folded) {
		const runs = folded ? findTrunks(draft, ofBase) : [], headOf = new Int32Array(draft.cnt);
		const frames = runs.length ? ofBase.concat(runs.map((run, i) => trunkFrame(run, draft, ofBase, ofBase.length + i))) : ofBase;

		for (const run of runs)
			for (const box of run)
				headOf[box] = run[0];
		const { first, children } = groupChildren(draft, frames, headOf);
		const cnt = draft.cnt - draft.gone.subarray(0, draft.cnt).reduce((sum, gone) => sum + gone, 0) - runs.reduce((sum, run) => sum + run.length - 1, 0);
		const ends = first.slice(1), place = new Int32Array(draft.cnt);
		const ints = () => new Int32Array(cnt), numbers = () => new Float64Array(cnt);
		const t = {
			cnt, frames, trunks: new Map(), /* by node, the frames that it stands for */
			box: ints(), parent: ints().fill(-1), frame: ints(), depth: ints(), end: ints(),
			low: ints(), /* depth of the deepest descendant */
			/* how many narrow boxes it stands for; 0: itself */
			opened: new Uint8Array(cnt), edge: new Uint8Array(cnt), rest: ints(),
			self: numbers(), total: numbers(),
			start: numbers(), /* left edge, in samples */
			other: numbers(), otherSelf: numbers(), /* of what this is compared with */
		};
		const filled = numbers();
		let used = 1, d = 0;

		copy(t, 0, draft, 0);
		for (;;) {
			const at = place[d];
			if (first[d] === ends[d]) {
				t.end[at] = used;
				if (!d)
					break;
				d = headOf[draft.parent[d]] || draft.parent[d];
				continue;
			}
			const child = children[first[d]++], i = used++;
			place[child] = i;
			copy(t, i, draft, child);
			t.parent[i] = at;
			t.depth[i] = t.depth[at] + 1;
			t.start[i] = t.start[at] + filled[at];
			filled[at] += t.total[i];
			d = child;
		}
		runs.forEach((run, i) => {
			const node = place[run[0]];
			t.trunks.set(node, run.map(box => draft.frame[box]));
			t.frame[node] = ofBase.length + i;
			for (const box of run.slice(1)) {
				place[box] = node;
				t.self[node] += draft.self[box];
				t.otherSelf[node] += draft.otherSelf[box];
				t.edge[node] |= draft.edge[box];
			}
		});
		setLow(t);
		return { tree: t, place };
	}

	/* Whether a box's frame, or one of its trunk, matches. */
	const isMatch = (tree, matches, node) => Boolean(matches[tree.frame[node]] ||
		(tree.trunks.has(node) && tree.trunks.get(node).some(frame => matches[frame])));

	function copy(t, i, draft, from) {
		t.box[i] = from;
		t.frame[i] = draft.frame[from];
		t.opened[i] = draft.opened[from];
		t.edge[i] = draft.edge[from];
		t.rest[i] = draft.rest[from];
		t.self[i] = draft.self[from];
		t.total[i] = draft.total[from];
		t.other[i] = draft.other[from];
		t.otherSelf[i] = draft.otherSelf[from];
	}

	function setLow(t) {
		t.low.set(t.depth);
		for (let i = t.cnt - 1; i > 0; i--)
			if (t.total[i] && t.low[t.parent[i]] < t.low[i])
				t.low[t.parent[i]] = t.low[i];
	}

	/*
	 * What is shown and what it is compared with, in the unit of tree.by: points of a share ("share"), as counted
	 * ("amount"), or that per second of the recording ("rate"; tree.lengths: before and after, in ms).
	 */
	function sidesOf(tree, mine, other) {
		const [before, after] = tree.lengths, isBefore = tree.measure === 'before';
		const value = (n, sum, ms) => tree.by === 'amount' ? n : tree.by === 'rate' ? n / ms * 1000 : sum ? 100 * n / sum : 0;

		return [value(mine, tree.total[0], isBefore ? before : after), value(other, tree.other[0], isBefore ? after : before)];
	}

	/* How much more it is after than before. */
	function changeOf(tree, mine, other) {
		const [shown, compared] = sidesOf(tree, mine, other);

		return tree.measure === 'before' ? compared - shown : shown - compared;
	}

	/* Its colour: "new", "gone", or from -1 (less than before) to 1, and beyond if that is most of all. */
	function toneOf(tree, node) {
		if (tree.total[node] && !tree.other[node])
			return tree.measure === 'before' ? 'gone' : 'new';
		const most = tree.by === 'share' ? 100 : Math.max(...sidesOf(tree, tree.total[0], tree.other[0]));
		return changeOf(tree, tree.total[node], tree.other[node]) / (0.1 * most);
	}

	/* Frames from below the root to a node. */
	function pathTo(tree, node) {
		const frames = [];

		for (; node > 0; node = tree.parent[node])
			frames.unshift(...tree.trunks.get(node) || [tree.frame[node]]);
		return frames;
	}

	return { order, sidesOf, changeOf, toneOf, isMatch, pathTo };
})();

if (typeof module !== 'undefined')
	module.exports = KraitTree;

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * flamegraph_tree.js - the grown tree (flamegraph_grow.js) in drawing order: arrays in depth-first
 * order; node 0 is the root, the descendants of i are i + 1 .. end[i] - 1. No recursion: stacks are
 * thousands deep. No DOM in here.
 */
const KraitTree = (() => {
	'use strict';

	/*
	 * Children of each box, those with most of the whole recording first, so that a range keeps
	 * them in place.
	 */
	function groupChildren(draft, frames) {
		const first = new Int32Array(draft.cnt + 2), children = new Int32Array(draft.cnt);

		for (let i = 1; i < draft.cnt; i++)
			if (!draft.gone[i])
				first[draft.parent[i] + 2]++;
		for (let i = 2; i < first.length; i++)
			first[i] += first[i - 1];
		for (let i = 1; i < draft.cnt; i++)
			if (!draft.gone[i])
				children[first[draft.parent[i] + 1]++] = i;
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

	/* place: by box of the draft, its node. */
	function order(draft, frames) {
		const { first, children } = groupChildren(draft, frames);
		const cnt = draft.cnt - draft.gone.subarray(0, draft.cnt).reduce((sum, gone) => sum + gone, 0);
		const ends = first.slice(1), place = new Int32Array(draft.cnt);
		const ints = () => new Int32Array(cnt), numbers = () => new Float64Array(cnt);
		const t = {
			cnt, frames, box: ints(), parent: ints().fill(-1), frame: ints(), depth: ints(), end: ints(),
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
				d = draft.parent[d];
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
		setLow(t);
		return { tree: t, place };
	}

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

	/* By how many points the node's share is larger after than before. */
	function changeOf(tree, node, all = tree.total, others = tree.other) {
		const share = (values, sum) => sum ? 100 * values[node] / sum : 0;
		const points = share(all, tree.total[0]) - share(others, tree.other[0]);

		return tree.measure === 'before' ? -points : points;
	}

	/* Frames from below the root to a node. */
	function pathTo(tree, node) {
		const frames = [];

		for (; node > 0; node = tree.parent[node])
			frames.unshift(tree.frame[node]);
		return frames;
	}

	return { order, changeOf, pathTo };
})();

if (typeof module !== 'undefined')
	module.exports = KraitTree;

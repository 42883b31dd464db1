/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * flamegraph_views.js - the tree of stacks seen otherwise: from the leaves (bottom-up), from one function to its
 * callers, and from one function to all that it calls. No DOM in here.
 *
 * Must hold: a view's root has the sum of what it shows (of all; of the function's total), and each box has at least
 * what its children have. What is too narrow to be seen is not taken apart, so that a view of half a million
 * stacks is made at once; zooming in takes it apart.
 */
const KraitViews = (() => {
	'use strict';

	const M = KraitModel;

	function draftOf(room) {
		return {
			cnt: 1, parent: new Int32Array(room), frame: new Int32Array(room),
			self: new Float64Array(room), total: new Float64Array(room),
		};
	}

	function grow(draft) {
		for (const key of ['parent', 'frame', 'self', 'total']) {
			const larger = new draft[key].constructor(draft[key].length * 2);
			larger.set(draft[key]);
			draft[key] = larger;
		}
	}

	function addNode(draft, parent, frame) {
		if (draft.cnt === draft.parent.length)
			grow(draft);
		draft.parent[draft.cnt] = parent;
		draft.frame[draft.cnt] = frame;
		return draft.cnt++;
	}

	/* Nodes of the function without another one of it above: recursion counts once. */
	function outermost(tree, wanted) {
		const list = [];
		let covered = 0;

		for (let i = 1; i < tree.cnt; i++) {
			if (tree.frame[i] !== wanted || i < covered)
				continue;
			list.push(i);
			covered = tree.end[i];
		}
		return list;
	}

	/*
	 * Takes members (nodes of the tree with weights) apart by the frames of their callers, or by their own: groups with
	 * their total, in the order in which they are met. Members that have one caller become one.
	 */
	function splitter(tree) {
		/* By node and by frame, in which turn it was met last, and its place in that turn. */
		const nodeTurn = new Int32Array(tree.cnt), nodePlace = new Int32Array(tree.cnt);
		const frameTurn = new Int32Array(tree.frames.length), framePlace = new Int32Array(tree.frames.length);
		let turn = 0;

		function join(members, callers) {
			const nodes = new Int32Array(members.cnt), weights = new Float64Array(members.cnt);
			let cnt = 0;

			for (let i = members.from, last = i + members.cnt; i < last; i++) {
				const node = callers ? tree.parent[members.nodes[i]] : members.nodes[i];
				if (node <= 0)
					continue;
				if (nodeTurn[node] !== turn) {
					nodeTurn[node] = turn;
					nodePlace[node] = cnt;
					nodes[cnt++] = node;
				}
				weights[nodePlace[node]] += members.weights[i];
			}
			return { nodes, weights, cnt };
		}

		return (members, callers) => {
			turn++;
			const all = join(members, callers), groups = [], order = new Int32Array(all.cnt);

			for (let i = 0; i < all.cnt; i++) {
				const frame = tree.frame[all.nodes[i]];
				if (frameTurn[frame] !== turn) {
					frameTurn[frame] = turn;
					framePlace[frame] = groups.length;
					groups.push({ frame, from: 0, cnt: 0, total: 0, nodes: null, weights: null });
				}
				order[i] = framePlace[frame];
				groups[order[i]].cnt++;
			}
			/* One behind the other in arrays that they share. */
			const nodes = new Int32Array(all.cnt), weights = new Float64Array(all.cnt);
			let from = 0;
			for (const g of groups) {
				g.nodes = nodes;
				g.weights = weights;
				g.from = from;
				from += g.cnt;
				g.cnt = 0;
			}
			for (let i = 0; i < all.cnt; i++) {
				const g = groups[order[i]], at = g.from + g.cnt++;
				nodes[at] = all.nodes[i];
				weights[at] = all.weights[i];
				g.total += all.weights[i];
			}
			return groups;
		};
	}

	/* Where a group lies: beside the zoomed box, within it, or (from 0 on) that many boxes above it. */
	const BESIDE = -1, WITHIN = -2;
	/* Of the width of the view: what is narrower is one box. */
	const NARROW = 1 / 4000;

	function stepInto(place, within, frame) {
		if (place < 0)
			return place;
		return within[place] !== frame ? BESIDE : place + 1 < within.length ? place + 1 : WITHIN;
	}

	/*
	 * Groups of nodes, who called them, and so on. within: the frames from below the root to the zoomed box, which is
	 * taken apart as far as can be seen when it fills the view.
	 */
	function turnRound(tree, members, sum, within) {
		const split = splitter(tree), draft = draftOf(4096), queue = [];
		let fine = sum * NARROW;

		function add(parent, groups, place) {
			for (const group of groups) {
				const node = addNode(draft, parent, group.frame), next = stepInto(place, within, group.frame);
				draft.total[node] = draft.self[node] = group.total;
				if (parent)
					draft.self[parent] -= group.total;
				if (next === WITHIN && place !== WITHIN)
					fine = group.total * NARROW;
				/* What is too narrow stays as it is. */
				if (next >= 0 || group.total >= (next === WITHIN ? fine : sum * NARROW))
					queue.push({ node, group, place: next });
			}
		}
		draft.total[0] = sum;
		add(0, split(members, false), within.length ? 0 : BESIDE);
		for (let k = 0; k < queue.length; k++) {
			const { node, group, place } = queue[k];
			queue[k] = null;
			add(node, split(group, true), place);
		}
		return M.orderNodes(draft, tree.frames);
	}

	function bottomUp(tree, within) {
		const leaves = { nodes: new Int32Array(tree.cnt), weights: new Float64Array(tree.cnt), from: 0, cnt: 0 };

		for (let i = 1; i < tree.cnt; i++) {
			if (!tree.self[i])
				continue;
			leaves.nodes[leaves.cnt] = i;
			leaves.weights[leaves.cnt++] = tree.self[i];
		}
		return turnRound(tree, leaves, tree.total[0] - tree.self[0], within);
	}

	function callers(tree, frame, within) {
		const nodes = outermost(tree, frame), weights = nodes.map(i => tree.total[i]);
		return turnRound(tree, { nodes, weights, from: 0, cnt: nodes.length }, weights.reduce((sum, n) => sum + n, 0), within);
	}

	/* All that the function calls, wherever it was called. */
	function callees(tree, frame) {
		const draft = draftOf(4096), ids = new Map(), path = [], cnt = tree.frames.length;

		for (const top of outermost(tree, frame)) {
			for (let i = top; i < tree.end[top]; i++) {
				const depth = tree.depth[i] - tree.depth[top], parent = depth ? path[depth - 1] : 0;
				const key = parent * cnt + tree.frame[i];
				let id = ids.get(key);
				if (id === undefined)
					ids.set(key, id = addNode(draft, parent, tree.frame[i]));
				path[depth] = id;
				draft.self[id] += tree.self[i];
				draft.total[id] += tree.total[i];
			}
			draft.total[0] += tree.total[top];
		}
		return M.orderNodes(draft, tree.frames);
	}

	/* Frames from below the root to a node. */
	function pathTo(tree, node) {
		const frames = [];

		for (; node > 0; node = tree.parent[node])
			frames.unshift(tree.frame[node]);
		return frames;
	}

	return { bottomUp, callers, callees, pathTo };
})();

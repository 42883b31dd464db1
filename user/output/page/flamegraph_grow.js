/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * flamegraph_grow.js - grows the drawn tree from the stacks as far as it is visible: from the root
 * to callees, from the leaves to callers (bottom-up), or from one function either way. No DOM in
 * here.
 *
 * A box is a group of the stacks' nodes, its members. When it becomes wide enough to see, it is
 * opened: split into the boxes below it. Narrower ones share one box per parent, the parent's rest,
 * which is split when what is below the parent fills the view. Growing happens in slices of time,
 * so even half a million stacks respond immediately. Towards callers a member has only a part of
 * its node's total, its weight. Must hold: the root has the sum of what is shown (everything, or
 * the function's total); an opened box has what the boxes below it have plus its self.
 */
const KraitGrow = (() => {
	'use strict';

	const { SUMS, newDraft, addBox, newPool, newHand } = KraitDraft;

	/*
	 * shown: of KraitStacks. up: towards callers. frame: of one function; below 0: all. least:
	 * a box is opened from this share of the view on. trunks: those of KraitTree are one box each.
	 */
	function grow(shown, { up, frame, least, trunks }) {
		const draft = newDraft(1024), pool = newPool(up), hand = newHand(shown, up), { frames } = shown;
		const turnOf = new Int32Array(frames.length), groupOf = new Int32Array(frames.length);
		const groups = { frame: [], cnt: [], self: [], total: [], order: [], other: [], otherSelf: [], box: [], edge: [] };
		let turn = 0, queue = [], head = 0, fine = 0, tree = null, place = null;

		/* For the first of several narrow groups; -1: there is at most one. */
		function makeRest(parent, used) {
			let cnt = 0, members = 0;

			for (let g = 0; g < used; g++) {
				if (groups.total[g] > 0 && groups.total[g] < fine) {
					cnt++;
					members += groups.cnt[g];
				}
			}
			if (cnt < 2)
				return -1;
			const rest = addBox(draft, parent, frames.length - 1);
			draft.rest[rest] = cnt;
			for (const name of SUMS) {
				const sums = groups[name];
				let sum = 0;
				for (let g = 0; g < used; g++)
					if (groups.total[g] > 0 && groups.total[g] < fine)
						sum += sums[g];
				draft[name][rest] = sum;
			}
			/* Comes after all others. */
			draft.order[rest] = -1;
			draft.from[rest] = pool.take(members);
			return rest;
		}

		/* Turns the hand into boxes below that one. keep: even if they are now empty. */
		function deal(parent, keep) {
			const { nodes, weights, others, cnt } = hand;
			let used = 0;

			turn++;
			for (let k = 0; k < cnt; k++) {
				const node = nodes[k], f = shown.frame[node];
				if (turnOf[f] !== turn) {
					turnOf[f] = turn;
					groupOf[f] = used;
					groups.frame[used] = f;
					groups.cnt[used] = groups.self[used] = groups.total[used] = groups.order[used] = groups.other[used] = groups.otherSelf[used] = groups.edge[used] = 0;
					used++;
				}
				const g = groupOf[f];
				groups.cnt[g]++;
				groups.edge[g] |= shown.edge[node];
				groups.total[g] += up ? weights[k] : shown.total[node];
				groups.self[g] += up ? weights[k] : shown.self[node];
				groups.order[g] += up ? weights[k] : shown.order[node];
				if (shown.other) {
					groups.other[g] += up ? others[k] : shown.other[node];
					groups.otherSelf[g] += up ? others[k] : shown.otherSelf[node];
				}
			}
			const rest = keep ? -1 : makeRest(parent, used);
			for (let g = 0; g < used; g++) {
				groups.box[g] = -1;
				if (!(groups.total[g] > 0) && !keep)
					continue;
				if (rest >= 0 && groups.total[g] < fine) {
					groups.box[g] = rest;
					continue;
				}
				const box = groups.box[g] = addBox(draft, parent, groups.frame[g]);
				for (const name of SUMS)
					draft[name][box] = groups[name][g];
				draft.edge[box] = groups.edge[g];
				draft.from[box] = pool.take(groups.cnt[g]);
			}
			for (let k = 0; k < cnt; k++) {
				const box = groups.box[groupOf[shown.frame[nodes[k]]]];
				if (box < 0)
					continue;
				const at = draft.from[box] + draft.size[box]++;
				pool.nodes[at] = nodes[k];
				if (up) {
					pool.weights[at] = weights[k];
					pool.others[at] = others[k];
				}
			}
		}

		function pickCallees(box, keep) {
			for (let k = draft.from[box], last = k + draft.size[box]; k < last; k++) {
				for (let child = shown.first[pool.nodes[k]]; child; child = shown.next[child])
					if (shown.total[child] > 0 || (shown.other && shown.other[child] > 0) || (keep && shown.order[child] > 0))
						hand.add(child);
			}
		}

		function pickCallers(box) {
			for (let k = draft.from[box], last = k + draft.size[box]; k < last; k++) {
				const node = shown.parent[pool.nodes[k]];
				if (node > 0)
					hand.join(node, pool.weights[k], pool.others[k]);
			}
		}

		function open(box, keep) {
			const before = draft.cnt;

			if (draft.rest[box]) {
				splitRest(box, keep);
				return;
			}
			if (draft.opened[box])
				return;
			draft.opened[box] = 1;
			fill(box);
			hand.empty();
			if (up)
				pickCallers(box);
			else
				pickCallees(box, keep);
			deal(box, keep);
			/* Towards callers, self is what nobody called. */
			for (let child = before; up && child < draft.cnt; child++) {
				draft.self[box] -= draft.total[child];
				draft.otherSelf[box] -= draft.other[child];
			}
			enqueue(before);
		}

		function enqueue(from) {
			for (let box = from; box < draft.cnt; box++)
				if (draft.total[box] >= fine && !draft.rest[box])
					queue.push(box);
		}

		/* Replaces a rest by boxes beside it. */
		function splitRest(box, keep) {
			const before = draft.cnt;

			hand.empty();
			for (let k = draft.from[box], last = k + draft.size[box]; k < last; k++) {
				if (up)
					hand.join(pool.nodes[k], pool.weights[k], pool.others[k]);
				else
					hand.add(pool.nodes[k]);
			}
			draft.rest[box] = draft.size[box] = 0;
			for (const name of SUMS)
				draft[name][box] = 0;
			draft.gone[box] = 1;
			deal(draft.parent[box], keep);
			enqueue(before);
		}

		/* Plants functions that ran themselves; their members are found on demand. */
		function plantLeaves() {
			const self = KraitStacks.selvesByFrame(shown, shown.self), { otherSelf } = shown;
			const others = otherSelf && KraitStacks.selvesByFrame(shown, otherSelf);

			for (let f = 0; f < frames.length; f++) {
				if (!(self[f] > 0))
					continue;
				const box = addBox(draft, 0, f);
				draft.self[box] = draft.total[box] = draft.order[box] = self[f];
				if (others)
					draft.other[box] = draft.otherSelf[box] = others[f];
				draft.size[box] = -1;
			}
		}

		/* Finds the members of a function that ran itself. */
		function fill(box) {
			const { self, otherSelf } = shown;
			let cnt = 0;

			if (draft.size[box] >= 0)
				return;
			const { first, next } = shown.ofFrame = shown.ofFrame || KraitStacks.byFrame(shown);
			for (let i = first[draft.frame[box]]; i; i = next[i])
				cnt += self[i] > 0 || (otherSelf && otherSelf[i] > 0) ? 1 : 0;
			let at = draft.from[box] = pool.take(cnt);
			draft.size[box] = cnt;
			for (let i = first[draft.frame[box]]; i; i = next[i]) {
				if (!(self[i] > 0) && !(otherSelf && otherSelf[i] > 0))
					continue;
				pool.nodes[at] = i;
				pool.weights[at] = self[i];
				pool.others[at++] = otherSelf ? otherSelf[i] : 0;
			}
		}

		function pickFunction() {
			for (const node of KraitStacks.outermost(shown, frame)) {
				const other = shown.other ? shown.other[node] : 0;
				if (up)
					hand.join(node, shown.total[node], other);
				else
					hand.add(node);
			}
		}

		/* Plants the root, and for one function or for leaves also what is below it. */
		function plant() {
			const root = addBox(draft, 0, 0), all = frame < 0;

			hand.empty();
			if (all && !up) {
				for (const name of ['self', 'total', 'order'])
					draft[name][root] = shown[name][0];
				if (shown.other) {
					draft.other[root] = shown.other[0];
					draft.otherSelf[root] = shown.otherSelf[0];
				}
				draft.from[root] = pool.take(1);
				draft.size[root] = 1;
				return;
			}
			draft.opened[root] = 1;
			if (all) {
				plantLeaves();
			} else {
				pickFunction();
				deal(root, false);
			}
			for (let box = 1; box < draft.cnt; box++)
				for (const name of ['total', 'order', 'other'])
					draft[name][root] += draft[name][box];
		}

		/* Requests what is wide enough below a box when that box fills the view. */
		function want(box) {
			fine = least * draft.total[box];
			queue = [];
			head = 0;
			publish();
			const at = place[box];
			for (let i = at; i < tree.end[at]; i++)
				if (!tree.opened[i] && (tree.total[i] >= fine || i === at) && (!tree.rest[i] || tree.total[i] > 0))
					queue.push(tree.box[i]);
		}

		/* Grows for so many ms. Returns whether nothing is left to do. */
		function step(ms) {
			const until = performance.now() + ms, before = draft.cnt;

			while (head < queue.length && performance.now() < until)
				open(queue[head++], false);
			if (draft.cnt !== before)
				tree = null;
			return head >= queue.length;
		}

		/* Returns the tree as far as it has grown, in drawing order. */
		function publish() {
			if (tree)
				return tree;
			const made = KraitTree.order(draft, frames, trunks);
			tree = made.tree;
			place = made.place;
			for (const name of ['measure', 'by', 'lengths'])
				tree[name] = shown[name];
			if (!shown.other)
				tree.other = tree.otherSelf = null;
			return tree;
		}

		/* draft.cnt: none. */
		function childOf(box, wanted) {
			let child = box + 1;

			while (child < draft.cnt && (draft.parent[child] !== box || draft.frame[child] !== wanted || draft.gone[child]))
				child++;
			return child;
		}

		/* Follows those frames from below the root. Returns the last box that exists. */
		function descend(path) {
			let box = 0;

			fine = Infinity;
			for (const wanted of path) {
				open(box, true);
				const rest = childOf(box, frames.length - 1), child = childOf(box, wanted);
				if (child === draft.cnt && rest < draft.cnt)
					open(rest, true);
				const found = childOf(box, wanted);
				if (found === draft.cnt)
					break;
				box = found;
			}
			tree = null;
			return box;
		}

		plant();
		return {
			want, step, descend, tree: publish, place: box => place[box], isDone: () => head >= queue.length,
			membersOf: box => {
				fill(box);
				return pool.nodes.subarray(draft.from[box], draft.from[box] + draft.size[box]);
			},
			/* Visits the box's nodes of the stacks, with what each adds to the box. */
			eachMember: (box, act) => {
				fill(box);
				for (let k = draft.from[box], last = k + draft.size[box]; k < last; k++)
					act(pool.nodes[k], up ? pool.weights[k] : shown.total[pool.nodes[k]]);
			},
			/*
			 * Returns how much of a box matches: marks of KraitStacks.matchedBelow(),
			 * or matchedAbove() for callers.
			 */
			matched: (box, marks) => {
				let sum = 0;
				fill(box);
				for (let k = draft.from[box], last = k + draft.size[box]; k < last; k++)
					sum += up ? marks[pool.nodes[k]] * pool.weights[k] : marks[pool.nodes[k]];
				return sum;
			},
			least, up,
		};
	}

	return { grow };
})();

if (typeof module !== 'undefined')
	module.exports = KraitGrow;

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * flamegraph_draft.js - the growing tree's data (flamegraph_grow.js): boxes in order of creation,
 * the stacks' nodes in each, and what is being split at the moment. Growing arrays; no DOM in here.
 */
const KraitDraft = (() => {
	'use strict';

	const FIELDS = { parent: Int32Array, frame: Int32Array, from: Int32Array, size: Int32Array, opened: Uint8Array, gone: Uint8Array,
		edge: Uint8Array, /* callers in C are hidden, at least sometimes */
		rest: Int32Array, /* how many boxes it stands for; 0: only itself */
		self: Float64Array, total: Float64Array, order: Float64Array, other: Float64Array, otherSelf: Float64Array };

	const SUMS = ['self', 'total', 'order', 'other', 'otherSelf'];

	function larger(array, least) {
		const grown = new array.constructor(Math.max(least, array.length * 2));
		grown.set(array);
		return grown;
	}

	function newDraft(room) {
		const draft = { cnt: 0 };
		for (const [name, Type] of Object.entries(FIELDS))
			draft[name] = new Type(room);
		return draft;
	}

	function addBox(draft, parent, frame) {
		if (draft.cnt === draft.parent.length)
			for (const name of Object.keys(FIELDS))
				draft[name] = larger(draft[name], 0);
		draft.parent[draft.cnt] = parent;
		draft.frame[draft.cnt] = frame;
		return draft.cnt++;
	}

	/* Members of all boxes, box after box. */
	function newPool(hasWeights) {
		const pool = { used: 0, nodes: new Int32Array(4096), weights: hasWeights && new Float64Array(4096),
			others: hasWeights && new Float64Array(4096) };

		pool.take = cnt => {
			const from = pool.used;
			pool.used += cnt;
			if (pool.used > pool.nodes.length)
				for (const name of ['nodes', 'weights', 'others'])
					pool[name] = pool[name] && larger(pool[name], pool.used);
			return from;
		};
		return pool;
	}

	/* What is split together: nodes, with weights if these differ from their totals. */
	function newHand(shown, up) {
		const hand = { cnt: 0, nodes: new Int32Array(1024), weights: up && new Float64Array(1024), others: up && new Float64Array(1024) };
		/*
		 * By node, the turn in which it was last met, and its place in that turn; turns are
		 * numbered across hands.
		 */
		const met = shown.met = up ? shown.met || { turn: 0, turnOf: new Int32Array(shown.cnt), placeOf: new Int32Array(shown.cnt) } : shown.met;
		const { turnOf, placeOf } = met || {};

		function room() {
			if (hand.cnt < hand.nodes.length)
				return;
			for (const name of ['nodes', 'weights', 'others'])
				hand[name] = hand[name] && larger(hand[name], 0);
		}
		hand.empty = () => {
			hand.cnt = 0;
			if (up)
				met.turn++;
		};
		hand.add = node => {
			room();
			hand.nodes[hand.cnt++] = node;
		};
		/* Merges a repeated node: adds the weights. */
		hand.join = (node, weight, other) => {
			room();
			if (turnOf[node] !== met.turn) {
				turnOf[node] = met.turn;
				placeOf[node] = hand.cnt;
				hand.nodes[hand.cnt] = node;
				hand.weights[hand.cnt] = hand.others[hand.cnt] = 0;
				hand.cnt++;
			}
			hand.weights[placeOf[node]] += weight;
			hand.others[placeOf[node]] += other;
		};
		return hand;
	}

	return { SUMS, newDraft, addBox, newPool, newHand };
})();

if (typeof module !== 'undefined')
	module.exports = KraitDraft;

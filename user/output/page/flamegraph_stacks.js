/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * flamegraph_stacks.js - all stacks of the page as in the data: half a million nodes, in arrays
 * that are made once and refilled when something else is to be counted. The drawn tree grows from
 * them (flamegraph_grow.js). No DOM in here.
 *
 * Node 0 is the root; the descendants of i are i + 1 .. end[i] - 1. `raw` has the nodes unchanged;
 * `shown` leaves levels out and folds recursion: alias[i] is the node that i is a part of; parent
 * and the lists of children refer to aliases. Must hold: shown.total[0] is the sum of the
 * selection, whatever is left out or folded.
 */
const KraitStacks = (() => {
	'use strict';

	const NODE_FIELDS = 3;

	/* What a measure subtracts from the page's sum, or the one part it is. */
	const PARTS = {
		cpu: ['cpu', true], off: ['cpu', false], gil: ['gil', true],
		before: ['before', true], after: ['before', false],
	};

	/* Returns the self of each node by a measure. For a sum, the page stores all but one part. */
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

	function readNodes(data, frames) {
		const flat = data.nodes, cnt = flat.length / NODE_FIELDS, path = [0];
		const t = { cnt, frames, parent: new Int32Array(cnt), frame: new Int32Array(cnt), depth: new Int32Array(cnt),
			end: new Int32Array(cnt), cut: new Uint8Array(cnt), self: null, total: new Float64Array(cnt), version: 0 };

		for (let i = 0; i < cnt; i++) {
			const depth = t.depth[i] = flat[i * NODE_FIELDS];
			t.frame[i] = flat[i * NODE_FIELDS + 1];
			t.parent[i] = depth ? path[depth - 1] : -1;
			path[depth] = i;
		}
		for (let i = cnt - 1; i >= 0; i--) {
			t.end[i] = Math.max(t.end[i], i + 1);
			if (i)
				t.end[t.parent[i]] = Math.max(t.end[t.parent[i]], t.end[i]);
			/*
			 * A mark that only says that callers are hidden becomes an edge of what
			 * they called.
			 */
			t.cut[i] = t.end[i] > i + 1 && !flat[i * NODE_FIELDS + 2] ? frames[t.frame[i]].hides : 0;
		}
		return t;
	}

	/* map: of KraitFrames.merger(). folded: recursion is one box. */
	function arrange(raw, shown, { merged, map }, folded) {
		const { alias, parent, frame, first, next, edge } = shown, { end } = raw;
		/*
		 * The last box of each frame, and its end: a recursive call, direct or indirect,
		 * lies within it.
		 */
		const lastOf = folded ? new Int32Array(merged.length) : null, lastEnd = folded ? new Int32Array(merged.length) : null;

		shown.frames = merged;
		shown.map = map;
		shown.folded = folded;
		shown.ofFrame = null;
		for (let i = 1; i < raw.cnt; i++) {
			const f = raw.cut[i] ? -1 : map[raw.frame[i]], above = alias[raw.parent[i]];
			/* What a file's code calls in the same file is in one box. */
			const again = f >= 0 && merged[f].isFile && frame[above] === f && above ? above : lastOf && f >= 0 && i < lastEnd[f] ? lastOf[f] : 0;

			alias[i] = f < 0 ? above : again || i;
			frame[i] = alias[i] === i ? f : -1;
			parent[i] = above;
			edge[i] = raw.cut[raw.parent[i]];
			if (lastOf && alias[i] === i) {
				lastOf[f] = i;
				lastEnd[f] = end[i];
			}
		}
		first.fill(0);
		for (let i = raw.cnt - 1; i > 0; i--) {
			if (alias[i] !== i)
				continue;
			next[i] = first[parent[i]];
			first[parent[i]] = i;
		}
	}

	/*
	 * Same boxes with other frames: like arrange() if it leaves out the same levels and shows
	 * recursion.
	 */
	function rename(raw, shown, { merged, map }) {
		const { alias, frame } = shown;

		shown.frames = merged;
		shown.map = map;
		shown.ofFrame = null;
		for (let i = 1; i < raw.cnt; i++)
			frame[i] = alias[i] === i ? map[raw.frame[i]] : -1;
	}

	/* Parents come first. Adding zeroes is cheaper than testing for them. */
	function addToParents(total, parent) {
		for (let i = total.length - 1; i > 0; i--)
			total[parent[i]] += total[i];
	}

	/* Sums up selves of the data's nodes, and from them totals. */
	function sumUp({ cnt, alias, parent }, own, self, total) {
		self.fill(0);
		for (let i = 0; i < cnt; i++)
			self[alias[i]] += own[i];
		total.set(self);
		/* A part of another node has nothing itself. */
		addToParents(total, parent);
	}

	function open(data, allFrames) {
		const raw = readNodes(data, allFrames), { cnt } = raw, merge = KraitFrames.merger(allFrames, data.meta.compared);
		const ints = () => new Int32Array(cnt), numbers = () => new Float64Array(cnt);
		/*
		 * order: totals of the whole recording, which determine the order of boxes; other
		 * ones are for comparison.
		 */
		const shown = { cnt, frames: [], frame: ints(), parent: ints(), alias: ints(), first: ints(), next: ints(), end: raw.end,
			edge: new Uint8Array(cnt), /* callers in C are hidden */
			self: numbers(), total: numbers(), order: null, other: null, otherSelf: null, ofFrame: null, folded: false,
			version: 0 /* changes with the numbers */ };
		let whole = null, wholeTotal = null, measure = '', levels = '', isRawOld = true;

		/* Call while the browser is idle: the first use of memory takes time. */
		function prepare() {
			wholeTotal = wholeTotal || numbers().fill(0);
		}

		/* own: selves of some of the samples, by node of the data; null: all samples. */
		function refill(own) {
			if (own && shown.order === shown.total) {
				prepare();
				shown.order = wholeTotal;
				shown.order.set(shown.total);
			}
			raw.self = own || whole;
			sumUp(shown, raw.self, shown.self, shown.total);
			if (!own)
				shown.order = shown.total;
			isRawOld = true;
			shown.version++;
		}

		/*
		 * options: those of KraitFrames.merge(), folded, and measure: "wall", "cpu", "off",
		 * "gil", "before" or "after", if available; by: of KraitTree.sidesOf().
		 */
		function choose(options) {
			const opposite = data.before && { before: 'after', after: 'before' }[options.measure];
			const ways = merge(options.roots, options.boxes, options.only);

			if (!whole || measure !== options.measure)
				whole = selfOf(data, measure = options.measure);
			shown.measure = measure;
			shown.by = options.by;
			shown.lengths = data.meta.lengths;
			if (levels && levels === ways.levels && !options.folded && !shown.folded)
				rename(raw, shown, ways);
			else
				arrange(raw, shown, ways, options.folded);
			levels = ways.levels;
			refill(null);
			shown.other = shown.otherSelf = null;
			if (opposite) {
				shown.other = numbers();
				shown.otherSelf = numbers();
				sumUp(shown, selfOf(data, opposite), shown.otherSelf, shown.other);
			}
		}

		/* The stacks as in the data, by process, thread and line. */
		function finest() {
			if (isRawOld) {
				raw.total.set(raw.self);
				addToParents(raw.total, raw.parent);
				isRawOld = false;
				raw.version = shown.version;
			}
			return raw;
		}

		/* placeOf: the data's frame of a node, with its line. */
		return { shown, choose, refill, finest, prepare, placeOf: node => allFrames[raw.frame[node]] };
	}

	/* Lists nodes by frame, lowest number first; 0 ends a list. */
	function byFrame(shown) {
		const { cnt, frame } = shown, first = new Int32Array(shown.frames.length), next = new Int32Array(cnt);

		for (let i = cnt - 1; i > 0; i--) {
			if (frame[i] < 0)
				continue;
			next[i] = first[frame[i]];
			first[frame[i]] = i;
		}
		return { first, next };
	}

	/* Selves by frame. */
	function selvesByFrame({ cnt, frames, frame }, own) {
		const sums = new Float64Array(frames.length);

		for (let i = 1; i < cnt; i++)
			if (own[i])
				sums[frame[i]] += own[i];
		return sums;
	}

	/* Nodes of the function that are not below another one: recursion counts once. */
	function outermost(shown, wanted) {
		const { frame, end } = shown, { first, next } = shown.ofFrame = shown.ofFrame || byFrame(shown), list = [];
		let covered = 0;

		for (let i = first[wanted]; i; i = next[i]) {
			if (frame[i] !== wanted || i < covered)
				continue;
			list.push(i);
			/* Folded recursion has none. */
			covered = shown.folded ? 0 : end[i];
		}
		return list;
	}

	/*
	 * Self and total of each frame below some nodes (none: everywhere); recursion counts once,
	 * as in count_frames().
	 */
	function countFrames(shown, tops, own = shown.self, all = shown.total) {
		const cnt = shown.frames.length, self = new Float64Array(cnt), total = new Float64Array(cnt);
		const { frame, end, parent } = shown, covered = new Int32Array(cnt);
		const within = shown.folded && tops && new Uint8Array(shown.cnt), apart = !shown.folded;

		function count(from, to) {
			for (let i = from; i < to; i++) {
				const f = frame[i];
				if (f < 0)
					continue;
				if (within && !(within[i] = within[i] || within[parent[i]]))
					continue;
				/*
				 * Nothing below it has any either, unless that is part of what is
				 * above.
				 */
				if (apart && !all[i]) {
					i = end[i] - 1;
					continue;
				}
				self[f] += own[i];
				if (i < covered[f])
					continue;
				total[f] += all[i];
				covered[f] = shown.folded ? 0 : end[i];
			}
		}
		if (within) {
			for (const top of tops)
				within[top] = 1;
			count(1, shown.cnt);
		} else if (tops) {
			for (const top of tops)
				count(top, end[top]);
		} else {
			count(1, shown.cnt);
			/* Samples without a stack. */
			self[0] += own[0];
			total[0] += own[0];
		}
		return { self, total };
	}

	/* How much of each node's total has a matching frame from there on; a sample counts once. */
	function matchedBelow(shown, matches) {
		const { cnt, frame, parent, total } = shown, sums = new Float64Array(cnt);

		for (let i = cnt - 1; i > 0; i--) {
			if (frame[i] < 0)
				continue;
			if (matches[frame[i]])
				sums[i] = total[i];
			sums[parent[i]] += sums[i];
		}
		return sums;
	}

	/* Whether a node or an ancestor of it has a matching frame. */
	function matchedAbove(shown, matches) {
		const { cnt, frame, parent } = shown, marks = new Uint8Array(cnt);

		for (let i = 1; i < cnt; i++)
			if (frame[i] >= 0)
				marks[i] = matches[frame[i]] || marks[parent[i]];
		return marks;
	}

	return { open, selfOf, byFrame, selvesByFrame, outermost, countFrames, matchedBelow, matchedAbove };
})();

if (typeof module !== 'undefined')
	module.exports = KraitStacks;

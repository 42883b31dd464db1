/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * flamegraph_strip.js - the samples in time order: what to draw of them, lane by lane, and sums
 * over a range and some lanes. No DOM in here.
 *
 * A clock tick belongs to its moment; a wait to its whole time, so a range that contains half of it
 * has half of its weight. Must hold: adjoining ranges, and lanes, add up to the whole, node by node
 * and measure by measure.
 */
const KraitStrip = (() => {
	'use strict';

	const M = KraitStacks;
	/*
	 * Class of an entry: everything if there is one event; else time on a CPU, waits for the
	 * GIL, other waits.
	 */
	const ON = 0, GIL = 1, OFF = 2;
	const CLASSES = { cpu: [ON], gil: [GIL], off: [GIL, OFF] };
	/* Order of the columns as html_strip.c writes them. */
	const TIMES = 0, LOW = 1, MIDDLE = 2, HIGH = 3, CODES = 4, LENGTHS = 5, WEIGHTS = 6;

	/* Reads consecutive variable-length numbers of DWARF. */
	function reader(bytes) {
		let at = 0;

		return () => {
			let value = 0, scale = 1, byte;
			do {
				byte = bytes[at++];
				value += (byte & 127) * scale;
				scale *= 128;
			} while (byte & 128);
			return value;
		};
	}

	function split(bytes, sizes) {
		let at = 0;

		return sizes.map(size => bytes.subarray(at, at += size));
	}

	/*
	 * Entries by lane in time order: ends and lengths (both in ticks), nodes, codes and
	 * weights.
	 */
	function readEntries(strip, bytes) {
		const columns = split(bytes, strip.columns), cnt = columns[CODES].length;
		const e = { cnt, end: new Float64Array(cnt), length: new Float64Array(cnt), node: new Int32Array(cnt),
			code: new Uint8Array(cnt), value: new Float64Array(cnt), first: new Int32Array(strip.lanes.length + 1),
			longest: new Float64Array(strip.lanes.length), /* of entries in a lane */
			waits: new Uint8Array(strip.lanes.length) /* whether a lane has entries with a length */ };
		const waits = strip.codes.map(c => c[2]), units = strip.codes.map(c => c[3]);
		const times = reader(columns[TIMES]), lengths = reader(columns[LENGTHS]), weights = reader(columns[WEIGHTS]);
		let i = 0;

		strip.lanes.forEach((lane, number) => {
			let time = 0;
			e.first[number] = i;
			for (const last = i + lane[2]; i < last; i++) {
				const word = columns[CODES][i], isWait = waits[word >> 1], unit = units[word >> 1];
				e.end[i] = time += times();
				e.node[i] = columns[LOW][i] | columns[MIDDLE][i] << 8 | columns[HIGH][i] << 16;
				e.code[i] = word >> 1;
				if (isWait && (e.length[i] = lengths()))
					e.waits[number] = 1;
				const said = word & 1 ? weights() : 0;
				e.value[i] = isWait && !unit ? (said || Math.max(1, e.length[i])) * strip.quantum : (said || 1) * (unit || 1);
				if (!isWait && unit)
					e.length[i] = e.value[i] / strip.quantum;
				e.longest[number] = Math.max(e.longest[number], e.length[i]);
			}
		});
		e.first[strip.lanes.length] = i;
		return e;
	}

	function classOf(data, code) {
		return !data.cpu || !code[1] ? ON : code[0] === 'gil' ? GIL : OFF;
	}

	/* Weights become shares of the tree's number at the node: exact, however they were rounded. */
	function scale(data, entries, classes) {
		const gil = data.cpu && M.selfOf(data, 'gil'), off = data.cpu && M.selfOf(data, 'off');
		const whole = [M.selfOf(data, data.cpu ? 'cpu' : '')];
		let missing = 0;

		if (data.cpu)
			whole.push(gil, off.map((v, i) => v - gil[i]));
		const sums = whole.map(w => new Float64Array(w.length));
		for (let i = 0; i < entries.cnt; i++)
			sums[classes[entries.code[i]]][entries.node[i]] += entries.value[i];
		whole.forEach((w, kind) => {
			const sum = sums[kind];
			for (let i = 0; i < w.length; i++) {
				missing += sum[i] ? 0 : w[i];
				sum[i] = sum[i] ? w[i] / sum[i] : 0;
			}
		});
		for (let i = 0; i < entries.cnt; i++)
			entries.value[i] *= sums[classes[entries.code[i]]][entries.node[i]];
		return missing;
	}

	function open(data, bytes) {
		const { strip } = data, entries = readEntries(strip, bytes), classes = strip.codes.map(c => classOf(data, c));
		const missing = scale(data, entries, classes);
		let span = 1;

		for (let i = 0; i < strip.lanes.length; i++)
			span = Math.max(span, entries.end[entries.first[i + 1] - 1]);
		return { entries, classes, missing, span, strip, ns: strip.quantum,
			lanes: strip.lanes.map(([pid, tid, , program, thread]) => ({ pid, tid, program, thread })) };
	}

	/* Returns the first entry from low on, below high, that ends at that time or later. */
	function firstAt(end, low, high, time) {
		while (low < high) {
			const middle = (low + high) >> 1;
			if (end[middle] < time)
				low = middle + 1;
			else
				high = middle;
		}
		return low;
	}

	/* Adds entries from..to - 1. Kept small, since browsers compile small loops sooner. */
	function addAll(own, { node, value }, from, to) {
		for (let i = from; i < to; i++)
			own[node[i]] += value[i];
	}

	function addWanted(own, { node, value, code }, from, to, wanted) {
		for (let i = from; i < to; i++)
			if (wanted[code[i]])
				own[node[i]] += value[i];
	}

	/* Which codes count for a measure. */
	const wantedOf = (s, measure) => Uint8Array.from(s.classes, c => !CLASSES[measure] || CLASSES[measure].includes(c) ? 1 : 0);

	/*
	 * Stores in own the selves by node of the data, for a range in ticks and the wanted lanes
	 * (no list: all).
	 */
	function selves(s, own, { from = 0, to = s.span, lanes = null }, measure) {
		const { end, length, node, code, value, first, longest } = s.entries;
		const wanted = wantedOf(s, measure);
		const waits = Uint8Array.from(s.strip.codes, c => c[2] ? 1 : 0), add = wanted.includes(0) ? addWanted : addAll;

		own.fill(0);

		for (let lane = 0; lane < s.lanes.length; lane++) {
			if (lanes && !lanes[lane])
				continue;
			let i = firstAt(end, first[lane], first[lane + 1], from);
			/* Only moments: those after the range's start, up to its end. */
			if (!s.entries.waits[lane]) {
				while (from && i < first[lane + 1] && end[i] === from)
					i++;
				add(own, s.entries, i, firstAt(end, i, first[lane + 1], Math.floor(to) + 1), wanted);
				continue;
			}
			for (; i < first[lane + 1]; i++) {
				const last = end[i];
				if (last - longest[lane] > to)
					break;
				if (!wanted[code[i]])
					continue;
				if (!waits[code[i]] || !length[i]) {
					/* A moment; the first range includes the first moment. */
					if (last <= to && (last > from || !from))
						own[node[i]] += value[i];
					continue;
				}
				const begin = last - length[i];
				if (begin < to && last > from)
					own[node[i]] += value[i] * (Math.min(last, to) - Math.max(begin, from)) / length[i];
			}
		}
		return own;
	}

	/*
	 * Lanes as shown: by program, process or thread, first what has most of that measure, as in the graph; beyond
	 * max, one lane for the others.
	 */
	function groupLanes(s, by, max, measure) {
		const byKey = new Map(), wanted = wantedOf(s, measure);

		s.lanes.forEach((lane, i) => {
			const key = by === 'thread' ? `${lane.pid}.${lane.tid}` : by === 'process' ? String(lane.pid) : lane.program;
			let group = byKey.get(key);
			if (!group) {
				const name = by === 'thread' ? `${lane.thread || lane.program} (${lane.tid})` :
					by === 'process' ? `${lane.program} (${lane.pid})` : lane.program || 'no process';
				byKey.set(key, group = { key, name, program: lane.program, lanes: [], value: 0, measured: 0 });
			}
			group.lanes.push(i);
			for (let k = s.entries.first[i]; k < s.entries.first[i + 1]; k++) {
				group.value += s.entries.value[k];
				group.measured += wanted[s.entries.code[k]] ? s.entries.value[k] : 0;
			}
		});
		const groups = [...byKey.values()].sort((a, b) => b.measured - a.measured || b.value - a.value || (a.name < b.name ? -1 : 1));
		if (groups.length <= max)
			return groups;
		const rest = groups.splice(max - 1);
		return [...groups, { key: '', name: `${rest.length} others`, program: '', lanes: rest.flatMap(g => g.lanes),
			value: rest.reduce((sum, g) => sum + g.value, 0) }];
	}

	/*
	 * How much of each state (stateOf: by code) is in each of cnt columns of the range, for
	 * some lanes, whatever measure the page shows. Rows of states, one after another.
	 */
	function columns(s, group, stateOf, stateCnt, cnt, { from, to }) {
		const { end, length, code, value, first } = s.entries, sums = new Float64Array(cnt * stateCnt);
		const per = cnt / (to - from || 1);

		for (const lane of group.lanes) {
			for (let i = first[lane]; i < first[lane + 1]; i++) {
				if (end[i] < from || end[i] - length[i] > to)
					continue;
				const row = stateOf[code[i]] * cnt, right = (end[i] - from) * per, wide = length[i] * per;
				const left = Math.max(0, right - wide), a = Math.floor(left), b = Math.min(cnt - 1, Math.floor(Math.min(right, cnt)));
				if (a >= b || !wide) {
					sums[row + Math.min(b, cnt - 1)] += value[i];
					continue;
				}
				for (let k = a; k <= b; k++)
					sums[row + k] += value[i] * (Math.min(k + 1, right) - Math.max(k, left)) / wide;
			}
		}
		return sums;
	}

	return { open, selves, groupLanes, columns };
})();

if (typeof module !== 'undefined')
	module.exports = KraitStrip;

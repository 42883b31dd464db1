/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * flamegraph_lanes.js - the visible time strip: a lane for each program, process or thread,
 * coloured by what it did; a range that is dragged, typed or moved by keys; and chosen lanes.
 * Notifies the views that depend on the selection.
 */
const KraitLanes = (data, strip, onChange) => {
	'use strict';

	const $ = id => document.getElementById(id);
	const { number, duration, percent, element } = KraitText;
	const { ROW, MAX_LANES } = KraitLanes, MIN_DRAG = 3;
	const names = KraitText.STATES;
	const canvas = $('strip-canvas'), context = canvas.getContext('2d'), box = $('strip-box');
	const states = [...new Set(strip.strip.codes.map(c => c[0]))].sort((a, b) => order(a) - order(b));
	const stateOf = strip.strip.codes.map(c => states.indexOf(c[0]));
	let groups = [], chosen = new Set(), range = { from: 0, to: strip.span }, drag = null, width = 0, told = 0;

	function order(state) {
		return Object.keys(names).indexOf(state);
	}

	const seconds = ticks => ticks * strip.ns / 1e9;
	const isWhole = () => range.from <= 0 && range.to >= strip.span;

	/* null: everything. */
	function selection() {
		if (isWhole() && !chosen.size)
			return null;
		let lanes = null;
		if (chosen.size) {
			lanes = new Uint8Array(strip.lanes.length);
			for (const g of groups)
				if (chosen.has(g.key))
					for (const lane of g.lanes)
						lanes[lane] = 1;
		}
		return { from: range.from, to: range.to, lanes,
			milliseconds: isWhole() ? data.meta.milliseconds : seconds(range.to - range.from) * 1000 };
	}

	/* ---- drawing ---- */

	function colors() {
		const style = getComputedStyle(document.documentElement);
		return states.map(s => style.getPropertyValue(`--state-${s || 'cpu'}`).trim());
	}

	/*
	 * The amount that fills a lane's height: for one thread, a column's full time; for several
	 * threads, or counts that are not time, an amount that few columns exceed. One wait may
	 * stand for others that were not sampled, so the sum can be larger.
	 */
	function mostOf(sums, cnt, threads) {
		const isTime = data.meta.unitNs && strip.strip.codes.some(c => c[3]), whole = isTime ? valueOf(strip.span / cnt) : 0;
		const all = new Float64Array(cnt);

		for (let i = 0; i < sums.length; i++)
			all[i % cnt] += sums[i];
		const some = all.filter(v => v > 0).sort();
		return isTime && threads === 1 ? whole : Math.max(whole, some[Math.floor(some.length * 0.98)] || 0);
	}

	/*
	 * Calls paint(state, column, bottom, height) for each bar; heights are fractions of the
	 * lane's.
	 */
	function eachBar(group, cnt, paint) {
		const whole = { from: 0, to: strip.span };
		const sums = KraitStrip.columns(strip, group, stateOf, states.length, cnt, whole);
		const most = mostOf(sums, cnt, group.lanes.length);

		for (let s = 0; most && s < states.length; s++) {
			for (let k = 0; k < cnt; k++) {
				const value = sums[s * cnt + k];
				if (!value)
					continue;
				let below = 0;
				for (let t = 0; t < s; t++)
					below += sums[t * cnt + k];
				if (below >= most)
					continue;
				paint(s, k, below / most, Math.min(value, most - below) / most);
			}
		}
	}

	const HIGH = ROW - 3;

	function drawLane(group, row, fills, cnt) {
		eachBar(group, cnt, (state, column, from, part) => {
			const high = Math.max(0.75, part * HIGH);
			context.fillStyle = fills[state];
			context.fillRect(column, (row + 1) * ROW - 2 - from * HIGH - high, 1, high);
		});
	}

	/*
	 * For saved pictures of that width: each lane's name and a path per state; the legend; the
	 * chosen range.
	 */
	function picture(width, cnt) {
		const fills = colors(), per = width / cnt, at = ticks => ticks / strip.span * width;

		return {
			rows: groups.map((group, row) => {
				const paths = states.map(() => []);
				eachBar(group, cnt, (state, column, from, part) => {
					const high = Math.max(0.75, part * HIGH), y = (row + 1) * ROW - 2 - from * HIGH - high;
					paths[state].push(`M${(column * per).toFixed(1)} ${y.toFixed(1)}h${per.toFixed(2)}v${high.toFixed(1)}h-${per.toFixed(2)}z`);
				});
				return { name: group.name, off: chosen.size > 0 && !chosen.has(group.key), paths: paths.map(p => p.join('')) };
			}),
			fills, words: states.map(s => names[s]), from: at(range.from), to: at(range.to), row: ROW,
		};
	}

	/* What the page counts for so many ticks of one busy CPU. */
	function valueOf(ticks) {
		const ns = ticks * strip.ns;
		return data.meta.unit === 'nanoseconds' ? ns : ns / data.meta.unitNs;
	}

	function draw() {
		const scale = window.devicePixelRatio || 1, height = groups.length * ROW, fills = colors();

		width = box.clientWidth;
		if (!width)
			return;
		canvas.style.height = height + 'px';
		canvas.width = Math.round(width * scale);
		canvas.height = Math.round(height * scale);
		context.setTransform(scale, 0, 0, scale, 0, 0);
		context.clearRect(0, 0, width, height);
		groups.forEach((g, row) => drawLane(g, row, fills, width));
		showRange();
	}

	/* Dims what is outside the range, and lanes that are not chosen. */
	function showRange() {
		const at = ticks => ticks / strip.span * width;

		$('strip-before').style.width = at(range.from) + 'px';
		$('strip-after').style.left = at(range.to) + 'px';
		$('strip-before').style.height = $('strip-after').style.height = groups.length * ROW + 'px';
		$('strip-whole').disabled = !selection();
		$('strip-from').value = seconds(range.from).toFixed(3);
		$('strip-to').value = seconds(range.to).toFixed(3);
		for (const button of $('lane-names').children) {
			const on = chosen.has(button.dataset.key);
			button.setAttribute('aria-pressed', String(on));
			button.classList.toggle('off', chosen.size > 0 && !on);
		}
	}

	function showNames() {
		$('lane-names').replaceChildren(...groups.map(g => {
			const button = element('button'), [first, script, id] = KraitText.taskParts(g.name);
			button.append(element('span', 'most first', first), element('span', 'most', script), element('span', 'last', id));
			button.type = 'button';
			button.dataset.key = g.key;
			button.title = `${g.name}, ${number.format(g.lanes.length)} ${g.lanes.length === 1 ? 'thread' : 'threads'}`;
			return button;
		}));
	}

	function showStates() {
		const fills = colors(), sums = new Float64Array(states.length), { code, value, cnt } = strip.entries;
		let all = 0;

		for (let i = 0; i < cnt; i++) {
			sums[stateOf[code[i]]] += value[i];
			all += value[i];
		}
		$('states').replaceChildren(...states.map((s, i) => {
			const item = element('li'), color = element('i');
			color.style.background = fills[i];
			item.append(color, `${names[s]} ${percent(sums[i], all)}`);
			item.hidden = sums[i] < KraitText.LEGEND_LEAST * all;
			return item;
		}));
	}

	/* kept: lanes stay chosen. */
	function regroup(kept = new Set()) {
		groups = KraitStrip.groupLanes(strip, $('lanes').value, MAX_LANES, $('measure').value);
		chosen = new Set(groups.map(g => g.key).filter(key => kept.has(key)));
		showNames();
		draw();
	}

	/* ---- what is chosen ---- */

	/* At most once per frame, since the followers are about that fast. */
	function tell(done) {
		showRange();
		cancelAnimationFrame(told);
		if (done)
			onChange(selection(), true);
		else
			told = requestAnimationFrame(() => onChange(selection(), false));
	}

	function setRange(from, to, done = true) {
		const low = Math.max(0, Math.min(from, to)), high = Math.min(strip.span, Math.max(from, to));

		range = low < high ? { from: low, to: high } : { from: 0, to: strip.span };
		tell(done);
	}

	function toggleLane(key) {
		if (!chosen.delete(key))
			chosen.add(key);
		if (chosen.size === groups.length)
			chosen = new Set();
		tell(true);
	}

	function clear() {
		if (!selection())
			return false;
		chosen = new Set();
		range = { from: 0, to: strip.span };
		tell(true);
		return true;
	}

	const tickAt = event => (event.clientX - box.getBoundingClientRect().left) / width * strip.span;

	function onDown(event) {
		if (event.button)
			return;
		drag = { x: event.clientX, from: tickAt(event), moved: false };
		box.setPointerCapture(event.pointerId);
		event.preventDefault();
	}

	function onMove(event) {
		if (!drag)
			return;
		drag.moved = drag.moved || Math.abs(event.clientX - drag.x) >= MIN_DRAG;
		if (drag.moved)
			setRange(drag.from, tickAt(event), false);
	}

	function onUp(event) {
		if (!drag)
			return;
		const { from, moved } = drag;
		drag = null;
		if (moved) {
			setRange(from, tickAt(event));
			return;
		}
		const group = groups[Math.floor((event.clientY - canvas.getBoundingClientRect().top) / ROW)];
		if (group)
			toggleLane(group.key);
	}

	/* Moves the range by a tenth of itself; with Shift, only its end. */
	function onKey(event) {
		const step = (range.to - range.from) / 10 * (event.key === 'ArrowLeft' ? -1 : 1);

		if (event.key !== 'ArrowLeft' && event.key !== 'ArrowRight')
			return;
		if (event.shiftKey || isWhole())
			setRange(range.from, range.to + step);
		else if (range.from + step >= 0 && range.to + step <= strip.span)
			setRange(range.from + step, range.to + step);
		else
			setRange(step < 0 ? 0 : strip.span - (range.to - range.from), step < 0 ? range.to - range.from : strip.span);
		event.preventDefault();
		event.stopPropagation();
	}

	function typed() {
		const read = id => Number($(id).value) * 1e9 / strip.ns;
		setRange(read('strip-from'), read('strip-to'));
	}

	/* For the address: the range in seconds and the numbers of chosen lanes. */
	function toText() {
		const at = ticks => Number(seconds(Math.round(ticks)).toFixed(9));

		return [isWhole() ? '' : `${at(range.from)}-${at(range.to)}`,
			chosen.size ? groups.flatMap((g, i) => chosen.has(g.key) ? [i] : []).join('.') : '', $('lanes').value];
	}

	function fromText(time, lanes, by) {
		const [from, to] = (time || '').split('-').map(text => Math.round(Number(text) * 1e9 / strip.ns));

		if ([...$('lanes').options].some(o => o.value === by))
			$('lanes').value = by;
		regroup();
		chosen = new Set((lanes || '').split('.').filter(i => i && groups[i]).map(i => groups[i].key));
		range = to > from && from >= 0 ? { from, to: Math.min(to, strip.span) } : { from: 0, to: strip.span };
		showRange();
	}

	function start() {
		$('lanes').value = KraitLanes.kindOf(strip.lanes);
		$('lane-names').style.minHeight = '';
		$('strip').hidden = false;
		if (strip.strip.width)
			$('strip-note').textContent = `${number.format(strip.strip.samples)} samples are shown in steps of ` +
				`${duration(strip.strip.width / 1e6)}`;
		$('strip-to').max = $('strip-from').max = seconds(strip.span);
		showStates();
		regroup();
		$('lanes').addEventListener('change', () => { regroup(); tell(true); });
		$('strip-whole').addEventListener('click', clear);
		$('strip-from').addEventListener('change', typed);
		$('strip-to').addEventListener('change', typed);
		$('lane-names').addEventListener('click', event => {
			const button = event.target.closest('button');
			if (button)
				toggleLane(button.dataset.key);
		});
		box.addEventListener('pointerdown', onDown);
		box.addEventListener('pointermove', onMove);
		box.addEventListener('pointerup', onUp);
		box.addEventListener('pointercancel', () => { drag = null; });
		box.addEventListener('keydown', onKey);
		new ResizeObserver(() => box.clientWidth !== width && draw()).observe(box);
	}

	start();
	return { selection, picture, setRange, toggleLane, clear, toText, fromText, groups: () => groups,
		sort: () => regroup(chosen), redraw: () => { showStates(); draw(); } };
};

KraitLanes.ROW = 18;
KraitLanes.MAX_LANES = 60;

/* What the lanes stand for at first. */
KraitLanes.kindOf = lanes => {
	const cntOf = key => new Set(lanes.map(l => l[key])).size;

	return cntOf('program') > 1 && cntOf('pid') > 20 ? 'program' : cntOf('pid') > 1 && lanes.length > 20 ? 'process' : 'thread';
};

/* The samples come a moment after the boxes: their room is kept, so that nothing moves below a pointer. */
KraitLanes.keepRoom = data => {
	const lanes = data.strip.lanes.map(([pid, tid, , program]) => ({ pid, tid, program })), kind = KraitLanes.kindOf(lanes);
	const cnt = new Set(lanes.map(l => kind === 'thread' ? `${l.pid}.${l.tid}` : kind === 'process' ? l.pid : l.program)).size;

	document.getElementById('strip').hidden = false;
	document.getElementById('lane-names').style.minHeight = `${KraitLanes.ROW * Math.min(cnt, KraitLanes.MAX_LANES)}px`;
};

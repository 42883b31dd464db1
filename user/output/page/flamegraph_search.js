/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * flamegraph_search.js - search: which frames match, how many of the samples have one, and going to
 * the next match. Also finds boxes that are too narrow to see, and zooms to them.
 */
const KraitSearch = (() => {
	'use strict';

	/* The words people use for kinds of frames. */
	const KIND_WORDS = { python: 'python', process: 'process', thread: 'thread', mark: 'marker', native: 'native',
		kernel: 'kernel' };

	/*
	 * Turns a search's text into a test of frames: plain text, or /a regular expression/. Looks
	 * at names, at file:line, and at kinds ("kernel"). Ignores case if there are no capitals.
	 * Returns { test, isLate }, or { why } for an invalid expression or one that could take for
	 * ever.
	 */
	function makeMatcher(text) {
		const expression = text.match(/^\/(.+)\/$/), regex = expression && KraitRegex.make(expression[1]);
		if (regex && regex.why)
			return regex;
		const exact = /\p{Lu}/u.test(text), small = text.toLowerCase();
		const has = s => regex ? regex.test(s) : exact ? s.includes(text) : s.toLowerCase().includes(small);
		const lineOf = f => f.line > 0 ? f.line : f.firstLine;

		/* Processes and threads also match by number. */
		const isTask = f => f.kind === KraitFrames.PROCESS || f.kind === KraitFrames.THREAD;

		return { isLate: regex ? regex.isLate : () => false,
			test: f => has(f.name) || (isTask(f) && has(KraitText.nameOf(f))) || Boolean(f.file && has(lineOf(f) > 0 ? `${f.file}:${lineOf(f)}` : f.file)) ||
				(!regex && KIND_WORDS[f.kind] === small) };
	}

	/* The last frame stands for others and has no name. */
	const marksOf = (frames, test) => test ? Uint8Array.from(frames, (f, i) => i < frames.length - 1 && test(f) ? 1 : 0) : null;

	/* app: the page's state, scene and view. */
	function open(app) {
		const $ = id => document.getElementById(id);
		const { state, scene, view } = app, { number, percent, element } = KraitText;
		/*
		 * Matching stacks by node, for a tree that grows in that direction; computed on
		 * demand.
		 */
		let marks = null, marksUp = false, hits = null, hitsOf = null;

		function stackMarks() {
			const { up } = scene.grown();
			if (!marks || marksUp !== up)
				marks = up ? KraitStacks.matchedAbove(state.base, state.matches) : KraitStacks.matchedBelow(state.base, state.matches);
			marksUp = up;
			return marks;
		}

		/* Call after a change of frames or numbers. */
		function rematch() {
			state.matches = marksOf(state.base.frames, state.test);
			marks = hitsOf = null;
		}

		/* Returns the samples below the node that have a match anywhere on their stack. */
		function matchedOf(node) {
			const { tree } = state, grown = scene.grown(), list = stackMarks();
			let sum = 0;

			if (node)
				return grown.matched(tree.box[node], list);
			for (let i = 1; i < tree.cnt; i = tree.end[i])
				sum += grown.matched(tree.box[i], list);
			return sum;
		}

		/* Tells whether a box that is too narrow to draw has a match. */
		function isHit(node) {
			const { tree } = state;

			if (!state.matches)
				return false;
			if (hitsOf !== tree) {
				hits = new Uint8Array(tree.cnt);
				hitsOf = tree;
			}
			if (!hits[node])
				hits[node] = scene.grown().matched(tree.box[node], stackMarks()) > 0 ? 2 : 1;
			return hits[node] === 2;
		}

		/* Returns visible matching boxes in reading order. */
		function matchesInSight() {
			const { tree, zoom, matches } = state, least = view.NARROW * tree.total[zoom] / view.width(), list = [];

			for (let i = Math.max(1, zoom); matches && i < tree.end[zoom]; i++)
				if (KraitTree.isMatch(tree, matches, i) && !tree.rest[i] && tree.total[i] >= least)
					list.push(i);
			return list;
		}

		/* Returns matching programs and threads that have no boxes. */
		function hiddenTasks() {
			const { map } = state.base, roots = $('roots').value;
			const tasks = app.frames.map((f, i) => ({ f, at: map[i] })).filter(({ f }) =>
				(f.kind === KraitFrames.PROCESS || f.kind === KraitFrames.THREAD) && state.test(f));
			/* A process is found together with its first thread. */
			const pids = new Set(tasks.filter(({ f }) => f.kind === KraitFrames.PROCESS).map(({ f }) => f.pid));
			/*
			 * Programs have boxes, which match by name, not by the numbers of their
			 * processes.
			 */
			const isHidden = ({ f, at }) => f.kind === KraitFrames.THREAD ? at < 0 && !pids.has(f.tid) :
				at < 0 || (roots === 'program' && !state.matches[at]);
			const hidden = tasks.filter(isHidden).map(({ f }) => f), [first] = hidden;
			const found = hidden.filter(f => f.kind === first.kind);

			return !first ? '' : ` \u00b7 ${number.format(found.length)} ${first.kind}${found.length === 1 ? '' : first.kind === 'process' ? 'es' : 's'}: ` +
				`group by ${first.kind} to see ${found.length === 1 ? 'it' : 'them'}`;
		}

		function show() {
			const out = $('matched'), { tree, zoom } = state;

			$('clear').hidden = !state.test && !$('search').value;
			$('next').hidden = $('previous').hidden = !state.matches;
			if (out.classList.contains('bad'))
				return;
			if (!state.matches) {
				out.textContent = out.title = '';
				return;
			}
			const names = state.matches.reduce((sum, m) => sum + m, 0), list = matchesInSight(), at = list.indexOf(state.focus);
			/* If there is no room for everything, the words are cut. */
			out.replaceChildren(element('span', '', percent(matchedOf(zoom), tree.total[zoom])),
				element('span', 'words', ' matched' + (state.chosen ? '' : ` by ${number.format(names)} ${names === 1 ? 'name' : 'names'}`)),
				element('span', '', at >= 0 ? `, ${number.format(at + 1)} of ${number.format(list.length)}` : ''),
				element('span', 'words', state.chosen ? '' : hiddenTasks()));
			out.title = out.textContent + (zoom ? ' (share of the zoomed frame)' : '');
		}

		function setTest(test, chosen) {
			state.test = test;
			state.chosen = chosen;
			rematch();
			app.callers.rematch(test);
			show();
			app.showTable();
			scene.redraw();
		}

		function complain(why) {
			$('search').setAttribute('aria-invalid', String(Boolean(why)));
			$('matched').classList.toggle('bad', Boolean(why));
			if (why)
				$('matched').textContent = $('matched').title = why;
		}

		function search() {
			const text = $('search').value, { test = null, why = '', isLate } = text ? makeMatcher(text) : {};

			complain(why);
			setTest(test, null);
			if (test && isLate()) {
				complain('took too long: try another expression');
				setTest(null, null);
			}
			app.address.remember(false);
		}

		function clear() {
			$('search').value = '';
			search();
		}

		function highlight(f) {
			const again = state.chosen && KraitFrames.same(state.chosen)(f);

			clear();
			if (!again)
				setTest(KraitFrames.same(f), f);
		}

		/*
		 * Goes to the next visible match, wrapping at the end; if none is visible, to the
		 * largest.
		 */
		function next(step) {
			const list = matchesInSight(), { focus } = state;

			if (!list.length) {
				largest();
				return;
			}
			const after = list.findIndex(i => i > focus), from = list.indexOf(focus);
			const at = from >= 0 ? from + step : step > 0 ? after : (after < 0 ? list.length : after) - 1;
			scene.focusOn(list[at < 0 && step > 0 ? 0 : (at + list.length) % list.length]);
			show();
		}

		/* Returns the matching node of the stacks with the largest total; 0: none. */
		function largestNode() {
			const { frame, total, cnt } = state.base;
			let best = 0;

			for (let i = 1; i < cnt; i++)
				if (frame[i] >= 0 && state.matches[frame[i]] && (!best || total[i] > total[best]))
					best = i;
			return best;
		}

		function largest() {
			const { tree } = state;
			let best = -1;

			for (const i of matchesInSight())
				if (best < 0 || tree.total[i] > tree.total[best])
					best = i;
			if (best < 0 && state.matches && !scene.grown().up) {
				const node = largestNode();
				if (node)
					scene.zoomToStack(node);
			} else {
				scene.focusOn(best);
			}
			show();
		}

		return { rematch, show, setTest, search, clear, highlight, next, largest, isHit };
	}

	return { makeMatcher, marksOf, open };
})();

if (typeof module !== 'undefined')
	module.exports = KraitSearch;

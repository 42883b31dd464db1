/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * flamegraph_regex.js - regular expressions that end. A browser tries each way to match one after another, nothing stops it, and names
 * are whatever a program calls its functions. So what could take for ever is refused, and of long texts as much is looked at as
 * is looked through in a moment. No DOM in here.
 */
const KraitRegex = (() => {
	'use strict';

	/* Characters of a text, by how many repeats an expression has: n ^ (repeats + 1) / (repeats + 1)! is what it may take. */
	const ROOM = [Infinity, 4000, 600, 200, 100];
	/* Two ways to go on a dozen times are 4,096 ways: as much as four repeats. */
	const CHOICES = 3;
	const LONGEST = 1000, SLOW = 20, PATIENCE = 500; /* ms: of one text, to be counted; in all */

	/* How often what stands before may be repeated, and how long that is: undefined if it is not; "?" after it changes nothing. */
	function quantifier(text, at) {
		const [all, star, low, comma, high] = text.slice(at).match(/^(?:([*+?])|\{(\d+)(?:(,)(\d*))?\})\??/) || [];

		if (!all)
			return { length: 0 };
		const most = star === '?' ? 1 : star ? Infinity : !comma ? Number(low) : high ? Number(high) : Infinity;
		return { length: all.length, most, isChoice: star === '?' || (Boolean(comma) && most <= 1) };
	}

	function skipClass(text, at) {
		for (at++; at < text.length && text[at] !== ']'; at++)
			at += text[at] === '\\' ? 1 : 0;
		return at + 1;
	}

	/*
	 * Of what may be repeated several times: repeats. choices: what may be there or not, and groups of alternatives. nested: a repeated
	 * group in which there is one of these, which may take for ever.
	 */
	function shapeOf(text) {
		const shape = { repeats: 0, choices: 0, nested: false }, open = [{ varies: false, hasWays: false }];

		for (let at = 0; at < text.length;) {
			const c = text[at];
			let group = null;

			if (c === '(') {
				open.push({ varies: false, hasWays: false });
				at += (text.slice(at).match(/^\((?:\?(?:[:=!]|<[=!]|<[^>]*>))?/) || ['('])[0].length;
				continue;
			}
			if (c === '|') {
				open[open.length - 1].varies = open[open.length - 1].hasWays = true;
				at++;
				continue;
			}
			/* \1 is as long as what it refers to. */
			if (c === '\\' && /[1-9k]/.test(text[at + 1] || ''))
				shape.repeats++;
			if (c === ')' && open.length > 1) {
				group = open.pop();
				shape.choices += group.hasWays ? 1 : 0;
			}
			at = c === '[' ? skipClass(text, at) : at + (c === '\\' ? 2 : 1);
			const { length, most, isChoice } = quantifier(text, at), around = open[open.length - 1];
			at += length;
			shape.choices += isChoice ? 1 : 0;
			shape.repeats += most > 1 ? 1 : 0;
			shape.nested = shape.nested || (most > 1 && Boolean(group && group.varies));
			around.varies = around.varies || length > 0 || Boolean(group && group.varies);
		}
		return shape;
	}

	function compile(text) {
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

	/* { test, isLate } or, where it is none that can be used, { why }. */
	function make(source) {
		/* Says nothing about what is found, and is what people write. */
		const text = source.replace(/^(?:\.\*\??)+/, '').replace(/(^|[^\\])(?:\.\*)+$/, '$1'), regex = compile(text);
		let spent = 0;

		if (source.length > LONGEST)
			return { why: 'a regular expression is at most 1,000 characters long' };
		if (!regex)
			return { why: 'invalid regular expression' };
		const { repeats, choices, nested } = shapeOf(text), room = ROOM[repeats + Math.floor(choices / CHOICES)];
		if (nested || !room)
			return { why: nested ? 'could take for ever: a repeat within a repeat' : 'could take for ever: too many repeats' };
		return {
			isLate: () => spent > PATIENCE,
			test: name => {
				if (spent > PATIENCE)
					return false;
				const begin = performance.now(), found = regex.test(name.length > room ? name.slice(0, room) : name);
				const took = performance.now() - begin;
				spent += took > SLOW ? took : 0;
				return found;
			},
		};
	}

	return { make, shapeOf };
})();

if (typeof module !== 'undefined')
	module.exports = KraitRegex;

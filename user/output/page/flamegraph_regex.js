/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * flamegraph_regex.js - regular expressions that terminate. A browser tries all ways to match one
 * after another and nothing stops it, while a program can choose any names for its functions. So
 * expressions that could take for ever are refused, and of long texts only as much is searched as
 * takes a moment. No DOM in here.
 */
const KraitRegex = (() => {
	'use strict';

	/*
	 * Characters of a text by the number of repeats in an expression: the time can be n ^
	 * (repeats + 1) / (repeats + 1)!.
	 */
	const ROOM = [Infinity, 4000, 600, 200, 100];
	/* A dozen two-way choices are 4,096 ways: as much as four repeats. */
	const CHOICES = 3;
	const LONGEST = 1000, SLOW = 20, PATIENCE = 500; /* ms: of one text, to be counted; in all */

	/*
	 * How often the preceding item may repeat, and the quantifier's length; undefined: no
	 * quantifier. A "?" after it changes nothing.
	 */
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
	 * repeats: items that may repeat. choices: optional items and groups of alternatives.
	 * nested: a repeated group that contains one of these, which may take for ever.
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
				/* "u" rejects what most people get away with, such as "\-". */
				return new RegExp(text, flags);
			} catch (__) {
				return null;
			}
		}
	}

	/* Returns { test, isLate }, or { why } if the expression cannot be used. */
	function make(source) {
		/* People write .* at both ends, but it does not change what matches. */
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

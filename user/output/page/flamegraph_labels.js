/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * flamegraph_labels.js - names in boxes, cut to fit: measured, or by the letter in a fixed-width
 * font.
 */
const KraitLabels = (context, pad) => {
	'use strict';

	const FONT_SIZE = 12;
	let charWidth = 0;

	/* Setting a canvas's size resets its font. */
	function setFont(family) {
		context.font = `${FONT_SIZE}px ${family}`;
		context.textBaseline = 'middle';
		charWidth = context.measureText('0'.repeat(40)).width / 40;
	}

	const isPlain = text => /^[\x20-\x7e]*$/.test(text);
	const widthOf = text => isPlain(text) ? text.length * charWidth : context.measureText(text).width;

	function cut(text, room) {
		if (isPlain(text)) {
			const chars = Math.floor(room / charWidth);
			return text.length <= chars ? text : text.slice(0, chars - 1) + '…';
		}
		const chars = Array.from(text);
		let low = 0, high = chars.length;
		if (context.measureText(text).width <= room)
			return text;
		while (low < high) {
			const middle = (low + high + 1) >> 1;
			if (context.measureText(chars.slice(0, middle).join('') + '…').width <= room)
				low = middle;
			else
				high = middle - 1;
		}
		return chars.slice(0, low).join('') + '…';
	}

	/* What a program runs is more telling: "python3 [worker.py]" shrinks to "[worker.py]". */
	const cutProgram = (first, script, room) => cut(widthOf(first + script) > room ? script : first + script, room);

	/* The number of a process or thread stays if there is room for it. */
	function cutTask(label, room) {
		const [first, script, id] = KraitText.taskParts(label), left = room - id.length * charWidth;

		return id && left >= 3 * charWidth ? cutProgram(first, script, left) + id : cutProgram(first, script + id, room);
	}

	/* Draws from left, centred at middle, in a box that ends at edge. */
	function draw(f, label, where, left, middle, edge) {
		const room = edge - left - pad + 2;

		if (room < 4 * charWidth)
			return;
		/* A long name loses its qualifiers first: "Query.parse" shrinks to "parse". */
		let text = cut(label, room);
		if (text !== label && f.category === 'task')
			text = cutTask(label, room);
		if (text !== label && f.kind === KraitFrames.PYTHON) {
			const last = label.slice(label.lastIndexOf('.') + 1);
			text = cut(last.length < label.length && last ? '…' + last : label, room);
			if (text.startsWith('…') && text.endsWith('…'))
				text = cut(last, room);
		}
		context.fillText(text, left, middle);
		if (!where || text !== label)
			return;
		const used = widthOf(text) + 2 * charWidth, { globalAlpha } = context;
		if (used + widthOf(where) > room)
			return;
		context.globalAlpha = 0.6 * globalAlpha;
		context.fillText(where, left + used, middle);
		context.globalAlpha = globalAlpha;
	}

	return { setFont, draw, charWidth: () => charWidth };
};

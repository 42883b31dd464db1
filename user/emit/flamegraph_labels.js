/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * flamegraph_labels.js - names in boxes, cut to their room: as it is measured, or by the letter where all are as wide.
 */
const KraitLabels = (context, pad) => {
	'use strict';

	const FONT_SIZE = 12;
	let charWidth = 0;

	/* A canvas that has got a size has lost it. */
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

	/* Programs are told apart by what they run: "python3 [worker.py]" by "[worker.py]". */
	const cutProgram = (first, script, room) => cut(widthOf(first + script) > room ? script : first + script, room);

	/* Of processes and threads the number stays, if there is room for it. */
	function cutTask(label, room) {
		const [first, script, id] = KraitText.taskParts(label), left = room - id.length * charWidth;

		return id && left >= 3 * charWidth ? cutProgram(first, script, left) + id : cutProgram(first, script + id, room);
	}

	/* From left, around the line middle, in a box that ends at that edge. */
	function draw(f, label, where, left, middle, edge) {
		const room = edge - left - pad + 2;

		if (room < 4 * charWidth)
			return;
		/* What does not fit loses its qualifiers first: "Query.parse" is told by "parse". */
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

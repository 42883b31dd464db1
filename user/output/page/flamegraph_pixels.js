/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * flamegraph_pixels.js - draws thousands of boxes that are too narrow for text as pixels: one line
 * for each row of boxes, later stretched to the row's height. A box that covers part of a pixel
 * adds that part of its colour, as canvas does. Wider boxes are drawn over it.
 */
const KraitPixels = context => {
	'use strict';

	let image = null, words = null, wide = 0, high = 0, scale = 1, row = 0, rows = 0;
	/* By row: its boxes, and its stubs, which have half the height. */
	let boxes = null, middles = null, tops = null, used = null;

	/* Mixes that many 256ths of the colour into a pixel. */
	function mix(line, at, colour, part) {
		const old = line[at], rest = 256 - part;
		const ends = ((old & 0xff00ff) * rest + (colour & 0xff00ff) * part) / 256 & 0xff00ff;
		const green = ((old & 0xff00) * rest + (colour & 0xff00) * part) / 256 & 0xff00;

		line[at] = (0xff000000 | ends | green) >>> 0;
	}

	function paint(line, from, x, w, colour, alpha) {
		const left = Math.max(0, x * scale), right = Math.min(wide, (x + w) * scale), whole = Math.round(256 * alpha);
		const first = Math.floor(left), last = Math.ceil(right) - 1;

		if (!(right > left))
			return;
		if (first === last) {
			mix(line, from + first, colour, Math.round((right - left) * whole));
			return;
		}
		mix(line, from + first, colour, Math.round((first + 1 - left) * whole));
		for (let at = first + 1; at < last; at++)
			mix(line, from + at, colour, whole);
		mix(line, from + last, colour, Math.round((right - last) * whole));
	}

	/* canvas: its size in device pixels; back: the background. */
	function begin(canvas, height, rowHeight, back) {
		wide = canvas.width;
		high = canvas.height;
		/* If the canvas shrank, we use part of the image. */
		if (!image || image.width !== wide || image.height < high) {
			image = new ImageData(wide, high);
			words = new Uint32Array(image.data.buffer);
		}
		scale = high / (height || 1);
		row = rowHeight;
		rows = Math.ceil(height / row) + 2;
		if (!boxes || boxes.length < rows * wide || used.length < rows) {
			boxes = new Uint32Array(rows * wide);
			middles = new Uint32Array(rows * wide);
			tops = new Float64Array(rows);
			used = new Uint8Array(rows);
		}
		used.fill(0);
		words.fill(back, 0, wide * high);
		boxes.fill(back, 0, rows * wide);
		middles.fill(back, 0, rows * wide);
	}

	/*
	 * y: the row's top, which may be above 0 by less than a row. Returns where the row begins
	 * in the lines.
	 */
	function lineAt(y) {
		const at = Math.floor((y + row) / row);

		tops[at] = y;
		used[at] = 1;
		return at * wide;
	}

	function box(x, y, w, colour, alpha) {
		const from = lineAt(y);

		paint(boxes, from, x, w, colour, alpha);
		paint(middles, from, x, w, colour, alpha);
	}

	function stub(x, y, w, colour, alpha) {
		paint(middles, lineAt(y), x, w, colour, alpha);
	}

	function end() {
		for (let at = 0; at < rows; at++) {
			if (!used[at])
				continue;
			const y = part => Math.round((tops[at] + part * row) * scale), bottom = Math.min(high, Math.round((tops[at] + row - 1) * scale));
			const box = boxes.subarray(at * wide, (at + 1) * wide), middle = middles.subarray(at * wide, (at + 1) * wide);
			const from = y(0.25), to = Math.round((tops[at] + row * 0.75 - 1) * scale);
			for (let v = Math.max(0, y(0)); v < bottom; v++)
				words.set(v >= from && v < to ? middle : box, v * wide);
		}
		context.putImageData(image, 0, 0, 0, 0, wide, high);
	}

	return { begin, box, stub, end };
};

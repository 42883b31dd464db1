/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * flamegraph_colours.js - what boxes are filled with: by whose code they are, by what has changed, and the patterns that tell kinds
 * apart without any colour. The style sheet has the colours; what is made of them is kept until that has others.
 */
const KraitColours = context => {
	'use strict';

	const KINDS = ['own', 'package', 'stdlib', 'unknown', 'native', 'kernel'];
	/* By frame, and by colour of CSS: [six digits, as they lie in memory]. */
	const ofFrame = new Map(), ofText = new Map();
	const pixel = Object.assign(document.createElement('canvas'), { width: 1, height: 1 }).getContext('2d', { willReadFrequently: true });
	let theme = {};

	function readTheme() {
		const style = getComputedStyle(document.documentElement);
		const value = name => style.getPropertyValue(name).trim();

		theme = {
			back: value('--back'), text: value('--box-text'), ink: value('--text'),
			muted: value('--muted'), focus: value('--focus'), match: value('--match'),
			grey: value('--box-grey'), mark: value('--box-mark'), line: value('--line'),
			mono: value('--mono'), changed: parseFloat(value('--changed')), kinds: {},
		};
		for (const kind of KINDS)
			theme.kinds[kind] = value(`--${kind}`).split(' ').map(Number);
		readPatterns();
		ofFrame.clear();
		ofText.clear();
		return theme;
	}

	/* A tile that is drawn over and over; back: none where what is below shows through. */
	function patternOf(size, back, alpha, draw) {
		const tile = Object.assign(document.createElement('canvas'), { width: size, height: size }), lines = tile.getContext('2d');

		if (back) {
			lines.fillStyle = back;
			lines.fillRect(0, 0, size, size);
		}
		lines.strokeStyle = lines.fillStyle = back ? theme.muted : theme.text;
		lines.globalAlpha = alpha;
		draw(lines);
		return context.createPattern(tile, 'repeat');
	}

	/* Lines across; lean: 1 up to the right, -1 down. */
	const across = (size, lean) => lines => {
		lines.beginPath();
		for (const x of [-size, 0, size]) {
			lines.moveTo(x, lean > 0 ? size : 0);
			lines.lineTo(x + size, lean > 0 ? 0 : size);
		}
		lines.stroke();
	};

	/* What is no code, native code and the kernel are told from one another without any colour. */
	function readPatterns() {
		theme.hatch = patternOf(6, theme.mark, 0.35, across(6, 1));
		theme.over = {
			native: patternOf(5, '', 0.3, dots => dots.fillRect(1, 1, 1, 1)),
			kernel: patternOf(6, '', 0.2, across(6, -1)),
		};
	}

	function hash(text) {
		let h = 0x811c9dc5;
		for (let i = 0; i < text.length; i++)
			h = Math.imul(h ^ text.charCodeAt(i), 0x01000193);
		h ^= h >>> 15;
		h = Math.imul(h, 0x2c1b3c6d);
		return (h ^ h >>> 13) >>> 0;
	}

	/* What canvas and pictures understand at once: the six digits, and a pixel as it lies in memory. */
	function paintOf(text) {
		let paint = ofText.get(text);

		if (!paint) {
			pixel.fillStyle = text;
			pixel.fillRect(0, 0, 1, 1);
			const [r, g, b] = pixel.getImageData(0, 0, 1, 1).data;
			paint = [`#${[r, g, b].map(v => v.toString(16).padStart(2, '0')).join('')}`, (0xff000000 | b << 16 | g << 8 | r) >>> 0];
			ofText.set(text, paint);
		}
		return paint;
	}

	/* The colour says whose code; within it the hue tells modules apart, and the lightness functions. */
	function textOf(f) {
		if (f.category === 'task')
			return theme.grey;
		if (f.category === 'mark')
			return theme.mark;
		const [light, chroma, hue] = theme.kinds[f.category];
		return `oklch(${light + hash(f.name) % 5 - 2}% ${chroma} ${hue + hash(f.module) % 17 - 8})`;
	}

	function ofKind(f) {
		let paint = ofFrame.get(f);

		if (!paint)
			ofFrame.set(f, paint = paintOf(textOf(f)));
		return paint;
	}

	/* By how many points a share has changed: red has grown, blue has shrunk, grey is as it was. */
	function ofChange(points) {
		const strength = Math.min(1, Math.abs(points) / 10);

		return paintOf(Math.abs(points) < 0.05 ? theme.grey :
			`oklch(${theme.changed}% ${(0.03 + 0.13 * strength).toFixed(3)} ${points > 0 ? 28 : 255})`);
	}

	function legendFill(category) {
		if (category === 'mark')
			return theme.mark;
		const [light, chroma, hue] = theme.kinds[category];
		return paintOf(`oklch(${light}% ${chroma} ${hue})`)[0];
	}

	return { readTheme, paintOf, ofKind, ofChange, legendFill };
};

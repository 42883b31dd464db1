/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * flamegraph_colours.js - the fill of boxes: by the origin of their code or by what changed, with
 * patterns that distinguish the kinds without colour. The style sheet has the colours; we cache
 * what we derive from them until it changes.
 */
const KraitColours = context => {
	'use strict';

	/* What a thread waits for, as in the lanes. */
	const WAIT = /^\[(gil|lock|io|sleep|runnable|fault|stopped|waiting|stop-the-world|critical-section)[:\]]/;
	const KINDS = ['own', 'package', 'stdlib', 'unknown', 'native', 'kernel'];
	/* By frame, and by CSS colour: [six digits, the pixel as stored in memory]. */
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
			mono: value('--mono'), changed: parseFloat(value('--changed')), isNew: value('--new'), isGone: value('--gone'), kinds: {},
			state: name => value(`--state-${name}`),
		};
		for (const kind of KINDS)
			theme.kinds[kind] = value(`--${kind}`).split(' ').map(Number);
		readPatterns();
		ofFrame.clear();
		ofText.clear();
		return theme;
	}

	/* Makes a tile to repeat; back: none if what is below shows through. */
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

	/* Diagonal lines; lean: 1 rises to the right, -1 falls. */
	const across = (size, lean) => lines => {
		lines.beginPath();
		for (const x of [-size, 0, size]) {
			lines.moveTo(x, lean > 0 ? size : 0);
			lines.lineTo(x + size, lean > 0 ? 0 : size);
		}
		lines.stroke();
	};

	/* Patterns distinguish marks, native code and the kernel without colour. */
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

	/*
	 * Returns what both canvas and pixel images use: the six digits, and a pixel as stored in
	 * memory.
	 */
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

	/*
	 * The colour shows the origin; within it the hue distinguishes modules and the lightness
	 * functions.
	 */
	function textOf(f) {
		if (f.category === 'task')
			return theme.grey;
		if (f.category === 'mark')
			return isWait(f) ? theme.state(WAIT.exec(f.name)[1]) : theme.mark;
		const [light, chroma, hue] = theme.kinds[f.category];
		return `oklch(${light + hash(f.name) % 5 - 2}% ${chroma} ${hue + hash(f.module) % 17 - 8})`;
	}

	function ofKind(f) {
		let paint = ofFrame.get(f);

		if (!paint)
			ofFrame.set(f, paint = paintOf(textOf(f)));
		return paint;
	}

	const isWait = f => f.category === 'mark' && WAIT.test(f.name);

	/* The one of the two that is easier to read on a wait's colour. */
	function inkOn(f) {
		const channel = v => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4;
		const [r, g, b] = [1, 3, 5].map(at => channel(parseInt(ofKind(f)[0].slice(at, at + 2), 16) / 255));

		return 0.2126 * r + 0.7152 * g + 0.0722 * b > 0.18 ? '#1b1712' : '#f8f5ee';
	}

	/* tone: of KraitTree. Red has grown, blue has shrunk, grey is unchanged; what is new or gone has a colour of its own. */
	function ofChange(tone) {
		const strength = Math.min(1, Math.abs(tone));

		return paintOf(tone === 'new' ? theme.isNew : tone === 'gone' ? theme.isGone : strength < 0.005 ? theme.grey :
			`oklch(${theme.changed}% ${(0.03 + 0.13 * strength).toFixed(3)} ${tone > 0 ? 28 : 255})`);
	}

	function legendFill(category) {
		if (category === 'mark')
			return theme.mark;
		const [light, chroma, hue] = theme.kinds[category];
		return paintOf(`oklch(${light}% ${chroma} ${hue})`)[0];
	}

	/* A chip beside a name: the kind's colour, or the wait's. */
	const chipFill = f => f.category === 'task' ? theme.grey : isWait(f) ? ofKind(f)[0] : legendFill(f.category);

	return { readTheme, paintOf, ofKind, ofChange, legendFill, chipFill, isWait, inkOn };
};

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * flamegraph_theme.js - light or dark, as chosen or as the system has it; paper is always light.
 * The style sheet has the colours of both; drawing code is told to read them again.
 */
const KraitTheme = (onColors, onPaper) => {
	'use strict';

	const choice = document.getElementById('theme'), dark = matchMedia('(prefers-color-scheme: dark)');

	function apply(name = choice.value) {
		document.documentElement.dataset.theme = name === 'auto' ? dark.matches ? 'dark' : 'light' : name;
	}

	/* A page from a file may not be allowed to store anything. */
	function stored() {
		try {
			return localStorage.getItem('krait-theme');
		} catch (_) {
			return null;
		}
	}

	function store(name) {
		try {
			localStorage.setItem('krait-theme', name);
		} catch (_) { /* for this visit only */ }
	}

	function change() {
		apply();
		onColors();
	}

	choice.value = stored() || 'auto';
	if (!choice.value)
		choice.value = 'auto';
	apply();
	choice.addEventListener('change', () => {
		store(choice.value);
		change();
	});
	dark.addEventListener('change', change);
	addEventListener('beforeprint', () => {
		apply('light');
		onColors();
		onPaper(true);
	});
	addEventListener('afterprint', () => {
		onPaper(false);
		change();
	});
};

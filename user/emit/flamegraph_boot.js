/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * flamegraph_boot.js - the page's own scripts, which are packed: a page of a few samples would be twice as large otherwise. Whoever
 * wants to know what they do finds them in krait's sources, or in the browser's tools.
 */
window.kraitStarted = (async () => {
	'use strict';

	const script = document.createElement('script'), code = document.getElementById('code');

	try {
		script.textContent = new TextDecoder().decode(await KraitPacked.unpack(code.textContent)) + '\n//# sourceURL=krait.js';
	} catch (error) {
		document.body.prepend('This browser cannot unpack the page; one of 2023 or later can.');
		return;
	}
	document.body.append(script);
})();

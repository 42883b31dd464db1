/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * flamegraph_boot.js - unpacks the page's own scripts: without packing, a page with few samples
 * would be twice as large. To read them, see krait's sources or the browser's tools.
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

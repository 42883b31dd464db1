/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * flamegraph_packed.js - unpacks the page's data: gzip in base64 (packed.h).
 */
const KraitPacked = (() => {
	'use strict';

	const DIGITS = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/';

	function fromBase64(text) {
		const values = new Uint8Array(128), padding = text.endsWith('==') ? 2 : text.endsWith('=') ? 1 : 0;
		const bytes = new Uint8Array(text.length / 4 * 3);

		for (let i = 0; i < 64; i++)
			values[DIGITS.charCodeAt(i)] = i;
		for (let i = 0, at = 0; i < text.length; i += 4) {
			const three = values[text.charCodeAt(i)] << 18 | values[text.charCodeAt(i + 1)] << 12 |
				values[text.charCodeAt(i + 2)] << 6 | values[text.charCodeAt(i + 3)];
			bytes[at++] = three >> 16;
			bytes[at++] = three >> 8;
			bytes[at++] = three;
		}
		return bytes.subarray(0, bytes.length - padding);
	}

	/*
	 * Returns a promise of the bytes; it fails if the browser cannot unpack or the data is
	 * invalid.
	 */
	async function unpack(text) {
		const stream = new Blob([fromBase64(text)]).stream().pipeThrough(new DecompressionStream('gzip'));

		return new Uint8Array(await new Response(stream).arrayBuffer());
	}

	return { unpack };
})();

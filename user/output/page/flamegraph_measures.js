/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * flamegraph_measures.js - what is counted and how it is grouped at first: which time is shown, or
 * before and after if two recordings are compared; also the sum in the header and the legend of
 * colours.
 */
const KraitMeasures = app => {
	'use strict';

	const $ = id => document.getElementById(id);
	const { meta, frames, state, view } = app;

	/* Which time is shown. The zoomed stack stays as far as it has any of it. */
	function measure() {
		if (app.lanes)
			app.lanes.sort();
		app.rebuild(KraitTree.pathTo(state.tree, state.zoom));
		showTotal();
		app.scene.afterPicture(showLegend);
	}

	function nextMeasure() {
		const choice = $('measure');

		if (choice.parentNode.hidden)
			return;
		choice.selectedIndex = (choice.selectedIndex + 1) % choice.options.length;
		measure();
	}

	function showTotal() {
		const choice = $('measure').selectedOptions[0];

		const { total, other } = state.base, { counted } = KraitText;
		const chosen = app.lanes && app.lanes.selection();

		KraitText.showLength(chosen ? chosen.milliseconds : meta.milliseconds);
		KraitText.showTotal(total[0], meta.measure ? choice.title : meta.event, other ?
			`${counted(total[0])} ${choice.value}, ${counted(other[0])} ${choice.value === 'before' ? 'after' : 'before'}` : undefined);
	}

	function showLegend() {
		KraitText.showLegend(state.base, view.legendFill, view.fillOfChange, view.fillOf);
	}

	/* Before and after if two recordings are compared; otherwise the times of one. */
	function setUpMeasures() {
		const choice = $('measure');

		for (const option of [...choice.options])
			if (['before', 'after'].includes(option.value) !== meta.compared)
				option.remove();
		choice.parentNode.hidden = !meta.measure;
		if (!meta.compared)
			return;
		choice.parentNode.firstChild.data = 'As wide as ';
		const names = KraitText.amount(1e9).endsWith('s') ? 'seconds' : meta.unit;
		$('by').parentNode.hidden = $('of').hidden = false;
		$('by').options[1].textContent = names;
		$('by').options[2].textContent = `${names} per second`;
		$('by').options[2].disabled = meta.lengths.some(ms => !ms);
		[['before', 'Before', 'In the first recording'], ['after', 'After', 'In the second recording'], ['change', 'Change', 'From before to after, the largest first']]
			.forEach(([sort, text, title], i) => {
				const head = document.querySelectorAll('#panel thead button')[i];
				head.textContent = text;
				head.title = title;
				head.dataset.sort = sort;
			});
		state.sort = 'change';
	}

	/* From so many processes on, or if all are of one program, they are grouped by program at first. */
	const MANY = 20;

	function setUpRoots() {
		const cntOf = kind => frames.filter(f => f.kind === kind).length, roots = $('roots');
		const processes = cntOf(KraitFrames.PROCESS), threads = cntOf(KraitFrames.THREAD);

		roots.options[1].disabled = roots.options[2].disabled = !processes;
		roots.options[3].disabled = !threads;
		if (meta.threads && threads)
			roots.value = 'thread';
		else if (!meta.compared && processes > 1)
			roots.value = processes > MANY || new Set(frames.filter(f => f.kind === KraitFrames.PROCESS).map(f => f.name)).size === 1 ? 'program' : 'process';
	}

	/* From so many calls of a function on one stack, its recursion is folded at first. */
	const RECURSIVE = 10;

	function isRecursive() {
		const ids = new Map(), stride = 3, { nodes } = app.data, path = [];
		const idOf = frames.map(f => {
			const key = `${f.name}\0${f.file}\0${f.firstLine}`;
			if (!ids.has(key))
				ids.set(key, ids.size);
			return ids.get(key);
		});
		const calls = new Int32Array(ids.size);

		for (let i = stride; i < nodes.length; i += stride) {
			while (path.length >= nodes[i])
				calls[path.pop()]--;
			const id = idOf[nodes[i + 1]];
			path.push(id);
			if (++calls[id] > RECURSIVE && frames[nodes[i + 1]].kind === KraitFrames.PYTHON)
				return true;
		}
		return false;
	}

	function start() {
		setUpRoots();
		if (isRecursive())
			$('recursion').value = 'folded';
		$('lines').value = meta.lines ? 'line' : 'function';
		KraitText.setUnit(meta.unit, meta.unitNs);
		if (!meta.compared)
			document.querySelector('#time-head button').textContent = KraitText.amountTitle();
		setUpMeasures();
		$('measure').value = meta.measure || 'wall';
		$('measure').addEventListener('change', measure);
	}

	return { start, next: nextMeasure, showTotal, showLegend };
};

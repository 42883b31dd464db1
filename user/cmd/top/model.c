/* SPDX-License-Identifier: BSD-2-Clause */
#include "cmd/top/model.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/top/row_path.h"
#include "cmd/top/source.h"

/* A smaller dictionary is not trimmed; nor is one that has not doubled since the last time. */
#define TRIM_NODES 16384

/* ---- a holder of the strings of places -------------------------------------------------------- */

static struct model *model_of(struct dict_holder *h)
{
	return (struct model *)((char *)h - offsetof(struct model, holder));
}

static void each_string(struct model *m, void (*fn)(__u32 *string, const __u32 *map),
			const __u32 *map)
{
	for (unsigned i = 0; i < m->place_cnt; i++) {
		struct place_of_top *p = &m->places[i];

		fn(&p->spec.group, map);
		fn(&p->spec.focus.name, map);
		fn(&p->spec.focus.file, map);
		fn(&p->cursor.name, map);
		fn(&p->cursor.file, map);
	}
}

static void mark_one(__u32 *string, const __u32 *live)
{
	((__u32 *)live)[*string] = 1;
}

static void move_one(__u32 *string, const __u32 *ids)
{
	*string = *string ? ids[*string] : 0;
}

static void mark(struct dict_holder *h, struct dict_map *live)
{
	each_string(model_of(h), mark_one, live->strings);
}

static void move(struct dict_holder *h, const struct dict_map *ids)
{
	each_string(model_of(h), move_one, ids->strings);
}

/* ---- life ------------------------------------------------------------------------------------- */

struct model *model__new(struct profile *session, __u64 now_ns)
{
	struct model *m = calloc(1, sizeof(*m));

	if (!m)
		return NULL;
	m->session = session;
	m->off_cpu = session->event_cnt > 1;
	m->options.measures = 1U << MEASURE_CPU;
	m->place_cnt = 1;
	m->places[0].spec.measures = m->options.measures;
	m->trim_at = TRIM_NODES;
	m->holder = (struct dict_holder){ .mark = mark, .move = move };
	dict__hold(session->dict, &m->holder);
	m->samples = samples__new(session, now_ns);
	m->groups = groups__new(session->dict);
	if (!m->samples || !m->groups || model__refill(m)) {
		model__free(m);
		return NULL;
	}
	return m;
}

void model__free(struct model *m)
{
	if (!m)
		return;
	dict__release(m->session->dict, &m->holder);
	rows__free(m->rows);
	rows__free(m->callees);
	order_free(&m->order);
	order_free(&m->order_callees);
	top_source__free(m->source);
	groups__free(m->groups);
	samples__free(m->samples);
	free(m->folds);
	free(m);
}

/* ---- rows ------------------------------------------------------------------------------------- */

struct place_of_top *model_place(struct model *m)
{
	return &m->places[m->place_cnt - 1];
}

const struct place_of_top *model_place_const(const struct model *m)
{
	return &m->places[m->place_cnt - 1];
}

static struct rows *make_rows(struct model *m, enum rows_view view)
{
	struct rows_spec spec = model_place(m)->spec;
	struct rows *rows;

	spec.view = view;
	spec.measures = m->options.measures;
	rows = rows__new(m->session->dict, &spec, groups_of, m->groups);
	if (rows && rows__fill(rows, m->samples)) {
		rows__free(rows);
		return NULL;
	}
	return rows;
}

int model__hottest_line(struct model *m, const struct row_key *function)
{
	struct rows *rows = make_rows(m, ROWS_LINES);
	__u64 most = 0;
	int line = 0;

	for (__u32 i = 1; rows && i < rows->cnt; i++) {
		const struct row *row = &rows->list[i];
		__u64 self = sum_of(row->all.self, m->options.measures);

		if (self > most && row_key_is_same_function(&row->key, function)) {
			most = self;
			line = row->key.line;
		}
	}
	rows__free(rows);
	return line > 0 ? line : 0;
}

int model__order(struct model *m)
{
	struct order_options options = m->options;
	int err;

	options.filter = model_place(m)->filter;
	options.folds = m->folds;
	options.fold_cnt = m->rows->spec.view == ROWS_TREE && m->folds ? m->rows->cnt : 0;
	/* For rows made from whole stacks, self says nothing. */
	if (m->rows->spec.view == ROWS_CALLERS)
		options.sort = options.sort == SORT_SELF     ? SORT_TOTAL :
			       options.sort == SORT_SELF_ALL ? SORT_TOTAL_ALL :
							       options.sort;
	err = order_make(&m->order, m->rows, m->session->dict, &options);
	if (!err && m->callees)
		err = order_make(&m->order_callees, m->callees, m->session->dict, &options);
	return err;
}

int model__refill(struct model *m)
{
	const struct place_of_top *place = model_place(m);
	enum rows_view view = place->spec.view;
	struct rows *rows, *callees = NULL;

	if (view == ROWS_FUNCTIONS && place->tree)
		view = ROWS_TREE;
	rows = make_rows(m, view);
	if (rows && view == ROWS_CALLERS)
		callees = make_rows(m, ROWS_CALLEES);
	if (!rows || (view == ROWS_CALLERS && !callees)) {
		rows__free(rows);
		return -ENOMEM;
	}
	rows__free(m->rows);
	rows__free(m->callees);
	m->rows = rows;
	m->callees = callees;
	/* Row numbers change. */
	free(m->folds);
	m->folds = NULL;
	if (view == ROWS_TREE)
		model_place(m)->cursor = (struct row_key){ 0 };
	return model__order(m);
}

/*
 * The next trim comes when the dictionary has doubled, so that its cost stays small compared with
 * that of growing.
 */
static int trim_model(struct model *m, trim_alive_fn alive, void *ctx)
{
	struct dict *dict = m->session->dict;
	int err;

	if (dict__node_cnt(dict) < m->trim_at)
		return 0;
	err = trim(m->samples, m->session, alive, ctx);
	groups__trim(m->groups);
	m->trim_at = 2 * dict__node_cnt(dict);
	if (m->trim_at < TRIM_NODES)
		m->trim_at = TRIM_NODES;
	m->trims++;
	/* Also after a failure: what was counted may have new node numbers. */
	return model__refill(m) ? -ENOMEM : err;
}

/* A thread that was renamed has another row: the cursor follows it. */
static int follow_names(struct model *m)
{
	const __u32 cnt = dict__renamed_cnt(m->session->dict);
	struct row_key *cursor = &model_place(m)->cursor;

	if (cnt == m->renamed_cnt || m->rows->spec.view != ROWS_THREADS)
		return 0;
	m->renamed_cnt = cnt;
	if (model__refill(m))
		return -ENOMEM;
	for (__u32 i = 1; cursor->kind == FRAME_THREAD && i < m->rows->cnt; i++) {
		const struct row_key *key = &m->rows->list[i].key;

		if (key->kind == cursor->kind && key->pid == cursor->pid && key->tid == cursor->tid)
			*cursor = *key;
	}
	return 0;
}

static void grow_folds(struct model *m, __u32 before)
{
	signed char *folds = m->folds ? realloc(m->folds, m->rows->cnt) : NULL;

	if (!folds && m->folds) {
		free(m->folds);
		m->folds = NULL;
	}
	if (!folds)
		return;
	memset(folds + before, 0, m->rows->cnt - before);
	m->folds = folds;
}

int model__end_round(struct model *m, __u64 now_ns, trim_alive_fn alive, void *ctx)
{
	__u32 before = m->rows->cnt;
	bool over = samples__end_round(m->samples, now_ns);
	int err;

	if (over) {
		rows__add_round(m->rows, m->samples);
		grow_folds(m, before);
		if (m->callees)
			rows__add_round(m->callees, m->samples);
	}
	err = trim_model(m, alive, ctx);
	if (!err)
		err = follow_names(m);
	return err ? err : model__order(m);
}

/* ---- places ----------------------------------------------------------------------------------- */

static void open_source(struct model *m)
{
	const struct rows_spec *spec = &model_place(m)->spec;

	top_source__free(m->source);
	m->source = spec->view == ROWS_SOURCE ?
			    top_source__new(m->session->dict, spec->focus.file, m->source_folder) :
			    NULL;
}

int model__show(struct model *m, enum rows_view view, bool tree)
{
	struct place_of_top *p = model_place(m), old = *p;
	int err;

	p->spec.view = view;
	p->tree = tree;
	p->cursor = (struct row_key){ 0 };
	err = model__refill(m);
	if (err)
		*p = old;
	return err;
}

bool model__enter(struct model *m, const struct rows_spec *spec, bool tree)
{
	if (m->place_cnt == PLACES_MAX)
		return false;
	m->places[m->place_cnt++] = (struct place_of_top){ .spec = *spec, .tree = tree };
	if (model__refill(m)) {
		m->place_cnt--;
		return false;
	}
	open_source(m);
	return true;
}

bool model__leave(struct model *m)
{
	struct place_of_top left = *model_place(m);

	if (m->place_cnt == 1)
		return false;
	m->place_cnt--;
	if (model__refill(m)) {
		m->places[m->place_cnt++] = left;
		return false;
	}
	open_source(m);
	return true;
}

int model__fold(struct model *m, __u32 row, bool open)
{
	if (m->rows->spec.view != ROWS_TREE || row >= m->rows->cnt)
		return 0;
	if (!m->folds)
		m->folds = calloc(m->rows->cnt, 1);
	if (!m->folds)
		return -ENOMEM;
	m->folds[row] = open ? 1 : -1;
	return model__order(m);
}

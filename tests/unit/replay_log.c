/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "replay_log.h"
#include "record/anchors/anchoring.h"
#include "base/data/vec.h"

static void add_answer(struct replay_log *l, const struct input_entry *e, size_t *cap)
{
	const struct probe_request *r = e->key;
	const char *data = (const char *)e->value + sizeof(struct input_answer);
	struct replay_answer *a;

	assert_int_equal(vec_reserve(l->answers, *cap, l->answer_cnt + 1), 0);
	a = &l->answers[l->answer_cnt++];
	*a = (struct replay_answer){
		.request = r,
		.head = *(const struct input_answer *)e->value,
		.all = data,
		.data = data,
		.len = e->value_size - sizeof(struct input_answer),
		.time_ns = e->time_ns,
	};
	assert_true(r->op != PROBE_READ || a->head.result || a->len == r->read.len);
}

void replay_log_load(struct replay_log *l, const void *data, size_t size)
{
	struct input_reader reader;
	struct input_entry e;
	size_t cap = 0, answer_cap = 0;
	int result;

	*l = (struct replay_log){
		.session = { .event_cnt = 1,
			     .mappings_reported = true,
			     .anchors = ANCHOR_MODE_OFF,
			     .tables = true },
	};
	assert_int_equal(input_reader_begin(&reader, data, size), 0);
	while ((result = input_reader_next(&reader, &e)) > 0) {
		assert_int_equal(vec_reserve(l->entries, cap, l->entry_cnt + 1), 0);
		l->entries[l->entry_cnt++] = e;
		if (e.kind == INPUT_ANSWER)
			add_answer(l, &e, &answer_cap);
		if (e.kind == INPUT_SESSION)
			memcpy(&l->session, e.value, sizeof(l->session));
	}
	assert_int_equal(result, 0);
	assert_true(l->entry_cnt > 0);
	l->now_ns = l->entries[0].time_ns;
}

void replay_log_drop(struct replay_log *l)
{
	free(l->entries);
	free(l->answers);
}

/* ---- answers of probers ------------------------------------------------------------------------ */

static bool is_within(const struct probe_request *asked, const struct probe_request *read)
{
	return asked->read.addr >= read->read.addr && asked->read.len <= read->read.len &&
	       asked->read.addr - read->read.addr <= read->read.len - asked->read.len;
}

static bool is_anchor(const struct probe_request *r)
{
	return r->op == PROBE_ANCHOR_READ || r->op == PROBE_ANCHOR_WRITE;
}

/* Compares two requests apart from their op and process. */
static bool same_request(const struct probe_request *a, const struct probe_request *b)
{
	if (a->op != b->op || a->pid != b->pid ||
	    (a->start_ticks != b->start_ticks && !is_anchor(a)))
		return false;
	switch ((enum probe_op)a->op) {
	case PROBE_READ:
		return is_within(a, b);
	case PROBE_TRAIL:
		return a->read.addr == b->read.addr;
	case PROBE_FILE:
		return a->file.start == b->file.start && a->file.inode == b->file.inode;
	case PROBE_DEBUG:
		return a->debug.size == b->debug.size &&
		       !memcmp(a->debug.build_id, b->debug.build_id, sizeof(a->debug.build_id));
	case PROBE_ANCHOR_READ:
	case PROBE_ANCHOR_WRITE:
		return a->anchor.tstate_addr == b->anchor.tstate_addr;
	default:
		return true;
	}
}

/* Cuts a memory answer to the part that was requested. */
static void cut_memory(const struct probe_request *asked, struct replay_answer *a)
{
	if (a->head.result || !a->head.answered)
		return;
	a->data = a->all + (asked->read.addr - a->request->read.addr);
	a->len = asked->read.len;
}

/* Finds memory as it was then: the last read so far, or else the next one. */
static struct replay_answer *find_memory(struct replay_log *l, const struct probe_request *request)
{
	struct replay_answer *found = NULL;

	for (size_t i = 0; i < l->answer_cnt; i++) {
		struct replay_answer *a = &l->answers[i];
		bool exact = a->request->read.addr == request->read.addr &&
			     a->request->read.len == request->read.len;

		if (!same_request(request, a->request))
			continue;
		if (exact && !a->used) {
			found = a;
			break;
		}
		if (!found || a->time_ns <= l->now_ns)
			found = a;
	}
	if (found)
		cut_memory(request, found);
	return found;
}

/* A file is the same for all processes that have mapped it. */
static struct replay_answer *find_file(struct replay_log *l, const struct probe_request *request)
{
	for (size_t i = 0; i < l->answer_cnt; i++) {
		struct replay_answer *a = &l->answers[i];

		if (a->request->op == PROBE_FILE && !a->head.result && a->head.answered &&
		    a->request->file.inode == request->file.inode &&
		    !strcmp(a->request->file.path, request->file.path))
			return a;
	}
	return NULL;
}

struct replay_answer *replay_log_answer(struct replay_log *l, const struct probe_request *request)
{
	struct replay_answer *last = NULL;

	if (request->op == PROBE_READ)
		return find_memory(l, request);
	for (size_t i = 0; i < l->answer_cnt; i++) {
		struct replay_answer *a = &l->answers[i];

		if (!same_request(request, a->request))
			continue;
		if (!a->used)
			return a;
		last = a;
	}
	if (request->op == PROBE_FILE)
		return find_file(l, request);
	return is_anchor(request) ? last : NULL;
}

/* ---- everything else ---------------------------------------------------------------------------- */

bool replay_log_fact(const struct replay_log *l, enum input_question_op op, pid_t pid,
		     struct input_fact *ret)
{
	bool found = false;

	/* Takes the last one known by now. */
	for (size_t i = 0; i < l->entry_cnt; i++) {
		const struct input_entry *e = &l->entries[i];
		const struct input_question *q = e->key;

		if (e->kind != INPUT_FACT || q->op != op || q->pid != pid ||
		    (found && e->time_ns > l->now_ns))
			continue;
		memcpy(ret, e->value, sizeof(*ret));
		found = true;
	}
	return found;
}

static const struct parser_answer *message_of(const struct input_entry *e)
{
	const struct input_parsed *head = e->value;

	return head->size ? (const void *)(head + 1) : NULL;
}

/* Tells whether the request is for a single offset that the answer covers. */
static bool knows_offset(const struct input_entry *e, const struct input_parse *asked)
{
	const struct parser_answer *a = message_of(e);

	return asked->request.job == PARSER_FIND && asked->request.cnt == 1 && a && !a->result &&
	       asked->request.offsets[0] >= a->found.places[0].start &&
	       asked->request.offsets[0] < a->found.places[0].end;
}

const struct input_entry *replay_log_parsed(const struct replay_log *l,
					    const struct input_parse *asked)
{
	size_t size = parser_request_size(&asked->request);

	for (size_t i = 0; i < l->entry_cnt; i++) {
		const struct input_entry *e = &l->entries[i];
		const struct input_parse *key = e->key;

		if (e->kind != INPUT_PARSED || key->dev != asked->dev || key->ino != asked->ino ||
		    key->has_debug != asked->has_debug || key->request.job != asked->request.job)
			continue;
		if ((e->key_size == offsetof(struct input_parse, request) + size &&
		     !memcmp(&key->request, &asked->request, size)) ||
		    knows_offset(e, asked))
			return e;
	}
	return NULL;
}

bool replay_log_has_debug(const struct replay_log *l, const __u8 *build_id, size_t size)
{
	for (size_t i = 0; i < l->entry_cnt; i++) {
		const struct input_entry *e = &l->entries[i];
		const struct input_parse *key = e->key;
		const struct parser_answer *a;

		if (e->kind != INPUT_PARSED || key->request.job != PARSER_OPEN || !key->has_debug)
			continue;
		a = message_of(e);
		if (a && !a->result && a->opened.build_id_size == size &&
		    !memcmp(a->opened.build_id, build_id, size))
			return true;
	}
	return false;
}

const struct input_entry *replay_log_kernel(const struct replay_log *l, __u64 addr)
{
	const struct input_entry *found = NULL;

	for (size_t i = 0; i < l->entry_cnt; i++) {
		const struct input_entry *e = &l->entries[i];

		if (e->kind == INPUT_KERNEL && *(const __u64 *)e->key <= addr &&
		    (!found || *(const __u64 *)e->key > *(const __u64 *)found->key))
			found = e;
	}
	return found;
}

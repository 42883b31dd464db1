/* SPDX-License-Identifier: BSD-2-Clause */
#include "record/replay/input_writer.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define HASH_NONFATAL_OOM 1
#include <uthash.h>

#include "base/system/clock.h"

/* A kernel symbol that was already written. */
struct met_symbol {
	__u64 start;
	UT_hash_handle hh;
};

struct input_writer {
	FILE *out;
	pthread_mutex_t lock; /* protects all that follows, and out */
	int err; /* the first one; nothing is written after it */
	bool ended;
	struct met_symbol *symbols;
	char value[INPUT_VALUE_MAX]; /* buffer for the answer being written */
};

struct input_writer *input_writer__new(FILE *out)
{
	struct input_writer *w = calloc(1, sizeof(*w));

	if (!w)
		return NULL;
	w->out = out;
	pthread_mutex_init(&w->lock, NULL);
	w->err = input_log_begin(out);
	return w;
}

void input_writer__free(struct input_writer *w)
{
	struct met_symbol *s, *next;

	if (!w)
		return;
	HASH_ITER(hh, w->symbols, s, next) {
		HASH_DEL(w->symbols, s);
		free(s);
	}
	pthread_mutex_destroy(&w->lock);
	free(w);
}

/* Call with the lock held. */
static void put_locked(struct input_writer *w, struct input_entry e)
{
	e.time_ns = clock_monotonic_ns();
	if (!w->err && !w->ended)
		w->err = input_log_write(w->out, &e);
}

static void put(struct input_writer *w, struct input_entry e)
{
	pthread_mutex_lock(&w->lock);
	put_locked(w, e);
	pthread_mutex_unlock(&w->lock);
}

int input_writer__end(struct input_writer *w)
{
	put(w, (struct input_entry){ .kind = INPUT_END });
	w->ended = true;
	return w->err;
}

void input_writer__session(struct input_writer *w, const struct input_session *session)
{
	put(w, (struct input_entry){
		       .kind = INPUT_SESSION, .value = session, .value_size = sizeof(*session) });
}

void input_writer__record(struct input_writer *w, const void *data, size_t size)
{
	put(w, (struct input_entry){ .kind = INPUT_RECORD, .value = data, .value_size = size });
}

/* Reads a list's descriptor without moving its offset. Returns -EFBIG if it is too large for a log. */
static ssize_t read_list(int fd, char *buf, size_t size)
{
	ssize_t n = pread(fd, buf, size, 0);

	if (n < 0)
		return -errno;
	return (size_t)n < size ? n : -EFBIG;
}

/* Identifies the file of the last descriptor, if it is a file. */
static struct file_id file_of(const struct probe_request *r, const int fds[PROBE_FDS_MAX])
{
	struct stat st;

	if (!fds || fds[PROBE_FDS_MAX - 1] < 0 || r->op == PROBE_MAPS ||
	    fstat(fds[PROBE_FDS_MAX - 1], &st))
		return (struct file_id){ 0 };
	return file_id_of(&st);
}

static void put_answer(struct input_writer *w, const struct probe_request *r, int result,
		       const void *data, size_t len, const int fds[PROBE_FDS_MAX])
{
	struct input_answer head = {
		.result = result,
		.answered = data != NULL,
		.file = file_of(r, fds),
	};
	ssize_t list = 0;

	for (unsigned i = 0; fds && i < PROBE_FDS_MAX; i++) {
		head.fds |= fds[i] >= 0 ? 1U << i : 0;
		if (fds[i] >= 0 && r->op == PROBE_MAPS)
			list = read_list(fds[i], w->value + sizeof(head),
					 sizeof(w->value) - sizeof(head));
	}
	if (list < 0 || len > sizeof(w->value) - sizeof(head)) {
		w->err = list < 0 ? (int)list : -EFBIG;
		return;
	}
	memcpy(w->value, &head, sizeof(head));
	if (r->op == PROBE_MAPS)
		len = (size_t)list;
	else if (data && len)
		memcpy(w->value + sizeof(head), data, len);
	else
		len = 0;
	put_locked(w, (struct input_entry){ .kind = INPUT_ANSWER,
					    .key = r,
					    .value = w->value,
					    .key_size = sizeof(*r),
					    .value_size = sizeof(head) + len });
}

void input_writer_answer(void *ctx, const struct probe_request *r, int result, const void *data,
			 size_t len, const int fds[PROBE_FDS_MAX])
{
	struct input_writer *w = ctx;

	pthread_mutex_lock(&w->lock);
	if (!w->err && !w->ended)
		put_answer(w, r, result, data, len, fds);
	pthread_mutex_unlock(&w->lock);
}

/*
 * Unwind rows go to the kernel: names do not depend on them, and they are as large as the file's
 * code.
 */
static size_t logged_size(const struct parser_answer *a)
{
	return a->job == PARSER_ROWS || a->job == PARSER_ROWS_MADE || a->result ?
		       offsetof(struct parser_answer, dwarf) :
		       parser_answer_size(a);
}

void input_writer_parsed(void *ctx, const struct parse_tapped *tapped)
{
	struct input_writer *w = ctx;
	const size_t request_size = parser_request_size(tapped->request);
	struct input_parse key = {
		.dev = tapped->file.dev,
		.ino = tapped->file.ino,
		.has_debug = tapped->has_debug,
	};
	const struct input_parsed head = {
		.result = tapped->result,
		.size = tapped->answer ? (__u32)logged_size(tapped->answer) : 0,
		.took_ns = tapped->took_ns,
	};

	if (tapped->request->job == PARSER_ROWS_MORE)
		return;
	memcpy(&key.request, tapped->request, request_size);
	key.request.file = 0;
	pthread_mutex_lock(&w->lock);
	memcpy(w->value, &head, sizeof(head));
	if (head.size)
		memcpy(w->value + sizeof(head), tapped->answer, head.size);
	put_locked(w, (struct input_entry){ .kind = INPUT_PARSED,
					    .key = &key,
					    .value = w->value,
					    .key_size = offsetof(struct input_parse, request) +
							request_size,
					    .value_size = sizeof(head) + head.size });
	pthread_mutex_unlock(&w->lock);
}

/* Returns false if it was written before or cannot be remembered. */
static bool is_new_symbol(struct input_writer *w, __u64 start)
{
	struct met_symbol *s;

	HASH_FIND(hh, w->symbols, &start, sizeof(start), s);
	if (s)
		return false;
	s = calloc(1, sizeof(*s));
	if (!s)
		return false;
	s->start = start;
	HASH_ADD(hh, w->symbols, start, sizeof(s->start), s);
	return true;
}

void input_writer_kernel(void *ctx, __u64 start, const char *name, const char *module)
{
	struct input_writer *w = ctx;
	char text[1024];
	int len = snprintf(text, sizeof(text), "%s%c%s", name, '\0', module);

	pthread_mutex_lock(&w->lock);
	if (len >= 0 && (size_t)len < sizeof(text) && is_new_symbol(w, start))
		put_locked(w, (struct input_entry){ .kind = INPUT_KERNEL,
						    .key = &start,
						    .value = text,
						    .key_size = sizeof(start),
						    .value_size = (size_t)len + 1 });
	pthread_mutex_unlock(&w->lock);
}

int input_writer__fact(struct input_writer *w, enum input_question_op op, pid_t pid, int result,
		       __u64 value)
{
	const struct input_question question = { .op = op, .pid = pid };
	const struct input_fact fact = { .result = result, .value = value };

	if (w)
		put(w, (struct input_entry){ .kind = INPUT_FACT,
					     .key = &question,
					     .value = &fact,
					     .key_size = sizeof(question),
					     .value_size = sizeof(fact) });
	return result;
}

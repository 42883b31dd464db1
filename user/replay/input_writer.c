/* SPDX-License-Identifier: BSD-2-Clause */
#include "replay/input_writer.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "util/clock.h"

struct input_writer {
	FILE *out;
	int err; /* the first one: nothing is written after it */
	char value[INPUT_VALUE_MAX]; /* of the answer that is written now */
};

struct input_writer *input_writer__new(FILE *out)
{
	struct input_writer *w = calloc(1, sizeof(*w));

	if (!w)
		return NULL;
	w->out = out;
	w->err = input_log_begin(out);
	return w;
}

void input_writer__free(struct input_writer *w)
{
	free(w);
}

static void put(struct input_writer *w, struct input_entry e)
{
	e.time_ns = clock_monotonic_ns();
	if (!w->err)
		w->err = input_log_write(w->out, &e);
}

int input_writer__end(struct input_writer *w)
{
	put(w, (struct input_entry){ .kind = INPUT_END });
	return w->err;
}

void input_writer__record(struct input_writer *w, const void *data, size_t size)
{
	put(w, (struct input_entry){ .kind = INPUT_RECORD, .value = data, .value_size = size });
}

/* What is in the descriptor of a list; its offset stays. -EFBIG: more than a log has room for. */
static ssize_t read_list(int fd, char *buf, size_t size)
{
	ssize_t n = pread(fd, buf, size, 0);

	if (n < 0)
		return -errno;
	return (size_t)n < size ? n : -EFBIG;
}

void input_writer_answer(void *ctx, const struct probe_request *r, int result, const void *data,
			 size_t len, const int fds[PROBE_FDS_MAX])
{
	struct input_writer *w = ctx;
	struct input_answer head = { .result = result, .answered = data != NULL };
	ssize_t list = 0;

	if (w->err)
		return;
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
	put(w, (struct input_entry){ .kind = INPUT_ANSWER,
				     .key = r,
				     .value = w->value,
				     .key_size = sizeof(*r),
				     .value_size = sizeof(head) + len });
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

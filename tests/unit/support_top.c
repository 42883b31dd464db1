/* SPDX-License-Identifier: BSD-2-Clause */
#include "support_top.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support_profile.h"
#include "cmd/top/text.h"

static bool is_alive(void *ctx, int pid, int tid)
{
	const struct fed *f = ctx;

	return !f->gone[pid];
}

void fed_begin(struct fed *f, bool off_cpu)
{
	struct event_spec spec;

	*f = (struct fed){ .session = profile__new(), .now_ns = 10 * SECOND };
	if (off_cpu) {
		event_off_cpu(&spec, 1000000);
		if (profile__set_event(f->session, 1, &spec))
			abort();
	}
	f->model = model__new(f->session, f->now_ns);
}

void fed_end(struct fed *f)
{
	model__free(f->model);
	profile__free(f->session);
}

__u32 fed_stack(struct fed *f, int pid, const char *functions)
{
	struct profile *p = f->session;
	char name[32], text[256], *save = NULL;
	__u32 node;

	snprintf(name, sizeof(name), "python%d", pid);
	node = push(p, 0, add_process(p, name, pid));
	node = push(p, node, add_thread(p, "thread", pid, pid + 1));
	snprintf(text, sizeof(text), "%s", functions);
	for (char *at = strtok_r(text, ";", &save); at; at = strtok_r(NULL, ";", &save)) {
		int line = 10 * (1 + (at[0] - 'a'));

		node = push(p, node, add_function(p, at, "app.py", line, line + 1));
	}
	return node;
}

static void add(struct fed *f, __u32 node, unsigned event, enum state state, __u64 ns)
{
	const struct profile_sample sample = {
		.time_ns = f->now_ns, .period = ns, .node = node, .state = state, .event = event
	};

	profile__count_state(f->session, event, node, ns, state);
	samples__add(f->model->samples, &sample);
}

void fed_cpu(struct fed *f, __u32 node, unsigned cnt)
{
	while (cnt--)
		add(f, node, 0, STATE_PYTHON, TICK);
}

void fed_wait(struct fed *f, __u32 node, enum state state, __u64 ns)
{
	add(f, node, 1, state, ns);
}

void fed_round(struct fed *f)
{
	f->now_ns += SECOND;
	if (model__end_round(f->model, f->now_ns, is_alive, f))
		abort();
}

static const char *name_of(const struct fed *f, __u32 row, char buf[256])
{
	row_name(buf, 256, f->session->dict, f->model->rows->spec.view,
		 &f->model->rows->list[row].key);
	return buf;
}

const struct row *fed_row(const struct fed *f, const char *name)
{
	char buf[256];

	for (__u32 i = 1; i < f->model->rows->cnt; i++) {
		if (!strcmp(name_of(f, i, buf), name))
			return &f->model->rows->list[i];
	}
	return NULL;
}

const char *fed_names(const struct fed *f, char *buf, size_t size)
{
	size_t len = 0;
	char name[256];

	*buf = '\0';
	for (__u32 i = 0; i < f->model->order.cnt && len < size; i++)
		len += (size_t)snprintf(buf + len, size - len, "%s%s", i ? " " : "",
					name_of(f, f->model->order.list[i], name));
	return buf;
}

/* SPDX-License-Identifier: BSD-2-Clause */
#include "support_capture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "cmd/common/formats.h"
#include "support_folder.h"
#include "base/system/error.h"

const struct emit_options capture_options = {
	.recording.command_line = "krait record -o x.data",
	.recording.host = "ada-laptop",
	.recording.kernel = "6.18.5",
	.recording.seconds = 2.5,
	.recording.frequency = 997,
	.recording.began_wall_ns = 1771000000000000000LL,
};

void capture_open(struct capture *c)
{
	test_folder_make(c->folder);
	setenv("PERF_BUILDID_DIR", c->folder, 1);
	snprintf(c->path, sizeof(c->path), "%s/x.data", c->folder);
	c->file = fopen(c->path, "w+");
	assert_non_null(c->file);
}

void capture_close(struct capture *c)
{
	fclose(c->file);
	test_folder_remove(c->folder);
}

/* Finds the process and thread above a node. */
static void find_task(const struct profile *p, __u32 node, struct profile_sample *s,
		      const char **ret_comm)
{
	for (; node; node = dict__node_at(p->dict, node)->parent) {
		const struct profile_frame *f =
			dict__frame_at(p->dict, dict__node_at(p->dict, node)->frame);

		if (f->kind == FRAME_THREAD) {
			s->tid = f->tid;
			*ret_comm = dict__text(p->dict, f->name);
		}
		if (f->kind == FRAME_PROCESS) {
			s->pid = f->pid;
			if (!s->tid)
				s->tid = f->pid;
		}
	}
}

void capture_write(FILE *out, const struct profile *p)
{
	const struct emitter_ops *ops = format_by_name("perf");
	struct profile_sample s = { .period = 1003009 };
	struct emitter *e;
	__u64 number = 0;

	assert_int_equal(ops->open(&e, out, &capture_options), 0);
	for (s.node = 0; s.node <= dict__node_cnt(p->dict); s.node++) {
		char comm[64];
		const char *name = "?";

		s.pid = s.tid = 0;
		find_task(p, s.node, &s, &name);
		snprintf(comm, sizeof(comm), "%s", name);
		s.comm = comm;
		for (__u64 k = 0; k < counts__at(profile__counts(p, 0), s.node).samples; k++) {
			number++;
			s.cpu = number % 2;
			s.time_ns = (number + 2 * s.cpu) * s.period;
			assert_int_equal(ops->sample(e, p, &s), 0);
		}
	}
	assert_int_equal(ops->finish(e, p, 0), 0);
	ops->free(e);
}

struct profile *capture_read(const struct capture *c, struct perf_import_stats *stats)
{
	const struct perf_import_config config = { .path = c->path };
	FILE *in = fopen(c->path, "r");
	struct profile *p = profile__new();
	struct error err;

	assert_non_null(in);
	if (perf_import(p, in, &config, stats, &err))
		fail_msg("%s", err.text);
	fclose(in);
	return p;
}

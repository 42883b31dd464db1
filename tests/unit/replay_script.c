/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "replay_log.h"
#include "replay_script.h"

#define BEGIN_NS (1000 * 1000000000ULL)

void program_make(struct program *program, const char *prefix)
{
	static const __u8 lines[] = { 0x80 | 13 << 3 | 7, 4 };
	struct image *image = image_new();
	struct image_code code = {
		.filename_addr = image_ascii(image, "p.py"),
		.linetable_addr = image_bytes(image, lines, sizeof(lines)),
		.first_line = 10,
	};
	char name[32];

	program->image = image;
	for (unsigned i = 0; i < SCRIPT_CODES; i++) {
		snprintf(name, sizeof(name), "%s%c", prefix, (char)('a' + i));
		code.qualname_addr = image_ascii(image, name);
		code.version = i + 1;
		program->code_addr[i] = image_code(image, &code);
		program->fingerprint[i] = image_fingerprint(image, program->code_addr[i]);
	}
}

void program_drop(struct program *program)
{
	image_free(program->image);
}

__u64 script_ns(double ms)
{
	return BEGIN_NS + (__u64)(__s64)(ms * 1e6);
}

void script_put(struct script *s, enum input_kind kind, double ms, const void *key, size_t key_size,
		const void *value, size_t value_size)
{
	const struct input_entry e = { kind, script_ns(ms), key, value, key_size, value_size };

	assert_int_equal(input_log_write(s->out, &e), 0);
}

void script_begin(struct script *s)
{
	*s = (struct script){ 0 };
	s->out = open_memstream(&s->log, &s->size);
	assert_non_null(s->out);
	assert_int_equal(input_log_begin(s->out), 0);
}

void script_end(struct script *s, double ms)
{
	script_put(s, INPUT_END, ms, NULL, 0, NULL, 0);
	fclose(s->out);
}

void script_free(struct script *s)
{
	free(s->log);
}

/* ---- answers ---------------------------------------------------------------------------------- */

static void put_answer(struct script *s, double ms, const struct probe_request *r, int result,
		       __u32 fds, const void *data, size_t len)
{
	const struct input_answer head = { .result = result, .fds = fds, .answered = 1 };
	char *value = malloc(sizeof(head) + len);

	memcpy(value, &head, sizeof(head));
	if (len)
		memcpy(value + sizeof(head), data, len);
	script_put(s, INPUT_ANSWER, ms, r, sizeof(*r), value, sizeof(head) + len);
	free(value);
}

static void put_found(struct script *s, double ms, const struct actor *a, enum probe_op op,
		      int result, const char *why)
{
	struct probe_request r = { .op = op, .pid = a->pid };
	struct probe_found found = {
		.process = {
			.pid = a->pid,
			.start_ticks = a->start_ns / KRAIT_NS_PER_TICK,
			.runtime_addr = IMAGE_ADDR,
			.initialised = true,
			.offsets = image_offsets,
			.has_ids = true,
			.uid = a->uid,
			.euid = a->uid,
			.file = "/usr/bin/python3.13",
		},
	};
	size_t len = offsetof(struct probe_found, cgroups) + 1;

	/* Like versions before 3.14: past code objects are known by fingerprints. */
	found.process.offsets.version = 0x030d00f0;
	found.process.version = a->version ? a->version : found.process.offsets.version;
	found.process.offsets.interp.code_object_generation = PYOFF_ABSENT;

	snprintf(found.process.comm, sizeof(found.process.comm), "%s", a->comm);
	snprintf(found.context.script, sizeof(found.context.script), "%s",
		 a->script ? a->script : "");
	if (why)
		snprintf(found.process.why, sizeof(found.process.why), "%s", why);
	if (op == PROBE_OPEN)
		r.start_ticks = found.process.start_ticks;
	put_answer(s, ms, &r, result, 3, &found, len);
}

static void put_memory(struct script *s, double ms, const struct actor *a)
{
	struct probe_request r = {
		.op = PROBE_READ,
		.pid = a->pid,
		.start_ticks = a->start_ns / KRAIT_NS_PER_TICK,
		.read = { IMAGE_ADDR, (__u32)a->program->image->used },
	};

	put_answer(s, ms, &r, 0, 0, a->program->image->bytes, r.read.len);
}

void script_look(struct script *s, double ms, const struct actor *a)
{
	put_found(s, ms, a, PROBE_IDENTIFY, a->program ? 0 : -ENOEXEC, NULL);
	if (a->program)
		put_memory(s, ms, a);
}

void script_look_fails(struct script *s, double ms, pid_t pid, int result)
{
	const struct actor gone = { .pid = pid, .comm = "" };

	put_found(s, ms, &gone, PROBE_IDENTIFY, result, NULL);
}

void script_look_refused(struct script *s, double ms, const struct actor *a, int result,
			 const char *why)
{
	put_found(s, ms, a, PROBE_IDENTIFY, result, why);
}

void script_silent(struct script *s, double ms, const struct actor *a, enum probe_op op, int result)
{
	const struct probe_request r = {
		.op = op,
		.pid = a->pid,
		.start_ticks = op == PROBE_IDENTIFY ? 0 : a->start_ns / KRAIT_NS_PER_TICK,
	};
	const struct input_answer head = { .result = result };

	script_put(s, INPUT_ANSWER, ms, &r, sizeof(r), &head, sizeof(head));
}

void script_open(struct script *s, double ms, const struct actor *a)
{
	put_found(s, ms, a, PROBE_OPEN, 0, NULL);
	put_memory(s, ms, a);
}

void script_published(struct script *s, double ms, const struct actor *a,
		      const struct published *published)
{
	static const struct published nothing;
	const struct probe_request r = {
		.op = PROBE_PUBLISHED,
		.pid = a->pid,
		.start_ticks = a->start_ns / KRAIT_NS_PER_TICK,
		.published = { a->version, IMAGE_ADDR },
	};

	put_answer(s, ms, &r, 0, 0, published ? published : &nothing, sizeof(nothing));
}

void script_names(struct script *s, double ms, const struct actor *a,
		  const struct probe_names *names)
{
	const struct probe_request r = {
		.op = PROBE_NAMES,
		.pid = a->pid,
		.start_ticks = a->start_ns / KRAIT_NS_PER_TICK,
	};

	put_answer(s, ms, &r, 0, 0, names, probe_names_size(names->cnt));
}

/* As probe_maps_list() writes it. */
void script_maps(struct script *s, double ms, const struct actor *a,
		 const struct probe_mapping *list, __u32 cnt, __u64 inode, const char *name)
{
	const struct probe_request r = {
		.op = PROBE_MAPS,
		.pid = a->pid,
		.start_ticks = a->start_ns / KRAIT_NS_PER_TICK,
	};
	const struct probe_mapped_file file = {
		.id = { .dev = 1, .ino = inode, .size = 4096, .ctime_sec = 1 },
		.inode = inode,
		.has_id = true,
	};
	const __u32 name_size = (__u32)strlen(name) + 1;
	const __u32 head[] = { cnt, 1, name_size, false };
	char *text;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	assert_non_null(out);
	fwrite(head, sizeof(head), 1, out);
	fwrite(list, sizeof(*list), cnt, out);
	fwrite(&file, sizeof(file), 1, out);
	fwrite(name, name_size, 1, out);
	fclose(out);
	put_answer(s, ms, &r, 0, 4, text, size);
	free(text);
}

void script_no_files(struct script *s, double ms, const struct actor *a, __u64 start, __u64 inode,
		     unsigned cnt)
{
	const struct probe_request r = {
		.op = PROBE_FILE,
		.pid = a->pid,
		.start_ticks = a->start_ns / KRAIT_NS_PER_TICK,
		.file = { .start = start, .inode = inode },
	};

	while (cnt--)
		put_answer(s, ms, &r, -ENOENT, 0, NULL, 0);
}

/* ---- facts ------------------------------------------------------------------------------------ */

static void put_fact(struct script *s, double ms, enum input_question_op op, const struct actor *a,
		     __u64 value)
{
	const struct input_question q = { .op = op, .pid = a->pid };
	const struct input_fact fact = { .value = value };

	script_put(s, INPUT_FACT, ms, &q, sizeof(q), &fact, sizeof(fact));
}

void script_start(struct script *s, double ms, const struct actor *a)
{
	put_fact(s, ms, QUESTION_START, a, a->start_ns / KRAIT_NS_PER_TICK);
}

void script_owner(struct script *s, double ms, const struct actor *a)
{
	put_fact(s, ms, QUESTION_OWNER, a, a->uid);
}

void script_scan(struct script *s, double ms, unsigned wait_ms, const pid_t pids[], size_t cnt)
{
	put_fact(s, ms, QUESTION_SCAN, &(struct actor){ 0 }, wait_ms);
	for (size_t i = 0; i < cnt; i++)
		put_fact(s, ms, QUESTION_SCAN, &(struct actor){ .pid = pids[i] }, 0);
}

void script_session(struct script *s, const struct input_session *session)
{
	script_put(s, INPUT_SESSION, 0, NULL, 0, session, sizeof(*session));
}

void script_mapped(struct script *s, double ms, const struct actor *a)
{
	static const struct actor nobody;

	put_fact(s, ms, QUESTION_MAPPED, a ? a : &nobody, 0);
}

void script_dropped(struct script *s, double ms, const struct actor *a, __u64 cnt)
{
	put_fact(s, ms, QUESTION_DROPPED, a, cnt);
}

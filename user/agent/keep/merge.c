/* SPDX-License-Identifier: BSD-2-Clause */
#include "agent/keep/merge.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/types.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <uthash.h>

#include "capture/dso/dso_files.h"
#include "capture/dso/dso_reader.h"
#include "output/emitter.h"
#include "agent/keep/merge_notes.h"
#include "agent/keep/merge_python.h"
#include "capture/perfdata/announce.h"
#include "capture/perfdata/perf_reader.h"
#include "capture/perfdata/perf_writer.h"
#include "process/space/mapping.h"
#include "profile/accounts.h"
#include "profile/dict.h"
#include "profile/strtab.h"
#include "base/data/cleanup.h"
#include "base/system/error.h"
#include "base/text/log.h"
#include "base/data/vec.h"

/* ---- merge processes --------------------------------------------------------------------------- */

/*
 * What readers of a merged capture already know: about processes, from the
 * capture being added; about the kernel, from all.
 */

struct merge_process;

/* All zero: nothing. */
struct merge_processes {
	struct merge_process *list; /* sorted by pid */
	struct strtab kernel; /* mappings, as texts */
};

/*
 * A machine has at most 4 million at once; beyond this limit processes are announced again and
 * again.
 */
#define PROCESSES_MAX (1U << 20)

struct merge_process {
	int pid;
	bool named;
	unsigned libraries;
	UT_hash_handle hh;
};

/* The next capture begins. */
static void merge_processes_clear(struct merge_processes *ps)
{
	struct merge_process *p, *next;

	HASH_ITER(hh, ps->list, p, next) {
		HASH_DEL(ps->list, p);
		free(p);
	}
}

static void merge_processes_free(struct merge_processes *ps)
{
	merge_processes_clear(ps);
	strtab_free(&ps->kernel);
	ps->kernel = (struct strtab){ 0 };
}

static struct merge_process *get(struct merge_processes *ps, int pid)
{
	struct merge_process *p;

	HASH_FIND_INT(ps->list, &pid, p);
	if (p)
		return p;
	if (HASH_COUNT(ps->list) >= PROCESSES_MAX)
		merge_processes_clear(ps);
	p = calloc(1, sizeof(*p));
	if (!p)
		return NULL;
	p->pid = pid;
	HASH_ADD_INT(ps->list, pid, p);
	return p;
}

/*
 * The process has a name. again: a new image, by exec. Returns 1: it was unknown in this capture;
 * 0; -ENOMEM.
 */
static int merge_processes_begin(struct merge_processes *ps, int pid, bool again)
{
	struct merge_process *p = get(ps, pid);
	bool is_new;

	if (!p)
		return -ENOMEM;
	is_new = !p->named;
	p->named = true;
	if (is_new || again)
		p->libraries = 0;
	return is_new;
}

/*
 * How many of krait's libraries it has; the caller updates it. Valid until the next call. NULL: out
 * of memory.
 */
static unsigned *merge_processes_libraries(struct merge_processes *ps, int pid)
{
	struct merge_process *p = get(ps, pid);

	return p ? &p->libraries : NULL;
}

/* Is this mapping of the kernel new to readers? */
static bool merge_processes_is_new_kernel(struct merge_processes *ps,
					  const struct perf_read *mapping)
{
	char text[PERF_READER_TEXT];
	int len = snprintf(text, sizeof(text), "%llx %llx %s", mapping->start, mapping->size,
			   mapping->text);

	if (len < 0 || len >= (int)sizeof(text))
		return false;
	if (!ps->kernel.texts && strtab_init(&ps->kernel))
		return true;
	if (strtab_find(&ps->kernel, text, (size_t)len))
		return false;
	strtab_add(&ps->kernel, text, (size_t)len, 0);
	return true;
}

/* ---- merge ------------------------------------------------------------------------------------- */

/* krait's own layout of a sample: header, id, then ip (perf_writer.c). */
#define SAMPLE_IP_OFFSET 16U

struct merge {
	FILE *out;
	const struct emit_place *place;
	struct dict *dict;
	struct dso_files *files;
	struct merge_python *python;
	struct merge_notes *notes;
	struct merge_processes processes;
	struct perf_writer *writer; /* NULL until the first capture has said what it counts */
	struct event_spec *events;
	unsigned event_cnt;
	__u64 *samples; /* in the current capture, by event */
	struct recording recording;
	struct perf_read_facts facts; /* of the first capture that has some */
	__u8 *copy; /* of a record */
	size_t copy_cap;
	struct merge_stats stats;
};

/* The capture being read. */
struct capture {
	const char *path;
	struct perf_reader *reader;
	bool dated; /* it was finished */
};

int merge__new(struct merge **ret, FILE *out, const struct emit_place *place)
{
	struct merge *m = calloc(1, sizeof(*m));
	int err;

	if (!m)
		return -ENOMEM;
	m->out = out;
	m->place = place;
	err = dso_files__new(&m->files);
	if (!err) {
		m->dict = dict__new(profile_limits_default());
		m->notes = merge_notes__new();
		m->python = m->dict ? merge_python__new(m->dict, dso_files__dso(m->files)) : NULL;
		err = m->python && m->notes ? 0 : -ENOMEM;
	}
	if (!err)
		err = dso_files__place(m->files, fileno(out), place ? place->name : NULL);
	if (err)
		merge__free(m);
	else
		*ret = m;
	return err;
}

void merge__free(struct merge *m)
{
	if (!m)
		return;
	merge_processes_free(&m->processes);
	merge_python__free(m->python);
	merge_notes__free(m->notes);
	perf_writer__free(m->writer);
	dso_files__free(m->files);
	dict__free(m->dict);
	free(m->events);
	free(m->samples);
	free(m->copy);
	free(m);
}

void merge__stats(const struct merge *m, struct merge_stats *ret)
{
	*ret = m->stats;
	ret->unnamed = merge_python__unnamed(m->python);
}

/* ---- events ----------------------------------------------------------------------------------- */

static int start_writer(struct merge *m, const struct capture *c)
{
	unsigned cnt;
	const struct perf_read_event *list = perf_reader__events(c->reader, &cnt);
	struct perf_writer_config config = { .recording = &m->recording, .event_cnt = cnt };

	if (!cnt)
		return -ENODATA;
	m->events = calloc(cnt, sizeof(*m->events));
	m->samples = calloc(cnt, sizeof(*m->samples));
	if (!m->events || !m->samples)
		return -ENOMEM;
	for (unsigned i = 0; i < cnt; i++)
		m->events[i] = perf_read_event_spec(&list[i]);
	m->event_cnt = cnt;
	config.events = m->events;
	m->recording.frequency = m->events[0].frequency;
	return perf_writer__new(&m->writer, m->out, &config);
}

/*
 * Records are copied unchanged, so all captures must count the same events, in krait's own layout:
 * the events' attributes tell, whatever the rate was.
 */
static bool has_same_events(const struct merge *m, const struct capture *c)
{
	unsigned cnt;
	const struct perf_read_event *list = perf_reader__events(c->reader, &cnt);

	if (cnt != m->event_cnt)
		return false;
	for (unsigned i = 0; i < cnt; i++) {
		if (list[i].type != m->events[i].type || list[i].config != m->events[i].config ||
		    list[i].sample_type != perf_writer__sample_type(m->writer, i))
			return false;
	}
	return true;
}

/* ---- libraries -------------------------------------------------------------------------------- */

/* Beside the capture, whatever folder it was in when it was made. */
static struct dso_reader *open_library(const struct capture *c, const struct perf_read *r)
{
	const char *base = strrchr(r->text, '/');
	struct dso_reader *reader = NULL;
	char path[PATH_MAX];
	int n, err;

	n = snprintf(path, sizeof(path), "%s.krait/%s", c->path, base ? base + 1 : r->text);
	if (n < 0 || n >= (int)sizeof(path))
		return NULL;
	err = dso_reader__open(&reader, path, r->build_id, r->build_id_size);
	if (err)
		log_debug("snapshot", "%s: %s", path, strerror(-err));
	return err ? NULL : reader;
}

/* ---- records ---------------------------------------------------------------------------------- */

static int write_library(struct merge *m, const struct perf_stamp *s, unsigned number)
{
	const struct mapping at = { dso_start(number), dso_start(number) + DSO_STRIDE, 0, { NULL } };
	struct perf_object object;
	int err = announcer_dso(m->files, number, &object);

	return err ? err : perf_writer__mapping(m->writer, s, &at, &object);
}

/* Announces the libraries that the process does not have yet. */
static int announce_libraries(struct merge *m, const struct perf_read *r)
{
	const struct perf_stamp stamp = {
		.pid = r->pid, .tid = r->tid, .cpu = r->cpu, .time_ns = r->time_ns
	};
	unsigned *has = merge_processes_libraries(&m->processes, r->pid);
	int err = has ? 0 : -ENOMEM;

	while (!err && *has < dso__generations(dso_files__dso(m->files)))
		err = write_library(m, &stamp, (*has)++);
	return err;
}

static int copy_record(struct merge *m, const struct perf_read *r)
{
	if (vec_reserve(m->copy, m->copy_cap, r->raw_size))
		return -ENOMEM;
	memcpy(m->copy, r->raw, r->raw_size);
	return 0;
}

/* Moves an address of Python; others stay. */
static int move_address(struct merge *m, size_t at)
{
	__u64 address;

	memcpy(&address, m->copy + at, sizeof(address));
	if (!merge_python__is(address))
		return 0;
	address = merge_python__address(m->python, address);
	memcpy(m->copy + at, &address, sizeof(address));
	return address ? 0 : -ENOMEM;
}

static int take_sample(struct merge *m, const struct perf_read *r)
{
	size_t chain = (size_t)((const char *)r->chain - (const char *)r->raw);
	int err = copy_record(m, r);

	if (!err)
		err = move_address(m, SAMPLE_IP_OFFSET);
	for (unsigned i = 0; i < r->chain_cnt && !err; i++)
		err = move_address(m, chain + i * sizeof(__u64));
	if (!err)
		err = announce_libraries(m, r);
	if (!err)
		err = perf_writer__raw(m->writer, m->copy, r->raw_size);
	if (err)
		return err;
	perf_writer__saw(m->writer, r->time_ns);
	m->stats.samples++;
	m->samples[r->event < m->event_cnt ? r->event : 0]++;
	if (!m->stats.first_ns || r->time_ns < m->stats.first_ns)
		m->stats.first_ns = r->time_ns;
	if (r->time_ns > m->stats.last_ns)
		m->stats.last_ns = r->time_ns;
	return 0;
}

/* In each capture the first name of a process denotes a new image, without the old one's mappings. */
static int take_comm(struct merge *m, const struct perf_read *r)
{
	struct perf_event_header *header;
	int is_new = r->pid == r->tid ? merge_processes_begin(&m->processes, r->pid, r->exec) : 0;
	int err = is_new < 0 ? is_new : copy_record(m, r);

	if (err)
		return err;
	header = (struct perf_event_header *)m->copy;
	if (is_new)
		header->misc |= PERF_RECORD_MISC_COMM_EXEC;
	return perf_writer__raw(m->writer, m->copy, r->raw_size);
}

static int take_mapping(struct merge *m, const struct capture *c, const struct perf_read *r)
{
	if (!r->in_kernel && merge_python__is(r->start)) {
		/* Whether hostile or not, an unreadable library just has no names. */
		if (!merge_python__has(m->python, r->start) &&
		    merge_python__add(m->python, r->start, open_library(c, r)))
			m->stats.skipped++;
		return 0;
	}
	if (r->in_kernel && !merge_processes_is_new_kernel(&m->processes, r))
		return 0;
	return perf_writer__raw(m->writer, r->raw, r->raw_size);
}

static int take(struct merge *m, const struct capture *c, const struct perf_read *r)
{
	switch (r->kind) {
	case PERF_READ_SAMPLE:
		return r->chain_cnt ? take_sample(m, r) : 0;
	case PERF_READ_COMM:
		return take_comm(m, r);
	case PERF_READ_MAPPING:
		return take_mapping(m, c, r);
	case PERF_READ_LOST:
	case PERF_READ_FORK:
	case PERF_READ_EXIT:
	case PERF_READ_SWITCH:
		return perf_writer__raw(m->writer, r->raw, r->raw_size);
	case PERF_READ_ROUND:
	case PERF_READ_OTHER:
		return 0;
	}
	return 0;
}

/* ---- captures --------------------------------------------------------------------------------- */

/* Without accounts, counts only its samples: what was lost is unknown. */
static int count_torn(struct merge *m, unsigned event, __u64 samples)
{
	char name[64], prefix[32] = "";
	int err;

	if (event)
		snprintf(prefix, sizeof(prefix), "event%u.", event);
	snprintf(name, sizeof(name), "%sinterrupts", prefix);
	err = merge_notes__count(m->notes, name, samples);
	snprintf(name, sizeof(name), "%s%s.%s", prefix, outcome_name(OUTCOME_COMPLETE),
		 reason_name(REASON_PYTHON));
	return err ? err : merge_notes__count(m->notes, name, samples);
}

static int take_notes(struct merge *m, const struct capture *c)
{
	const char *notes = merge_python__notes(m->python);
	int err;

	if (c->dated && notes)
		return merge_notes__add(m->notes, notes);
	m->stats.torn++;
	err = merge_notes__add_names(m->notes, notes ? notes : "");
	for (unsigned i = 0; i < m->event_cnt && !err; i++)
		err = count_torn(m, i, m->samples[i]);
	return err;
}

static void take_facts(struct merge *m, struct capture *c, __s64 wall_offset_ns)
{
	const struct perf_read_facts *f = perf_reader__facts(c->reader);

	/* krait writes the features last. */
	c->dated = *f->version;
	if (!*m->facts.version)
		m->facts = *f;
	if (!m->stats.wall_offset_ns)
		m->stats.wall_offset_ns = f->wall_offset_ns ? f->wall_offset_ns : wall_offset_ns;
}

static int read_records(struct merge *m, struct capture *c)
{
	struct perf_read record;
	int result;

	while ((result = perf_reader__next(c->reader, &record)) > 0) {
		int err = take(m, c, &record);

		if (err)
			return err;
	}
	return result;
}

static int add_capture(struct merge *m, struct capture *c, __s64 wall_offset_ns)
{
	int err = m->writer ? 0 : start_writer(m, c);

	if (err == -ENODATA)
		return 0; /* truncated before its first record */
	if (err)
		return err;
	if (!has_same_events(m, c)) {
		m->stats.other_events++;
		return 0;
	}
	merge_python__clear(m->python);
	merge_processes_clear(&m->processes);
	memset(m->samples, 0, m->event_cnt * sizeof(*m->samples));
	take_facts(m, c, wall_offset_ns);
	err = read_records(m, c);
	m->stats.skipped += perf_reader__stats(c->reader)->skipped;
	m->stats.captures++;
	return err ? err : take_notes(m, c);
}

int merge__add(struct merge *m, const char *path, __s64 wall_offset_ns, struct error *err)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	cleanup_fclose FILE *in = fd < 0 ? NULL : fdopen(fd, "r");
	struct capture c = { .path = path };
	struct stat st;
	int result;

	if (!in || fstat(fd, &st) || !S_ISREG(st.st_mode))
		return error_set(err, in ? EINVAL : errno, EXIT_CODE_OUTPUT, "cannot open %s: %s",
				 path, in ? "it is not a regular file" : strerror(errno));
	result = perf_reader__open(&c.reader, in, path, err);
	if (result)
		return result;
	result = add_capture(m, &c, wall_offset_ns);
	perf_reader__free(c.reader);
	if (result)
		return error_set(err, -result, EXIT_CODE_OUTPUT, "%s: %s", path, strerror(-result));
	return 0;
}

static int finish_writer(struct merge *m)
{
	__u32 cnt = dso__generations(dso_files__dso(m->files));
	cleanup_free struct perf_object *list = calloc(cnt, sizeof(*list));
	int err = list ? 0 : -ENOMEM;

	for (__u32 i = 0; i < cnt && !err; i++)
		err = announcer_dso(m->files, i, &list[i]);
	return err ? err : perf_writer__finish(m->writer, list, cnt);
}

static void fill_recording(struct merge *m)
{
	struct recording *r = &m->recording;

	r->host = m->facts.host;
	r->kernel = m->facts.kernel;
	r->command_line = *m->facts.command_line ? m->facts.command_line : NULL;
	r->began_ns = m->stats.first_ns;
	r->seconds = (double)(m->stats.last_ns - m->stats.first_ns) / 1e9;
	if (m->stats.wall_offset_ns)
		r->began_wall_ns = (__s64)m->stats.first_ns + m->stats.wall_offset_ns;
}

int merge__finish(struct merge *m)
{
	cleanup_free char *notes = merge_notes__text(m->notes);
	int err = notes ? 0 : -ENOMEM;

	if (!m->writer || !m->stats.samples)
		return -ENODATA;
	fill_recording(m);
	merge_notes__totals(m->notes, &m->stats.interrupts, &m->stats.lost, &m->stats.why_lost);
	if (!err)
		err = dso_files__finish(m->files, m->dict, notes);
	if (!err)
		err = finish_writer(m);
	if (!err && m->place)
		err = dso_files__publish(m->files, m->place->kept_name);
	return err;
}

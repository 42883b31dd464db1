/* SPDX-License-Identifier: BSD-2-Clause */
#include "record/unwinding/made_code.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/types.h>
#include <unistd.h>

#include "record/follow/processes.h"
#include "process/space/modules.h"
#include "process/space/space.h"
#include "native/names/native_files.h"
#include "native/names/symbol_reader.h"
#include "record/unwinding/unwind_files.h"
#include "process/probe/probed.h"
#include "native/rows/made_rows.h"
#include "native/rows/tables.h"
#include "base/data/cleanup.h"
#include "base/data/hash.h"
#include "base/text/log.h"
#include "base/data/memory.h"
#include "base/share/quota.h"

#define GROUPS_MAX 4
/* Per mapping: trampolines total 64 KiB, and an .eh_frame lies right behind its code. */
#define CODE_BYTES (64U << 10)
#define BEHIND_BYTES (128U << 10)
#define BEFORE_BYTES (64U << 10)
#define LEAST_BYTES 4096ULL
/* Between two looks: the shortest pause, and the longest after looks without a result. */
#define PAUSE_NS 10000000ULL
#define PAUSE_RARE_NS 5000000000ULL
/* A group takes at least this much room, which also limits the number of groups. */
#define GROUP_WORDS 4096U

struct group {
	__u64 start, end; /* of all its code */
	__u32 number, words; /* words: taken from the quota */
	__u64 hash; /* of what was read */
};

struct made_code {
	struct made_code_tools tools;
	struct group groups[GROUPS_MAX];
	unsigned group_cnt, owner;
	__u64 generation; /* of the numbers */
	__u64 look_ns, pause_ns; /* when the next look is due */
	bool refused; /* its memory upsets parsers: give up */
};

bool made_code_is(const struct mapping *mapping)
{
	return !*module__name(mapping->module);
}

struct made_code *made_code__new(const struct made_code_tools *tools)
{
	struct made_code *m = calloc(1, sizeof(*m));

	if (m)
		m->tools = *tools;
	return m;
}

static void drop_group(struct made_code *m, struct group *g)
{
	unwind_files__release(m->tools.files, g->number);
	quota__give(m->tools.words, m->owner, g->words);
	*g = (struct group){ 0 };
}

void made_code__free(struct made_code *m)
{
	if (!m)
		return;
	for (unsigned i = 0; i < m->group_cnt; i++)
		drop_group(m, &m->groups[i]);
	free(m);
}

__u64 made_code__generation(const struct made_code *m)
{
	return m->group_cnt ? m->generation : 0;
}

__u32 made_code__number(const struct made_code *m, const struct mapping *mapping, __u64 *ret_base)
{
	for (unsigned i = 0; i < m->group_cnt; i++) {
		const struct group *g = &m->groups[i];

		if (mapping->start >= g->start && mapping->end <= g->end) {
			*ret_base = g->start;
			return g->number;
		}
	}
	return 0;
}

/* ---- reading ---------------------------------------------------------------------------------- */

struct image {
	struct made_header header;
	__u8 *bytes;
	__u32 size;
};

/* False: some of it cannot be read. */
static bool read_piece(struct image *image, const struct memory *memory, __u64 start, __u64 size)
{
	struct made_header *h = &image->header;

	if (!size || h->piece_cnt == MADE_PIECES_MAX || size > MADE_BYTES_MAX - image->size ||
	    memory_read(memory, start, image->bytes + image->size, size))
		return false;
	h->pieces[h->piece_cnt++] = (struct made_piece){ .addr = start, .size = (__u32)size };
	image->size += (__u32)size;
	return true;
}

/* Reads the same share of each mapping: its code, what lies right behind it, and what lies before. */
static void read_around(struct image *image, const struct process *p, const struct space *space,
			const struct made_code_range *code, __u64 share)
{
	const struct memory *memory = probed__memory(p->probed);
	__u64 start, end;

	read_piece(image, memory, code->start,
		   at_most(code->end - code->start, at_most(CODE_BYTES, share / 2)));
	/* Parts of it may not be readable: then read less. */
	if (space__data(space, code->end, &start, &end)) {
		end = at_most(end - code->end, at_most(BEHIND_BYTES, share / 4));
		while (end >= LEAST_BYTES && !read_piece(image, memory, code->end, end))
			end = end / 2 & ~(LEAST_BYTES - 1);
	}
	if (space__data(space, code->start - 1, &start, &end)) {
		end = at_most(code->start - start, at_most(BEFORE_BYTES, share / 4));
		while (end >= LEAST_BYTES && !read_piece(image, memory, code->start - end, end))
			end = end / 2 & ~(LEAST_BYTES - 1);
	}
}

/* Writes the image to a file for a parser. Returns a descriptor, or -1. */
static int image_fd(const struct image *image)
{
	cleanup_close int fd = memfd_create("made", MFD_CLOEXEC);

	if (fd < 0 ||
	    write(fd, &image->header, sizeof(image->header)) != (ssize_t)sizeof(image->header))
		return -1;
	for (__u32 done = 0; done < image->size;) {
		ssize_t n = write(fd, image->bytes + done, image->size - done);

		if (n <= 0)
			return -1;
		done += (__u32)n;
	}
	return take_fd(&fd);
}

static __u64 hash_of(const struct image *image)
{
	__u64 hash = image->header.code_cnt, word;

	for (__u32 i = 0; i + sizeof(word) <= image->size; i += sizeof(word)) {
		memcpy(&word, image->bytes + i, sizeof(word));
		hash = hash_step(hash, word);
	}
	return hash ? hash : 1;
}

/* ---- groups ----------------------------------------------------------------------------------- */

/* The user whose parser serves the process: one that serves root serves nobody else. */
static uid_t parser_owner(const struct process *p)
{
	const struct py_process *ids = probed__ids(p->probed, false);

	return ids && ids->uid == ids->euid ? ids->uid : SYMBOL_OWNER_NOBODY;
}

static __u32 words_of(const struct unwind_rows *rows)
{
	__u64 words = (__u64)rows->rule_cnt * sizeof(struct unwind_rule) / sizeof(__u32) +
		      2ULL * rows->page_cnt + rows->row_cnt;

	return words < GROUP_WORDS ? GROUP_WORDS : (__u32)words;
}

static int set_rows(struct made_code *m, struct process *p, struct group *g, __u64 now_ns,
		    const struct unwind_rows *rows)
{
	__u32 words = words_of(rows);
	int err;

	quota__give(m->tools.words, m->owner, g->words);
	g->words = 0;
	m->owner = p->owner;
	err = quota__take(m->tools.words, m->owner, words);
	if (err)
		return err;
	g->words = words;
	return unwind_tables__set_rows(m->tools.tables, g->number, rows,
				       (__u32)(now_ns >> UNWIND_NOW_SHIFT));
}

/* Reads the group's rows, if its memory has changed since the last time. True: they are new. */
static bool read_rows(struct made_code *m, struct process *p, struct group *g,
		      const struct image *image, __u64 now_ns)
{
	__u64 hash = hash_of(image);
	struct unwind_rows rows;
	cleanup_close int fd = -1;
	int err;

	if (hash == g->hash)
		return false;
	g->hash = hash;
	fd = image_fd(image);
	if (fd < 0)
		return false;
	err = symbol_reader__made_rows(native_files__reader(m->tools.native_files), fd,
				       parser_owner(p), &rows);
	if (!err)
		err = set_rows(m, p, g, now_ns, &rows);
	if (err == -EAGAIN)
		g->hash = 0; /* try again later */
	else if (err)
		unwind_tables__set_none(m->tools.tables, g->number);
	m->refused |= err == -EPIPE || err == -ETIMEDOUT || err == -EPROTO;
	log_debug("unwind", "made code of %d at %llx in %u mappings, %u bytes read: %s (%u)",
		  p->pid, g->start, image->header.code_cnt, image->size,
		  err ? strerror(-err) : "rows", err ? 0 : rows.row_cnt);
	return !err;
}

/* Collects mappings from *next on that lie near each other. Returns 0 if none are left. */
static unsigned fill_group(const struct space *space, unsigned *next, struct made_header *ret)
{
	const struct mapping *list;
	unsigned cnt;

	list = space__mappings(space, &cnt);
	ret->code_cnt = ret->piece_cnt = 0;
	for (; *next < cnt; (*next)++) {
		const struct mapping *at = &list[*next];

		if (!made_code_is(at) || at->end - at->start > MADE_SPAN_MAX)
			continue;
		if (!ret->code_cnt)
			ret->base = at->start;
		if (at->end - ret->base > MADE_SPAN_MAX || ret->code_cnt == MADE_CODE_MAX)
			break;
		ret->code[ret->code_cnt++] = (struct made_code_range){ at->start, at->end };
	}
	return ret->code_cnt;
}

/* The group for that code: the same as before, or a new one in its place. NULL: no number left. */
static struct group *place_group(struct made_code *m, const struct process *p, unsigned i,
				 const struct made_header *h)
{
	struct group *g = &m->groups[i];
	__u64 end = h->code[h->code_cnt - 1].end;

	if (i < m->group_cnt && g->start == h->base) {
		if (end > g->end)
			g->end = end;
		return g;
	}
	if (i < m->group_cnt)
		drop_group(m, g);
	*g = (struct group){ .start = h->base, .end = end };
	g->number = unwind_files__hold_made(m->tools.files, p->owner);
	if (!g->number)
		return NULL;
	/* Until it has rows it is unwound by frame pointers. */
	unwind_tables__set_none(m->tools.tables, g->number);
	m->generation++;
	return g;
}

/* True: some rows are new. */
static bool look(struct made_code *m, struct process *p, const struct space *space,
		 struct image *image, __u64 now_ns)
{
	bool found = false;
	unsigned next = 0, i = 0;

	for (; i < GROUPS_MAX && fill_group(space, &next, &image->header); i++) {
		struct made_header *h = &image->header;
		struct group *g = place_group(m, p, i, h);

		if (!g)
			break;
		if (i >= m->group_cnt)
			m->group_cnt = i + 1;
		image->size = 0;
		for (unsigned k = 0; k < h->code_cnt; k++)
			read_around(image, p, space, &h->code[k], MADE_BYTES_MAX / h->code_cnt);
		found |= read_rows(m, p, g, image, now_ns);
	}
	while (m->group_cnt > i)
		drop_group(m, &m->groups[--m->group_cnt]);
	return found;
}

bool made_code__look(struct made_code *m, struct process *p, const struct space *space, bool mapped,
		     __u64 now_ns)
{
	__u64 before = made_code__generation(m);
	cleanup_free struct image *image = NULL;
	bool found;

	if (mapped)
		m->pause_ns = 0;
	if (m->refused || (!mapped && now_ns < m->look_ns) || !p->probed)
		return false;
	image = calloc(1, sizeof(*image));
	if (image)
		image->bytes = malloc(MADE_BYTES_MAX);
	if (!image || !image->bytes)
		return false;
	found = look(m, p, space, image, now_ns);
	free(image->bytes);
	m->pause_ns = found ? PAUSE_NS : 2 * m->pause_ns;
	if (m->pause_ns < PAUSE_NS)
		m->pause_ns = PAUSE_NS;
	if (m->pause_ns > PAUSE_RARE_NS)
		m->pause_ns = PAUSE_RARE_NS;
	m->look_ns = now_ns + m->pause_ns;
	return made_code__generation(m) != before;
}

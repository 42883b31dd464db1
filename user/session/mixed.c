/* SPDX-License-Identifier: BSD-2-Clause */
#include "session/mixed.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "profile/frames.h"
#include "profile/marks.h"
#include "follow/processes.h"
#include "proc/modules.h"
#include "proc/space.h"
#include "sampler/record.h"
#include "symbol/kernel_symbols.h"
#include "symbol/native.h"

/* Those of a record, and the caller of a leaf without a frame, which lies below all others. */
#define MIXED_NATIVES (KRAIT_MAX_NATIVE + 1)
#define LEAF_FRAME_ADDR 1

struct mixed {
	struct mixed_options options;
	struct dict *dict;
	struct native_files *files;
	struct mixed_stats stats;

	/* The stack that is being joined. */
	struct native_frame natives[MIXED_NATIVES];
	struct native_symbol *symbols[MIXED_NATIVES]; /* NULL unknown */
	__u8 origins[MIXED_NATIVES];
	__u32 native_cnt;
	const __u64 *kernel;
	struct join join;
};

struct mixed *mixed__new(const struct mixed_options *options, struct native_files *files,
			 struct dict *dict)
{
	struct mixed *m = calloc(1, sizeof(*m));

	if (!m)
		return NULL;
	m->options = *options;
	m->dict = dict;
	m->files = files;
	if (files && !options->interpreter)
		native_files__skip_interpreter(files);
	return m;
}

void mixed__free(struct mixed *m)
{
	if (!m)
		return;
	join_free(&m->join);
	free(m);
}

/* ---- joining ---------------------------------------------------------------------------------- */

/* Where a caller goes on may be the first instruction of another function: the call is before. */
static struct native_symbol *resolve(const struct mixed *m, struct native *native, __u32 i,
				     __u64 now_ns)
{
	if (!i)
		return native__find(native, m->natives[i].ip, now_ns);
	return native__find_caller(native, m->natives[i].ip - 1, now_ns);
}

/*
 * The leaf may have no frame of its own, at its first instructions or because it needs none: then the
 * chain goes on at its caller's caller. .eh_frame says so, and where its return address is. The leaf
 * then lies below all other frames. The caller's address, or 0.
 */
static __u64 hidden_caller(struct native *native, const struct record_sample *record, __u64 ip)
{
	/* Found first: of a file that nobody has opened yet nothing is known. */
	int word = native__find(native, ip, record->time_ns) ? native__return_word(native, ip) : -1;
	__u32 cnt;
	const __u64 *leaf = record__section(record, SECTION_LEAF, &cnt);

	if (word < 0 || (__u32)word >= cnt || !leaf[word])
		return 0;
	return native__find_caller(native, leaf[word] - 1, record->time_ns) ? leaf[word] : 0;
}

/* The record's frames, and the one that it cannot have. */
static void copy_natives(struct mixed *m, struct native *native, const struct record_sample *record)
{
	__u32 cnt;
	const struct native_frame *natives = record__section(record, SECTION_NATIVE, &cnt);
	__u64 caller = cnt ? hidden_caller(native, record, natives[0].ip) : 0;

	m->native_cnt = 0;
	if (caller) {
		m->natives[m->native_cnt++] =
			(struct native_frame){ natives[0].ip, LEAF_FRAME_ADDR };
		m->natives[m->native_cnt++] =
			(struct native_frame){ caller, natives[0].frame_addr };
	}
	for (__u32 i = caller ? 1 : 0; i < cnt; i++)
		m->natives[m->native_cnt++] = natives[i];
}

/*
 * A caller that is in no code says that the frame above it has no frame pointer, but something that
 * looked like one: the chain ends there.
 */
static void take_natives(struct mixed *m, struct native *native, const struct record_sample *record,
			 enum native_reason *reason)
{
	copy_natives(m, native, record);
	for (__u32 i = 0; i < m->native_cnt; i++) {
		m->symbols[i] = resolve(m, native, i, record->time_ns);
		if (!m->symbols[i] && i) {
			m->natives[i - 1].frame_addr = 0;
			m->native_cnt = i;
			*reason = NATIVE_NO_FRAME_POINTER;
			return;
		}
		m->origins[i] = m->symbols[i] ? module__origin(m->symbols[i]->module) :
						ORIGIN_OTHER;
	}
}

static void count(struct mixed *m, enum native_reason reason)
{
	m->stats.samples++;
	if (m->join.complete)
		m->stats.complete++;
	else if (reason == NATIVE_COMPLETE)
		m->stats.truncated[NATIVE_NO_FRAME_POINTER]++;
	else
		m->stats.truncated[reason]++;
}

int mixed__join(struct mixed *m, struct process *p, const struct record_sample *record,
		const struct frame *frames, __u32 frame_cnt, const struct join **ret)
{
	enum native_reason reason = record->native_reason;
	unsigned mapping_cnt = 0;
	struct join_input in = {
		.frames = frames,
		.frame_cnt = frame_cnt,
		.natives = m->natives,
		.origins = m->origins,
		.interpreter = m->options.interpreter,
	};
	int err;

	m->native_cnt = 0;
	m->kernel = record__section(record, SECTION_KERNEL, &in.kernel_cnt);
	if (p->native && reason != NATIVE_NONE) {
		take_natives(m, p->native, record, &reason);
		space__mappings(p->space, &mapping_cnt);
	}
	in.taken = mapping_cnt > 0 && reason != NATIVE_NO_REGS;
	/* There is code at the leaf always, be it the interpreter's. */
	in.unknown = m->options.native && !in.taken && reason != NATIVE_NONE;
	m->stats.unknown += in.unknown && reason != NATIVE_NO_REGS;
	m->stats.frames += record->cnt[SECTION_NATIVE];
	m->stats.kernel_frames += in.kernel_cnt;
	m->stats.kernel_samples += in.kernel_cnt > 0;
	in.native_cnt = in.taken ? m->native_cnt : 0;
	in.ended = reason == NATIVE_COMPLETE;
	err = join_stacks(&m->join, &in);
	if (err)
		return err;
	if (in.taken || reason == NATIVE_NO_REGS)
		count(m, reason);
	*ret = &m->join;
	return 0;
}

/* ---- frames ----------------------------------------------------------------------------------- */

__u64 mixed__address(const struct mixed *m, const struct join_item *item)
{
	if (item->kind == JOIN_NATIVE)
		return m->natives[item->index].ip;
	return item->kind == JOIN_KERNEL ? m->kernel[item->index] : 0;
}

static __u32 native_node(struct mixed *m, const struct join_item *item)
{
	struct native_symbol *s = m->symbols[item->index];
	__u32 frame;

	if (!s)
		return frame_unknown(m->dict);
	if (m->options.addresses)
		return frame_native(m->dict, s->name, module__name(s->module),
				    m->natives[item->index].ip);
	frame = dict__tagged(m->dict, s->tag);
	if (!frame) {
		frame = frame_native(m->dict, s->name, module__name(s->module), 0);
		s->tag = dict__tag(m->dict, frame);
	}
	return frame;
}

static __u32 kernel_node(struct mixed *m, const struct join_item *item)
{
	__u64 address = m->kernel[item->index];
	/* The leaf is at its own address, the others go on behind a call. */
	struct kernel_symbol *s =
		kernel_symbols__find(m->options.kernel_symbols, address - (item->index > 0));
	__u32 frame;

	if (!s || m->options.addresses)
		return frame_kernel(m->dict, s ? s->name : NULL, s ? s->module : "",
				    m->options.addresses ? address : 0);
	frame = dict__tagged(m->dict, s->tag);
	if (!frame) {
		frame = frame_kernel(m->dict, s->name, s->module, 0);
		s->tag = dict__tag(m->dict, frame);
	}
	return frame;
}

__u32 mixed__frame(struct mixed *m, const struct join_item *item)
{
	if (item->kind == JOIN_NATIVE)
		return native_node(m, item);
	if (item->kind == JOIN_KERNEL)
		return kernel_node(m, item);
	return frame_mark(m->dict,
			  item->kind == JOIN_UNKNOWN ? MARK_NATIVE_UNKNOWN : MARK_NATIVE_TRUNCATED);
}

const struct mixed_stats *mixed__stats(const struct mixed *m)
{
	return &m->stats;
}

const char *native_reason_name(enum native_reason reason)
{
	static const char *const names[NATIVE_REASON_CNT] = {
		[NATIVE_NONE] = "none",
		[NATIVE_COMPLETE] = "complete",
		[NATIVE_NO_FRAME_POINTER] = "no frame pointer",
		[NATIVE_FAULT] = "fault",
		[NATIVE_LIMIT] = "depth",
		[NATIVE_NO_REGS] = "no registers",
	};

	return reason < NATIVE_REASON_CNT ? names[reason] : "unknown";
}

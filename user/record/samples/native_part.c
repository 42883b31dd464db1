/* SPDX-License-Identifier: BSD-2-Clause */
#include "record/samples/native_part.h"

#include <stdlib.h>
#include <string.h>

#include "kernel/sampler/record.h"
#include "native/names/kernel_symbols.h"
#include "native/names/native.h"
#include "process/space/modules.h"
#include "process/space/space.h"
#include "profile/frames.h"
#include "profile/marks.h"
#include "record/follow/processes.h"
#include "record/samples/late_names.h"
#include "record/samples/native_places.h"
#include "record/samples/native_stack.h"
#include "record/samples/own.h"
#include "record/unwinding/unwinding.h"

/* ---- greenlets -------------------------------------------------------------------------------- */

/*
 * If greenlet is on the C stack of a sample: does that stack belong to the sample's Python frames?
 *
 * From CPython 3.12 on greenlet unlinks the entry frames of a chain before it exchanges C stacks
 * (bpf/python/greenlet_switching.h), so a chain with entry frames belongs to the C stack. While it is unlinking them
 * some are missing, which the chain does not show; but then there are more evaluations on the C
 * stack than activations in the chain. 3.11 keeps the links between activations on the C stack, and
 * the kernel has compared them: each lies where its link says, if there is a native frame.
 */

static __u32 find_switcher(const struct join_input *s, __u32 i)
{
	while (i < s->native_cnt && s->origins[i] != ORIGIN_SWITCHER)
		i++;
	return i;
}

static __u32 count_activations(const struct join_input *s)
{
	__u32 cnt = 0;

	for (__u32 i = 0; i + 1 < s->frame_cnt; i++) {
		const struct frame *f = &s->frames[i];

		cnt += !f->code_addr && f->frame_addr && f[1].code_addr;
	}
	return cnt;
}

/*
 * Evaluations of the greenlet on whose C stack greenlet's own frames lie, in natives[.. behind -
 * 1].
 */
static __u32 count_evaluations(const struct join_input *s, struct native *native, __u32 behind)
{
	__u32 cnt = 0, end = find_switcher(s, behind);
	bool later;

	for (__u32 i = behind; i < end; i++)
		cnt += s->origins[i] == ORIGIN_INTERPRETER &&
		       native__is_eval(native, s->natives[i].ip - 1, &later);
	return cnt;
}

static __u64 leaf_entry_addr(const struct join_input *s)
{
	for (__u32 i = s->frame_cnt; i-- > 0;) {
		if (!s->frames[i].code_addr && s->frames[i].frame_addr)
			return s->frames[i].frame_addr;
	}
	return 0;
}

/*
 * Do greenlet's frames, from natives[i] on, lie above the evaluation of the leaf frame? What an
 * evaluation keeps in memory may still be there after the C stack has shrunk; it then looks as if
 * it were in natives[0].
 */
static bool is_above(const struct join_input *s, struct native *native, __u32 i)
{
	__u64 addr = leaf_entry_addr(s);
	bool later;

	if (!i || addr >= s->natives[i - 1].frame_addr)
		return true;
	return addr < s->natives[0].frame_addr &&
	       !native__is_eval(native, s->natives[0].ip, &later);
}

/*
 * For a sample whose frames are a whole chain, walked to its end: the Python and native frames of s.
 * native: names in that process; has_owner: its frames are PY_FRAME_OWNER.
 */
static enum join_chain greenlet_chain(const struct join_input *s, struct native *native,
				      bool has_owner)
{
	__u32 i = find_switcher(s, 0);
	bool may_expose = false;

	if (i == s->native_cnt)
		return JOIN_CHAIN_ANY; /* greenlet is not on the stack */
	if (!has_owner)
		return is_above(s, native, i) ? JOIN_CHAIN_SWITCHING : JOIN_CHAIN_ANY;
	for (; i < s->native_cnt && s->origins[i] == ORIGIN_SWITCHER; i++)
		may_expose = may_expose || native__may_expose(native, s->natives[i].ip - (i > 0));
	return !may_expose || count_evaluations(s, native, i) == count_activations(s) ?
		       JOIN_CHAIN_OWN :
		       JOIN_CHAIN_ANY;
}

/* ---- native part ------------------------------------------------------------------------------ */

struct native_part {
	struct native_part_options options;
	struct dict *dict;
	struct native_files *files;
	struct unwinding *unwinding; /* borrowed; NULL until connected */
	struct native_places *places; /* borrowed; NULL: not wanted */
	struct late_names *late; /* NULL: names are requested at once */
	struct native_part_stats stats;

	/* The stack that is being joined. */
	struct native_stack stack;
	__u64 now_ns;
	struct join join;
};

struct native_part *native_part__new(const struct native_part_options *options,
				     struct native_files *files, struct dict *dict)
{
	struct native_part *m = calloc(1, sizeof(*m));

	if (!m)
		return NULL;
	m->options = *options;
	m->dict = dict;
	m->files = files;
	if (files && !options->interpreter)
		native_files__skip_interpreter(files);
	if (files && options->addresses && options->late_names) {
		m->late = late_names__new(files, dict, options->fetches);
		if (!m->late) {
			free(m);
			return NULL;
		}
	}
	return m;
}

void native_part__free(struct native_part *m)
{
	if (!m)
		return;
	late_names__free(m->late);
	free(m);
}

void native_part__keep_places(struct native_part *m, struct native_places *places)
{
	m->places = places;
}

void native_part__process_gone(struct native_part *m, const struct process *p)
{
	if (m->late)
		late_names__forget(m->late, p->native);
}

struct late_names *native_part__late_names(const struct native_part *m)
{
	return m ? m->late : NULL;
}

void native_part__connect(struct native_part *m, struct unwinding *unwinding)
{
	m->unwinding = unwinding;
}

/* ---- joining ---------------------------------------------------------------------------------- */

/* What stands between code that the kernel was in and a BPF program which it runs there. */
static bool runs_programs(const struct kernel_symbol *s)
{
	static const char *const starts[] = {
		"bpf_trace_run",	 "__bpf_trace_",	"bpf_trampoline_",
		"trace_call_bpf",	 "kprobe_perf_func",	"kprobe_dispatcher",
		"kprobe_ftrace_handler", "perf_trace_run_bpf",	"bpf_overflow_handler",
		"__perf_event_overflow", "perf_event_overflow", "perf_swevent_hrtimer",
		"__hrtimer_run_queues",	 "hrtimer_interrupt",
	};

	for (size_t i = 0; i < sizeof(starts) / sizeof(starts[0]); i++)
		if (!strncmp(s->name, starts[i], strlen(starts[i])))
			return true;
	return false;
}

/*
 * How many frames, leaf first, are krait's: up to the outermost that is one of its BPF programs, and
 * what runs those. They are what krait costs, not what the thread does.
 */
static __u32 own_frames(const struct native_part *m, const __u64 *kernel, __u32 cnt)
{
	struct kernel_symbols *symbols = m->options.kernel_symbols;
	const struct kernel_symbol *s;
	__u32 own = 0;

	for (__u32 i = 0; symbols && i < cnt; i++)
		if (kernel_symbols__is_own(symbols, kernel[i] - (i > 0)))
			own = i + 1;
	while (own && own < cnt) {
		s = kernel_symbols__find(symbols, kernel[own] - 1);
		if (!s || !runs_programs(s))
			break;
		own++;
	}
	return own;
}

static void count(struct native_part *m, enum native_reason reason)
{
	m->stats.samples++;
	if (m->join.complete)
		m->stats.complete++;
	else if (m->join.guessed)
		m->stats.truncated[NATIVE_NO_FRAME_POINTER]++;
	else if (reason == NATIVE_COMPLETE)
		m->stats.truncated[NATIVE_NOT_JOINED]++;
	else
		m->stats.truncated[reason]++;
}

static enum join_chain find_chain(struct native_part *m, const struct process *p,
				  const struct record_sample *record, const struct join_input *in)
{
	if (record->reason == REASON_SWITCHING)
		return JOIN_CHAIN_SWITCHING;
	if (reason_outcome(record->reason) != OUTCOME_COMPLETE || in->evals ||
	    record->anchor == ANCHOR_NOTE_DELTA)
		return JOIN_CHAIN_ANY;
	return greenlet_chain(in, m->stack.native, p->info.offsets.frame_kind == PY_FRAME_OWNER);
}

/*
 * Naming may have seen other mappings than the kernel, and where the chain ended rows may be
 * missing.
 */
static void tell_unwinding(struct native_part *m, struct process *p, enum native_reason reason,
			   __u64 time_ns)
{
	unsigned posts = m->stack.missed_made ? UNWINDING_MISSED_MADE : 0;

	if (reason == NATIVE_NO_FRAME_POINTER || reason == NATIVE_NO_ROWS)
		posts |= UNWINDING_MISSED;
	if (m->unwinding)
		unwinding__post(m->unwinding, p, posts, time_ns);
}

int native_part__items(struct native_part *m, struct process *p, const struct record_sample *record,
		       const struct frame *frames, __u32 frame_cnt, struct items *ret)
{
	enum native_reason reason = record->native_reason;
	unsigned mapping_cnt = 0;
	struct native_stack *s = &m->stack;
	struct join_input in = {
		.frames = frames,
		.frame_cnt = frame_cnt,
		.natives = s->frames,
		.origins = s->origins,
		.guessed = s->guessed,
		.interpreter = m->options.interpreter,
	};
	int err;

	native_stack_clear(s, p->native);
	m->now_ns = record->time_ns;
	in.kernel = record__section(record, SECTION_KERNEL, &in.kernel_cnt);
	in.kernel_own = own_frames(m, in.kernel, in.kernel_cnt);
	/* A wait's stack begins with the program that takes it, which is not part of the wait. */
	in.in_own = in.kernel_own && !record->cnt[SECTION_WAIT];
	if (p->native && reason != NATIVE_NONE) {
		native_stack_take(s, record, &reason);
		tell_unwinding(m, p, reason, record->time_ns);
		if (p->info.offsets.frame_kind == PY_FRAME_OBJECT)
			in.evals = s->evals;
		native_stack_find_roles(s, record, in.evals);
		in.evals_known = s->evals_known;
		in.has_frame = s->has_frame;
		in.unevaluated = p->own->unevaluated;
		space__mappings(p->space, &mapping_cnt);
		in.native_cnt = s->cnt;
		in.chain = find_chain(m, p, record, &in);
	}
	in.evaluator = s->evaluator;
	in.taken = mapping_cnt > 0 && reason != NATIVE_NO_REGS;
	/* There is always native code at the leaf, even if it is only the interpreter's. */
	in.unknown = m->options.native && !in.taken && reason != NATIVE_NONE;
	m->stats.unknown += in.unknown && reason != NATIVE_NO_REGS;
	m->stats.frames += record->cnt[SECTION_NATIVE];
	m->stats.kernel_frames += in.kernel_cnt;
	m->stats.kernel_samples += in.kernel_cnt > 0;
	in.native_cnt = in.taken ? s->cnt : 0;
	in.ended = reason == NATIVE_COMPLETE;
	in.cut = reason == NATIVE_LIMIT ? ITEM_NATIVE_DEPTH : ITEM_NATIVE_TRUNCATED;
	err = join_stacks(&in, ret, &m->join);
	if (err)
		return err;
	p->own->unevaluated = p->own->unevaluated || m->join.unevaluated;
	if (in.taken || reason == NATIVE_NO_REGS)
		count(m, reason);
	return 0;
}

/* ---- frames ----------------------------------------------------------------------------------- */

static void keep_place(struct native_part *m, __u32 i, __u32 frame)
{
	__u64 offset;
	const struct module *module =
		native__place(m->stack.native, native_stack_place(&m->stack, i), &offset);

	if (module)
		native_places__add(m->places, frame, module, offset);
}

/* The function that has the address; counts those that have no name yet. */
static struct native_symbol *symbol_of(struct native_part *m, __u32 i, bool *ret_later)
{
	bool later;
	struct native_symbol *s =
		native__find(m->stack.native, native_stack_place(&m->stack, i), m->now_ns, &later);

	m->stats.names_put_off += later;
	*ret_later = later;
	return s;
}

static bool is_interpreter(const struct native_part *m, __u32 i)
{
	return m->stack.origins[i] == ORIGIN_INTERPRETER;
}

/* The frame of an address; it is created and named when the address is first met. */
static __u32 address_node(struct native_part *m, const struct item *item, bool *ret_later)
{
	__u32 i = item->index;
	__u64 *tag = native__tag(m->stack.native, native_stack_place(&m->stack, i)),
	      ip = item->frame.code_addr;
	__u32 frame = tag ? dict__tagged(m->dict, *tag) : 0;
	struct native_symbol *s;
	__u32 known;

	/* One place has two addresses: as a leaf, and as a caller with that return address. */
	if (frame && dict__frame_at(m->dict, frame)->address == ip)
		return frame;
	s = symbol_of(m, i, ret_later);
	if (!s)
		return frame_unknown(m->dict);
	known = dict__frame_cnt(m->dict);
	frame = frame_native(m->dict,
			     &(struct native_place){ .name = s->name,
						     .path = module__name(s->module),
						     .address = ip,
						     .is_wrapper = s->is_wrapper,
						     .is_interpreter = is_interpreter(m, i) });
	if (m->places && frame > known)
		keep_place(m, i, frame);
	tag = native__tag(m->stack.native, native_stack_place(&m->stack, i));
	if (tag)
		*tag = dict__tag(m->dict, frame);
	return frame;
}

/*
 * An address met as a leaf and as a caller has two frames: it is one place, but may belong to two
 * functions.
 */
static __u32 place_number(const struct module *module, bool is_caller)
{
	return 2 * module__number(module) + is_caller + 1;
}

/* Like address_node(), but the frame gets its name later. */
static __u32 late_node(struct native_part *m, const struct item *item)
{
	__u32 i = item->index;
	__u64 *tag = native__place_tag(m->stack.native, native_stack_place(&m->stack, i)),
	      ip = item->frame.code_addr, offset;
	__u32 frame = tag ? dict__tagged(m->dict, *tag) : 0, known;
	const struct native_symbol *unnamed;
	struct module *module;

	if (frame && dict__frame_at(m->dict, frame)->address == ip)
		return frame;
	module =
		native__meet(m->stack.native, native_stack_place(&m->stack, i), m->now_ns, &offset);
	unnamed = module ? native_files__unnamed(m->files, module) : NULL;
	if (!unnamed)
		return frame_unknown(m->dict);
	known = dict__frame_cnt(m->dict);
	frame = frame_native(m->dict,
			     &(struct native_place){ .name = unnamed->name,
						     .path = module__name(module),
						     .address = ip,
						     .number = place_number(module, i > 0),
						     .is_interpreter = is_interpreter(m, i) });
	if (frame > known) {
		late_names__add(m->late, frame, m->stack.native, module, offset);
		if (m->places)
			native_places__add(m->places, frame, module, offset);
	}
	if (tag)
		*tag = dict__tag(m->dict, frame);
	return frame;
}

static __u32 native_node(struct native_part *m, const struct item *item, bool *ret_later)
{
	struct native_symbol *s;
	__u32 frame;

	if (!m->stack.modules[item->index])
		return frame_unknown(m->dict);
	if (m->late)
		return late_node(m, item);
	if (m->options.addresses)
		return address_node(m, item, ret_later);
	s = symbol_of(m, item->index, ret_later);
	if (!s)
		return frame_unknown(m->dict);
	frame = dict__tagged(m->dict, s->tag);
	if (!frame) {
		frame = frame_native(
			m->dict,
			&(struct native_place){ .name = s->name,
						.path = module__name(s->module),
						.is_wrapper = s->is_wrapper,
						.is_interpreter = is_interpreter(m, item->index) });
		s->tag = dict__tag(m->dict, frame);
	}
	return frame;
}

/* What outputs get for it: nothing, where it is, or a stand-in. */
static __u64 kernel_address(const struct native_part *m, const struct item *item,
			    const struct kernel_symbol *s)
{
	if (!m->options.addresses)
		return 0;
	if (!m->options.hides_kernel)
		return item->frame.code_addr;
	return s && s->number <= KERNEL_HIDDEN_MAX ?
		       KERNEL_HIDDEN + s->number * (__u64)KERNEL_HIDDEN_STEP :
		       0;
}

static __u32 kernel_node(struct native_part *m, const struct item *item)
{
	/* The leaf is at its own address; the others have return addresses. */
	struct kernel_symbol *s = kernel_symbols__find(m->options.kernel_symbols,
						       item->frame.code_addr - (item->index > 0));
	__u32 frame;

	if (!s || m->options.addresses)
		return frame_kernel(m->dict, s ? s->name : NULL, s ? s->module : "",
				    kernel_address(m, item, s));
	frame = dict__tagged(m->dict, s->tag);
	if (!frame) {
		frame = frame_kernel(m->dict, s->name, s->module, 0);
		s->tag = dict__tag(m->dict, frame);
	}
	return frame;
}

static const char *native_mark(enum item_mark mark)
{
	switch (mark) {
	case ITEM_OWN:
		return MARK_OWN;
	case ITEM_NATIVE_DEPTH:
		return MARK_NATIVE_DEPTH;
	case ITEM_NATIVE_UNKNOWN:
		return MARK_NATIVE_UNKNOWN;
	default:
		return MARK_NATIVE_TRUNCATED;
	}
}

__u32 native_part__frame(struct native_part *m, const struct item *item, bool *ret_later)
{
	*ret_later = false;
	if (item->kind == ITEM_NATIVE)
		return native_node(m, item, ret_later);
	if (item->kind == ITEM_KERNEL)
		return kernel_node(m, item);
	return frame_mark(m->dict, native_mark((enum item_mark)item->frame.code_addr));
}

const struct native_part_stats *native_part__stats(const struct native_part *m)
{
	static const struct native_part_stats none;

	return m ? &m->stats : &none;
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
		[NATIVE_NO_RULE] = "no rule",
		[NATIVE_CHANGED] = "tables changed",
		[NATIVE_NO_ROWS] = "rows not read yet",
		[NATIVE_NOT_JOINED] = "not joined",
	};

	return reason < NATIVE_REASON_CNT ? names[reason] : "unknown";
}

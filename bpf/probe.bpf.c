/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * probe.bpf.c - events that are places in code, the kernel's tracepoints and probes in programs: the thread that comes by
 * gets a sample. The kernel runs this program for every thread of the machine, on whatever CPU, so there is one link for
 * each place, whose cookie is the event's index, and from bit 8 on the number of its filter.
 *
 * Needs bpf_loop() (5.17); loaded only if such an event is wanted.
 */
#include "bpf/sample.h"

/* How many times a thread of a tracked process comes by for one sample, by event. */
const volatile __u64 probe_periods[KRAIT_MAX_EVENTS] = {};

/* Times since the last sample, by event. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, KRAIT_MAX_EVENTS);
	__type(key, __u32);
	__type(value, __u64);
} probe_times SEC(".maps");

static __always_inline bool is_due(__u32 event, __u64 period)
{
	__u64 *times;

	if (period <= 1)
		return true;
	times = bpf_map_lookup_elem(&probe_times, &event);
	if (!times || ++*times < period)
		return false;
	*times = 0;
	return true;
}

/* NULL: no sample. */
static __always_inline struct proc_info *probed_process(__u32 event, __u64 now_ns, __u64 *period)
{
	struct proc_info *proc = tracked_process();

	*period = probe_periods[event];
	return proc && now_ns <= end_ns && is_due(event, *period) ? proc : NULL;
}

/* ---- filters ---------------------------------------------------------------------------------- */

/* By number. Only tracepoints have them: the kernel itself runs a program before it looks at an event's filter. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, FILTERS_MAX);
	__type(key, __u32);
	__type(value, struct filter_program);
} probe_filters SEC(".maps");

/* The text of a field. The kernel runs tracepoints' programs with preemption off, one on a CPU. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, char[2 * FILTER_FIELD_MAX]);
} probe_field SEC(".maps");

struct filter_walk {
	void *ctx;
	__u32 number, at;
};

struct text_search {
	const char *text; /* FILTER_FIELD_MAX more bytes follow what is compared */
	const struct filter_test *test;
	__u32 end; /* the last place where it can begin, and one */
	bool found;
};

static __noinline bool is_text_at(const char *text, __u32 at, const struct filter_test *test)
{
	if (!text || !test)
		return false;
	for (__u32 i = 0; i < FILTER_TEXT_MAX && i < test->len; i++)
		if (text[masked(at, FILTER_FIELD_MAX - 1) + i] != test->text[i])
			return false;
	return true;
}

static long search_step(__u32 i, struct text_search *s)
{
	if (i >= s->end)
		return 1;
	s->found = is_text_at(s->text, i, s->test);
	return s->found;
}

static __always_inline bool text_holds(const struct filter_test *test, const void *from)
{
	__u32 zero = 0;
	char *text = bpf_map_lookup_elem(&probe_field, &zero);
	struct text_search s = { .text = text, .test = test };
	long n = -1;

	if (!text)
		return false;
	if (test->field == FILTER_THE_COMM)
		n = bpf_get_current_comm(text, 16) ? -1 : bpf_probe_read_kernel_str(text, 16, text);
	else
		n = bpf_probe_read_kernel_str(text, FILTER_FIELD_MAX, from);
	/* Without its NUL. */
	n = n > 0 ? n - 1 : 0;
	if (test->op == FILTER_IS_NOT)
		return n != test->len || !is_text_at(text, 0, test);
	if (n < test->len)
		return false;
	if (test->op == FILTER_IS)
		return n == test->len && is_text_at(text, 0, test);
	if (test->op == FILTER_BEGINS)
		return is_text_at(text, 0, test);
	if (test->op == FILTER_ENDS)
		return is_text_at(text, n - test->len, test);
	s.end = n - test->len + 1;
	bpf_loop(FILTER_FIELD_MAX, search_step, &s, 0);
	return s.found;
}

static __always_inline __u64 number_of(const struct filter_test *test, const void *from)
{
	const __u32 size = test->size < 8 ? test->size : 8, shift = 64 - 8 * size;
	__u64 value = 0;

	if (test->field == FILTER_THE_TID)
		return (__u32)bpf_get_current_pid_tgid();
	if (test->field == FILTER_THE_CPU)
		return bpf_get_smp_processor_id();
	bpf_probe_read_kernel(&value, size, from);
	return test->is_signed ? (__u64)((__s64)(value << shift) >> shift) : value;
}

static __always_inline bool number_holds(const struct filter_test *test, __u64 value)
{
	const bool less = test->is_signed ? (__s64)value < (__s64)test->value : value < test->value;
	const bool is = value == test->value;

	switch (test->op) {
	case FILTER_IS:
		return is;
	case FILTER_IS_NOT:
		return !is;
	case FILTER_LESS:
		return less;
	case FILTER_LESS_OR_IS:
		return less || is;
	case FILTER_MORE:
		return !less && !is;
	case FILTER_MORE_OR_IS:
		return !less;
	}
	return value & test->value;
}

static long filter_step(__u32 i, struct filter_walk *w)
{
	__u32 number = w->number, at = 0;
	struct filter_program *filter = bpf_map_lookup_elem(&probe_filters, &number);
	const struct filter_test *test;
	bool holds;

	if (!filter)
		return 1;
	test = &filter->tests[masked(w->at, FILTER_TESTS_MAX - 1)];
	at = test->offset;
	if (test->field == FILTER_TEXT_AT) {
		bpf_probe_read_kernel(&at, sizeof(at), w->ctx + at);
		at &= 0xffff;
	}
	if (test->field == FILTER_TEXT || test->field == FILTER_TEXT_AT ||
	    test->field == FILTER_THE_COMM)
		holds = text_holds(test, w->ctx + at);
	else
		holds = number_holds(test, number_of(test, w->ctx + at));
	w->at = holds ? test->yes : test->no;
	return w->at >= FILTER_TESTS_MAX;
}

static __always_inline bool is_wanted(void *ctx, __u32 number)
{
	struct filter_walk w = { .ctx = ctx, .number = number };
	struct filter_program *filter = bpf_map_lookup_elem(&probe_filters, &number);

	if (!filter)
		return false;
	w.at = filter->begin;
	bpf_loop(FILTER_TESTS_MAX, filter_step, &w, 0);
	return w.at == FILTER_TAKE;
}

static __always_inline void on_probe(struct trigger *t, __u32 cookie)
{
	const __u32 event = masked(cookie, KRAIT_MAX_EVENTS - 1);
	const __u64 now_ns = bpf_ktime_get_ns();
	struct proc_info *proc = probed_process(event, now_ns, &t->period);

	if (!proc)
		return;
	t->event = event;
	t->now_ns = t->time_ns = now_ns;
	t->has_loop = t->has_kernel_stack = true;
	take_sample(t, proc);
}

SEC("?tp")
int probe_tracepoint(void *ctx)
{
	const __u64 began_ns = own_begin(), cookie = bpf_get_attach_cookie(ctx);

	/* Of the threads that get samples alone. */
	if (!(cookie >> 8) || (tracked_process() && is_wanted(ctx, cookie >> 8)))
		on_probe(&(struct trigger){ .ctx = ctx,
					    .context = CONTEXT_EVENT,
					    .in_kernel = true },
			 cookie);
	own_end(began_ns);
	return 0;
}

/* Uprobes (perf_events.c attaches it to no others: of a kprobe the task's saved registers would be read). */
SEC("?uprobe")
int probe_code(struct pt_regs *ctx)
{
	const __u64 began_ns = own_begin();

	on_probe(
		&(struct trigger){
			.ctx = ctx,
			.context = CONTEXT_PROBE,
			.in_kernel = !MODE_IS_USER(context_reg(ctx, UNWIND_WORD_MODE)),
			.regs = { context_reg(ctx, UNWIND_WORD_IP),
				  context_reg(ctx, UNWIND_WORD_SP),
				  context_reg(ctx, UNWIND_WORD_FP) },
			.ctx_is_regs = true,
		},
		bpf_get_attach_cookie(ctx));
	own_end(began_ns);
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";

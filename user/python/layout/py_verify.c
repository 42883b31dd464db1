/* SPDX-License-Identifier: BSD-2-Clause */
#include "python/layout/py_verify.h"

#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/data/memory.h"

/* Elements of each list to check; more would prove nothing new. */
#define INTERPS_MAX 64
#define THREADS_MAX 1024
/*
 * Frames of all threads together; each chain may take a quarter of what is left, so that neither a thousand deep
 * threads nor a few chains of rubbish take long or leave nothing for others.
 */
#define FRAMES_MAX 16384
/*
 * How often to look, and the pause in between: threads come and go, and a stack changes all the
 * time. In all less than a prober may sleep before others go first (PROBER_LOOK_PATIENCE_NS).
 */
#define LOOKS 8
#define PAUSE_US 500
/* include/linux/threads.h: PID_MAX_LIMIT */
#define PID_LIMIT (1U << 22)

struct verifier {
	const struct memory *m;
	const struct py_offsets *o;
	unsigned threads, threads_known; /* thread states, and those with a thread's pointer */
	unsigned with_frames, with_code;
	unsigned frames; /* looked at so far */
	__u64 current_addr; /* the state that holds the GIL; 0 unknown */
	bool current_seen;
	char *why;
	size_t why_size;
};

static int wrong(struct verifier *v, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

static int wrong(struct verifier *v, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(v->why, v->why_size, fmt, ap);
	va_end(ap);
	return -ENODATA;
}

/* An address that is not mapped means wrong offsets; a process that has gone does not. */
static int get(struct verifier *v, __u64 addr, __s32 offset, __u64 *ret, const char *what)
{
	int r;

	if (addr % 8)
		return wrong(v, "%s is at an odd address", what);
	r = memory_read(v->m, addr + (__u64)offset, ret, sizeof(*ret));
	return r == -EFAULT ? wrong(v, "%s is not readable", what) : r;
}

/* Is it a code object, by the name of its type? */
static int is_code(struct verifier *v, __u64 addr, bool *ret)
{
	char name[sizeof("code")];
	__u64 type_addr, name_addr;
	int r = get(v, addr, v->o->object.ob_type, &type_addr, "a type");

	if (!r)
		r = get(v, type_addr, v->o->object.tp_name, &name_addr, "a type's name");
	if (!r)
		r = memory_read(v->m, name_addr, name, sizeof(name));
	*ret = !r && !memcmp(name, "code", sizeof(name));
	return r == -EFAULT ? -ENODATA : r;
}

/*
 * Does this chain end with a code object? The outermost one of a running thread stays the same, whatever happens above
 * it.
 */
static int check_chain(struct verifier *v, __u64 addr, bool *found)
{
	unsigned left = (FRAMES_MAX - v->frames) / 4;
	__u64 code_addr = 0, next;
	int r = 0;

	for (; !r && addr && left; left--, v->frames++, addr = next) {
		__u64 code;
		__u8 owner = 0;

		r = get(v, addr, v->o->frame.executable, &code, "a frame's code");
		if (!r)
			r = get(v, addr, v->o->frame.previous, &next, "a frame's caller");
		if (!r && v->o->frame.owner != PYOFF_ABSENT)
			r = memory_read(v->m, addr + (__u64)v->o->frame.owner, &owner, 1);
		if (!r && owner < 2)
			code_addr = code & ~7ULL;
	}
	if (!r && code_addr)
		r = is_code(v, code_addr, found);
	return r == -ENODATA || r == -EFAULT ? 0 : r;
}

static int check_cframe(struct verifier *v, __u64 cframe_addr, bool *has_frame, bool *found)
{
	__u64 addr;
	int r = get(v, cframe_addr, v->o->cframe.current_frame, &addr, "the current frame");

	if (r || !addr)
		return r;
	*has_frame = true;
	return check_chain(v, addr, found);
}

/*
 * A thread that stands where it enters an evaluation has the new C frame already, but not yet what the current frame of
 * that is (Python/ceval.c, _PyEval_EvalFrameDefault(), 3.11 and 3.12): then the one before it has the frames. A thread
 * that has ended may have left anything, so what is not there refutes nothing.
 */
static int check_cframes(struct verifier *v, __u64 tstate_addr, bool *has_frame, bool *found)
{
	__u64 cframe_addr;
	int r = get(v, tstate_addr, v->o->thread.cframe, &cframe_addr, "the C frame");

	if (!r)
		r = check_cframe(v, cframe_addr, has_frame, found);
	if (r || *found)
		return r;
	r = get(v, cframe_addr, v->o->cframe.previous, &cframe_addr, "the C frame");
	if (!r && cframe_addr)
		r = check_cframe(v, cframe_addr, has_frame, found);
	return r == -ENODATA ? 0 : r;
}

static int check_frames(struct verifier *v, __u64 tstate_addr)
{
	bool has_frame = false, found = false;
	__u64 addr;
	int r;

	if (v->o->flags & PYOFF_CFRAME) {
		r = check_cframes(v, tstate_addr, &has_frame, &found);
	} else {
		r = get(v, tstate_addr, v->o->thread.current_frame, &addr, "the current frame");
		has_frame = !r && addr;
		if (has_frame)
			r = check_chain(v, addr, &found);
	}
	v->with_frames += has_frame;
	v->with_code += found;
	return r;
}

/*
 * Is there a struct pthread? musl's, and glibc's on x86-64, begin with their own address; glibc's on arm64 has the
 * thread's number.
 */
static int check_pthread(struct verifier *v, __u64 thread_id)
{
	__u64 self;
	__u32 tid = 0;
	int r = memory_read(v->m, thread_id, &self, sizeof(self));

	if (!r && self != thread_id && PTHREAD_GLIBC_SELF < 0)
		r = memory_read(v->m, thread_id + PTHREAD_GLIBC_TID, &tid, sizeof(tid));
	v->threads_known += !r && (self == thread_id || (tid && tid <= PID_LIMIT));
	/* A finished thread sometimes leaves its state behind, while its own memory may be gone. */
	return r == -EFAULT ? 0 : r;
}

static int check_thread_id(struct verifier *v, __u64 tstate_addr)
{
	__u64 thread_id;
	int r = get(v, tstate_addr, v->o->thread.thread_id, &thread_id, "a thread id");

	return r || !thread_id || thread_id % 8 ? r : check_pthread(v, thread_id);
}

static int check_threads(struct verifier *v, __u64 interp_addr)
{
	__u64 addr, prev_addr = 0, link, next;
	int r = get(v, interp_addr, v->o->interp.threads_head, &addr, "the list of threads");

	for (unsigned i = 0; !r && addr && i < THREADS_MAX; i++, prev_addr = addr, addr = next) {
		r = get(v, addr, v->o->thread.prev, &link, "a thread state");
		if (!r && link != prev_addr)
			r = wrong(v, "a thread state does not point back");
		if (!r)
			r = get(v, addr, v->o->thread.interp, &link, "a thread state");
		if (!r && link != interp_addr)
			r = wrong(v, "a thread state belongs to another interpreter");
		if (!r)
			r = check_thread_id(v, addr);
		if (!r)
			r = check_frames(v, addr);
		if (!r)
			r = get(v, addr, v->o->thread.next, &next, "a thread state");
		v->threads += !r;
		v->current_seen |= addr == v->current_addr;
	}
	return r;
}

static int check_interps(struct verifier *v, __u64 runtime_addr)
{
	__u64 addr;
	int r = get(v, runtime_addr, v->o->runtime.interpreters_head, &addr, "the runtime");

	if (!r && !addr)
		return -EAGAIN;
	for (unsigned i = 0; !r && addr && i < INTERPS_MAX; i++) {
		r = check_threads(v, addr);
		if (!r)
			r = get(v, addr, v->o->interp.next, &addr, "an interpreter");
	}
	if (!r && !v->threads)
		return -EAGAIN;
	if (!r && !v->threads_known)
		return wrong(v, "no thread state has the id of a thread");
	if (!r && v->with_frames && !v->with_code)
		return wrong(v, "no frame has a code object");
	return r;
}

/* The state that holds the GIL must be on the lists; no other value is valid there. */
static int check_all(struct verifier *v, __u64 runtime_addr)
{
	int r = 0;

	if (v->o->flags & PYOFF_TSTATE_CURRENT)
		r = get(v, runtime_addr, v->o->runtime.tstate_current, &v->current_addr,
			"the runtime");
	if (!r)
		r = check_interps(v, runtime_addr);
	if (!r && v->current_addr && !v->current_seen && v->threads < THREADS_MAX)
		r = wrong(v, "the current thread state is not on the lists");
	return r;
}

int py_verify(const struct memory *m, const struct py_offsets *o, __u64 runtime_addr, char *why,
	      size_t why_size)
{
	int r = -ENODATA;

	for (int look = 0; r == -ENODATA && look < LOOKS; look++) {
		struct verifier v = { .m = m, .o = o, .why = why, .why_size = why_size };

		if (look)
			usleep(PAUSE_US);
		r = check_all(&v, runtime_addr);
	}
	return r;
}

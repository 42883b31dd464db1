/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * asyncio_tasks.h - from a thread's running asyncio task to the tasks that await it, with the frames at
 * which their coroutines are suspended.
 *
 * For CPython 3.14 and 3.15. The running task is in _PyThreadStateImpl.asyncio_running_task, after its loop. A
 * task's awaiters are in TaskObj.task_awaited_by: another task, or a PySet of them if
 * task_awaited_by_is_set (Modules/_asynciomodule.c). In a set with several, the chain goes on with
 * the first entry of the table, and says how many there are. A coroutine is a PyGenObject that
 * contains its frame (gi_iframe). While it is suspended in an await or "yield from", the object
 * that it awaits is on its stack: the topmost word in 3.14, the one before that in 3.15 (SEND keeps
 * a NULL above, Python/bytecodes.c). That is another coroutine, or an object whose first member is
 * one (async_generator_asend and _athrow, anext_awaitable, coroutine_wrapper: Objects/genobject.c),
 * or a future, where the chain of coroutines ends.
 *
 * A few reads cannot tell the type of such an object. So an object counts as a coroutine if its
 * frame is owned by a generator and stands at an instruction in the bytecode of its code object. If
 * the interrupt hit the thread in the middle of a change (awaited_by and awaited_by_is_set are two
 * stores), the chain ends with TASK_TORN.
 *
 * A task that starts eagerly has no awaiter yet: it runs on the stack of the task that creates it
 * (task_eager_start()), which stays there, executing, and has the awaiters to go on with. Nothing in
 * the tasks says who that is; task_eager_start() keeps it in a local variable, prevtask, while the
 * new task runs. The evaluation loop saves all registers, so the variable is in the memory between
 * the entry frame of the new task's coroutine (frame.previous) and the C frames of its creator: 280
 * to 384 bytes above the entry frame in builds of gcc and clang, with and without optimisation. Of
 * all words there that point to a task whose coroutine executes further up this stack, the nearest
 * one is the creator: any others are its own creators. The chain goes on there, with TASK_EAGER. A
 * coroutine that runs at the place in the stack where one without a creator ran last (the event
 * loop's) has none either: struct task_calm.
 *
 * A task can run another loop, as libraries do that make asyncio re-entrant: it and those that await
 * it belong before the tasks of that loop, but these do not know it. Its coroutine is further up the
 * stack, in a frame of a generator that an entry frame precedes. The C code that runs a task's step has
 * the task in a variable, which the evaluation loop saves as above. So where the chain ends without an
 * awaiter, the thread's frames are followed to the root, and for each such coroutine that task is
 * looked for whose coroutine it is. The chain goes on there, with TASK_WITHIN.
 *
 * A chain consists of parts, each a struct frame. A part with code_addr 0 begins a task
 * (frame_addr: the task; instr_off: how many await it, if the chain had to choose; fingerprint:
 * enum task_note). Its frames follow, from the task's own coroutine to what that awaits last. Tasks
 * come in the order of awaiting, the running one first.
 *
 * Must hold: at most KRAIT_MAX_TASK_PARTS parts and KRAIT_MAX_TASK_STEPS steps; tasks are only
 * read, and every way out leaves a note.
 */
#ifndef KRAIT_BPF_PYTHON_ASYNCIO_TASKS_H
#define KRAIT_BPF_PYTHON_ASYNCIO_TASKS_H

#include "bpf/abi.h"
#include "bpf/bounds.h"
#include "bpf/read.h"
#include "bpf/python/walk_instr.h"
#include "bpf/python/walker.h"

#define TASK_WINDOW_MASK (KRAIT_TASK_WINDOW - 1)
/* The hash of a set's entry whose key was removed; no present key has it (Objects/setobject.c). */
#define SET_DUMMY_HASH (~0ULL)
/* Entries of a set that are read at once; repeated until one with a key is found. */
#define SET_ENTRIES 4
#define SET_READS 32
/*
 * Offset of PyTypeObject.tp_flags from ob_type in an object's head: after ob_size, with 19 members
 * between.
 */
#define TASK_TYPE_FLAGS (8 + 152)
#define TASK_TYPE_LONG (1ULL << 24)
#define TASK_TYPE_UNICODE (1ULL << 28)
/* Longest bytecode in which a coroutine's frame is believed. */
#define TASK_CODE_BYTES FRAME_INSTR_LIMIT

/* No object lies below this or above 48 bits: such a first member was a number. */
#define TASK_NO_OBJECT 65536

/* Bytes of the stack, from the entry frame on, in which a task's creator is looked for. */
#define TASK_SEEK_BYTES 640
/*
 * For a task that does not run yet or any more, the same around the thread's innermost entry frame,
 * which may be one of call_soon(), called by the task's step: the creator is 584 to 728 bytes above
 * that, or 752 to 1024 below that of the function that creates the task.
 */
#define TASK_SEEK_BEFORE 1536
#define TASK_SEEK_AFTER 1024
/* Most bytes of stack between the two tasks' entry frames; a word that points so near is no object. */
#define TASK_SEEK_SPAN (1ULL << 30)
#define TASK_SEEK_NEAR (1ULL << 17)

/* State of one walk; in per-CPU memory. */
struct task_walk {
	__u64 task_addr; /* to enter next; 0 none */
	__u64 object_addr; /* awaited object to look at next; 0 none */
	__u64 set_addr; /* entries of the set to look at next, 0 none */
	__u64 name_addr; /* name of the task just begun, still to be read; 0 none */
	__u32 name_at, name_parts; /* parts of a name read as text: already written, and in all */
	__u32 names; /* names are wanted */
	__u32 pad_;
	__u64 wrapper_type_addr; /* type of the object that wraps the current one */
	/* type of the object that ended an earlier task's frames: it contains no coroutine */
	__u64 end_type_addr;
	__u64 cycle_addr; /* a task met before */
	__u32 cycle_at; /* task_cnt at which cycle_addr is renewed */
	__u32 set_left; /* entries left in the set */
	__u32 set_reads;
	__u32 task_cnt, cnt; /* tasks, parts */
	__u32 task_at; /* index of the part that began the last task */
	__u32 wrapped; /* the current object was found in a wrapper */
	__u32 first; /* the current object is a task's own coroutine */
	__u32 note; /* enum task_note of the last task, once the walk is over */
	__u32 waiters; /* tasks that await the last task */
	/* entry frame of the last task's coroutine, if it runs and nobody has looked for its creator */
	__u64 entry_addr;
	/* If the first task does not run: where to look for its creator; 0: nowhere. */
	__u64 leaf_addr;
	/* Words to look at next, and their end; both 0: not looking. */
	__u64 seek_addr, seek_end_addr;
	/*
	 * Where coroutines without a creator were last seen to run; 0: unknown. Set from outside
	 * before the walk, which may change it.
	 */
	struct task_calm calm;
	__u32 seek_at; /* index of the next word in entries; SET_ENTRIES * 2: read more */
	__u8 window[WINDOW_SIZE(TASK_WINDOW_MASK + 1)];
	/* volatile: of what is in memory the verifier learns nothing, so it follows each word once */
	volatile __u64 seek_found; /* such a word */
	volatile __u32 seek_from, pad2_; /* where the search for it begins */
	__u64 entries[2 * SET_ENTRIES]; /* of the set: key, hash; or words of the stack */
	/* Where the search began, and the best creator so far. */
	__u64 seek_entry_addr;
	__u64 seek_task_addr; /* the task whose creator it is; 0: it is one that runs a loop */
	__u64 creator_addr, creator_entry_addr;
	/* The thread's frame to look at next for a task that runs the loop of these; 0: none. */
	__u64 outer_addr;
	__u64 outer_frame_addr; /* the frame before, or the one whose task is looked for, if it is a generator's */
	/* Where the outermost task on the stack runs: if it has no creator and nobody runs its loop, calm. */
	__u32 calm_entry, calm_caller;
	__u32 calm_met; /* the caller of calm tasks is on the stack */
	/* volatile, as above: the innermost activation, and the one that was last met, from the leaf on */
	volatile __u64 inner_addr, met_addr;
	__u32 has_loop; /* set from outside: the thread runs a loop */
};

static __always_inline void task_walk_begin(struct task_walk *t, __u64 task_addr, __u32 names)
{
	t->name_addr = 0;
	t->name_at = 0;
	t->name_parts = 0;
	t->names = names;
	t->task_addr = task_addr;
	t->object_addr = 0;
	t->set_addr = 0;
	t->wrapper_type_addr = 0;
	t->end_type_addr = 0;
	t->cycle_addr = 0;
	t->cycle_at = 1;
	t->set_left = 0;
	t->set_reads = 0;
	t->task_cnt = 0;
	t->cnt = 0;
	t->task_at = 0;
	t->wrapped = 0;
	t->first = 0;
	t->note = 0;
	t->waiters = 0;
	t->entry_addr = 0;
	t->calm = (struct task_calm){};
	t->leaf_addr = 0;
	t->seek_addr = 0;
	t->seek_end_addr = 0;
	t->outer_addr = 0;
	t->outer_frame_addr = 0;
	t->calm_entry = 0;
	t->calm_caller = 0;
	t->calm_met = 0;
	t->inner_addr = 0;
	t->met_addr = 0;
}

#define TASK_U64(t, layout, field) window_u64((t)->window, (layout)->field, TASK_WINDOW_MASK)
#define TASK_U8(t, layout, field) window_u8((t)->window, (layout)->field, TASK_WINDOW_MASK)

static __always_inline int task_walk_end(struct task_walk *t, __u32 note)
{
	t->note |= note;
	return 1;
}

/* Finds the task's awaiters: the walk goes on there when the task's frames are done. */
static __always_inline void task_find_waiters(struct task_walk *t, struct walker *w,
					      const struct task_layout *l)
{
	__u64 addr = TASK_U64(t, l, awaited_by), words[3]; /* used, mask, table */

	t->task_addr = 0;
	t->set_addr = 0;
	t->set_reads = 0;
	t->waiters = 0;
	if (!TASK_U8(t, l, awaited_by_is_set)) {
		t->task_addr = addr;
		return;
	}
	if (!addr || addr & TAG_BITS || read_from(w, words, sizeof(words), addr + l->set_used)) {
		t->note |= TASK_TORN;
		return;
	}
	if (!words[0])
		return;
	t->waiters = words[0] < TASK_WAITERS_MAX ? (__u32)words[0] : TASK_WAITERS_MAX;
	t->set_left = words[1] < SET_READS * SET_ENTRIES ? (__u32)words[1] + 1 :
							   SET_READS * SET_ENTRIES;
	t->set_addr = words[2];
}

/* Begins a task: a part for it, then its coroutine. */
static __always_inline int task_enter(struct task_walk *t, struct walker *w,
				      const struct task_layout *l, struct frame *out)
{
	__u64 addr = t->task_addr;

	if (addr == t->cycle_addr)
		return task_walk_end(t, TASK_CYCLE);
	if (t->task_cnt >= t->cycle_at) {
		t->cycle_addr = addr;
		t->cycle_at *= 2;
	}
	walk_part(out, addr);
	t->task_at = t->cnt++;
	t->task_cnt++;
	t->task_addr = 0;
	t->waiters = 0;
	t->note = 0;
	if (addr & TAG_BITS || read_from(w, t->window, KRAIT_TASK_WINDOW, addr + l->window_at) ||
	    TASK_U8(t, l, is_task) > 1 || TASK_U8(t, l, awaited_by_is_set) > 1)
		return task_walk_end(t, TASK_TORN);
	t->wrapped = 0;
	t->first = 1;
	/* A future between tasks has no frames. */
	t->object_addr = TASK_U8(t, l, is_task) ? TASK_U64(t, l, coro) : 0;
	if (t->names)
		t->name_addr = TASK_U64(t, l, name);
	task_find_waiters(t, w, l);
	return 0;
}

/*
 * Reads the name: a str, or an int if get_name() would make "Task-7" of it
 * (Modules/_asynciomodule.c). The type's flags say which (Py_TPFLAGS_LONG_SUBCLASS,
 * Py_TPFLAGS_UNICODE_SUBCLASS, Include/object.h). A name that is neither, or not ASCII, or not
 * present, gets no part.
 */
static __always_inline int task_read_name(struct task_walk *t, struct walker *w,
					  const struct py_offsets *off, struct frame *out)
{
	/* The type; then a str's length, hash and state, or an int's tag and digits. */
	__u64 addr = t->name_addr, head[4] = { 0, 0, 0, 0 }, flags = 0;
	__u32 state;

	t->name_addr = 0;
	t->name_at = 0;
	t->name_parts = 0;
	if (addr & TAG_BITS || read_from(w, head, sizeof(head), addr + off->object.ob_type) ||
	    read_from_u64(w, &flags, head[0] + off->object.ob_type + TASK_TYPE_FLAGS))
		return 0;
	if (flags & TASK_TYPE_LONG && head[1] >> 3 == 1) {
		walk_part(out, (__u32)head[2]);
		out->code_addr = TASK_NAME_NUMBER;
		t->cnt++;
		return 0;
	}
	/* kind, compact, ascii */
	state = (__u32)head[3] >> PYOFF_STRING_STATE_SHIFT(off);
	if (!(flags & TASK_TYPE_UNICODE) || (state & 31) != (1 | 1 << 3 | 1 << 4) || !head[1] ||
	    read_from(w, t->entries, TASK_NAME_PART * TASK_NAME_PARTS,
		      addr + off->unicode.ascii_size))
		return 0;
	t->name_parts = head[1] < TASK_NAME_PART * TASK_NAME_PARTS ?
				((__u32)head[1] + TASK_NAME_PART) / TASK_NAME_PART :
				TASK_NAME_PARTS;
	return 0;
}

static __always_inline int task_put_name(struct task_walk *t, struct frame *out)
{
	__u32 at = masked(t->name_at, 3);

	out->code_addr = TASK_NAME_TEXT;
	out->frame_addr = t->entries[2 * at];
	out->instr_off = (__s32)t->entries[2 * at + 1];
	out->opcode = (__u32)t->entries[2 * at + 1] >> 24;
	out->fingerprint = (__u32)(t->entries[2 * at + 1] >> 32);
	t->name_at++;
	t->cnt++;
	return 0;
}

/* Finds the first task in the set. */
static __always_inline int task_search_set(struct task_walk *t, struct walker *w)
{
	__u32 left = t->set_left;

	if (!left || t->set_reads++ >= SET_READS)
		return task_walk_end(t, TASK_TORN);
	if (t->set_addr & TAG_BITS || read_from(w, t->entries, sizeof(t->entries), t->set_addr))
		return task_walk_end(t, TASK_TORN);
	for (int i = 0; i < SET_ENTRIES; i++) {
		if (!t->task_addr && (__u32)i < left && t->entries[2 * i] &&
		    t->entries[2 * i + 1] != SET_DUMMY_HASH)
			t->task_addr = t->entries[2 * i];
	}
	t->set_left = left > SET_ENTRIES ? left - SET_ENTRIES : 0;
	t->set_addr = t->task_addr ? 0 : t->set_addr + sizeof(t->entries);
	return 0;
}

/*
 * The object is no coroutine but may wrap one; if not, the task's frames end here. unread: a whole
 * coroutine could not be read there, so the type is unknown. It may be a smaller object, but every
 * object has a head: if even that cannot be read, the memory is not present.
 */
static __always_inline int task_unwrap(struct task_walk *t, struct walker *w,
				       const struct py_offsets *off, bool unread)
{
	__u64 addr = t->object_addr, head[2] = { 0, 0 };
	__u32 first = t->first, wrapped = t->wrapped;

	t->object_addr = 0;
	t->wrapped = 0;
	t->first = 0;
	if (first)
		t->note |= TASK_NO_COROUTINE;
	if (wrapped && unread && !(addr & TAG_BITS) && addr > TASK_NO_OBJECT && !(addr >> 48) &&
	    read_from_u64(w, head, addr + off->object.ob_type)) {
		t->note |= TASK_FRAMES;
		return 0;
	}
	if (wrapped)
		t->end_type_addr = t->wrapper_type_addr;
	if (first || wrapped)
		return 0;
	/* The type and what follows it: the first member. */
	if (read_from(w, head, sizeof(head), addr + off->object.ob_type)) {
		t->note |= TASK_FRAMES;
		return 0;
	}
	if (head[0] == t->end_type_addr || head[1] & TAG_BITS)
		return 0;
	t->object_addr = head[1];
	t->wrapper_type_addr = head[0];
	t->wrapped = 1;
	return 0;
}

/* If what was just read is a coroutine, its code object; else 0. */
static __always_inline __u64 task_code(const struct walker *w, const struct py_offsets *off,
				       __s32 *ret_instr_off)
{
	__u64 code_addr = window_u64(w->frame_window, off->frame.executable, FRAME_WINDOW_MASK) &
			  ~TAG_BITS;
	__u32 owner = window_u8(w->frame_window, off->frame.owner, FRAME_WINDOW_MASK);

	if (owner != OWNER_GENERATOR || !code_addr)
		return 0;
	*ret_instr_off = walk_instr(w, off, code_addr);
	return *ret_instr_off >= 0 && *ret_instr_off < TASK_CODE_BYTES ? code_addr : 0;
}

/* Finds the object that the coroutine awaits, on its stack. */
static __always_inline void task_awaited(struct task_walk *t, struct walker *w,
					 const struct task_layout *l)
{
	__u64 stack_addr = window_u64(w->frame_window, l->frame_stackpointer, FRAME_WINDOW_MASK);
	__u64 addr = 0;

	if (read_from_u64(w, &addr, stack_addr - l->yield_depth))
		t->note |= TASK_FRAMES;
	t->object_addr = addr & ~TAG_BITS;
}

/* Writes a part for the coroutine's frame. */
static __always_inline int task_coroutine(struct task_walk *t, struct walker *w,
					  const struct py_offsets *off, const struct task_layout *l,
					  struct frame *out)
{
	__u64 addr = t->object_addr, code_addr;
	__u32 first = t->first;
	__s32 instr_off = 0;
	__s8 state;

	if (addr & TAG_BITS || read_from(w, w->frame_head, FRAME_HEAD + KRAIT_FRAME_WINDOW,
					 addr + l->gen_iframe - FRAME_HEAD))
		return task_unwrap(t, w, off, true);
	code_addr = task_code(w, off, &instr_off);
	state = (__s8)window_u8(w->frame_head, l->gen_state, FRAME_HEAD - 1);
	if (!code_addr || state < l->state_first || state > l->state_last)
		return task_unwrap(t, w, off, false);
	t->object_addr = 0;
	t->wrapped = 0;
	t->first = 0;
	if (state >= l->state_ended)
		return 0; /* it has returned: none of it is left to see */
	out->code_addr = code_addr;
	out->frame_addr = addr + l->gen_iframe;
	out->opcode = walk_wants_opcodes(w) ?
			      walk_opcode(w, off, code_addr, &instr_off, PREV_UNKNOWN) :
			      0;
	out->instr_off = instr_off;
	out->fingerprint = walk_wants_fingerprints(w) ? walk_fingerprint(w, off, code_addr) : 0;
	t->cnt++;
	if (state == l->state_executing) {
		t->note |= TASK_LIVE;
		if (first)
			t->entry_addr =
				window_u64(w->frame_window, off->frame.previous, FRAME_WINDOW_MASK);
	}
	if (state == l->state_yield_from || state == l->state_locked)
		task_awaited(t, w, l);
	return 0;
}

/* ---- the creator of a task that starts eagerly, and who runs a loop --------------------------- */

static __always_inline void task_seek_begin(struct task_walk *t, __u64 task_addr, __u64 from_addr,
					    __u64 end_addr)
{
	t->seek_addr = from_addr;
	t->seek_end_addr = end_addr;
	t->seek_entry_addr = from_addr;
	t->seek_task_addr = task_addr;
	t->seek_at = 2 * SET_ENTRIES;
	t->creator_addr = 0;
	t->creator_entry_addr = 0;
}

/* The last task's coroutine runs: can it have a creator? */
static __always_inline int task_look_below(struct task_walk *t, struct walker *w,
					   const struct py_offsets *off, __u64 task_addr)
{
	__u64 entry_addr = t->entry_addr, caller_addr = 0;

	t->entry_addr = 0;
	t->leaf_addr = 0;
	t->outer_addr = 0;
	t->calm_caller = 0;
	if (entry_addr & TAG_BITS ||
	    read_from_u64(w, &caller_addr, entry_addr + off->frame.previous)) {
		t->note |= TASK_TORN;
		return 0;
	}
	if (task_is_calm(&t->calm, entry_addr) && (__u32)caller_addr == t->calm.caller)
		return 0;
	t->outer_addr = caller_addr;
	t->calm_entry = (__u32)entry_addr;
	t->calm_caller = (__u32)caller_addr;
	task_seek_begin(t, task_addr, entry_addr, entry_addr + TASK_SEEK_BYTES);
	return 0;
}

/* The first task does not run: it is being entered or left, maybe by its creator. */
static __always_inline int task_look_around(struct task_walk *t, __u64 task_addr)
{
	__u64 addr = t->leaf_addr;

	t->leaf_addr = 0;
	task_seek_begin(t, task_addr, addr, addr + TASK_SEEK_BEFORE + TASK_SEEK_AFTER);
	return 0;
}

static __always_inline int task_seek_end(struct task_walk *t)
{
	bool is_outer = !t->seek_task_addr;

	t->seek_addr = t->seek_end_addr;
	if (is_outer)
		t->outer_frame_addr = 0;
	if (!t->creator_addr)
		return 0;
	t->task_addr = t->creator_addr;
	t->note |= is_outer ? TASK_WITHIN : TASK_EAGER;
	if (is_outer)
		return 0;
	t->set_addr = 0;
	t->waiters = 0;
	return 0;
}

/* Nobody runs the loop of the chain's tasks, and none of them has a creator. */
static __always_inline int task_walk_calm(struct task_walk *t)
{
	__u32 caller = t->calm_caller;

	if (caller) {
		t->calm.entry[1] = t->calm.caller == caller ? t->calm.entry[0] : 0;
		t->calm.entry[0] = t->calm_entry;
		t->calm.caller = caller;
	}
	return task_walk_end(t, 0);
}

/*
 * The chain has ended: is the thread's next frame the coroutine of a task that runs the loop? The caller of calm
 * tasks is a loop that nobody runs.
 */
static __always_inline int task_look_outside(struct task_walk *t, struct walker *w,
					     const struct py_offsets *off)
{
	__u64 addr = t->outer_addr, coro_frame_addr = t->outer_frame_addr;
	__u32 owner;

	if (addr & TAG_BITS || read_from(w, w->frame_window, KRAIT_FRAME_WINDOW, addr)) {
		t->outer_addr = 0;
		return task_walk_end(t, TASK_TORN);
	}
	t->outer_addr = window_u64(w->frame_window, off->frame.previous, FRAME_WINDOW_MASK);
	if ((__u32)addr == t->calm.caller) {
		t->outer_addr = 0;
		t->calm_met = 1;
	}
	owner = window_u8(w->frame_window, off->frame.owner, FRAME_WINDOW_MASK);
	if (owner < OWNER_INTERPRETER || !coro_frame_addr)
		t->outer_frame_addr = owner == OWNER_GENERATOR ? addr : 0;
	else
		task_seek_begin(t, 0, addr, addr + TASK_SEEK_BYTES);
	return 0;
}

/* Is that a task that runs further up this stack, and nearer than the others? */
static __always_inline void task_consider(struct task_walk *t, struct walker *w,
					  const struct py_offsets *off, const struct task_layout *l,
					  __u64 addr)
{
	__u64 coro_addr, entry_addr;
	__s32 instr_off;

	if (read_from(w, t->window, KRAIT_TASK_WINDOW, addr + l->window_at) ||
	    TASK_U8(t, l, is_task) != 1 || TASK_U8(t, l, awaited_by_is_set) > 1)
		return;
	coro_addr = TASK_U64(t, l, coro);
	if (!coro_addr || coro_addr & TAG_BITS ||
	    read_from(w, w->frame_head, FRAME_HEAD + KRAIT_FRAME_WINDOW,
		      coro_addr + l->gen_iframe - FRAME_HEAD) ||
	    (__s8)window_u8(w->frame_head, l->gen_state, FRAME_HEAD - 1) != l->state_executing ||
	    !task_code(w, off, &instr_off))
		return;
	entry_addr = window_u64(w->frame_window, off->frame.previous, FRAME_WINDOW_MASK);
	if (!t->seek_task_addr) {
		if (coro_addr + l->gen_iframe != t->outer_frame_addr)
			return;
		t->seek_end_addr = t->seek_addr;
	} else if (entry_addr - t->seek_entry_addr - 1 >= TASK_SEEK_SPAN ||
		   (t->creator_addr && entry_addr >= t->creator_entry_addr)) {
		return;
	}
	t->creator_addr = addr;
	t->creator_entry_addr = entry_addr;
}

/* Above TASK_NO_OBJECT, below 2^47, a multiple of 16: one comparison of the word rotated by four bits. */
static __always_inline bool may_be_object(__u64 word)
{
	const __u64 first = TASK_NO_OBJECT / 16 + 1;

	return (word >> 4 | word << 60) - first < (1ULL << 43) - first;
}

/* Takes the next word of the stack that may be the address of a task. */
static __always_inline int task_seek(struct task_walk *t, struct walker *w,
				     const struct py_offsets *off, const struct task_layout *l)
{
	t->seek_from = t->seek_at;
	if (t->seek_at >= 2 * SET_ENTRIES) {
		if (read_from(w, t->entries, sizeof(t->entries), t->seek_addr)) {
			t->note |= TASK_TORN;
			t->outer_addr = 0;
			return task_seek_end(t);
		}
		t->seek_from = 0;
	}
	t->seek_found = 0;
	t->seek_at = 2 * SET_ENTRIES;
	/* Downwards: the first one is the last to be found, so the verifier meets no further condition. */
	for (__u32 i = 2 * SET_ENTRIES; i-- > 0;) {
		__u64 word = t->entries[i];

		if (i >= t->seek_from && may_be_object(word) && word != t->seek_task_addr &&
		    word != t->creator_addr &&
		    word - t->seek_entry_addr + TASK_SEEK_NEAR / 2 >= TASK_SEEK_NEAR) {
			t->seek_found = word;
			t->seek_at = i + 1;
		}
	}
	if (t->seek_found)
		task_consider(t, w, off, l, t->seek_found);
	if (t->seek_at < 2 * SET_ENTRIES && t->seek_addr < t->seek_end_addr)
		return 0;
	t->seek_addr += sizeof(t->entries);
	return t->seek_addr >= t->seek_end_addr ? task_seek_end(t) : 0;
}

/* The walk ran out of steps. */
static __always_inline void task_walk_stop(struct task_walk *t)
{
	if (!(t->note & (TASK_TORN | TASK_CYCLE)) &&
	    (t->object_addr || t->set_addr || t->task_addr || t->outer_addr ||
	     t->seek_addr < t->seek_end_addr))
		t->note |= TASK_LIMIT;
}

/* Completes the task's part, once all of the task has been seen. */
static __always_inline void task_settle(const struct task_walk *t, struct frame *part)
{
	part->instr_off = (__s32)t->waiters;
	part->fingerprint = t->note;
}

/* Is the next step one on the thread's stack? Most tasks need none. */
static __always_inline bool task_looks_at_stack(const struct task_walk *t)
{
	if (t->name_addr || t->name_at < t->name_parts || t->object_addr)
		return false;
	return t->entry_addr || (t->leaf_addr && t->task_cnt) || t->seek_addr < t->seek_end_addr ||
	       (t->outer_addr && !t->set_addr && !t->task_addr && !(t->note & TASK_TORN));
}

/* That step; part: of the last task. Returns as task_step(). */
static __always_inline int task_stack_step(struct task_walk *t, struct walker *w,
					   const struct py_offsets *off,
					   const struct task_layout *l, const struct frame *part)
{
	if (t->entry_addr)
		return task_look_below(t, w, off, part->frame_addr);
	if (t->leaf_addr && t->task_cnt)
		return task_look_around(t, part->frame_addr);
	if (t->seek_addr < t->seek_end_addr)
		return task_seek(t, w, off, l);
	return task_look_outside(t, w, off);
}

/*
 * Any other step. out: where the next part goes; part: that of the last task. Returns 0 to go on, 1 when
 * the walk is over and the last task must be settled.
 */
static __always_inline int task_step(struct task_walk *t, struct walker *w,
				     const struct py_offsets *off, const struct task_layout *l,
				     struct frame *out, struct frame *part)
{
	if (t->cnt >= KRAIT_MAX_TASK_PARTS)
		return task_walk_end(t, TASK_LIMIT);
	if (t->name_addr)
		return task_read_name(t, w, off, out);
	if (t->name_at < t->name_parts)
		return task_put_name(t, out);
	if (t->object_addr)
		return task_coroutine(t, w, off, l, out);
	if (t->set_addr)
		return task_search_set(t, w);
	if (t->note & TASK_TORN)
		return task_walk_end(t, 0);
	if (!t->task_addr)
		return task_walk_calm(t);
	if (t->task_cnt)
		task_settle(t, part);
	return task_enter(t, w, l, out);
}

#endif /* KRAIT_BPF_PYTHON_ASYNCIO_TASKS_H */

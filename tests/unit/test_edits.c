/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_edits.c - a sample's list, edited (record/stack/edits.h) and compared with the thread's last one
 * (profile/items.h): on letters, without a process.
 *
 * A small letter is a Python frame, "L" one of asyncio's event loop, "A" another one of asyncio,
 * "-" an entry frame, "1" to "9" native code. A mark is drawn as "[GC]", a task's name as "<Task-1>".
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/data/vec.h"
#include "record/stack/edits.h"
#include "python/code/symbolizer.h"

#define LEN_MAX 512

struct fixture {
	struct items list, edited;
	struct frame parts[64];
	__u32 part_cnt;
	char drawn[LEN_MAX];
};

static int setup(void **state)
{
	*state = calloc(1, sizeof(struct fixture));
	return *state ? 0 : -1;
}

static int teardown(void **state)
{
	struct fixture *x = *state;

	items_free(&x->list);
	items_free(&x->edited);
	free(x);
	return 0;
}

static struct frame frame_of(char name)
{
	return (struct frame){ .code_addr = (__u64)name, .frame_addr = 0x1000 + (__u64)name };
}

static void put(struct items *list, const char *names)
{
	assert_int_equal(items_begin(list, (__u32)strlen(names)), 0);
	for (__u32 i = 0; i < strlen(names); i++) {
		struct frame f = frame_of(names[i]);

		if (isdigit(names[i])) {
			items_add(list, ITEM_NATIVE, i)->frame.code_addr = f.code_addr;
			continue;
		}
		f.code_addr = names[i] == '-' ? 0 : f.code_addr;
		items_add_frame(list, &f, i);
		list->list[i].roles = names[i] == 'L' ? CODE_ASYNCIO | CODE_LOOP :
				      names[i] == 'A' ? CODE_ASYNCIO :
							0;
	}
}

/* A part: a task, its name, or a frame of its coroutine. */
static struct frame *part(struct fixture *x)
{
	struct frame *f = &x->parts[x->part_cnt++];

	*f = (struct frame){ 0 };
	return f;
}

/*
 * "1b 2c~ 3de" are three tasks, the running one first: named Task-N, with their frames root first. "0"
 * has no name. Flags follow: "!" torn, "+" limit, "~" frames are missing, "*" without a coroutine, "&"
 * eager, "^" the next one runs its loop, "w" three wait for it.
 */
static void put_tasks(struct fixture *x, const char *text)
{
	struct frame *task = NULL;

	x->part_cnt = 0;
	for (; *text; text++) {
		if (isdigit(*text)) {
			task = part(x);
			task->frame_addr = 0x100 + (__u64)*text;
			if (*text > '0')
				*part(x) = (struct frame){ .code_addr = TASK_NAME_NUMBER,
							   .frame_addr = (__u64)(*text - '0') };
			task = &x->parts[x->part_cnt - (*text > '0' ? 2 : 1)];
		} else if (*text == 'w') {
			task->instr_off = 3;
		} else if (isalpha(*text)) {
			*part(x) = frame_of(*text);
		} else if (*text != ' ') {
			task->fingerprint |= *text == '!' ? TASK_TORN :
					     *text == '+' ? TASK_LIMIT :
					     *text == '~' ? TASK_FRAMES :
					     *text == '*' ? TASK_NO_COROUTINE :
					     *text == '^' ? TASK_WITHIN :
							    TASK_EAGER;
		}
	}
}

static const char *draw(struct fixture *x, const struct items *list)
{
	static const char *const marks[] = {
		[ITEM_NO_PYTHON] = "no Python",
		[ITEM_REASON] = "reason",
		[ITEM_TRUNCATED] = "truncated",
		[ITEM_GC] = "GC",
		[ITEM_GREENLETS_TORN] = "torn greenlets",
		[ITEM_GREENLETS_LIMIT] = "too many greenlets",
		[ITEM_GREENLETS_FRAMES] = "frames of greenlets",
		[ITEM_TASKS_TORN] = "torn",
		[ITEM_TASKS_LIMIT] = "limit",
		[ITEM_TASKS_LATE] = "late",
		[ITEM_TASKS_CYCLE] = "cycle",
		[ITEM_TASK_FOREIGN] = "foreign",
		[ITEM_TASK_FRAMES] = "frames",
		[ITEM_TASK_WAITERS] = "waiters",
	};
	FILE *out = fmemopen(x->drawn, sizeof(x->drawn), "w");
	char name[TASK_TEXT_SIZE];

	for (__u32 i = 0; i < list->cnt; i++) {
		const struct item *item = &list->list[i];

		switch ((enum item_kind)item->kind) {
		case ITEM_HIDDEN:
			break;
		case ITEM_MARK:
			fprintf(out, "[%s]", marks[item->frame.code_addr]);
			break;
		case ITEM_TASK:
			task_name(x->parts, x->part_cnt, item->index, name);
			fprintf(out, "<%s>", name);
			break;
		default:
			fputc((int)item->frame.code_addr, out);
		}
	}
	fclose(out);
	return x->drawn;
}

/* ---- greenlets -------------------------------------------------------------------------------- */

static void parents_come_first(void **state)
{
	struct fixture *x = *state;
	bool cut;

	put(&x->list, "-cd1");
	/* The current greenlet's parent, then that one's, each leaf first. */
	put_tasks(x, "0ba 0yx");
	assert_int_equal(edit_parents(&x->list, x->parts, x->part_cnt, &x->edited, &cut), 0);
	assert_string_equal(draw(x, &x->edited), "xyabcd1");
	assert_false(cut);
	put_tasks(x, "0!ba 0+~");
	assert_int_equal(edit_parents(&x->list, x->parts, x->part_cnt, &x->edited, &cut), 0);
	assert_string_equal(draw(x, &x->edited),
			    "[torn greenlets][too many greenlets][frames of greenlets]abcd1");
	assert_true(cut);
}

/* ---- tasks ------------------------------------------------------------------------------------ */

struct tasks_case {
	const char *what, *stack, *tasks, *result, *both; /* both: NULL, if it is the result */
	bool cut;
};

static void check_tasks(struct fixture *x, const struct tasks_case *c, enum async_mode mode)
{
	struct tasks tasks = { .mode = mode };
	const char *want = mode == ASYNC_BOTH && c->both ? c->both : c->result;
	struct tasks_notes notes;

	put(&x->list, c->stack);
	put_tasks(x, c->tasks);
	tasks.parts = x->parts;
	tasks.cnt = x->part_cnt;
	tasks_find(&tasks, &x->list);
	assert_int_equal(edit_tasks(&x->list, &tasks, &x->edited, &notes), 0);
	if (strcmp(draw(x, &x->edited), want))
		fail_msg("%s: got \"%s\", want \"%s\"", c->what, x->drawn, want);
	if (!notes.chain || notes.cut != c->cut || notes.late)
		fail_msg("%s: chain %d, cut %d, late %d", c->what, notes.chain, notes.cut,
			 notes.late);
}

static void tasks_go_before_the_coroutine(void **state)
{
	static const struct tasks_case cases[] = {
		{ "one task", "-mLLrs", "1r", "m<Task-1>rs", "mLL<Task-1>rs" },
		{ "without a name", "mLrs", "0r", "mrs", "mLrs" },
		{ "two", "mLrs", "1r 2ab", "m<Task-2>ab<Task-1>rs", "mL<Task-2>ab<Task-1>rs" },
		{ "C below the loop goes with it", "mL1LrL2s", "1r", "m<Task-1>rL2s",
		  "mL1L<Task-1>rL2s" },
		{ "C of others stays", "m1L2Lr3", "1r", "m1<Task-1>r3", "m1L2L<Task-1>r3" },
		{ "entered or left: after the loop", "mL1", "1r 2a", "m<Task-2>a<Task-1>r1",
		  "mL<Task-2>a<Task-1>r1" },
		{ "no loop in sight", "1mn", "1r 2a", "<Task-2>a<Task-1>r1mn" },
		{ "in asyncio's own code", "mLA", "1r", "m<Task-1>rA", "mL<Task-1>rA" },
		{ "the program's: who creates it is unknown", "mLp", "1r", "m[torn]p", "mL[torn]p",
		  true },
		{ "not a coroutine of Python", "mLp", "1*", "m<Task-1>[foreign]p",
		  "mL<Task-1>[foreign]p" },
		{ "marks", "mLr", "1r 2!~a 3+wb",
		  "m[limit][waiters]<Task-3>b[torn]<Task-2>a"
		  "[frames]<Task-1>r",
		  "mL[limit][waiters]<Task-3>b[torn]<Task-2>a[frames]<Task-1>r", true },
		{ "a cycle", "mLr", "1r 2a 1r", "m[cycle]<Task-2>a<Task-1>r",
		  "mL[cycle]<Task-2>a<Task-1>r" },
		{ "eager: its creator's chain", "mLcxr", "1&r 2c 3a",
		  "m<Task-3>a<Task-2>cx<Task-1>r", "mL<Task-3>a<Task-2>cx<Task-1>r" },
		{ "a loop within a task", "mLhxL1Lrs", "1r 2^a 3h 4b",
		  "m<Task-4>b<Task-3>hx<Task-2>a<Task-1>rs",
		  "mL<Task-4>b<Task-3>hxL1L<Task-2>a<Task-1>rs" },
		{ "that waits", "mLhxLA1", "3h 4b", "m<Task-4>b<Task-3>hxLA1",
		  "mL<Task-4>b<Task-3>hxLA1" },
		{ "whose task is entered or left", "mLhxL1", "1^r 3h 4b",
		  "m<Task-4>b<Task-3>hx<Task-1>r1", "mL<Task-4>b<Task-3>hxL<Task-1>r1" },
		{ "within an eager one", "mLcxhyLr", "1^r 2&h 3c 4b",
		  "m<Task-4>b<Task-3>cx<Task-2>hy<Task-1>r",
		  "mL<Task-4>b<Task-3>cx<Task-2>hyL<Task-1>r" },
		{ "two within each other", "mLhLiLr", "1^r 2^i 3h 4b",
		  "m<Task-4>b<Task-3>h<Task-2>i<Task-1>r",
		  "mL<Task-4>b<Task-3>hL<Task-2>iL<Task-1>r" },
		{ "who runs the loop is not on the stack", "mLr", "1^r 3h", "m<Task-3>h<Task-1>r",
		  "mL<Task-3>h<Task-1>r" },
		{ "in a loop of C", "mLhx1", "1^r 3h", "m<Task-3>hx1<Task-1>r",
		  "mL<Task-3>hx1<Task-1>r" },
		{ "too many within each other", "mLr", "1^r 2^ 3^ 4^ 5^ 6^ 7^ 8^ 9a",
		  "m[limit]<Task-8><Task-7><Task-6><Task-5><Task-4><Task-3><Task-2><Task-1>r",
		  "mL[limit]<Task-8><Task-7><Task-6><Task-5><Task-4><Task-3><Task-2><Task-1>r",
		  true },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		check_tasks(*state, &cases[i], ASYNC_TASKS);
		check_tasks(*state, &cases[i], ASYNC_BOTH);
	}
}

static void tasks_that_are_not_known_get_a_mark_after_the_loop(void **state)
{
	static const char *const stacks[][2] = {
		{ "mL1Lr2", "mL1L[late]r2" },
		{ "mL-1", "mL1" },
		{ "mr", "mr" },
	};
	struct fixture *x = *state;

	for (size_t i = 0; i < sizeof(stacks) / sizeof(*stacks); i++) {
		struct tasks tasks = { .mode = ASYNC_TASKS, .late = true };
		struct tasks_notes notes;

		put(&x->list, stacks[i][0]);
		assert_int_equal(tasks_find(&tasks, &x->list), x->list.cnt);
		assert_int_equal(edit_tasks(&x->list, &tasks, &x->edited, &notes), 0);
		assert_string_equal(draw(x, &x->edited), stacks[i][1]);
		assert_int_equal(notes.late, i == 0);
	}
}

static void only_what_may_be_the_loop_needs_a_role(void **state)
{
	struct fixture *x = *state;
	struct tasks tasks = { .mode = ASYNC_TASKS, .parts = x->parts };

	put(&x->list, "mLLrs");
	put_tasks(x, "1r");
	tasks.cnt = x->part_cnt;
	assert_int_equal(tasks_find(&tasks, &x->list), 3);
	tasks.mode = ASYNC_OFF;
	assert_int_equal(tasks_find(&tasks, &x->list), 0);
}

static void a_suspended_task_has_just_its_chain(void **state)
{
	struct fixture *x = *state;

	put_tasks(x, "1ba 2c");
	assert_int_equal(edit_suspended(x->parts, x->part_cnt, &x->edited), 0);
	assert_string_equal(draw(x, &x->edited), "<Task-2>c<Task-1>ba");
}

static void the_name_of_a_task_tells_items_apart(void **state)
{
	struct fixture *x = *state;
	__u64 names[3];

	for (int i = 0; i < 3; i++) {
		put_tasks(x, i == 1 ? "2a" : "1a");
		assert_int_equal(edit_suspended(x->parts, x->part_cnt, &x->edited), 0);
		assert_int_equal(x->edited.list[0].kind, ITEM_TASK);
		names[i] = x->edited.list[0].frame.code_addr;
	}
	assert_true(names[0] == names[2] && names[0] != names[1]);
}

/* Whatever a program's memory says: the result fits its room, and the thread's own frames stay. */
static void any_parts_do_no_harm(void **state)
{
	struct fixture *x = *state;
	unsigned seed = 7;

	for (int n = 0; n < 20000; n++) {
		static const char letters[] = "abcLA-12", flags[] = "123abc!+~*&^w";
		char stack[12] = "", parts[24] = "1";
		struct tasks tasks = { .mode = ASYNC_BOTH, .parts = x->parts };
		struct tasks_notes notes;
		__u32 own = 0;

		for (int i = 0; i < rand_r(&seed) % 12; i++)
			stack[i] = letters[(size_t)rand_r(&seed) % (sizeof(letters) - 1)];
		for (int i = 1; i < 1 + rand_r(&seed) % 22; i++)
			parts[i] = flags[(size_t)rand_r(&seed) % (sizeof(flags) - 1)];
		put(&x->list, stack);
		put_tasks(x, parts);
		tasks.cnt = x->part_cnt;
		tasks_find(&tasks, &x->list);
		assert_int_equal(edit_tasks(&x->list, &tasks, &x->edited, &notes), 0);
		assert_true(x->edited.cnt <= x->edited.cap);
		for (__u32 i = 0; i < x->edited.cnt; i++) {
			const struct item *item = &x->edited.list[i];

			if (item->kind == ITEM_MARK || item->kind == ITEM_TASK ||
			    item->index == ITEM_NO_FRAME)
				continue;
			assert_int_equal(item->index, own++);
		}
		assert_int_equal(own, x->list.cnt);
	}
}

/* ---- marks ------------------------------------------------------------------------------------ */

static void a_collection_is_marked_where_it_began(void **state)
{
	static const struct {
		const char *stack;
		char at;
		const char *result;
	} cases[] = {
		{ "ab1c2", 'b', "ab[GC]1c2" },
		{ "ab1c2", 'c', "ab1c[GC]2" },
		{ "abab", 'a', "aba[GC]b" },
		{ "ab-1", '-', "ab[GC]1" },
		{ "ab1-2", 0, "ab[GC]12" },
		{ "ab", 'x', NULL },
		{ "12", 0, NULL },
		{ "", 0, NULL },
	};
	struct fixture *x = *state;

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		bool found;

		put(&x->list, cases[i].stack);
		assert_int_equal(edit_collecting(&x->list,
						 cases[i].at ? frame_of(cases[i].at).frame_addr : 0,
						 &x->edited, &found),
				 0);
		assert_int_equal(found, cases[i].result != NULL);
		if (found)
			assert_string_equal(draw(x, &x->edited), cases[i].result);
	}
}

static void the_frames_of_other_tasks_collect_nothing(void **state)
{
	struct fixture *x = *state;
	struct tasks tasks = { .mode = ASYNC_TASKS, .parts = x->parts };
	struct tasks_notes notes;
	struct items once = { 0 };
	bool found;

	/* A frame of the loop, which is not shown, keeps its place. */
	put(&x->list, "mLL");
	put_tasks(x, "1a 2b");
	tasks.cnt = x->part_cnt;
	tasks_find(&tasks, &x->list);
	assert_int_equal(edit_tasks(&x->list, &tasks, &once, &notes), 0);
	assert_int_equal(edit_collecting(&once, frame_of('b').frame_addr, &x->edited, &found), 0);
	assert_false(found);
	assert_int_equal(edit_collecting(&once, 0, &x->edited, &found), 0);
	assert_string_equal(draw(x, &x->edited), "m[GC]<Task-2>b<Task-1>a");
	items_free(&once);
}

static void marks_at_the_root_come_before_everything(void **state)
{
	struct fixture *x = *state;

	put(&x->list, "ab1");
	assert_int_equal(edit_root_mark(&x->list, ITEM_TRUNCATED, 7, &x->edited), 0);
	assert_string_equal(draw(x, &x->edited), "[truncated]ab1");
	assert_int_equal(x->edited.list[0].frame.fingerprint, 7);
}

/* ---- what was named --------------------------------------------------------------------------- */

static const struct named_under under = { .root_tag = 1, .digest = 2, .code_generation = 3 };

/* As stack_nodes.c does, with nodes 10, 11, ... */
static void name(struct named *n, const struct items *list, __u32 final)
{
	assert_int_equal(vec_reserve(n->list, n->cap, list->cnt), 0);
	for (__u32 i = 0; i < list->cnt; i++) {
		n->list[i] = named_of(&list->list[i]);
		n->list[i].node = 10 + i;
	}
	n->cnt = final;
	n->under = under;
}

static __u32 same(struct fixture *x, const struct named *n, const char *names)
{
	put(&x->list, names);
	return named_same(n, &under, &x->list, 0, 0);
}

static void items_that_say_the_same_are_kept(void **state)
{
	struct fixture *x = *state;
	struct named n = { 0 };

	assert_int_equal(same(x, &n, "ab"), 0);
	put(&x->list, "a1-bc");
	name(&n, &x->list, 5);
	assert_int_equal(same(x, &n, "a1-bc"), 5);
	assert_int_equal(same(x, &n, "a1-bd"), 4);
	assert_int_equal(same(x, &n, "a1"), 2);
	assert_int_equal(same(x, &n, "a2-bc"), 1);
	assert_int_equal(same(x, &n, "x1-bc"), 0);
	assert_int_equal(same(x, &n, ""), 0);
	n.cnt = 3; /* the next name may change */
	assert_int_equal(same(x, &n, "a1-bc"), 3);
	free(n.list);
}

static void only_the_frame_itself_may_be_another_one(void **state)
{
	struct fixture *x = *state;
	struct named n = { 0 };

	put(&x->list, "abc");
	name(&n, &x->list, 3);
	for (size_t byte = 0; byte < sizeof(struct frame); byte++) {
		bool is_addr = byte >= offsetof(struct frame, frame_addr) &&
			       byte < offsetof(struct frame, frame_addr) + 8;

		put(&x->list, "abc");
		((char *)&x->list.list[1].frame)[byte] ^= 1;
		assert_int_equal(named_same(&n, &under, &x->list, 0, 0), is_addr ? 3 : 1);
	}
	put(&x->list, "abc");
	x->list.list[1].kind = ITEM_HIDDEN;
	assert_int_equal(named_same(&n, &under, &x->list, 0, 0), 1);
	free(n.list);
}

static void what_names_depend_on_is_compared_first(void **state)
{
	struct fixture *x = *state;
	struct named n = { 0 };
	struct named_under now;

	put(&x->list, "ab1c");
	name(&n, &x->list, 4);
	now = under;
	now.root_tag++;
	assert_int_equal(named_same(&n, &now, &x->list, 0, 4), 0);
	now = under;
	now.digest++;
	assert_int_equal(named_same(&n, &now, &x->list, 0, 4), 0);
	for (int i = 0; i < 2; i++) {
		now = under;
		now.code_generation += i == 0;
		now.interp_addr += i == 1;
		/* Another object may be at that address, unless the frame has lived on. */
		assert_int_equal(named_same(&n, &now, &x->list, 0, 0), 0);
		assert_int_equal(named_same(&n, &now, &x->list, 0, 2), 3);
	}
	free(n.list);
}

#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(parents_come_first),
		T(tasks_go_before_the_coroutine),
		T(tasks_that_are_not_known_get_a_mark_after_the_loop),
		T(only_what_may_be_the_loop_needs_a_role),
		T(a_suspended_task_has_just_its_chain),
		T(the_name_of_a_task_tells_items_apart),
		T(any_parts_do_no_harm),
		T(a_collection_is_marked_where_it_began),
		T(the_frames_of_other_tasks_collect_nothing),
		T(marks_at_the_root_come_before_everything),
		T(items_that_say_the_same_are_kept),
		T(only_the_frame_itself_may_be_another_one),
		T(what_names_depend_on_is_compared_first),
	};

	return cmocka_run_group_tests_name("record/stack/edits", tests, NULL, NULL);
}

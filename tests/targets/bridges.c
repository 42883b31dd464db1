/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * bridges.c - an extension module that calls back into Python in ways that are hard to unwind: from frames whose
 * size is not known before they run, from signal handlers on the thread's own and on other stacks,
 * after longjmp(), from fibres. For bridges.py; built by the test without frame pointers.
 */
#define _GNU_SOURCE
#include <alloca.h>
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>

#include "extension.h"

object *PyObject_CallObject(object *callable, object *args);
object *PyInit_bridges_native(void);

#define STACK_BYTES (512 << 10)

static volatile long sink;
static object *callable_now, *result_now; /* of the function that is about to switch */

NOINLINE static void work(long n)
{
	for (long i = 0; i < n; i++)
		sink += i;
}

NOINLINE static object *call_back(object *callable)
{
	object *result = PyObject_CallObject(callable, NULL);

	sink++; /* no tail call: this function stays on the stack */
	return result;
}

/* Between sixteen bytes and some hundred more, varying. */
NOINLINE static object *by_alloca(object *self, object *callable)
{
	size_t size = 16 + (size_t)(sink & 1023);
	char *room = alloca(size);
	object *result;

	(void)self;
	memset(room, 1, size);
	work(300);
	result = call_back(callable);
	sink += room[size - 1];
	return result;
}

/* ---- signals ---------------------------------------------------------------------------------- */

NOINLINE static void on_signal(int number)
{
	object *callable = callable_now;

	(void)number;
	work(300);
	result_now = call_back(callable);
	sink++;
}

NOINLINE static object *by_signal(object *self, object *callable)
{
	(void)self;
	work(300);
	callable_now = callable;
	raise(SIGUSR1);
	sink++;
	return result_now;
}

NOINLINE static void on_other_stack(int number)
{
	object *callable = callable_now;

	(void)number;
	work(300);
	result_now = call_back(callable);
	sink++;
}

NOINLINE static object *by_other_stack(object *self, object *callable)
{
	(void)self;
	work(300);
	callable_now = callable;
	raise(SIGUSR2);
	sink++;
	return result_now;
}

/* ---- jumps ------------------------------------------------------------------------------------ */

NOINLINE static void jump(jmp_buf *where)
{
	work(300);
	longjmp(*where, 1);
}

NOINLINE static object *by_jump(object *self, object *callable)
{
	object *result;
	jmp_buf here;

	(void)self;
	if (!setjmp(here)) {
		work(300);
		jump(&here);
	}
	result = call_back(callable);
	sink++;
	return result;
}

/* ---- fibres ----------------------------------------------------------------------------------- */

static ucontext_t caller, fibre;
static void *fibre_stack, *other_stack;

NOINLINE static void in_fibre(void)
{
	object *callable = callable_now;

	work(300);
	result_now = call_back(callable);
	sink++;
}

/* The fibre returns to its caller when its function returns. */
NOINLINE static object *by_fibre(object *self, object *callable)
{
	(void)self;
	work(300);
	callable_now = callable;
	getcontext(&fibre);
	fibre.uc_stack.ss_sp = fibre_stack;
	fibre.uc_stack.ss_size = STACK_BYTES;
	fibre.uc_link = &caller;
	makecontext(&fibre, in_fibre, 0);
	swapcontext(&caller, &fibre);
	sink++;
	return result_now;
}

/* ---- module ----------------------------------------------------------------------------------- */

/*
 * Stacks are mapped from high to low addresses, so these are above the stack of a thread that
 * starts later.
 */
static void *new_stack(void)
{
	void *stack =
		mmap(NULL, STACK_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (stack == MAP_FAILED)
		abort();
	return stack;
}

/* For the calling thread; the first call in the process also sets up the handlers. */
static object *set_up(object *self, object *callable)
{
	struct sigaction action = { .sa_handler = on_signal };
	stack_t stack = { .ss_size = STACK_BYTES };

	(void)self;
	if (!fibre_stack) {
		fibre_stack = new_stack();
		other_stack = new_stack();
	}
	sigaction(SIGUSR1, &action, NULL);
	action = (struct sigaction){ .sa_handler = on_other_stack, .sa_flags = SA_ONSTACK };
	sigaction(SIGUSR2, &action, NULL);
	stack.ss_sp = other_stack;
	sigaltstack(&stack, NULL);
	return call_back(callable);
}

static method methods[] = {
	{ "by_alloca", by_alloca, METH_O, NULL },
	{ "by_signal", by_signal, METH_O, NULL },
	{ "by_other_stack", by_other_stack, METH_O, NULL },
	{ "by_jump", by_jump, METH_O, NULL },
	{ "by_fibre", by_fibre, METH_O, NULL },
	{ "set_up", set_up, METH_O, NULL },
	{ NULL, NULL, 0, NULL },
};

static module_def def = {
	.base = STATIC_OBJECT, .name = "bridges_native", .size = -1, .methods = methods
};

object *PyInit_bridges_native(void)
{
	return PyModule_Create2(&def, API_VERSION);
}

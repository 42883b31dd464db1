/* SPDX-License-Identifier: BSD-2-Clause */
#include "cmd/record/record_options.h"

#include <argp.h>
#include <string.h>
#include <unistd.h>

#include "cmd/common/arguments.h"
#include "cmd/common/formats.h"
#include "cmd/record/live_options.h"
#include "cmd/record/record_events.h"
#include "cmd/record/record_output_options.h"
#include "cmd/record/record_probes.h"
#include "cmd/record/record_ring.h"
#include "cmd/record/record_targets.h"
#include "profile/states.h"
#include "base/system/error.h"
#include "base/worker/own.h"

#define DEFAULT_MAX_LOSS_PERCENT 1.0
#define DEFAULT_AUDIT_EVERY 64
/* 1 ms, rounded to a power of two. */
#define DEFAULT_OFF_CPU_NS (1ULL << 20)

enum {
	KEY_RING = 256,
	KEY_UNWIND,
	KEY_MAX_LOSS,
	KEY_ANCHORS,
	KEY_AUDIT,
	KEY_NO_NATIVE,
	KEY_NO_KERNEL,
	KEY_INTERPRETER,
	KEY_INLINE,
	KEY_LOG_INPUTS,
	KEY_BECOMING,
	KEY_JITTER,
	KEY_BUDGET,
	KEY_TASKS,
	KEY_MEMORY,
	KEY_OPCODES,
	KEY_WALL,
	KEY_IDLE,
	KEY_STATE,
	KEY_GIL,
	KEY_AS_IT_IS,
	KEY_CALL_GRAPH,
	KEY_CLOCK,
	KEY_PROBE,
	KEY_FILTER,
};

static const struct argp_option options[] = {
	{ 0, 0, 0, 0, "Target:", 1 },
	{ "all", 'a', 0, 0, "every Python process on this machine, including those started later" },
	{ "pid", 'p', "PID[,PID...]", 0,
	  "these processes and their children, including those started later" },
	{ "name", TARGET_NAME, "GLOB", 0,
	  "only processes whose command, script or module matches; may be given several times" },
	{ "cgroup", TARGET_CGROUP, "PATH", 0,
	  "only processes in this control group (a container, a service) or below" },
	{ "user", TARGET_USER, "NAME", 0, "only processes of this user (name or number)" },
	/* Words of py-spy and Tachyon for what krait does anyway. */
	{ "subprocesses", KEY_AS_IT_IS, 0, OPTION_HIDDEN, NULL },
	{ "nonblocking", KEY_AS_IT_IS, 0, OPTION_HIDDEN, NULL },
	{ "all-threads", KEY_AS_IT_IS, 0, OPTION_HIDDEN, NULL },
	{ 0, 0, 0, 0, "Sampling:", 2 },
	{ "freq", 'F', "HZ", 0,
	  "samples per second and CPU (default 997, with -a 99; 10k "
	  "works, and max is what the kernel allows, as in perf)" },
	{ "rate", 'r', "HZ", OPTION_ALIAS },
	{ "event", 'e', "EVENT[,EVENT...]", 0,
	  "what to count (default cpu-clock): any hardware or software event of perf list, such as "
	  "page-faults, minor-faults, major-faults, context-switches (cs), cpu-migrations, cycles, "
	  "instructions, cache-misses, LLC-load-misses, raw rNNN, of a PMU cpu/event=0x3c,umask=0x1/, a tracepoint "
	  "sched:sched_process_fork or those that match 'syscalls:sys_enter_*'; :u or :k behind it for user or "
	  "kernel mode only. {a,b}: a group, counted at the same times; {a,b}:S: each sample of a is also one of b, with what b has "
	  "counted since the one before. May be given several times. perf.data, pprof and script have all events, "
	  "each apart; other outputs the first" },
	{ "filter", KEY_FILTER, "FILTER", 0,
	  "only when the tracepoint before it has such fields, in the words of perf's --filter: 'fd == 1 && count > 4096', "
	  "'filename ~ \"*.so\"' (of a text the first 255 bytes)" },
	{ "probe", KEY_PROBE, "FILE:FUNCTION", 0,
	  "each time that a thread enters this function of a program or library (FUNCTION+OFFSET: comes to that instruction; "
	  "FUNCTION%return: returns from it). FILE is a path, or the beginning of a name, such as libc, libpython. The kernel puts a "
	  "breakpoint there in every process that has the file mapped, and takes it away at the end. As events: -e "
	  "uprobe:FILE:FUNCTION, uretprobe:FILE:FUNCTION, and usdt:FILE:NAME for a mark of the program's own" },
	{ "count", 'c', "PERIOD", 0,
	  "take a sample every PERIOD events instead of at a rate. Clock "
	  "events recorded with others keep their rate; alone they count "
	  "nanoseconds" },
	{ "period", 'c', "PERIOD", OPTION_ALIAS | OPTION_HIDDEN },
	{ LIVE_ROW_OFF_CPU, "also time off the CPU, as event offcpu-time in nanoseconds: "
			    "every wait of at least TIME (default 1ms, rounded to a power "
			    "of two in ns) with its real length, and samples of shorter "
			    "ones whose sums are right. krait keeps the cost to about 2% of "
			    "each CPU, and warns if threads switch so often that it is more" },
	{ "wall", KEY_WALL, 0, 0,
	  "like --off-cpu, but outputs for one event (the summary, flame "
	  "graphs) show the sum of time on and off the CPU, as event "
	  "wall-clock: where all of a thread's time went" },
	{ "idle", KEY_IDLE, 0, 0, "also idle threads, as in py-spy: the same as --wall" },
	{ "thread", TARGET_THREAD, "THREAD", 0, THREAD_FILTER_ABOUT },
	{ "state", KEY_STATE, "STATE[,STATE...]", 0,
	  "only samples in these states: " STATES_WORDS ". States off the CPU imply --wall" },
	{ "gil", KEY_GIL, 0, 0, "only threads that hold the GIL, as in py-spy" },
	{ LIVE_ROW_DURATION, "stop after 10s, 500ms, 2m (default: Ctrl-C, or when the "
			     "command ends). A command that is still running then gets "
			     "SIGTERM, or the signal that ended krait" },
	{ "native", 'n', 0, 0,
	  "also the C side of each stack (the default): extensions and "
	  "libraries between the Python frames. [truncated] marks where "
	  "code without unwind tables and frame pointers hides callers in "
	  "C" },
	{ "no-native", KEY_NO_NATIVE, 0, 0,
	  "no native frames (krait report can also leave them out)" },
	{ "kernel", 'k', 0, 0,
	  "also kernel frames, if a sample hits the kernel (the default); html: also those below a wait "
	  "(not the default)" },
	{ "no-kernel", KEY_NO_KERNEL, 0, 0, "no kernel frames" },
	{ NULL, 'g', 0, 0, "as in perf: stacks, which krait always records" },
	{ "call-graph", KEY_CALL_GRAPH, "MODE", 0, "the same, whatever the mode" },
	{ "clockid", KEY_CLOCK, "mono", 0,
	  "as perf record -k mono (which krait takes, too): the clock of all times, CLOCK_MONOTONIC" },
	{ "interpreter-frames", KEY_INTERPRETER, 0, 0,
	  "also the interpreter's own C functions, which krait otherwise "
	  "folds into Python frames" },
	{ "inline", KEY_INLINE, 0, 0,
	  "also functions that the compiler inlined in native code, if "
	  "debug information is available: krait reads it after the "
	  "recording and stores the result in perf.data" },
	{ "jitter", KEY_JITTER, 0, 0,
	  "let the rates of the clock's timers vary within an eighth of "
	  "--freq, instead of 3 %%, for programs that keep in step with "
	  "them all the same" },
	{ "budget", KEY_BUDGET, "PERCENT", 0,
	  "take fewer samples of a process if they would take more of its time than that, because its "
	  "stacks are deep: each then stands for more time, so that sums stay right" },
	{ LIVE_ROW_ASYNC, "for asyncio programs (CPython 3.14 and later) record the stack "
			  "of tasks (the default): the frames of the tasks that await the "
			  "running one come before its own, without those of the event "
			  "loop; \"both\" keeps the loop's frames" },
	{ "tasks", KEY_TASKS, "HZ", OPTION_ARG_OPTIONAL,
	  "also the event waiting-tasks: suspended asyncio tasks with the "
	  "chain of tasks that await them, counted HZ times a second "
	  "(default 1, at most 10)" },
	{ "memory", KEY_MEMORY, 0, 0,
	  "instead of CPU time the memory of the processes (with -e also what that says): event "
	  "resident-memory, what they have at the end, by the stack that touched it last, and event "
	  "touched-memory, every page fault: what was touched, and is perhaps gone again. For large blocks; memory that an allocator reuses belongs to "
	  "whoever touched its page last" },
	{ LIVE_ROW_TASK_NAMES, "add a frame with the name of each task before the frames of "
			       "its coroutines" },
	{ LIVE_ROW_NO_ASYNC, "the thread's own stack: the event loop, and the running task" },
	{ LIVE_ROW_NO_GREENLETS, "for programs with greenlet (gevent) record only the stack of "
				 "the running greenlet. Otherwise the frames of its parents, up "
				 "to where they switched, come before its own" },
	{ "opcodes", KEY_OPCODES, 0, 0,
	  "also the current instruction of each Python frame: "
	  "LOAD_ATTR_INSTANCE_VALUE, or LOAD_ATTR if it is not "
	  "specialised. For krait report --by opcode and krait annotate" },
	{ 0, 0, 0, 0, "Tuning:", 4 },
	{ "ring-size", KEY_RING, "BYTES", 0,
	  "size of the buffer between kernel and krait (default 4M for "
	  "each CPU)" },
	{ "unwind-memory", KEY_UNWIND, "BYTES", 0,
	  "limit for the tables that krait unwinds native stacks with "
	  "(default 64M): 4 bytes for each row, shared by all processes" },
	{ "anchors", KEY_ANCHORS, "auto|on|off", 0,
	  "auto, on or off: on CPython 3.15 write last_profiled_frame, so "
	  "that krait walks only the new part of a stack (default auto: "
	  "where that saves work)" },
	{ "audit", KEY_AUDIT, "N", 0,
	  "check one in N of these shortened walks by a walk to the root "
	  "(default 64; 0: none); one in N * depth / 128 for stacks deeper "
	  "than 128, so that this never costs more" },
	{ LIVE_ROW_NO_REALTIME, "do not raise krait's own priority. Otherwise krait runs as "
				"SCHED_RR 1 if permitted, so that it keeps up on an overloaded "
				"machine; a command that it starts does not" },
	{ "max-loss", KEY_MAX_LOSS, "PERCENT", 0,
	  "exit with 1 if krait loses more of the samples (default 1)" },
	/* For tests: user/record/replay/. */
	{ "log-inputs", KEY_LOG_INPUTS, "FILE", OPTION_HIDDEN },
	/* For krait broker: see record_options.h. */
	{ "becoming", KEY_BECOMING, 0, OPTION_HIDDEN },
	{ 0 },
};

static const char doc[] =
	"Record exact Python stacks without stopping anything."
	"\v"
	"Examples:\n"
	"  krait record -a -d 10s                    the whole machine -> perf.data\n"
	"  krait record -o flame.html -p 1234        as a flame graph\n"
	"  krait record -p 1234 -o out.folded        it and its children, until Ctrl-C\n"
	"  krait record -F 10k -- python3 app.py     a command, to its end\n"
	"  krait record -p 1234 -- sleep 10          as in perf: while a command runs\n"
	"  krait record -e page-faults -c 1 -p 1234  who touches new memory, each fault\n"
	"  krait record --memory -p 1234 -d 60s      where it grows\n"
	"  krait record -e cpu-clock,context-switches -- python3 app.py\n"
	"  krait record --off-cpu -p 1234            what it waits for, too\n"
	"  krait record --wall -o wall.html -p 1234  wall-clock time: working, waiting\n"
	"  krait record -a -f script -o - | less     samples as perf script prints them\n"
	"\n"
	"Suffixes: " FORMATS_SUFFIXES ".\n"
	"Exit codes: 0 success (or the command's own); 1 more lost than --max-loss; 2 usage; 3 no such "
	"process or not Python; 4 permission; 5 the kernel lacks something; 6 no samples; 7 a file "
	"could not be written.";

static void parse_anchors(struct record_options *o, const char *text, struct argp_state *state)
{
	if (!strcmp(text, "auto"))
		o->anchors = ANCHOR_MODE_AUTO;
	else if (!strcmp(text, "on"))
		o->anchors = ANCHOR_MODE_ON;
	else if (!strcmp(text, "off"))
		o->anchors = ANCHOR_MODE_OFF;
	else
		arguments_refuse(state, "--anchors is auto, on or off, not \"%s\"", text);
}

/* Other users' programs must not be in what is left: they wake threads, and the kernel serves them. */
static void settle_own(const struct record_options *o, struct argp_state *state)
{
	for (unsigned i = 0; i < o->event_cnt; i++) {
		if (event_is_probe(&o->events[i]))
			arguments_refuse(state, OWN_WORD
					 " takes no tracepoints and probes, which are root's");
		if (o->events[i].is_read)
			arguments_refuse(
				state, OWN_WORD
				" takes no groups with :S, which count what others do between two samples");
	}
	if (o->inputs || o->ring.on)
		arguments_refuse(state, OWN_WORD " takes neither --log-inputs nor rings");
}

static void settle(struct record_options *o, struct argp_state *state)
{
	record_targets_settle(o, state);
	record_events_settle(o, state);
	record_ring_settle(o, state);
	if (own_is())
		settle_own(o, state);
}

/* Handles options without an argument. Returns false for others. */
static bool set_switch(struct record_options *o, int key)
{
	switch (key) {
	case KEY_WALL:
	case KEY_IDLE:
		o->off_cpu = o->wall = true;
		break;
	case KEY_AS_IT_IS:
		break;
	case KEY_MEMORY:
		o->memory = true;
		break;
	case KEY_GIL:
		o->holds_gil = true;
		break;
	case KEY_BECOMING:
		o->becoming = true;
		break;
	case KEY_OPCODES:
		o->opcodes = true;
		break;
	case KEY_JITTER:
		o->jitter = true;
		break;
	case 'n':
	case KEY_NO_NATIVE:
		o->native = key == 'n';
		break;
	case 'k':
	case KEY_NO_KERNEL:
		o->kernel = o->wait_kernel = key == 'k';
		break;
	case KEY_INTERPRETER:
		o->native = true;
		o->interpreter_frames = true;
		break;
	case KEY_INLINE:
		o->inlined = true;
		break;
	default:
		return false;
	}
	return true;
}

static bool is_monotonic(const char *clock)
{
	return !strcmp(clock, "mono") || !strcmp(clock, "monotonic") ||
	       !strcmp(clock, "CLOCK_MONOTONIC");
}

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	struct record_options *o = state->input;

	/* perf's clock, not frames of the kernel. */
	if (key == 'k' && state->next < state->argc && is_monotonic(state->argv[state->next])) {
		state->next++;
		return 0;
	}
	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = state->child_inputs[1] = o;
		break;
	case 'g':
	case KEY_CALL_GRAPH:
		break;
	case KEY_CLOCK:
		if (!is_monotonic(arg))
			arguments_refuse(
				state,
				"krait's times are those of CLOCK_MONOTONIC: --clockid mono, not \"%s\"",
				arg);
		break;
	case 'e':
		record_events_add(o, arg, state);
		break;
	case KEY_PROBE:
		record_probes_option(o, arg, state);
		break;
	case KEY_FILTER:
		record_events_filter(o, arg, state);
		break;
	case 'c':
		record_events_period(o, arg, state);
		break;
	case KEY_STATE:
		if (states_parse(&o->states, arg))
			arguments_refuse(state, "--state takes " STATES_WORDS ", not \"%s\"", arg);
		if (states_has_off(o->states))
			o->off_cpu = o->wall = true;
		break;
	case KEY_TASKS:
		record_events_tasks(o, arg, state);
		o->wants_tasks = true;
		break;
	case KEY_BUDGET:
		o->budget_permille =
			(__u32)(arguments_percent(arg, "--budget", 0.1, 100, state) * 10 + 0.5);
		break;
	case KEY_MAX_LOSS:
		o->max_loss_percent = arguments_percent(arg, "--max-loss", 0, 100, state);
		break;
	case KEY_RING:
		arguments_size(&o->ring_bytes, arg, state);
		break;
	case KEY_UNWIND:
		arguments_size(&o->unwind_bytes, arg, state);
		break;
	case KEY_LOG_INPUTS:
		o->inputs = arg;
		break;
	case KEY_ANCHORS:
		parse_anchors(o, arg, state);
		break;
	case KEY_AUDIT:
		o->audit_every = arguments_count(arg, "--audit", 1000000, state);
		break;
	case ARGP_KEY_ARGS:
		o->command = state->argv + state->next;
		break;
	case ARGP_KEY_END:
		settle(o, state);
		break;
	default:
		return set_switch(o, key) ? 0 : live_option(o, key, arg, state);
	}
	return 0;
}

void record_options_defaults(struct record_options *ret)
{
	memset(ret, 0, sizeof(*ret));
	ret->max_loss_percent = DEFAULT_MAX_LOSS_PERCENT;
	ret->audit_every = DEFAULT_AUDIT_EVERY;
	ret->async = ASYNC_TASKS;
	ret->greenlets = true;
	ret->off_cpu_ns = DEFAULT_OFF_CPU_NS;
	record_output_defaults(ret);
	ret->native = ret->kernel = ret->realtime = true;
}

void record_options_parse(struct record_options *ret, int argc, char **argv)
{
	static const struct argp_child children[] = { { &record_output_argp, 0, NULL, 0 },
						      { &record_ring_argp, 0, NULL, 0 },
						      { 0 } };
	static const struct argp argp = { .options = options,
					  .parser = parse_option,
					  .args_doc = "[-- COMMAND...]",
					  .doc = doc,
					  .children = children,
					  .help_filter = record_output_help };

	record_options_defaults(ret);
	/* In order: what follows the command's name belongs to the command. */
	arguments_parse(&argp, argc, argv, ARGP_IN_ORDER, ret);
}

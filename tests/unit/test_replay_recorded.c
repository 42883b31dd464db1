/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_replay_recorded.c - replays a real recording from its log of inputs: without a kernel,
 * rights, or any file but the log, each kind of stack of tests/targets/inputs.py appears. Opening
 * anything kills the replaying process.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <lzma.h>
#include <seccomp.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "profile/marks.h"
#include "profile/profile.h"
#include "replay.h"
#include "record/replay/input_log.h"
#include "record/anchors/anchoring.h"
#include "record/samples/native_part.h"

#define ASSET KRAIT_SRCDIR "/tests/unit/recorded.inputs.xz"
#define LOG_MAX (16UL << 20)
#define DEPTH 250 /* of descend() */

/* The log, and a copy without some of its entries. */
static __u64 recorded[LOG_MAX / 8];
static size_t recorded_size;

/* ---- the log ------------------------------------------------------------------------------------ */

static void load(void)
{
	static __u8 packed[LOG_MAX];
	FILE *in = fopen(ASSET, "re");
	size_t size = in ? fread(packed, 1, sizeof(packed), in) : 0, at = 0;
	uint64_t memory = 256UL << 20;

	if (in)
		fclose(in);
	if (lzma_stream_buffer_decode(&memory, 0, NULL, packed, &at, size, (__u8 *)recorded,
				      &recorded_size, LOG_MAX) != LZMA_OK) {
		puts("Bail out! " ASSET " cannot be read");
		exit(1);
	}
}

typedef bool (*keep_fn)(const struct input_entry *e);

/* Returns the kept entries in order; the caller frees them. */
static char *part_of(keep_fn keep, size_t *ret_size)
{
	struct input_reader reader;
	struct input_entry e;
	char *part;
	FILE *out = open_memstream(&part, ret_size);

	assert_int_equal(input_log_begin(out), 0);
	assert_int_equal(input_reader_begin(&reader, recorded, recorded_size), 0);
	while (input_reader_next(&reader, &e) > 0)
		if (keep(&e))
			assert_int_equal(input_log_write(out, &e), 0);
	fclose(out);
	return part;
}

static __u64 samples_of_log(void)
{
	struct input_reader reader;
	struct input_entry e;
	__u64 cnt = 0;

	assert_int_equal(input_reader_begin(&reader, recorded, recorded_size), 0);
	while (input_reader_next(&reader, &e) > 0)
		cnt += e.kind == INPUT_RECORD && *(const __u32 *)e.value == RECORD_SAMPLE;
	return cnt;
}

/* ---- stacks ------------------------------------------------------------------------------------- */

/* Counts samples of the lines that contain these texts in that order. */
static unsigned long samples_with(const char *folded, const char *const texts[])
{
	unsigned long cnt = 0;
	char *text = strdup(folded), *save = NULL;

	for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		const char *at = line;
		int i = 0;

		while (texts[i] && (at = strstr(at, texts[i])))
			at += strlen(texts[i++]);
		if (!texts[i])
			cnt += strtoul(strrchr(line, ' '), NULL, 10);
	}
	free(text);
	return cnt;
}

#define SAMPLES(folded, ...) samples_with(folded, (const char *const[]){ __VA_ARGS__, NULL })

static void what_was_recorded_is_there_again(void **state)
{
	struct replay *r = replay_new(recorded, recorded_size, false);
	const struct accounts *a;
	const char *folded;
	__u64 sum = 0;

	replay_run(r);
	a = &profile__counts(replay_profile(r), 0)->accounts;
	for (unsigned i = 0; i < REASON_CNT; i++)
		sum += a->reasons[i];
	assert_int_equal(sum, samples_of_log());
	assert_int_equal(a->unknown_frames, 0);
	assert_int_equal(a->reasons[REASON_NO_PROCESS], 0);
	folded = replay_folded(r);
	/* Every sample that is not lost is in some line. */
	assert_int_equal(SAMPLES(folded, "python3.15_[inputs.py];") + SAMPLES(folded, "true;"),
			 accounts_total(a, OUTCOME_COMPLETE) +
				 accounts_total(a, OUTCOME_TRUNCATED));
	/* A fork, threads, and an exec by a thread other than the leader. */
	assert_true(SAMPLES(folded, "main (inputs.py);in_child (inputs.py);by_callback") > 3);
	assert_true(SAMPLES(folded, "Thread.run (threading.py);in_thread (inputs.py);spin") > 3);
	assert_true(SAMPLES(folded, "main (inputs.py);after_exec (inputs.py);spin") > 3);
	assert_int_equal(SAMPLES(folded, "exec_by_thread", "after_exec"), 0);
	replay_free(r);
}

/* Callbacks: native frames among the Python ones, and the kernel's below the leaf. */
static void native_frames_are_joined_and_named(void **state)
{
	struct replay *r = replay_new(recorded, recorded_size, false);
	const struct native_part_stats *natives = replay_natives(r);
	const char *folded;

	replay_run(r);
	folded = replay_folded(r);
	assert_true(SAMPLES(folded, ";by_callback (inputs.py);", "ffi_call (libffi",
			    ";qsort_r (libc", ";compare (inputs.py)") > 3);
	assert_int_equal(SAMPLES(folded, "compare (inputs.py)", "by_callback (inputs.py)"), 0);
	assert_true(SAMPLES(folded, "in_kernel (inputs.py);", "do_syscall_64_[k];", "read_zero") >
		    10);
	assert_true(natives->samples > 100);
	assert_true(natives->complete > natives->samples / 2);
	replay_free(r);
}

/* Deltas have become whole stacks, and the anchors at which they end were placed again. */
static void a_deep_stack_has_its_anchor(void **state)
{
	struct replay *r = replay_new(recorded, recorded_size, false);
	const char *texts[DEPTH + 2] = { NULL };

	replay_run(r);
	for (int i = 0; i < DEPTH; i++)
		texts[i] = "descend (inputs.py);";
	texts[DEPTH] = "spin (inputs.py)";
	assert_true(samples_with(replay_folded(r), texts) > 50);
	assert_true(replay_anchoring(r)->writes > 0);
	assert_int_equal(replay_anchoring(r)->refused, 0);
	replay_free(r);
}

/* ---- answers that do not come --------------------------------------------------------------------- */

static bool is_not_parsed(const struct input_entry *e)
{
	return e->kind != INPUT_PARSED;
}

static bool is_not_maps(const struct input_entry *e)
{
	return e->kind != INPUT_ANSWER || ((const struct probe_request *)e->key)->op != PROBE_MAPS;
}

static bool is_not_kernel(const struct input_entry *e)
{
	return e->kind != INPUT_KERNEL;
}

/* However little is known of native code, the Python frames stay the same. */
static void without_answers_python_is_as_before(void **state)
{
	static const struct {
		keep_fn keep;
		const char *gone, *instead;
	} cases[] = {
		{ is_not_parsed, "ffi_call (libffi", "[libffi.so" },
		{ is_not_maps, "ffi_call (libffi", MARK_NATIVE_UNKNOWN },
		{ is_not_kernel, "read_zero", "[kernel]" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		size_t size;
		char *part = part_of(cases[i].keep, &size);
		struct replay *r = replay_new(part, size, false);
		const char *folded;

		replay_run(r);
		folded = replay_folded(r);
		assert_int_equal(SAMPLES(folded, cases[i].gone), 0);
		assert_true(SAMPLES(folded, cases[i].instead) > 3);
		assert_true(SAMPLES(folded, "in_child (inputs.py);by_callback", "compare") > 3);
		assert_int_equal(profile__counts(replay_profile(r), 0)->accounts.unknown_frames, 0);
		replay_free(r);
		free(part);
	}
}

/* ---- nothing is opened ----------------------------------------------------------------------------- */

/*
 * Everything that leads out of this process kills it: files, programs, sockets, other processes,
 * BPF.
 */
static void seal(void)
{
	static const int forbidden[] = {
		SCMP_SYS(open),		  SCMP_SYS(openat),	SCMP_SYS(openat2),
		SCMP_SYS(creat),	  SCMP_SYS(stat),	SCMP_SYS(lstat),
		SCMP_SYS(statx),	  SCMP_SYS(access),	SCMP_SYS(faccessat),
		SCMP_SYS(readlink),	  SCMP_SYS(readlinkat), SCMP_SYS(execve),
		SCMP_SYS(execveat),	  SCMP_SYS(socket),	SCMP_SYS(connect),
		SCMP_SYS(ptrace),	  SCMP_SYS(bpf),	SCMP_SYS(process_vm_readv),
		SCMP_SYS(perf_event_open)
	};
	scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ALLOW);
	int err = filter ? 0 : -1;

	for (size_t i = 0; i < sizeof(forbidden) / sizeof(forbidden[0]) && !err; i++)
		err = seccomp_rule_add(filter, SCMP_ACT_KILL_PROCESS, forbidden[i], 0);
	/* Operations on an open descriptor stay inside. */
	if (!err)
		err = seccomp_rule_add(filter, SCMP_ACT_KILL_PROCESS, SCMP_SYS(newfstatat), 1,
				       SCMP_A3(SCMP_CMP_MASKED_EQ, AT_EMPTY_PATH, 0));
	if (err || seccomp_load(filter)) {
		puts("Bail out! no seccomp");
		_exit(1);
	}
	seccomp_release(filter);
}

static void whatever_opens_a_file_is_killed(void **state)
{
	pid_t pid = fork();
	int status;

	if (!pid) {
		open("/dev/null", O_RDONLY);
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGSYS);
}

static int run_sealed(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(whatever_opens_a_file_is_killed),
		cmocka_unit_test(what_was_recorded_is_there_again),
		cmocka_unit_test(native_frames_are_joined_and_named),
		cmocka_unit_test(a_deep_stack_has_its_anchor),
		cmocka_unit_test(without_answers_python_is_as_before),
	};

	seal();
	return cmocka_run_group_tests_name("replay: a recording", tests, NULL, NULL);
}

int main(void)
{
	struct input_reader reader;
	int status;
	pid_t pid;

	load();
	/* Only root can record a new one; tests/e2e/test_replay.py replays a fresh one. */
	if (input_reader_begin(&reader, recorded, recorded_size)) {
		puts("1..0 # SKIP a struct in the log has another size now: scripts/record-inputs makes it anew");
		return 0;
	}
	fflush(stdout);
	pid = fork();
	if (!pid) {
		int failed = run_sealed();

		fflush(NULL);
		_exit(failed); /* the leak checker opens /proc */
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid || !WIFEXITED(status)) {
		printf("Bail out! the replay has ended by signal %d%s\n", WTERMSIG(status),
		       WTERMSIG(status) == SIGSYS ? ": it has opened something" : "");
		return 1;
	}
	return WEXITSTATUS(status);
}

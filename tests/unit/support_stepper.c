/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * support_stepper.c - see support_stepper.h.
 */
#include "support_stepper.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>
#include <linux/types.h>

#include "bpf/arch.h"
#include "bpf/share.h"
#include "support_unwind_memory.h"
#include "native/rows/code_state.h"
#include "process/proc/maps.h"
#include "native/rows/elf_rows.h"
#include "base/data/cleanup.h"

/* Has the previous walk's trail. */
static struct native_walk last_walk;

/* ---- tables ----------------------------------------------------------------------------------- */

static struct unwind_tables *make_tables(void)
{
	const struct unwind_memory memory = { files, spaces, &control, unwind_new_slab, NULL };
	struct unwind_tables *t;

	memset(files, 0, sizeof(files));
	memset(spaces, 0, sizeof(spaces));
	memset(cache, 0, sizeof(cache));
	last_walk.trail.cnt = 0;
	t = unwind_tables__new(&memory, 64 << 20);
	assert_non_null(t);
	return t;
}

static void free_tables(struct unwind_tables *t)
{
	unwind_tables__free(t);
	for (int i = 0; i < (int)UNWIND_SLABS_MAX; i++) {
		free(slabs[i]);
		slabs[i] = NULL;
	}
}

/* The kernel's own image, which all processes have. */
static int vdso_fd(size_t size)
{
	int fd = memfd_create("vdso", MFD_CLOEXEC);
	const void *image = (const void *)getauxval(AT_SYSINFO_EHDR);

	assert_true(image && write(fd, image, size) == (ssize_t)size);
	return fd;
}

static void set_rows(struct unwind_tables *t, __u32 file, int fd)
{
	struct unwind_rows rows = { 0 };
	struct row_table table;
	__u32 *page_rows;

	if (elf_rows(fd, &table)) {
		unwind_tables__set_none(t, file);
		return;
	}
	page_rows = calloc(table.page_cnt, sizeof(*page_rows));
	for (__u32 i = 0; i < table.page_cnt; i++)
		page_rows[i] = table.pages[i + 1] - table.pages[i];
	rows.first_page = (__u32)table.first_page;
	rows.page_cnt = table.page_cnt;
	rows.rule_cnt = table.rule_cnt;
	rows.row_cnt = table.row_cnt;
	rows.rules = table.rules;
	rows.page_rows = page_rows;
	rows.rows = table.rows;
	assert_int_equal(unwind_tables__set_rows(t, file, &rows, 0), 0);
	free(page_rows);
	row_table_free(&table);
}

/* Adds all code of a process; code without a file has no rows. */
static __u32 add_process(struct unwind_tables *t, pid_t pid)
{
	static struct unwind_mapping list[512];
	cleanup_maps struct maps maps = { .fd = -1 };
	struct maps_line m;
	__u32 cnt = 0, space;

	assert_int_equal(maps_open(&maps, pid), 0);
	while (maps_next(&maps, &m) > 0 && cnt < 512) {
		char path[64];
		int fd;

		if (!(m.prot & MAPPING_EXEC) || (!m.inode && strcmp(m.path, "[vdso]") != 0))
			continue;
		snprintf(path, sizeof(path), "/proc/%d/map_files/%llx-%llx", pid, m.start, m.end);
		fd = m.inode ? open(path, O_RDONLY | O_CLOEXEC) : vdso_fd(m.end - m.start);
		if (fd < 0)
			fd = open(m.path, O_RDONLY | O_CLOEXEC);
		list[cnt] =
			(struct unwind_mapping){ m.start, m.end, m.start - m.offset, cnt + 1, 0 };
		set_rows(t, list[cnt].file, fd);
		close(fd);
		cnt++;
	}
	space = unwind_tables__set_space(t, 0, list, cnt, OWNER_ROOT);
	assert_int_not_equal(space, 0);
	return space;
}

/* ---- memory ----------------------------------------------------------------------------------- */

#define SEEN (1U << 16)

/* Caches the top of the stack, so that a walk costs one system call. */
static struct {
	pid_t pid;
	__u64 addr;
	__u32 size;
	__u8 bytes[SEEN];
} top;

static bool read_process(void *dst, size_t size, __u64 addr)
{
	struct iovec local = { dst, size }, remote = { (void *)(uintptr_t)addr, size };

	return process_vm_readv(top.pid, &local, 1, &remote, 1, 0) == (ssize_t)size;
}

static void look_at(pid_t pid, __u64 sp)
{
	struct iovec local = { top.bytes, SEEN }, remote = { (void *)(uintptr_t)(sp - 256), SEEN };
	ssize_t n = process_vm_readv(pid, &local, 1, &remote, 1, 0);

	top.pid = pid;
	top.addr = sp - 256;
	top.size = n > 0 ? (__u32)n : 0;
}

static int read_memory(void *ctx, __u64 addr, void *dst, size_t size)
{
	if (addr >= top.addr && addr - top.addr <= top.size &&
	    size <= top.size - (addr - top.addr)) {
		memcpy(dst, top.bytes + (addr - top.addr), size);
		return 0;
	}
	return read_process(dst, size, addr) ? 0 : -EFAULT;
}

/* ---- walks ------------------------------------------------------------------------------------ */

static void walk(__u32 space, pid_t pid, const __u64 *words, struct chain *ret)
{
	static const __u8 numbers[UNWIND_REGS] = UNWIND_REG_WORDS;
	const struct native_regs regs = { words[UNWIND_WORD_IP], words[UNWIND_WORD_SP],
					  words[UNWIND_WORD_FP] };
	static const struct memory memory = { read_memory, NULL };
	struct native_walk *w = &last_walk;

	look_at(pid, words[UNWIND_WORD_SP]);
	w->memory = w->stack.memory = &memory;
	unwind_begin(w, &regs);
	pages_begin(&w->stack);
	for (int i = 0; i < UNWIND_REGS; i++)
		w->regs[i] = words[numbers[i]];
	unwind_enter(w, space);
	w->epoch = control.epoch;
	unwind_find_trail(w);
	ret->followed = 0;
	for (ret->cnt = 0; ret->cnt < KRAIT_MAX_NATIVE;) {
		struct native_frame *out = &ret->frames[ret->cnt++];
		int followed = unwind_follow(w, out);

		if (followed > 0 || (followed < 0 && unwind_step(w, out)))
			break;
		ret->followed += !followed;
	}
	unwind_leave_trail(w, true);
	ret->reason = w->reason;
}

#define WRONG_SAID 500

/* ---- stepping --------------------------------------------------------------------------------- */

/* Behind a call, the callee's CFA is that far from sp. */
#define CFA_AFTER_CALL (UNWIND_RA_IN_REGISTER ? 0 : 8)

static __u64 return_address(const __u64 *words)
{
	__u64 ra;

	if (UNWIND_RA_IN_REGISTER)
		return UNWIND_CODE_ADDR(words[UNWIND_REG_RA]);
	if (!read_process(&ra, 8, words[UNWIND_WORD_SP]))
		fail_msg("no return address");
	return ra;
}

/* Has the last call returned? A machine that keeps the return address in a register has the same sp there. */
static bool is_back(const struct stepper *s, const __u64 *words)
{
	const __u64 at = s->shadow[s->depth - 1].at, sp = words[UNWIND_WORD_SP];

	return at < sp ||
	       (!CFA_AFTER_CALL && at == sp && words[UNWIND_WORD_IP] == s->shadow[s->depth - 1].ra);
}

/* After an instruction: records calls and returns. */
static void follow(struct stepper *s, bool called, const __u64 *words)
{
	while (s->depth && is_back(s, words))
		s->depth--;
	if (!called || s->depth == SHADOW_MAX)
		return;
	s->shadow[s->depth].at = words[UNWIND_WORD_SP];
	s->shadow[s->depth].ra = return_address(words);
	s->depth++;
	s->calls++;
	if (s->depth > s->deepest)
		s->deepest = s->depth;
}

/* Where the process has code, to find what an address is. */
static void say_maps(const struct stepper *s)
{
	char path[64], line[512];
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/maps", (int)s->pid);
	f = fopen(path, "re");
	while (f && fgets(line, sizeof(line), f))
		if (strstr(line, "r-xp"))
			print_message("# %s", line);
	if (f)
		fclose(f);
}

static void say(const struct stepper *s, const __u64 *words, const struct chain *c)
{
	static __u64 said;

	/* Once for each function, more or less. */
	if (s->wrong && words[UNWIND_WORD_IP] >> 8 == said)
		return;
	if (!s->wrong)
		say_maps(s);
	said = words[UNWIND_WORD_IP] >> 8;
	print_message("# at %llx sp %llx fp %llx after %zu steps: reason %u\n",
		      words[UNWIND_WORD_IP], words[UNWIND_WORD_SP], words[UNWIND_WORD_FP], s->steps,
		      c->reason);
	for (unsigned i = 0; i < c->cnt || i <= s->depth; i++)
		print_message("#   %2u have %llx cfa %llx want %llx\n", i,
			      i < c->cnt ? c->frames[i].ip : 0,
			      i < c->cnt ? c->frames[i].frame_addr : 0,
			      !i	    ? words[UNWIND_WORD_IP] :
			      i <= s->depth ? s->shadow[s->depth - i].ra :
					      0);
}

/* Compares the chain: positions, return addresses, and the initial part. */
static bool is_right(const struct stepper *s, const __u64 *words, const struct chain *c)
{
	if (c->reason != NATIVE_COMPLETE || c->frames[0].ip != words[UNWIND_WORD_IP])
		return false;
	for (unsigned i = 0; i < s->depth; i++)
		if (i + 1 >= c->cnt || c->frames[i + 1].ip != s->shadow[s->depth - 1 - i].ra ||
		    (c->frames[i].frame_addr & ~7ULL) !=
			    s->shadow[s->depth - 1 - i].at + CFA_AFTER_CALL)
			return false;
	return true;
}

static void step_check(struct stepper *s, const __u64 *words)
{
	struct chain c;

	walk(s->space, s->pid, words, &c);
	s->followed += c.followed;
	for (unsigned i = 0; i < c.cnt; i++)
		s->by_fp += c.frames[i].frame_addr & NATIVE_BY_FP;
	if (is_right(s, words, &c))
		return;
	s->cut += c.reason != NATIVE_COMPLETE;
	if (s->wrong < WRONG_SAID)
		say(s, words, &c);
	s->wrong++;
}

static void read_registers(pid_t pid, __u64 *words)
{
	struct iovec part = { words, UNWIND_SAVED_WORDS * sizeof(*words) };

	assert_int_equal(ptrace(PTRACE_GETREGSET, pid, NT_PRSTATUS, &part), 0);
}

void stepper_go(struct stepper *s, size_t max)
{
	__u64 words[UNWIND_SAVED_WORDS];
	__u8 code[8];

	while (s->steps < max) {
		bool called;
		int status;

		read_registers(s->pid, words);
		if (!read_process(code, sizeof(code), words[UNWIND_WORD_IP]))
			memset(code, 0, sizeof(code));
		called = code_insn(code, sizeof(code)).kind == CODE_CALL;
		assert_int_equal(ptrace(PTRACE_SINGLESTEP, s->pid, NULL, NULL), 0);
		assert_int_equal(waitpid(s->pid, &status, __WALL), s->pid);
		if (!WIFSTOPPED(status) || WSTOPSIG(status) != SIGTRAP)
			return;
		read_registers(s->pid, words);
		s->steps++;
		follow(s, called, words);
		step_check(s, words);
	}
}

void stepper_end(struct stepper *s, const char *what)
{
	kill(s->pid, SIGKILL);
	waitpid(s->pid, NULL, __WALL);
	free_tables(s->tables);
	print_message(
		"# %s: %zu steps, %zu calls, %u deep, %zu frames by frame pointer, %zu by the "
		"trail, %zu wrong (%zu cut)\n",
		what, s->steps, s->calls, s->deepest, s->by_fp, s->followed, s->wrong, s->cut);
}

void stepper_begin(struct stepper *s, pid_t pid)
{
	*s = (struct stepper){ .pid = pid, .tables = make_tables() };
	top.pid = pid;
	s->space = add_process(s->tables, pid);
}

pid_t stepper_start(void (*work)(void *), void *arg)
{
	pid_t pid = fork();
	int status;

	assert_true(pid >= 0);
	if (!pid) {
		ptrace(PTRACE_TRACEME, 0, NULL, NULL);
		work(arg);
		_exit(0);
	}
	/* It may have exec'ed another program first. */
	do {
		assert_int_equal(waitpid(pid, &status, __WALL), pid);
		assert_true(WIFSTOPPED(status));
	} while (WSTOPSIG(status) == SIGTRAP && !ptrace(PTRACE_CONT, pid, NULL, NULL));
	return pid;
}

void stepper_run(struct stepper *s, unsigned us)
{
	int status;

	assert_int_equal(ptrace(PTRACE_CONT, s->pid, NULL, NULL), 0);
	usleep(us);
	kill(s->pid, SIGSTOP);
	assert_int_equal(waitpid(s->pid, &status, __WALL), s->pid);
	assert_true(WIFSTOPPED(status));
	s->depth = 0;
}

void stepper_check(const struct stepper *s, size_t least)
{
	assert_true(s->steps >= least);
	assert_true(s->followed > s->steps);
	assert_int_equal(s->wrong, 0);
}

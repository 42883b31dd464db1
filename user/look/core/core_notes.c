/* SPDX-License-Identifier: BSD-2-Clause */
#include "look/core/core_notes.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/procfs.h>

#include "base/data/vec.h"

static bool is_note(const Elf64_Nhdr *head, const char *name, const char *wanted, __u32 type)
{
	return head->n_type == type && head->n_namesz == strlen(wanted) + 1 &&
	       !memcmp(name, wanted, head->n_namesz);
}

/* Of the system call that the thread is in. */
static void take_syscall(struct core_thread *t)
{
	static const __u8 words[] = REGS_SYSCALL_ARGS;
	__s32 number = REGS_SYSCALL(t->regs);

	/* gdb's generate-core-file does not record the system call of a stopped thread. */
	t->syscall = number < 0 || number > 4096 ? -1 : number;
	for (unsigned i = 0; i < sizeof(words); i++)
		t->args[i] = t->regs[words[i]];
}

/* arm64 has it in a note of its own, behind the thread's. */
static void take_syscall_number(struct core_thread *t, const void *desc, size_t len)
{
	__s32 number;

	if (len < sizeof(number))
		return;
	memcpy(&number, desc, sizeof(number));
	REGS_PUT_SYSCALL(t->regs, number);
	take_syscall(t);
}

static void take_registers(struct core_thread *t, const elf_gregset_t *regs)
{
	memcpy(t->regs, regs, sizeof(*regs) < sizeof(t->regs) ? sizeof(*regs) : sizeof(t->regs));
	REGS_PUT_SYSCALL(t->regs, -1);
	t->stack_ptr = t->regs[UNWIND_WORD_SP];
	t->ip = t->regs[UNWIND_WORD_IP];
	take_syscall(t);
}

static int take_thread(struct core_file *c, const void *desc, size_t len)
{
	struct core_thread t = { .syscall = -1 };
	struct elf_prstatus status;

	if (len < sizeof(status))
		return -ENOEXEC;
	if (c->thread_cnt == CORE_THREADS_MAX)
		return 0;
	memcpy(&status, desc, sizeof(status));
	t.tid = status.pr_pid;
	t.signal = status.pr_cursig;
	take_registers(&t, &status.pr_reg);
	if (vec_reserve(c->threads, c->thread_cap, c->thread_cnt + 1))
		return -ENOMEM;
	c->threads[c->thread_cnt++] = t;
	return 0;
}

static void take_process(struct core_file *c, const void *desc, size_t len)
{
	struct elf_prpsinfo info;

	if (len < sizeof(info))
		return;
	memcpy(&info, desc, sizeof(info));
	c->pid = info.pr_pid;
	memcpy(c->comm, info.pr_fname, sizeof(c->comm) - 1);
}

/* Finds the file of that name or adds it. Returns -1 if there is no room. */
static __s64 find_file(struct core_file *c, const char *name, const struct core_mapping *m)
{
	/* Mappings of one file are adjacent. */
	if (c->file_cnt && !strcmp(c->files[c->file_cnt - 1].name, name) && m->offset)
		return c->file_cnt - 1;
	if (m->offset || c->file_cnt == CORE_FILES_MAX ||
	    vec_reserve(c->files, c->file_cap, c->file_cnt + 1))
		return -1;
	c->files[c->file_cnt] = (struct core_mapped){ .name = name, .base = m->start, .fd = -1 };
	return c->file_cnt++;
}

/* fs/binfmt_elf.c, fill_files_note(): how many, size of a page, three words each, then the names. */
static int take_files(struct core_file *c, const char *desc, size_t len)
{
	__u64 words[3], head[2];
	const char *name, *end;

	if (len < sizeof(head) || c->names)
		return len < sizeof(head) ? -ENOEXEC : 0;
	memcpy(head, desc, sizeof(head));
	if (head[0] > CORE_MAPPINGS_MAX || head[0] > (len - sizeof(head)) / sizeof(words) ||
	    !head[1] || head[1] > 1U << 30)
		return -ENOEXEC;
	len -= sizeof(head) + head[0] * sizeof(words);
	c->names = malloc(len + 1);
	if (!c->names)
		return -ENOMEM;
	memcpy(c->names, desc + sizeof(head) + head[0] * sizeof(words), len);
	c->names[len] = '\0';
	end = c->names + len;
	name = c->names;
	for (__u64 i = 0; i < head[0] && name < end; i++, name += strlen(name) + 1) {
		struct core_mapping m;
		__s64 file;

		memcpy(words, desc + sizeof(head) + i * sizeof(words), sizeof(words));
		m = (struct core_mapping){ words[0], words[1], words[2] * head[1], 0 };
		file = find_file(c, name, &m);
		if (file < 0 || m.end <= m.start)
			continue;
		m.file = (__u32)file;
		if (vec_reserve(c->mappings, c->mapping_cap, c->mapping_cnt + 1))
			return -ENOMEM;
		c->mappings[c->mapping_cnt++] = m;
	}
	return 0;
}

static int take(struct core_file *c, const Elf64_Nhdr *head, const char *name, const void *desc)
{
	if (is_note(head, name, "CORE", NT_PRSTATUS))
		return take_thread(c, desc, head->n_descsz);
	if (is_note(head, name, "CORE", NT_FILE))
		return take_files(c, desc, head->n_descsz);
	if (is_note(head, name, "CORE", NT_PRPSINFO))
		take_process(c, desc, head->n_descsz);
	if (is_note(head, name, "LINUX", NT_ARM_SYSTEM_CALL) && c->thread_cnt)
		take_syscall_number(&c->threads[c->thread_cnt - 1], desc, head->n_descsz);
	return 0;
}

static size_t padded(size_t len)
{
	return (len + 3) & ~(size_t)3;
}

int core_notes_read(struct core_file *c, const void *notes, size_t len)
{
	const char *at = notes;
	int err = 0;

	while (!err && len >= sizeof(Elf64_Nhdr)) {
		Elf64_Nhdr head;
		size_t size;

		memcpy(&head, at, sizeof(head));
		size = sizeof(head) + padded(head.n_namesz) + padded(head.n_descsz);
		if (head.n_namesz > len || head.n_descsz > len || size > len)
			return -ENOEXEC;
		err = take(c, &head, at + sizeof(head), at + sizeof(head) + padded(head.n_namesz));
		at += size;
		len -= size;
	}
	return err;
}
